"""Classification dataset as a contextual bandit: the action equal to the row's class pays 1, any other 0."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import n_rows
from stumpery.options import check_bool, check_number, listed, shown
from stumpery.streams import transforms
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Action, Batch, Integers

ORDER, FLIPS = range(2)  # independent random streams of a seed


@dataclass(kw_only=True, eq=False)
class ClassificationBandit:
    """Classification dataset as a contextual bandit: actions are classes, and the right class pays 1.

    With `flip=0.05` it is the stream of Féraud et al. (AISTATS 2016), section 5. Trials share the data; each seed only
    needs its own row order.

    Args:
        contexts: A NumPy matrix, a frame, or None for a bandit without contexts.
        labels: The class of each row: a list, an array or a series of text or numbers.
        actions: The actions in order, all classes among them; by default the classes, sorted.
        shuffle: Whether rows are shuffled, once per seed.
        loop: Whether the stream repeats the rows endlessly; otherwise it ends after one pass.
        flip: Probability, 0 to 1, that a bit is inverted, drawn for each event; contexts must then be bits.

    >>> stream = ClassificationBandit(contexts=np.array([[0], [1]]), labels=["no", "yes"], shuffle=False)
    >>> stream.actions
    ('no', 'yes')
    >>> batch = next(stream.batches(seed=7, size=3))
    >>> batch.contexts.tolist(), batch.rewards.tolist()
    ([[0], [1], [0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """

    contexts: Any = field(repr=False)
    labels: Any = field(repr=False)
    actions: Sequence[Action] = ()
    shuffle: bool = True
    loop: bool = True
    flip: float = 0.0
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))
    _codes: Integers = field(init=False, repr=False)  # (rows,): index of each row's class in `actions`

    def __post_init__(self) -> None:
        labels = _labels(self.labels)
        self.actions = _actions(self.actions) or _in_order(labels)
        self._codes = _codes(labels, self.actions)
        check_bool("shuffle", self.shuffle)
        check_bool("loop", self.loop)
        check_number("flip", self.flip, 0, 1)
        if self.contexts is None:
            if self.flip > 0:
                raise InvalidInput(f"flip is {self.flip!r}; it must be 0 where there are no contexts")
            return
        transforms.check_table("contexts", self.contexts)
        if isinstance(self.contexts, np.ndarray) and self.contexts.ndim != 2:
            raise InvalidInput(f"contexts has {self.contexts.ndim} dimensions; it must have 2")
        if n_rows(self.contexts) != len(labels):
            raise InvalidInput(f"contexts has {n_rows(self.contexts)} rows; it must have {len(labels)}, as labels has")
        if self.flip > 0:
            transforms.check_bits("contexts", self.contexts)

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Batches of `size` events; without `loop` the stream ends after one pass."""
        runs = resized(self._events(generator(seed, ORDER), generator(seed, FLIPS)), size)
        return (self._batch(*run) for run in runs)

    def _events(self, ordering: np.random.Generator, flipping: np.random.Generator) -> Iterator[Arrays]:
        """The row of each event and, with flips, which of its bits are inverted."""
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
    """The labels as Python values, none of them missing."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        values: list[Any] = labels.tolist()
    elif isinstance(labels, list | tuple):
        values = _plain(labels)
    else:
        values = _column(labels).to_list()
    if not values:
        raise InvalidInput("labels is empty; it must have at least one row")
    n_wrong = sum(not _is_label(value) for value in values)
    if n_wrong:
        raise InvalidInput(f"labels has {n_wrong} missing or unusable values; each must be text or a number")
    return values


def _column(labels: Any) -> nw.Series[Any]:
    try:
        return nw.from_native(labels, series_only=True)
    except TypeError:
        kind = f"{labels.ndim}-dimensional array" if isinstance(labels, np.ndarray) else type(labels).__name__
        raise InvalidInput(f"labels is a {kind}; it must be a list, a series or an array of 1 dimension") from None


def _actions(actions: Any) -> tuple[Action, ...]:
    if isinstance(actions, Iterable) and not isinstance(actions, str | bytes):
        values = _plain(actions)
        if all(map(_is_label, values)):
            return tuple(values)
    raise InvalidInput(f"actions is {shown(actions)}; it must be a list of text or numbers")


def _plain(values: Iterable[Any]) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float) and not (isinstance(value, float) and math.isnan(value))


def _in_order(labels: list[Action]) -> tuple[Action, ...]:
    """The distinct labels, numbers before text."""
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))


def _codes(labels: list[Action], actions: Sequence[Action]) -> Integers:
    codes = {action: code for code, action in enumerate(actions)}
    if len(codes) < len(actions):
        raise InvalidInput(f"actions is {shown(actions)}; each action must be named once")
    unknown = set(labels) - set(codes)
    if unknown:
        raise InvalidInput(
            f"labels has {listed(_in_order(list(unknown)))}; each must be one of the actions {listed(actions)}"
        )
    return np.array([codes[label] for label in labels])
