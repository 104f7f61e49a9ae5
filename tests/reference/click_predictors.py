"""Click predictors in plain Python, straight from the definitions."""

import math

from tests.reference import quantiles

BUFFER_SIZE, REFIT_SHARE = 32, 32  # a predictor is fitted again when 1 / REFIT_SHARE more events have come


def m_estimate(clicks, count, prior, m):
    """The probability of a click, shrunk towards the prior, which counts for m events."""
    return (clicks + m * prior) / (count + m)


def gini(p):
    return p * (1.0 - p)


class BufferedSummary:
    """A quantile summary that takes BUFFER_SIZE values at a time."""

    def __init__(self, most):
        self.summary = quantiles.Summary(most, BUFFER_SIZE, 2)
        self.buffer = []

    def add(self, value, label, weight):
        """Whether the buffered values went in."""
        self.buffer.append((value, label, weight))
        if len(self.buffer) == BUFFER_SIZE:
            self.flush()
        return not self.buffer

    def flush(self):
        pairs = [(value, label) for value, label, weight in self.buffer for _ in range(weight)]
        joined = quantiles.interleave(self.summary.items, quantiles.exact(pairs, 2))
        self.summary.items, self.buffer = self.summary.shorten(joined), []

    @property
    def items(self):
        return self.summary.items


def split_impurity(left, right, prior, m, weighted):
    """Left and right are (no clicks, clicks)."""
    sides = [(sum(side), gini(m_estimate(side[1], sum(side), prior, m))) for side in (left, right)]
    if weighted:
        return sum(n * each for n, each in sides) / sum(n for n, _ in sides)
    return sum(each for _, each in sides)


def class_counts(items):
    return [sum(item.counts[label] for item in items) for label in (0, 1)]


def best_cut(items, prior, m, weighted):
    """How many items go left in the best cut, and what it gains."""
    scored = [
        (split_impurity(class_counts(items[:place]), class_counts(items[place:]), prior, m, weighted), place)
        for place in range(1, len(items))
    ]
    if not scored:
        return None, 0.0
    least, place = min(scored)
    total = class_counts(items)
    whole = gini(m_estimate(total[1], sum(total), prior, m))
    return place, (whole if weighted else 2 * whole) - least


class Univariate:
    """One predictor of one value."""

    def __init__(
        self,
        kind,
        *,
        prior=0.0025,
        m=100.0,
        weighted=True,
        most=100,
        min_samples_split=1000,
        n_leaves=16,
        binary=False,
        contributes=False,
    ):
        self.kind, self.prior, self.m, self.weighted, self.binary = kind, prior, m, weighted, binary
        self.min_samples_split, self.n_leaves, self.contributes = min_samples_split, n_leaves, contributes
        self.missing_contribution = 0.0
        self.stream, self.missing, self.due = BufferedSummary(most), [0, 0], 0
        self.leaves = [(math.inf, prior)]  # upper ends and probabilities

    def learn(self, value, label, weight=1):
        if math.isnan(value):
            self.missing[label] += weight
            base = self.estimate([a + b for a, b in zip(class_counts(self.stream.items), self.missing, strict=True)])
            self.missing_contribution = math.log(m_estimate(self.missing[1], sum(self.missing), base, self.m) / base)
        elif self.stream.add(value, label, weight):
            total = sum(class_counts(self.stream.items))
            if total >= self.due:
                self.due = total + total // REFIT_SHARE
                self.leaves = getattr(self, self.kind)(self.stream.items)
                if self.contributes:
                    base = self.estimate(
                        [a + b for a, b in zip(class_counts(self.stream.items), self.missing, strict=True)]
                    )
                    self.leaves = [(end, math.log(found / base)) for end, found in self.leaves]

    def predict(self, value):
        if math.isnan(value):
            if self.contributes:
                return self.missing_contribution
            n = sum(self.missing)
            return self.prior if self.binary or not n else m_estimate(self.missing[1], n, self.prior, self.m)
        return next(found for end, found in self.leaves if value <= end)

    def estimate(self, counts):
        return m_estimate(counts[1], sum(counts), self.prior, self.m)

    def stump(self, items):
        place, _ = best_cut(items, self.prior, self.m, self.weighted)
        if place is None:
            return [(math.inf, self.estimate(class_counts(items)))]
        left, right = items[:place], items[place:]
        return [(left[-1].value, self.estimate(class_counts(left))), (math.inf, self.estimate(class_counts(right)))]

    def interval(self, items, pairs):
        scored = []
        for low, high in pairs:
            inside, outside = class_counts(items[low:high]), class_counts(items[:low] + items[high:])
            if sum(outside) and high - low < len(items):
                found = split_impurity(inside, outside, self.prior, self.m, self.weighted)
                scored.append((found, low, high, self.estimate(inside), self.estimate(outside)))
        if not scored:
            return [(math.inf, self.estimate(class_counts(items)))]
        _, low, high, inside, outside = min(scored)
        if self.binary:
            inside, outside = (1.0, 0.0) if inside > outside else (0.0, 1.0)
        found = [(items[low - 1].value, outside)] if low else []
        found += [(items[high - 1].value if high < len(items) else math.inf, inside)]
        return found + ([(math.inf, outside)] if high < len(items) else [])

    def one_versus_all(self, items):
        return self.interval(items, [(low, low + 1) for low in range(len(items))])

    def one_rule(self, items):
        n = len(items)
        return self.interval(items, [(low, high) for low in range(n) for high in range(low + 1, n + 1)])

    def tree(self, items):
        def leaf(here, parent, is_root=False):
            """Items, the probability of a click among them, their best cut, and what all of them gain by it."""
            counts = class_counts(here)
            own = m_estimate(counts[1], sum(counts), parent, self.m)
            if not is_root and sum(counts) < self.min_samples_split:
                return here, own, None, 0.0
            place, gain = best_cut(here, self.prior if is_root else own, self.m, self.weighted)
            return here, own, place, sum(counts) * gain

        leaves = [leaf(items, self.prior, is_root=True)]
        while len(leaves) < self.n_leaves:
            can_be_cut = [number for number, (_, _, place, _) in enumerate(leaves) if place is not None]
            if not can_be_cut:
                break
            best = max(can_be_cut, key=lambda number: leaves[number][3])
            here, own, place, _ = leaves[best]
            leaves[best : best + 1] = [leaf(here[:place], own), leaf(here[place:], own)]
        ends = [here[-1].value for here, *_ in leaves[:-1]] + [math.inf]
        return list(zip(ends, [own for _, own, *_ in leaves], strict=True))


class HoeffdingTree:
    """A tree of dicts."""

    def __init__(self, features, *, prior, m, grace, delta, tau, max_depth):
        self.features, self.prior, self.m, self.grace = features, prior, m, grace
        self.delta, self.tau, self.max_depth = delta, tau, max_depth
        self.root = self.leaf(0, prior)

    def leaf(self, depth, prior):
        streams = {feature: BufferedSummary(100) for feature in self.features} if depth < self.max_depth else None
        return {"depth": depth, "counts": [0, 0], "probability": prior, "streams": streams, "since": 0, "cut": None}

    def path(self, row):
        nodes = [self.root]
        while nodes[-1]["cut"]:
            feature, threshold, children = nodes[-1]["cut"]
            value = row[feature]
            nodes.append(children[2 if math.isnan(value) else int(value > threshold)])
        return nodes

    def predict(self, row):
        return self.path(row)[-1]["probability"]

    def learn(self, row, label, weight=1):
        parent = self.prior
        for node in self.path(row):
            node["counts"][label] += weight
            node["probability"] = parent = m_estimate(node["counts"][1], sum(node["counts"]), parent, self.m)
        if node["streams"] is None:
            return
        for feature, stream in node["streams"].items():
            if not math.isnan(row[feature]):
                stream.add(row[feature], label, weight)
        node["since"] += weight
        if node["since"] >= self.grace:
            node["since"] = 0
            self.try_split(node)

    def try_split(self, node):
        scored = []
        for place, (feature, stream) in enumerate(node["streams"].items()):
            if stream.buffer:
                stream.flush()
            cut, gain = best_cut(stream.items, node["probability"], self.m, True)
            if cut is not None and gain > 0.0:
                scored.append((-gain, place, feature, cut, stream.items))
        if not scored:
            return
        scored.sort(key=lambda entry: entry[:2])
        gains = [-entry[0] for entry in scored]
        bound = math.sqrt(math.log(1.0 / self.delta) / (2.0 * sum(node["counts"])))
        if not (gains[0] - (gains[1] if len(gains) > 1 else 0.0) > bound or bound < self.tau):
            return
        _, _, feature, cut, items = scored[0]
        children = [self.leaf(node["depth"] + 1, node["probability"]) for _ in range(3)]
        for child, part in zip(children, (items[:cut], items[cut:], []), strict=True):
            child["counts"] = class_counts(part) if part else [0, 0]
            child["probability"] = m_estimate(child["counts"][1], sum(child["counts"]), node["probability"], self.m)
        node["cut"], node["streams"] = (feature, items[cut - 1].value, children), None
