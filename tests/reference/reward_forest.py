"""The reward forest's trees as plain lists and dicts: slow, with every formula and constant written out here."""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

UNIT = 65535.0  # a mean is kept in 16 bits
PRIOR = 1.0  # events that the parent's mean counts for
FIRST_CHECK = 20  # events before a leaf is tried for the first time
MIN_GROWTH, MAX_GROWTH = 1.25, 1.8  # from one check of a leaf to the next, in events
MIN_SIDE = 5  # events on each side of a split
MAX_CUTS = 15  # of a numerical column
LEAF_BLOCK = 20  # events by which a leaf's list may be too long before the expired ones are dropped
MIN_VARIANCE = 0.01  # added to each variance
MIN_PLAYS_OF_PRUNING_TEST = 90
MIN_SHARE_EXPIRED = 0.05  # of a leaf's plays, before they are compared with the remembered ones
N_PRUNING_CANDIDATES = 32


def split_threshold(n_actions, noise, n_cuts=1, resampling_ratio=1.0):
    """What a split must gain, as a log likelihood ratio grows with degrees of freedom, noise and comparisons.

    The rewards of `n_actions` vary, and their Bernoulli variances sum to `noise`. A leaf that has had
    `resampling_ratio` times the events that it remembers was tried more often than these show.
    """
    comparisons = 10 * max(0.0, math.log(n_cuts / 90)) + 4 * max(0.0, math.log(resampling_ratio))
    return 3 + 0.3 * n_actions + 6 * noise + comparisons


def events_at_next_check(n_events, growth):
    """A leaf is tried again when it has `growth` times as many events, within limits."""
    return math.floor(n_events * min(max(growth, MIN_GROWTH), MAX_GROWTH)) + 1


def splitmix64(key):
    """The finaliser of SplitMix64, in Python's whole numbers."""
    key %= 2**64
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB % 2**64
    return key ^ (key >> 31)


def rounded(steps):
    """The nearest whole numbers, halves upwards."""
    return np.floor(steps + 0.5)


@dataclass
class Node:
    """A leaf, or a test with two children."""

    number: int
    steps: np.ndarray  # means in units of 1 / UNIT
    counts: np.ndarray
    events: list[int] = field(default_factory=list)  # positions in the history, oldest first
    newest: int = 0  # of all events that it ever had
    next_check: int = FIRST_CHECK
    column: int = -1
    threshold: float | None = None
    left_codes: frozenset[int] = frozenset()
    children: tuple["Node", "Node"] | None = None
    is_freed: bool = False

    @property
    def means(self):
        """The mean reward of each action."""
        return self.steps / UNIT

    def goes_right(self, row):
        """Which of the children a row belongs to."""
        return goes_right(self, row)


@dataclass(frozen=True)
class Cut:
    """A split of one column: at a threshold, or of a set of categories from the others."""

    column: int
    threshold: float | None
    left_codes: frozenset[int]


class RewardForestTrees:
    """Trees over the last `n_kept` events, of at most `max_nodes` nodes."""

    spacing = 1

    def __init__(self, n_trees, n_actions, is_categorical, n_kept, seed, max_nodes=10**9):
        self.n_actions, self.n_kept, self.seed, self.max_nodes = n_actions, n_kept, seed, max_nodes
        self.is_categorical, self.is_bit = is_categorical, [not each for each in is_categorical]
        self.history, self.n_learned = [], 0  # (row, action, reward) of those that are kept; how many of all
        self.n_nodes = n_trees
        first = np.full(n_actions, 32_768.0)
        self.roots = [Node(tree, first.copy(), np.zeros(n_actions)) for tree in range(n_trees)]
        self.nodes = dict(enumerate(self.roots))
        self.n_recycled, self.n_pruned, self.n_resets, self.n_forgets, self.free = 0, 0, 0, 0, []

    def leaf(self, tree, row):
        """The leaf that a row reaches."""
        node = self.roots[tree]
        while node.children:
            node = node.children[node.goes_right(row)]
        return node

    def learn(self, row, action, reward, concept_start=0, is_kept=True):
        """Every tree learns one event at the leaf that it reaches; events before `concept_start` are forgotten."""
        self.concept_start = concept_start
        leaves = [self.leaf(tree, row) for tree in range(len(self.roots))]
        self.is_bit = [bit and value in (0.0, 1.0) for bit, value in zip(self.is_bit, row, strict=True)]
        key = splitmix64(self.seed + self.n_learned)
        self.n_learned += 1
        if is_kept:
            self.history.append((row, action, reward))
        for tree, leaf in enumerate(leaves):
            if leaf.newest < concept_start:
                leaf.events, leaf.next_check = [], FIRST_CHECK
                self.n_forgets += 1
            leaf.counts[action] += 1
            dither = (key * (2 * tree + 1) % 2**64 >> 40) / 2**24
            step = (UNIT * reward - leaf.steps[action]) / (leaf.counts[action] + PRIOR)
            leaf.steps[action] = np.floor(leaf.steps[action] + step + dither)
            if is_kept:
                leaf.newest = len(self.history) - 1
                leaf.events.append(leaf.newest)
        for leaf in leaves:
            if is_kept and not leaf.is_freed and len(leaf.events) >= leaf.next_check:
                self.check(leaf)

    @property
    def oldest(self):
        """The first event that may be remembered."""
        return max(len(self.history) - self.n_kept, self.concept_start)

    def parent_of(self, leaf):
        """The node above a leaf."""
        return next((node for node in self.nodes.values() if node.children and leaf in node.children), None)

    def fails_pruning_test(self, node, active):
        """Whether the split into two leaves misses the threshold of a single cut, by all rewards they have had."""
        if node is None or any(child.children for child in node.children):
            return False
        one, two = node.children
        if one.counts.sum() + two.counts.sum() < MIN_PLAYS_OF_PRUNING_TEST:
            return False
        gain, spreads = 0.0, []
        for action in range(self.n_actions):
            n1, n0 = float(one.counts[action]), float(two.counts[action])
            if n1 > 0 and n0 > 0:
                m1, m0 = float(one.means[action]), float(two.means[action])
                mean, apart = (n1 * m1 + n0 * m0) / (n1 + n0), m1 - m0
                spreads.append(mean * (1 - mean))
                within = (n1 * m1 * (1 - m1) + n0 * m0 * (1 - m0)) / (n1 + n0)
                gain += n1 * n0 / (n1 + n0) * apart**2 / (active.get(action, within) + MIN_VARIANCE)
        return bool(spreads) and gain < split_threshold(len(spreads), sum(spreads))

    def has_drifted(self, leaf, events, active):
        """Whether rewards of plays that are no longer remembered had other means, by twice the split threshold."""
        gain, spreads = 0.0, []
        for action in range(self.n_actions):
            now = [reward for _, chosen, reward in events if chosen == action]
            plays, usual = float(leaf.counts[action]), float(leaf.means[action])
            before = plays - len(now)
            if len(now) >= 2 and before >= 1 and before >= MIN_SHARE_EXPIRED * plays:
                mean = sum(now) / len(now)
                apart = (usual - mean) * plays / before
                once = mean + apart
                within = (len(now) * mean * (1 - mean) + before * once * (1 - once)) / plays
                gain += len(now) * before / plays * apart**2 / (active.get(action, max(within, 0.0)) + MIN_VARIANCE)
                spreads.append(usual * (1 - usual))
        ratio = max(leaf.counts.sum(), 1) / max(len(events), 1)
        return bool(spreads) and gain > 2 * split_threshold(len(spreads), sum(spreads), resampling_ratio=ratio)

    def check(self, leaf):
        """Reset a leaf that has drifted, prune its parent, or split it at the best cut above the threshold."""
        numbers = [number for number in reversed(leaf.events) if number >= self.oldest]  # newest first
        events = [self.history[number] for number in numbers]
        active = self.active_actions(events)
        if self.has_drifted(leaf, events, active):
            self.n_resets += 1
            leaf.counts[:], sums = 0, np.zeros(self.n_actions)
            for _, action, reward in events:
                leaf.counts[action] += 1
                sums[action] += reward
            leaf.steps = rounded((UNIT * sums + PRIOR * leaf.steps) / (leaf.counts + PRIOR))
            leaf.events = numbers[::-1]
            leaf.next_check = events_at_next_check(len(leaf.events), MIN_GROWTH)
            return
        parent = self.parent_of(leaf)
        if self.fails_pruning_test(parent, active):
            self.n_pruned += 1
            self.prune(parent)
            return
        growth = MAX_GROWTH
        if active and len(events) >= 2 * MIN_SIDE:
            gain, cut, n_tried = self.best_cut(events, active, leaf.number)
            ratio = max(leaf.counts.sum(), 1) / len(events)
            threshold = split_threshold(len(active), bernoulli_variance(events, active), max(n_tried, 1), ratio)
            if cut is not None and gain > threshold:
                first = self.allocate(leaf)
                if first is not None:
                    self.split(leaf, cut, numbers, first)
                    return
            growth = threshold / gain if gain > 0.0 else math.inf
        if len(numbers) < len(leaf.events) - LEAF_BLOCK:
            leaf.events = numbers[::-1]
        leaf.next_check = events_at_next_check(len(leaf.events), growth)

    def active_actions(self, events):
        """Actions with at least two rewards that are not all equal, and their variances."""
        found = {}
        for action in range(self.n_actions):
            rewards = [reward for _, chosen, reward in events if chosen == action]
            if len(rewards) >= 2 and np.var(rewards) > 1e-9:
                found[action] = float(np.var(rewards))
        return found

    def drawn_columns(self, number, n_events):
        """Half of the columns, by selection sampling from a key of the seed, the node and its number of events."""
        key = splitmix64(splitmix64(self.seed + number) + n_events)
        n_columns = len(self.is_categorical)
        wanted, drawn = (n_columns + 1) // 2, []
        for column in range(n_columns):
            key = splitmix64(key + 0x9E3779B97F4A7C15)
            if (key >> 32) * (n_columns - column) >> 32 < wanted:
                wanted -= 1
                drawn.append(column)
        return drawn

    def best_cut(self, events, active, number):
        """The first of the best cuts, and how many were tried."""
        best, found, n_tried = 0.0, None, 0
        for column in self.drawn_columns(number, len(events)):
            for cut in self.cuts_of(column, events, active):
                n_tried += 1
                is_left = [not goes_right(cut, row) for row, *_ in events]
                if min(sum(is_left), len(events) - sum(is_left)) < MIN_SIDE:
                    continue
                gain = self.split_gain(events, active, is_left)
                if gain > best:
                    best, found = gain, cut
        return best, found, n_tried

    def split_gain(self, events, active, is_left):
        """Sum over actions of (S1 - n1 S / n)^2 (n + 1) / ((n1 + 1/2) (n0 + 1/2)), each over its variance."""
        gain = 0.0
        for action, variance in active.items():
            own = [
                (reward, here) for (_, chosen, reward), here in zip(events, is_left, strict=True) if chosen == action
            ]
            left, all_of_it = [reward for reward, here in own if here], [reward for reward, _ in own]
            s1, s = sum(left), sum(all_of_it)
            n1, n = len(left), len(all_of_it)
            gain += (s1 - n1 * s / n) ** 2 * (n + 1) / ((n1 + 0.5) * (n - n1 + 0.5)) / (variance + MIN_VARIANCE)
        return gain

    def cuts_of(self, column, events, active):
        """All cuts of a column."""
        if self.is_bit[column]:
            return [Cut(column, 0.5, frozenset())]
        if self.is_categorical[column]:
            return [Cut(column, None, frozenset(codes)) for codes in self.category_sets(column, events, active)]
        return [Cut(column, float(point), frozenset()) for point in self.points(column, events)]

    def points(self, column, events):
        """Midpoints of neighbours in a sample of the leaf's own values, at most one for every `spacing` of these."""
        n = len(events)
        size = min(n, self.spacing * min(MAX_CUTS, n // MIN_SIDE) + 1)
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

    def category_sets(self, column, events, active):
        """Single categories but those of the lowest and highest mean, then those of the lowest means together."""
        means = {}
        for code in sorted({int(row[column]) for row, *_ in events}):
            paid = [reward for row, action, reward in events if int(row[column]) == code and action in active]
            means[code] = sum(paid) / (len(paid) + 1e-9)
        order = sorted(means, key=means.get)
        together = [order[:size] for size in range(1, len(order))]
        alone = [[code] for code in order[1:-1]]
        return alone + together

    def allocate(self, leaf):
        """The first of two node numbers: free, unused, or of the leaves whose split explains least, which is pruned."""
        if self.free:
            return self.free.pop()
        if self.n_nodes + 2 <= self.max_nodes:
            self.n_nodes += 2
            return self.n_nodes - 2
        start = splitmix64(self.seed + len(self.history)) % self.n_nodes
        order = [(start + 1 + step) % self.n_nodes for step in range(self.n_nodes)]
        prunable = [node for node in map(self.nodes.__getitem__, order) if node.children and is_prunable(node, leaf)]
        if not prunable:
            return None
        self.prune(min(prunable[:N_PRUNING_CANDIDATES], key=explained_variance))
        self.n_recycled += 1
        return self.free.pop()

    def prune(self, node):
        """Merge two leaves into their parent: their statistics, and those of their events that are remembered."""
        one, two = node.children
        weights = one.counts + PRIOR, two.counts + PRIOR
        node.steps = rounded((weights[0] * one.steps + weights[1] * two.steps) / (weights[0] + weights[1]))
        node.counts = one.counts + two.counts
        node.events = sorted(number for number in one.events + two.events if number >= self.oldest)
        node.newest = node.events[-1] if node.events else one.newest
        node.next_check = events_at_next_check(len(node.events), MAX_GROWTH)
        node.children, one.is_freed, two.is_freed = None, True, True
        del self.nodes[one.number], self.nodes[two.number]
        self.free.append(one.number)

    def split(self, leaf, cut, numbers, first):
        """Two leaves share the events; their means start from the parent's."""
        leaf.column, leaf.threshold, leaf.left_codes = cut.column, cut.threshold, cut.left_codes
        children = []
        for side in (False, True):
            events = [number for number in reversed(numbers) if leaf.goes_right(self.history[number][0]) == side]
            counts, sums = np.zeros(self.n_actions), np.zeros(self.n_actions)
            for number in events:
                _, action, reward = self.history[number]
                counts[action] += 1
                sums[action] += reward
            steps = rounded((UNIT * sums + PRIOR * leaf.steps) / (counts + PRIOR))
            next_check = max(FIRST_CHECK, events_at_next_check(len(events), MIN_GROWTH))
            number = first + len(children)
            children.append(Node(number, steps, counts, events, events[-1], next_check))
            self.nodes[number] = children[-1]
        leaf.children = tuple(children)


def bernoulli_variance(events, active):
    """The sum of mean (1 - mean) over the active actions."""
    means = [np.mean([reward for _, chosen, reward in events if chosen == action]) for action in active]
    return sum(mean * (1 - mean) for mean in means)


def goes_right(cut, row):
    """Numbers above the threshold and categories that are not in the set."""
    if cut.threshold is None:
        return int(row[cut.column]) not in cut.left_codes
    return bool(row[cut.column] > cut.threshold)


def is_prunable(node, leaf):
    """Whether a node's children are both leaves, and not the leaf that needs the nodes."""
    return not any(child.children or child is leaf for child in node.children)


def explained_variance(node):
    """What a split into two leaves explains of the variance of rewards, times the events that they remember."""
    one, two = node.children
    counts = one.counts + two.counts
    parts = one.counts * two.counts / np.maximum(counts, 1.0) * (one.means - two.means) ** 2.0
    return parts.sum() / max(counts.sum(), 1.0) * (len(one.events) + len(two.events))
