"""The quantile summary as lists of plain tuples, step by step."""

from bisect import insort
from collections import namedtuple

Tuple = namedtuple("Tuple", "value counts delta pure")


def gap(item):
    return item.delta if item.pure else sum(item.counts) + item.delta - 1


def exact(pairs, n_classes):
    """Sorted (value, label) pairs as tuples that know everything."""
    found = []
    for value, label in sorted(pairs):
        if not found or found[-1].value != value:
            found.append(Tuple(value, [0] * n_classes, 0, True))
        found[-1].counts[label] += 1
    return found


def interleave(a, b):
    a, b, joined = list(a), list(b), []
    while a or b:
        if a and b and a[0].value == b[0].value and a[0].pure and b[0].pure:
            first, second = a.pop(0), b.pop(0)
            both = [x + y for x, y in zip(first.counts, second.counts, strict=True)]
            joined.append(Tuple(first.value, both, first.delta + second.delta, True))
            continue
        a_first = bool(a) and (not b or a[0].value < b[0].value or (a[0].value == b[0].value and not a[0].pure))
        mine, other = (a, b) if a_first else (b, a)
        item = mine.pop(0)
        joined.append(item._replace(delta=item.delta + (gap(other[0]) if other else 0)))
    return joined


def unite(items, limit):
    left = items[:1]
    for item in items[1:]:
        if len(left) > 1:
            counts = [x + y for x, y in zip(left[-1].counts, item.counts, strict=True)]
            if sum(counts) + item.delta - 1 <= limit:
                left[-1] = Tuple(item.value, counts, item.delta, False)
                continue
        left.append(item)
    return left


class Summary:
    """A fixed number of tuples, or an error."""

    def __init__(self, max_size, buffer_size, n_classes, epsilon=0.0):
        self.max_size, self.buffer_size, self.n_classes, self.epsilon = max_size, buffer_size, n_classes, epsilon
        self.items, self.buffer, self.share = [], [], 0.0

    def add(self, value, label=0):
        if len(self.buffer) == self.buffer_size:
            self.items = self.shorten(interleave(self.items, exact(self.buffer, self.n_classes)))
            self.buffer = []
        insort(self.buffer, (value, label))

    def shorten(self, items):
        total = sum(sum(item.counts) for item in items)
        if self.epsilon:
            items = unite(items, int(2.0 * self.epsilon * total))
        if len(items) > self.max_size:
            share = max(self.share * (1.0 - 1.0 / 64.0), 1.0 / self.max_size)
            while len(unite(items, int(share * total))) > self.max_size:
                share *= 1.0 + 1.0 / 128.0
            self.share = share
            items = unite(items, int(share * total))
        return items

    def whole(self):
        return interleave(self.items, exact(self.buffer, self.n_classes))
