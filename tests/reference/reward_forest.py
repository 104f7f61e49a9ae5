"""The reward forest's trees as plain lists and dicts: slow, and written from the words about them."""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from stumpery.array_forest import forest_kernels as trees
from stumpery.policies.reward_forest.trees import criterion_kernels as criterion
from stumpery.policies.reward_forest.trees import pruning_kernels as pruning
from stumpery.policies.reward_forest.trees import splitting_kernels as splitting


def plain(part):
    """A part as ordinary Python, whether it is compiled or not."""
    return getattr(part, "py_func", part)


def scattered(key):
    """The finaliser of splitmix64, on whole numbers."""
    key %= 2**64
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB % 2**64
    return key ^ (key >> 31)


def nearest(steps):
    """Whole numbers of steps."""
    return np.floor(steps + 0.5)


@dataclass
class Node:
    """A leaf, or a test with two children."""

    number: int
    steps: np.ndarray  # of the means
    counts: np.ndarray
    events: list[int] = field(default_factory=list)  # numbers, oldest first
    newest: int = 0  # of all events that it ever had
    next_check: int = trees.INITIAL_CHECK
    column: int = -1
    threshold: float | None = None
    left_codes: frozenset[int] = frozenset()
    children: tuple["Node", "Node"] | None = None
    gone: bool = False

    @property
    def means(self):
        """What each action earned."""
        return self.steps / 65535.0

    def goes_right(self, row):
        """Numbers above the threshold, names that are not in the set."""
        if self.threshold is None:
            return int(row[self.column]) not in self.left_codes
        return bool(row[self.column] > self.threshold)


@dataclass(frozen=True)
class Cut:
    """A way to split a leaf."""

    column: int
    threshold: float | None
    left_codes: frozenset[int]


class Twin:
    """Trees over the last `n_kept` events, of at most so many nodes."""

    spacing = 1

    def __init__(self, n_trees, n_actions, is_categorical, n_kept, seed, most_nodes=10**9):
        self.n_actions, self.n_kept, self.seed, self.most_nodes = n_actions, n_kept, seed, most_nodes
        self.is_categorical, self.is_bit = is_categorical, [not name for name in is_categorical]
        self.history, self.n_learned = [], 0  # (row, action, reward) of those that are kept; how many of all
        self.n_nodes = n_trees
        first = np.full(n_actions, 32_768.0)
        self.roots = [Node(tree, first.copy(), np.zeros(n_actions)) for tree in range(n_trees)]
        self.nodes = dict(enumerate(self.roots))
        self.n_collapsed, self.n_undone, self.n_anew, self.n_entered, self.free = 0, 0, 0, 0, []

    def leaf(self, tree, row):
        """Where a row ends."""
        node = self.roots[tree]
        while node.children:
            node = node.children[node.goes_right(row)]
        return node

    def learn(self, row, action, reward, epoch=0, is_kept=True):
        """Every tree learns one event at the leaf that it reaches; events before the epoch are forgotten."""
        self.epoch = epoch
        leaves = [self.leaf(tree, row) for tree in range(len(self.roots))]
        self.is_bit = [bit and value in (0.0, 1.0) for bit, value in zip(self.is_bit, row, strict=True)]
        key = scattered(self.seed + self.n_learned)
        self.n_learned += 1
        if is_kept:
            self.history.append((row, action, reward))
        for tree, leaf in enumerate(leaves):
            if leaf.newest < epoch:
                leaf.events, leaf.next_check = [], trees.INITIAL_CHECK
                self.n_entered += 1
            leaf.counts[action] += 1
            dither = (key * (2 * tree + 1) % 2**64 >> 40) / 2**24
            step = (65535.0 * reward - leaf.steps[action]) / (leaf.counts[action] + trees.PRIOR_COUNT)
            leaf.steps[action] = np.floor(leaf.steps[action] + step + dither)
            if is_kept:
                leaf.newest = len(self.history) - 1
                leaf.events.append(leaf.newest)
        for leaf in leaves:
            if is_kept and not leaf.gone and len(leaf.events) >= leaf.next_check:
                self.check(leaf)

    @property
    def oldest(self):
        """The first event that may be remembered."""
        return max(len(self.history) - self.n_kept, self.epoch)

    def above(self, leaf):
        """The node whose child a leaf is."""
        return next((node for node in self.nodes.values() if node.children and leaf in node.children), None)

    def is_void(self, node, active):
        """Whether a twig's split would not pass the bar, by all rewards that its leaves had."""
        if node is None or any(child.children for child in node.children):
            return False
        one, two = node.children
        if one.counts.sum() + two.counts.sum() < pruning.MIN_PRUNING_PLAYS:
            return False
        gain, spreads = 0.0, []
        for action in range(self.n_actions):
            n1, n0 = float(one.counts[action]), float(two.counts[action])
            if n1 > 0 and n0 > 0:
                m1, m0 = float(one.means[action]), float(two.means[action])
                mean, apart = (n1 * m1 + n0 * m0) / (n1 + n0), m1 - m0
                spreads.append(mean * (1 - mean))
                within = (n1 * m1 * (1 - m1) + n0 * m0 * (1 - m0)) / (n1 + n0)
                gain += n1 * n0 / (n1 + n0) * apart**2 / (active.get(action, within) + 0.01)
        return bool(spreads) and gain < plain(criterion.split_threshold)(len(spreads), sum(spreads), 1, 1.0)

    def has_changed(self, leaf, events, active):
        """Whether the plays that are no longer remembered earned otherwise."""
        gain, spreads = 0.0, []
        for action in range(self.n_actions):
            now = [reward for _, chosen, reward in events if chosen == action]
            plays, usual = float(leaf.counts[action]), float(leaf.means[action])
            before = plays - len(now)
            if len(now) >= 2 and before >= 1 and before >= 0.05 * plays:
                mean = sum(now) / len(now)
                apart = (usual - mean) * plays / before
                once = mean + apart
                within = (len(now) * mean * (1 - mean) + before * once * (1 - once)) / plays
                gain += len(now) * before / plays * apart**2 / (active.get(action, max(within, 0.0)) + 0.01)
                spreads.append(usual * (1 - usual))
        turns = max(leaf.counts.sum(), 1) / max(len(events), 1)
        return bool(spreads) and gain > 2 * plain(criterion.split_threshold)(len(spreads), sum(spreads), 1, turns)

    def check(self, leaf):
        """Split if the best cut is worth more than the bar, or undo the split above."""
        numbers = [number for number in reversed(leaf.events) if number >= self.oldest]  # newest first
        events = [self.history[number] for number in numbers]
        active = self.active(events)
        if self.has_changed(leaf, events, active):
            self.n_anew += 1
            leaf.counts[:], sums = 0, np.zeros(self.n_actions)
            for _, action, reward in events:
                leaf.counts[action] += 1
                sums[action] += reward
            leaf.steps = nearest((65535.0 * sums + trees.PRIOR_COUNT * leaf.steps) / (leaf.counts + trees.PRIOR_COUNT))
            leaf.events = numbers[::-1]
            leaf.next_check = plain(criterion.next_check)(len(leaf.events), criterion.MIN_CHECK_GROWTH)
            return
        parent = self.above(leaf)
        if self.is_void(parent, active):
            self.n_undone += 1
            self.collapse(parent)
            return
        needed = criterion.MAX_CHECK_GROWTH
        if active and len(events) >= 2 * trees.MIN_CHILD_EVENTS:
            gain, cut, n_tried = self.best_cut(events, active, leaf.number)
            turns = max(leaf.counts.sum(), 1) / len(events)
            bar = plain(splitting.bar)(len(active), noise(events, active), n_tried, turns)
            if cut is not None and gain > bar:
                first = self.room(leaf)
                if first is not None:
                    self.split(leaf, cut, numbers, first)
                    return
            needed = bar / gain if gain > 0.0 else math.inf
        if len(numbers) < len(leaf.events) - trees.GAPS_PER_BLOCK:
            leaf.events = numbers[::-1]
        leaf.next_check = plain(criterion.next_check)(len(leaf.events), needed)

    def active(self, events):
        """Actions with two rewards or more that are not all equal, and the variance of these."""
        found = {}
        for action in range(self.n_actions):
            rewards = [reward for _, chosen, reward in events if chosen == action]
            if len(rewards) >= 2 and np.var(rewards) > 1e-9:
                found[action] = float(np.var(rewards))
        return found

    def drawn_columns(self, number, n_events):
        """Half of the columns, by selection sampling from a key of the seed, the node and its number of events."""
        key = scattered(scattered(self.seed + number) + n_events)
        n_columns = len(self.is_categorical)
        needed, drawn = (n_columns + 1) // 2, []
        for column in range(n_columns):
            key = scattered(key + 0x9E3779B97F4A7C15)
            if (key >> 32) * (n_columns - column) >> 32 < needed:
                needed -= 1
                drawn.append(column)
        return drawn

    def best_cut(self, events, active, number):
        """The first of the best cuts, and how many were tried."""
        best, found, n_tried = 0.0, None, 0
        for column in self.drawn_columns(number, len(events)):
            for cut in self.cuts_of(column, events, active):
                n_tried += 1
                is_left = [not goes_right(cut, row) for row, *_ in events]
                if min(sum(is_left), len(events) - sum(is_left)) < trees.MIN_CHILD_EVENTS:
                    continue
                gain = self.worth(events, active, is_left)
                if gain > best:
                    best, found = gain, cut
        return best, found, n_tried

    def worth(self, events, active, is_left):
        """The formula of `cuts_kernels`."""
        gain = 0.0
        for action, variance in active.items():
            own = [
                (reward, here) for (_, chosen, reward), here in zip(events, is_left, strict=True) if chosen == action
            ]
            left, all_of_it = [reward for reward, here in own if here], [reward for reward, _ in own]
            s1, s = sum(left), sum(all_of_it)
            n1, n = len(left), len(all_of_it)
            gain += (s1 - n1 * s / n) ** 2 * (n + 1) / ((n1 + 0.5) * (n - n1 + 0.5)) / (variance + 0.01)
        return gain

    def cuts_of(self, column, events, active):
        """All cuts of a column."""
        if self.is_bit[column]:
            return [Cut(column, 0.5, frozenset())]
        if self.is_categorical[column]:
            return [Cut(column, None, frozenset(codes)) for codes in self.sets_of_names(column, events, active)]
        return [Cut(column, float(point), frozenset()) for point in self.points(column, events)]

    def points(self, column, events):
        """Half-way between neighbours among some of the leaf's own values, at most one for every `spacing` of these."""
        n = len(events)
        size = min(n, self.spacing * min(trees.MAX_THRESHOLDS, n // trees.MIN_CHILD_EVENTS) + 1)
        is_narrow = all(float(np.float32(row[column])) == row[column] for row, *_ in events)
        kind = np.float32 if is_narrow else np.float64
        sample = sorted(kind(events[index * n // size][0][column]) for index in range(size))
        points, last = [], -1
        for place, (value, above) in enumerate(pairwise(sample)):
            if above > value and place >= last + self.spacing:
                middle = value if value == -math.inf else value + (above - value) * kind(0.5)
                points.append(middle if middle < above else value)
                last = place
        return points

    def sets_of_names(self, column, events, active):
        """Each name alone that is neither the poorest nor the richest, then the poorest together."""
        means = {}
        for code in sorted({int(row[column]) for row, *_ in events}):
            paid = [reward for row, action, reward in events if int(row[column]) == code and action in active]
            means[code] = sum(paid) / (len(paid) + 1e-9)
        order = sorted(means, key=means.get)
        together = [order[:size] for size in range(1, len(order))]
        alone = [[code] for code in order[1:-1]]
        return alone + together

    def room(self, leaf):
        """The number of the first of two new nodes: free, after the last, or where the least twig had its leaves."""
        if self.free:
            return self.free.pop()
        if self.n_nodes + 2 <= self.most_nodes:
            self.n_nodes += 2
            return self.n_nodes - 2
        start = scattered(self.seed + len(self.history)) % self.n_nodes
        order = [(start + 1 + step) % self.n_nodes for step in range(self.n_nodes)]
        twigs = [node for node in map(self.nodes.__getitem__, order) if node.children and is_twig(node, leaf)]
        if not twigs:
            return None
        self.collapse(min(twigs[: pruning.MAX_EVICTION_CANDIDATES], key=explained))
        self.n_collapsed += 1
        return self.free.pop()

    def collapse(self, node):
        """Make a leaf of a twig: what its two leaves knew, and those of their events that are remembered."""
        one, two = node.children
        weights = one.counts + trees.PRIOR_COUNT, two.counts + trees.PRIOR_COUNT
        node.steps = nearest((weights[0] * one.steps + weights[1] * two.steps) / (weights[0] + weights[1]))
        node.counts = one.counts + two.counts
        node.events = sorted(number for number in one.events + two.events if number >= self.oldest)
        node.newest = node.events[-1] if node.events else one.newest
        node.next_check = plain(criterion.next_check)(len(node.events), criterion.MAX_CHECK_GROWTH)
        node.children, one.gone, two.gone = None, True, True
        del self.nodes[one.number], self.nodes[two.number]
        self.free.append(one.number)

    def split(self, leaf, cut, numbers, first):
        """Two leaves share the events and start from what the parent knew."""
        leaf.column, leaf.threshold, leaf.left_codes = cut.column, cut.threshold, cut.left_codes
        children = []
        for side in (False, True):
            events = [number for number in reversed(numbers) if leaf.goes_right(self.history[number][0]) == side]
            counts, sums = np.zeros(self.n_actions), np.zeros(self.n_actions)
            for number in events:
                _, action, reward = self.history[number]
                counts[action] += 1
                sums[action] += reward
            steps = nearest((65535.0 * sums + trees.PRIOR_COUNT * leaf.steps) / (counts + trees.PRIOR_COUNT))
            next_check = max(trees.INITIAL_CHECK, plain(criterion.next_check)(len(events), criterion.MIN_CHECK_GROWTH))
            number = first + len(children)
            children.append(Node(number, steps, counts, events, events[-1], next_check))
            self.nodes[number] = children[-1]
        leaf.children = tuple(children)


def noise(events, active):
    """The sum of mean (1 - mean) over the active actions."""
    means = [np.mean([reward for _, chosen, reward in events if chosen == action]) for action in active]
    return sum(mean * (1 - mean) for mean in means)


def goes_right(cut, row):
    """Which side of a cut a row is on."""
    if cut.threshold is None:
        return int(row[cut.column]) not in cut.left_codes
    return bool(row[cut.column] > cut.threshold)


def is_twig(node, leaf):
    """Whether a node's children are both leaves, and other ones than this."""
    return not any(child.children or child is leaf for child in node.children)


def explained(node):
    """What a twig's split explains of an event's reward, times the events that its leaves remember."""
    one, two = node.children
    counts = one.counts + two.counts
    parts = one.counts * two.counts / np.maximum(counts, 1.0) * (one.means - two.means) ** 2.0
    return parts.sum() / max(counts.sum(), 1.0) * (len(one.events) + len(two.events))
