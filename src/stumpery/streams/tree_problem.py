"""Generator of contextual bandits from a random decision tree, with exactly known regret."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import make_frame, open_frame
from stumpery.options import check_number, check_one_of, check_whole, shown
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.streams.random_tree import Tree, leaves, new_tree
from stumpery.types import Batch, Floats, Integers

CATEGORIES = ("amber", "blue", "coral", "dun")
TREE, LEAF_MEANS, TREE_EVENTS = range(3)  # independent random streams of a seed


@dataclass(kw_only=True)
class TreeProblem:
    """Contextual bandit from a random decision tree: in each leaf one action is best, and all means are known.

    In a leaf the best action pays 1 with probability `1 - noise / 2`, any other with a probability lower by at least
    `(1 - noise) * gap`. Numbers are uniform on [0, 1), categories are a few words. Contexts are a float64 matrix when
    `n_names` is 0, else a frame of the first library installed among polars, pandas and pyarrow, with the columns x0,
    x1, ... and then name0, name1, ...

    Args:
        n_columns: Number of columns, 1 or more.
        n_names: How many of the columns are categorical; at least one column is numerical.
        depth: Depth of the tree, 1 to 16; it has 2**depth leaves.
        n_actions: Number of actions, 2 or more.
        gap: Least difference between the best action and others in a leaf, 0 to 1, before noise.
        noise: Noise of rewards, at least 0 and below 1: all probabilities shrink towards 1/2.
        missing: Probability that a value is missing (NaN or None), at least 0 and below 1; the tree branches on it.
        drift: "abrupt": leaves get new means every `drift_every` events. "gradual": means change linearly over these
            events. None: no drift.
        drift_every: Events between two drifts, 1 or more.

    >>> stream = TreeProblem(n_names=0, depth=2, n_actions=3)
    >>> batch = next(stream.batches(seed=7, size=1000))
    >>> bool((stream.best_action(batch.contexts, seed=7) == batch.expected.argmax(axis=1)).all())
    True
    """

    n_columns: int = 10
    n_names: int = 3
    depth: int = 5
    n_actions: int = 5
    gap: float = 0.2
    noise: float = 0.1
    missing: float = 0.0
    drift: Literal["abrupt", "gradual"] | None = None
    drift_every: int = 10_000
    actions: range = field(init=False, repr=False)
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))

    def __post_init__(self) -> None:
        check_whole("n_columns", self.n_columns, 1)
        check_whole("n_names", self.n_names, 0, self.n_columns - 1)
        check_whole("depth", self.depth, 1, 16)
        check_whole("n_actions", self.n_actions, 2)
        check_number("gap", self.gap, 0, 1)
        check_number("noise", self.noise, 0, 1, below=True)
        check_number("missing", self.missing, 0, 1, below=True)
        check_whole("drift_every", self.drift_every, 1)
        check_one_of("drift", self.drift, [None, "abrupt", "gradual"])
        self.actions = range(self.n_actions)

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` events, with the exact means as `expected`."""
        runs = resized(self._events(seed, self._tree(seed)), size)
        return (Batch(self._contexts(values), rewards, expected) for values, rewards, expected in runs)

    def expected(self, contexts: Any, *, seed: int, event: int | Integers = 0) -> Floats:
        """The mean reward of each action, (rows, actions), at one event or at one event per row."""
        values = self._values(contexts)
        events = np.asarray(event)
        if events.dtype.kind not in "iu" or (events < 0).any() or events.shape not in {(), (len(values),)}:
            raise InvalidInput(f"event is {shown(event)}; it must be a whole number of 0 or more, or one for each row")
        return self._means(seed, leaves(self._tree(seed), values), np.broadcast_to(events, len(values)))

    def best_action(self, contexts: Any, *, seed: int, event: int | Integers = 0) -> Integers:
        """The action with the highest mean reward in each context."""
        best: Integers = self.expected(contexts, seed=seed, event=event).argmax(axis=1)
        return best

    @property
    def _n_numbers(self) -> int:
        return self.n_columns - self.n_names

    def _tree(self, seed: int) -> Tree:
        return new_tree(
            generator(seed, TREE),
            depth=self.depth,
            n_numbers=self._n_numbers,
            n_names=self.n_names,
            n_codes=len(CATEGORIES),
        )

    def _events(self, seed: int, tree: Tree) -> Iterator[Arrays]:
        rng = generator(seed, TREE_EVENTS)
        start = 0
        while True:
            values = rng.random((BLOCK, self.n_columns))
            values[:, self._n_numbers :] = np.floor(values[:, self._n_numbers :] * len(CATEGORIES))
            if self.missing > 0:
                values[rng.random(values.shape) < self.missing] = np.nan
            expected = self._means(seed, leaves(tree, values), np.arange(start, start + BLOCK))
            yield values, (rng.random(expected.shape) < expected).astype(np.float64), expected
            start += BLOCK

    def _means(self, seed: int, leaf: Integers, events: Integers) -> Floats:
        if self.drift is None:
            return self._leaf_means(seed, 0)[leaf]
        phase = events // self.drift_every
        phases = np.union1d(phase, phase + 1)
        means = np.array([self._leaf_means(seed, number) for number in phases.tolist()])
        current: Floats = means[np.searchsorted(phases, phase), leaf]
        if self.drift == "abrupt":
            return current
        following: Floats = means[np.searchsorted(phases, phase + 1), leaf]
        progress = events % self.drift_every / self.drift_every
        return current + progress[:, np.newaxis] * (following - current)

    def _leaf_means(self, seed: int, phase: int) -> Floats:
        """The mean rewards in each leaf, (leaves, actions), during one phase of the drift."""
        rng = generator(seed, LEAF_MEANS, phase)
        n_leaves = 2**self.depth
        means = rng.uniform(0, 1 - self.gap, (n_leaves, self.n_actions))
        means[np.arange(n_leaves), rng.integers(self.n_actions, size=n_leaves)] = 1
        return self.noise / 2 + (1 - self.noise) * means

    def _contexts(self, values: Floats) -> Any:
        """The values as contexts for a policy."""
        if self.n_names == 0:
            return values
        words = np.array([*CATEGORIES, None], dtype=object)
        codes = np.nan_to_num(values[:, self._n_numbers :], nan=-1).astype(np.int64)
        numbers = {f"x{index}": column for index, column in enumerate(values[:, : self._n_numbers].T)}
        names = {f"name{index}": words[column].tolist() for index, column in enumerate(codes.T)}
        return make_frame(numbers | names)

    def _values(self, contexts: Any) -> Floats:
        """The values of contexts, inverse of `_contexts`."""
        if self.n_names == 0:
            values = np.asarray(contexts, dtype=np.float64)
            if values.ndim != 2 or values.shape[1] != self.n_columns:
                raise InvalidInput(f"contexts has the shape {values.shape}; it must have {self.n_columns} columns")
            return values
        frame = open_frame("contexts", contexts, "a frame, as `batches` gives it")
        code_of = {name: code for code, name in enumerate(CATEGORIES)}
        numbers = [frame[f"x{column}"].to_numpy() for column in range(self._n_numbers)]
        names = [[code_of.get(name, np.nan) for name in frame[f"name{column}"]] for column in range(self.n_names)]
        return np.column_stack([*numbers, *names]).astype(np.float64)
