"""Classification turned into a bandit: the action that names the row's class pays 1, any other 0."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from stumpery.frames import n_rows
from stumpery.options import check_bool, check_number, listed, shown
from stumpery.streams import transforms
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Action, Batch, Integers

ORDER, FLIPS = range(2)  # what a seed's random numbers are for


@dataclass(kw_only=True, eq=False)
class ClassificationBandit:
    """Rows shuffled once per seed, played in a loop, each bit inverted with the probability `flip` at each step.

    With `flip=0.05` it is the stream of Féraud et al. (AISTATS 2016), section 5. Trials share the data:
    a seed costs one index.

    >>> stream = ClassificationBandit(contexts=np.array([[0], [1]]), labels=["no", "yes"], shuffle=False)
    >>> stream.actions
    ('no', 'yes')
    >>> batch = next(stream.batches(seed=7, size=3))
    >>> batch.contexts.tolist(), batch.rewards.tolist()
    ([[0], [1], [0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """

    contexts: Any = field(repr=False)  # a NumPy matrix, a frame, or None
    labels: Any = field(repr=False)  # a list, an array or a series
    actions: Sequence[Action] = ()  # the classes in order, unless given
    shuffle: bool = True
    loop: bool = True
    flip: float = 0.0
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))
    _codes: Integers = field(init=False, repr=False)  # (rows): the place of each row's class in `actions`

    def __post_init__(self) -> None:
        labels = _labels(self.labels)
        self.actions = _actions(self.actions) or _in_order(labels)
        self._codes = _codes(labels, self.actions)
        check_bool("shuffle", self.shuffle)
        check_bool("loop", self.loop)
        check_number("flip", self.flip, 0, 1)
        if self.contexts is None:
            if self.flip > 0:
                raise ValueError(f"flip is {self.flip!r}; it must be 0 where there are no contexts")
            return
        transforms.check_table("contexts", self.contexts)
        if isinstance(self.contexts, np.ndarray) and self.contexts.ndim != 2:
            raise ValueError(f"contexts has {self.contexts.ndim} dimensions; it must have 2")
        if n_rows(self.contexts) != len(labels):
            raise ValueError(f"contexts has {n_rows(self.contexts)} rows; it must have {len(labels)}, as labels has")
        if self.flip > 0:
            transforms.check_bits("contexts", self.contexts)

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Batches of `size` events; without `loop` the stream ends after one pass."""
        runs = resized(self._events(generator(seed, ORDER), generator(seed, FLIPS)), size)
        return (self._batch(*run) for run in runs)

    def _events(self, ordering: np.random.Generator, flipping: np.random.Generator) -> Iterator[Arrays]:
        """Which row each event shows and, where there are flips, which of its bits are inverted."""
        n_rows = len(self._codes)
        order = ordering.permutation(n_rows) if self.shuffle else np.arange(n_rows)
        start = 0
        while self.loop or start < n_rows:
            end = start + BLOCK if self.loop else min(start + BLOCK, n_rows)
            rows = order[np.arange(start, end) % n_rows]
            if self.flip > 0:
                yield rows, transforms.flips(flipping, (end - start, self.contexts.shape[1]), self.flip)
            else:
                yield (rows,)
            start = end

    def _batch(self, rows: Integers, mask: Any = None) -> Batch:
        rewards = (self._codes[rows][:, np.newaxis] == np.arange(len(self.actions))).astype(np.float64)
        contexts = None if self.contexts is None else transforms.take(self.contexts, rows)
        return Batch(contexts if mask is None else transforms.inverted(contexts, mask), rewards)


def _labels(labels: Any) -> list[Action]:
    """The labels as plain values, none of them missing."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        values: list[Any] = labels.tolist()
    elif isinstance(labels, list | tuple):
        values = _plain(labels)
    else:
        values = _column(labels).to_list()
    if not values:
        raise ValueError("labels is empty; it must have at least one row")
    n_wrong = sum(not _is_label(value) for value in values)
    if n_wrong:
        raise ValueError(f"labels has {n_wrong} missing or unusable values; each must be text or a number")
    return values


def _column(labels: Any) -> nw.Series[Any]:
    try:
        return nw.from_native(labels, series_only=True)
    except TypeError:
        kind = f"{labels.ndim}-dimensional array" if isinstance(labels, np.ndarray) else type(labels).__name__
        raise ValueError(f"labels is a {kind}; it must be a list, a series or an array of 1 dimension") from None


def _actions(actions: Any) -> tuple[Action, ...]:
    if isinstance(actions, Iterable) and not isinstance(actions, str | bytes):
        values = _plain(actions)
        if all(map(_is_label, values)):
            return tuple(values)
    raise ValueError(f"actions is {shown(actions)}; it must be a list of text or numbers")


def _plain(values: Iterable[Any]) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float) and not (isinstance(value, float) and math.isnan(value))


def _in_order(labels: list[Action]) -> tuple[Action, ...]:
    """The distinct labels, numbers before text."""
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))


def _codes(labels: list[Action], actions: Sequence[Action]) -> Integers:
    place = {action: code for code, action in enumerate(actions)}
    if len(place) < len(actions):
        raise ValueError(f"actions is {shown(actions)}; each action must be named once")
    unknown = set(labels) - set(place)
    if unknown:
        raise ValueError(
            f"labels has {listed(_in_order(list(unknown)))}; each must be one of the actions {listed(actions)}"
        )
    return np.array([place[label] for label in labels])
