"""Generator of poker hands from a full deck: UCI's Poker Hand problem as an endless stream.

Columns are S1, C1, ..., S5, C5: suits 1 to 4 and ranks 1 (ace) to 13 (king). The class is 0 nothing,
1 one pair, 2 two pairs, 3 three of a kind, 4 straight, 5 flush, 6 full house, 7 four of a kind,
8 straight flush, 9 royal flush.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stumpery.errors import InvalidInput
from stumpery.options import check_whole
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Batch, Integers

COLUMNS = tuple(f"{kind}{card}" for card in range(1, 6) for kind in "SC")
N_CLASSES = 10

# The number of pairs of cards with equal rank (0 to 6, never 5) determines the class.
CLASS_OF_EQUAL_PAIRS = np.array([0, 1, 2, 3, 6, -1, 7])
STRAIGHT, FLUSH, STRAIGHT_FLUSH, ROYAL_FLUSH = 4, 5, 8, 9


@dataclass(kw_only=True)
class PokerHands:
    """Poker bandit: hands as contexts, the ten classes as actions; the right class pays 1.

    >>> cards, labels = PokerHands().rows(2, seed=7)
    >>> cards.shape, poker_class(cards).tolist() == labels.tolist()
    ((2, 10), True)
    >>> next(PokerHands().batches(seed=7, size=2)).rewards.argmax(axis=1).tolist() == labels.tolist()
    True
    """

    actions: range = field(init=False, repr=False, default=range(N_CLASSES))
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` hands; rewards are deterministic, so `expected` equals them."""
        return (_batch(cards, labels) for cards, labels in resized(_hands(generator(seed)), size))

    def rows(self, n: int, *, seed: int) -> tuple[Integers, Integers]:
        """The first `n` hands of a seed as a matrix of `COLUMNS`, and their classes."""
        check_whole("n", n, 1)
        cards, labels = next(resized(_hands(generator(seed)), n))
        return cards, labels


def poker_class(cards: ArrayLike) -> Integers:
    """The class of each hand, from a matrix of `COLUMNS`.

    Args:
        cards: A row for each hand: the suits, from 1 to 4, and the ranks, from 1 to 13, of five cards.

    >>> poker_class([[1, 10, 1, 11, 1, 13, 1, 12, 1, 1], [1, 2, 2, 2, 3, 7, 4, 7, 1, 7]]).tolist()
    [9, 6]
    """
    table = np.asarray(cards)
    _check_hands(table)
    suits, ranks = table[:, ::2].T.astype(np.int8), table[:, 1::2].T.astype(np.int8)
    n_equal = sum((ranks[i] == ranks[j]).astype(np.int8) for i, j in combinations(range(5), 2))
    labels: Integers = CLASS_OF_EQUAL_PAIRS[n_equal]
    high = np.where(ranks == 1, 14, ranks)
    broadway = high.min(axis=0) == 10
    run = (np.ptp(ranks, axis=0) == 4) | (np.ptp(high, axis=0) == 4)
    straight = run & (labels == 0)
    flush = (suits == suits[0]).all(axis=0)
    labels[straight] = STRAIGHT
    labels[flush] = FLUSH
    labels[straight & flush] = STRAIGHT_FLUSH
    labels[flush & broadway] = ROYAL_FLUSH
    return labels


def _batch(cards: Integers, labels: Integers) -> Batch:
    rewards = (labels[:, np.newaxis] == np.arange(N_CLASSES)).astype(np.float64)
    return Batch(cards, rewards, rewards.copy())


def _hands(rng: np.random.Generator) -> Iterator[Arrays]:
    while True:
        deck = _distinct(rng)
        cards = np.empty((BLOCK, len(COLUMNS)), np.int64)
        cards[:, ::2], cards[:, 1::2] = deck // 13 + 1, deck % 13 + 1
        yield cards, poker_class(cards)


def _distinct(rng: np.random.Generator) -> Integers:
    """Draw five distinct cards out of 52 per row; each draw numbers the cards left in the deck."""
    drawn = np.empty((BLOCK, 5), np.int64)
    for position in range(5):
        card = rng.integers(52 - position, size=BLOCK)
        for taken in np.sort(drawn[:, :position], axis=1).T:
            card += card >= taken
        drawn[:, position] = card
    return drawn


def _check_hands(table: NDArray[Any]) -> None:
    if table.ndim != 2 or table.shape[1] != len(COLUMNS) or table.dtype.kind not in "iu":
        raise InvalidInput(
            f"cards is {table.dtype} of shape {table.shape}; it must be a matrix of whole numbers "
            f"with the columns {', '.join(COLUMNS)}"
        )
    suits, ranks = table[:, ::2], table[:, 1::2]
    if ((suits < 1) | (suits > 4) | (ranks < 1) | (ranks > 13)).any():
        raise InvalidInput("cards has an unknown card; suits must be from 1 to 4 and ranks from 1 to 13")
    codes = np.sort(suits.astype(np.int64) * 13 + ranks, axis=1)
    if (codes[:, 1:] == codes[:, :-1]).any():
        raise InvalidInput("cards has the same card twice in a hand; the five must differ")
