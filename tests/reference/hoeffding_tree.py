"""The Hoeffding tree as plain lists and dicts: slow, with every formula and constant written out here."""

import math
from typing import NamedTuple

from scipy import stats
from tests.reference.reward_forest import RewardForestTrees, goes_right

MIN_WEIGHT = 5  # of a branch
GROWTH = 1.3  # from one check of a leaf to the next, in events, if that is more than the grace period


class TreeNode:
    """A leaf, or a split with two children, or with one for each of some categories, the last for all others too."""

    def __init__(self, inherited, grace_period):
        self.events, self.children, self.cut = [], None, None
        self.inherited, self.next_check = inherited, grace_period


class MultiwayCut(NamedTuple):
    """A child for each of these categories."""

    column: int
    codes: list[int]


def n_branches(cut):
    """The number of children of a split."""
    return len(cut.codes) if isinstance(cut, MultiwayCut) else 2


class HoeffdingTree(RewardForestTrees):
    """One tree over the last `n_kept` events; labels are classes from 0, or numbers."""

    spacing = 2

    def __init__(self, is_categorical, n_kept, criterion, grace_period, delta, tau, binary_split=True):
        super().__init__(0, 1, is_categorical, n_kept, 0)
        self.binary_split = binary_split
        self.criterion, self.grace_period, self.delta, self.tau = criterion, grace_period, delta, tau
        self.root = TreeNode({}, grace_period)

    def leaf_of(self, row):
        """The leaf that a row reaches."""
        node = self.root
        while node.children:
            node = node.children[self.side(node.cut, row)]
        return node

    def side(self, cut, row):
        """Which child a row belongs to."""
        if not isinstance(cut, MultiwayCut):
            return goes_right(cut, row)
        code = int(row[cut.column])
        return cut.codes.index(code) if code in cut.codes else len(cut.codes) - 1

    def learn(self, row, label, weight):
        """Add one event to its leaf."""
        leaf = self.leaf_of(row)
        self.is_bit = [bit and value in (0.0, 1.0) for bit, value in zip(self.is_bit, row, strict=True)]
        self.history.append((row, label, weight))
        leaf.events.append(len(self.history) - 1)
        if len(leaf.events) >= leaf.next_check:
            self.check(leaf)

    def probabilities(self, row):
        """The class probabilities of the leaf that a row reaches."""
        return self.probabilities_of(self.leaf_of(row))

    def check(self, leaf):
        """Split at the best cut if it passes both tests."""
        oldest = len(self.history) - self.n_kept
        numbers = [number for number in reversed(leaf.events) if number >= oldest]
        events = [self.history[number] for number in numbers]
        if len({label for _, label, _ in events}) > 1 and len(events) >= 2 * MIN_WEIGHT:
            best, second, cut, n_tried = self.best_two(events)
            if cut is not None and self.passes_tests(events, best, second, n_tried, n_branches(cut)):
                self.split_at(leaf, cut, numbers)
                return
        leaf.next_check = max(len(leaf.events) + self.grace_period, int(GROWTH * len(leaf.events)))

    def best_two(self, events):
        """The gain of the best cut, of the best other column's, the best cut, and how many cuts were tried."""
        found, n_tried = [], 0
        total = sum(weight for *_, weight in events)
        for column in range(len(self.is_categorical)):
            best, chosen = 0.0, None
            cuts = self.cuts_of(column, events, None)
            if self.is_categorical[column] and not self.binary_split:
                cuts = [MultiwayCut(column, sorted({int(row[column]) for row, *_ in events}))]
            for cut in cuts:
                n_tried += 1
                sides = [
                    [event for event in events if self.side(cut, event[0]) == side] for side in range(n_branches(cut))
                ]
                weights = [sum(weight for *_, weight in side) for side in sides]
                if sum(weight >= MIN_WEIGHT for weight in weights) < 2:
                    continue
                after = sum(weight * self.impurity(side) for weight, side in zip(weights, sides, strict=True)) / total
                gain = self.impurity(events) - after
                if gain > best + 1e-12:
                    best, chosen = gain, cut
            found.append((best, chosen))
        order = sorted(range(len(found)), key=lambda column: -found[column][0])
        second = found[order[1]][0] if len(order) > 1 else 0.0
        return (*found[order[0]][:1], second, found[order[0]][1], n_tried)

    def impurity(self, events):
        """Entropy in bits, Gini's index, or the variance."""
        total = sum(weight for *_, weight in events)
        if self.criterion == "variance":
            mean = sum(label * weight for _, label, weight in events) / total
            return sum((label - mean) ** 2 * weight for _, label, weight in events) / total
        weights = {}
        for _, label, weight in events:
            weights[label] = weights.get(label, 0.0) + weight
        shares = [weight / total for weight in weights.values() if weight > 0]
        if self.criterion == "gini":
            return 1.0 - sum(share**2 for share in shares)
        return -sum(share * math.log2(share) for share in shares)

    def passes_tests(self, events, best, second, n_tried, n_children):
        """A chi-squared test with Bonferroni's correction, then the Hoeffding bound or a tie (Domingos, Hulten 2000).

        The chi-squared tail is that of Wilson and Hilferty 1931; classes count as many as their impurity makes them.
        """
        total, before = sum(weight for *_, weight in events), self.impurity(events)
        freedom, value_range = 1.0, 1.0
        if self.criterion == "gini":
            freedom = max(before / (1.0 - before), 1.0)
            evidence = total * freedom * best / before
        elif self.criterion == "info_gain":
            freedom, value_range = max(2.0**before - 1.0, 1.0), math.log2(len({label for _, label, _ in events}))
            evidence = 2.0 * math.log(2.0) * total * best
        else:
            best, second = best / before, second / before
            evidence = total * best / (1.0 - best)
        freedom *= n_children - 1
        spread = 2.0 / (9.0 * freedom)
        p_value = stats.norm.sf(((evidence / freedom) ** (1 / 3) - 1.0 + spread) / math.sqrt(spread))
        bound = value_range * math.sqrt(math.log(1.0 / self.delta) / (2.0 * total))
        return p_value * n_tried < self.delta and (best - second > bound or bound < self.tau)

    def category_sets(self, column, events, active):
        """Single categories but the first and last, then the first ones together; in order of share or mean."""
        totals = {}
        for _, label, weight in events:
            totals[label] = totals.get(label, 0.0) + weight
        top = max(sorted(totals), key=totals.get)
        keys = {}
        for code in sorted({int(row[column]) for row, *_ in events}):
            own = [(label, weight) for row, label, weight in events if int(row[column]) == code]
            score = sum(w * (label if self.criterion == "variance" else label == top) for label, w in own)
            keys[code] = score / sum(w for _, w in own)
        order = sorted(keys, key=keys.get)
        return [[code] for code in order[1:-1]] + [order[:size] for size in range(1, len(order))]

    def split_at(self, leaf, cut, numbers):
        """The children share the remembered events and inherit the class probabilities."""
        inherited = self.probabilities_of(leaf) if self.criterion != "variance" else {}
        leaf.cut = cut
        leaf.children = []
        for side in range(n_branches(cut)):
            child = TreeNode(inherited, self.grace_period)
            child.events = [number for number in reversed(numbers) if self.side(cut, self.history[number][0]) == side]
            child.next_check = max(self.grace_period, int(GROWTH * len(child.events)))
            leaf.children.append(child)

    def probabilities_of(self, leaf):
        """Each class's share of a leaf's weight, with the inherited probabilities as one more event."""
        weights = dict(leaf.inherited)
        for number in leaf.events:
            _, label, weight = self.history[number]
            weights[label] = weights.get(label, 0.0) + weight
        total = sum(weights.values())
        return {label: weight / total for label, weight in weights.items()}

    def n_leaves(self):
        """The number of leaves."""
        waiting, n = [self.root], 0
        while waiting:
            node = waiting.pop()
            n += not node.children
            waiting += node.children or []
        return n
