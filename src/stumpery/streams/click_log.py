"""A log of visitors and items of the shape of Adobe's, with known probabilities of a click."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stumpery.frames import make_frame
from stumpery.hashing import unit_hash
from stumpery.options import check_number, check_whole
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Floats, Integers

WORLD, EVENTS = range(2)  # what a seed's random numbers are for
N_FACTORS = 11
SHARED = 0.5  # correlation of the numbers of a factor
N_SAMPLE = 20_000  # rows by which the share of clicks is set


class ClickRows(NamedTuple):
    """A run of rows, what became of them, and the probability with which it did."""

    matrix: Floats  # (rows, columns): numbers, and names as hashes, as HashEncoder gives them
    clicks: Integers  # (rows,)
    probabilities: Floats  # (rows,)
    codes: Integers  # (rows, names): which name each is; -1 if missing


class World(NamedTuple):
    """What makes people click in one seed's world."""

    cuts: Floats  # (numbers, 2), infinite where there are fewer
    effects: Floats  # (numbers, 3): of each interval on the log odds
    popularity: list[Floats]  # for each name, up to each value
    name_effects: list[Floats]
    pairs: Integers  # (pairs, 2): a number and a name that matter together
    pair_effects: list[Floats]  # for each value of the name, where the number is above its cut
    pair_cuts: Floats
    intercept: float


@dataclass(kw_only=True)
class ClickLog:
    """Rows of 99 numbers and 21 names, the last one the option shown, of which 0.24 % are clicked.

    Numbers have one to three telling intervals each, as an offline analysis of Adobe's log found; correlated within
    factors, some heavy-tailed, some counts. Names have up to 37 values of unequal popularity. `n_pairs` pairs of a
    number and a name matter together. `strength` scales all effects on the log odds. Each value is missing with the
    probability `missing`. The same seed gives the same rows.

    >>> log = ClickLog()
    >>> rows = next(log.blocks(seed=7, size=6000))
    >>> rows.matrix.shape, bool((rows.probabilities > 0).all())
    ((6000, 120), True)
    """

    n_numbers: int = 99
    n_names: int = 21
    most_values: int = 37
    n_pairs: int = 20
    strength: float = 0.13
    rate: float = 0.0024
    missing: float = 0.02

    def __post_init__(self) -> None:
        check_whole("n_numbers", self.n_numbers, 1)
        check_whole("n_names", self.n_names, 1)
        check_whole("most_values", self.most_values, 2)
        check_whole("n_pairs", self.n_pairs, 0)
        check_number("strength", self.strength, 0, 1000)
        check_number("rate", self.rate, 1e-12, 1 - 1e-12)
        check_number("missing", self.missing, 0, 1, below=True)

    @property
    def kinds(self) -> dict[str, str]:
        """The columns and what they hold, as Schema.of takes them."""
        names = [f"name{place}" for place in range(self.n_names - 1)]
        numbers = {f"x{place}": "numerical" for place in range(self.n_numbers)}
        return {**numbers, **dict.fromkeys([*names, "option"], "categorical")}

    def blocks(self, *, seed: int, size: int) -> Iterator[ClickRows]:
        """Runs of `size` rows without end."""
        return (ClickRows(*run) for run in resized(self._rows(seed), size))

    def frame(self, rows: ClickRows) -> Any:
        """The rows as a frame of the first library installed among polars, pandas and pyarrow, names as strings."""
        kinds = list(self.kinds)
        numbers = dict(zip(kinds, rows.matrix[:, : self.n_numbers].T, strict=False))
        texts = np.array([*map(_text, range(self.most_values)), None], dtype=object)
        names = zip(kinds[self.n_numbers :], rows.codes.T, strict=True)
        return make_frame({**numbers, **{name: texts[column].tolist() for name, column in names}})

    def _rows(self, seed: int) -> Iterator[Arrays]:
        world = self._world(seed)
        rng = generator(seed, EVENTS)
        while True:
            latent, codes = self._draw(rng, BLOCK, world)
            odds = self._effects(world, latent, codes) + world.intercept
            probabilities = _probability(odds)
            clicks = (rng.random(BLOCK) < probabilities).astype(np.int64)
            yield self._matrix(latent, codes), clicks, probabilities, codes

    def _world(self, seed: int) -> World:
        rng = generator(seed, WORLD)
        n_intervals = rng.integers(1, 4, self.n_numbers)
        cuts = np.sort(rng.normal(0.0, 0.9, (self.n_numbers, 2)), axis=1)
        cuts[n_intervals < 3, 1] = np.inf
        cuts[n_intervals < 2, 0] = np.inf
        effects = rng.normal(0.0, self.strength, (self.n_numbers, 3)) * 1.6
        n_values = rng.integers(2, self.most_values + 1, self.n_names)
        n_values[-1] = self.most_values
        popularity = [_cumulative(rng.permutation(1.0 / np.arange(1, n + 1) ** 0.7)) for n in n_values]
        name_effects = [rng.normal(0.0, self.strength * 1.3, n) * (rng.random() < 0.6) for n in n_values]
        pairs = np.stack(
            [rng.integers(self.n_numbers, size=self.n_pairs), rng.integers(self.n_names, size=self.n_pairs)]
        )
        pair_effects = [rng.normal(0.0, self.strength * 2.0, n_values[name]) for name in pairs[1]]
        pair_cuts = rng.normal(0.0, 0.5, self.n_pairs)
        world = World(cuts, effects, popularity, name_effects, pairs.T, pair_effects, pair_cuts, 0.0)
        odds = self._effects(world, *self._draw(rng, N_SAMPLE, world))
        low, high = -30.0 - odds.max(), 30.0 - odds.min()
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if np.mean(_probability(odds + middle)) < self.rate else (low, middle)
        return world._replace(intercept=low)

    def _draw(self, rng: np.random.Generator, n: int, world: World) -> tuple[Floats, Integers]:
        """Normal numbers behind the numbers, and codes of names; NaN and -1 where missing."""
        factors = rng.standard_normal((n, N_FACTORS))
        latent = rng.standard_normal((n, self.n_numbers)) * np.sqrt(1.0 - SHARED)
        latent += np.sqrt(SHARED) * factors[:, np.arange(self.n_numbers) % N_FACTORS]
        probabilities = rng.random((n, self.n_names))
        codes = np.stack(
            [np.searchsorted(upto, column) for upto, column in zip(world.popularity, probabilities.T, strict=True)]
        )
        if self.missing > 0.0:
            latent[rng.random(latent.shape) < self.missing] = np.nan
            codes[rng.random(codes.shape) < self.missing] = -1
        return latent, codes.T

    def _effects(self, world: World, latent: Floats, codes: Integers) -> Floats:
        """What the columns of each row add to the log odds."""
        interval = (latent > world.cuts[:, 0]).astype(np.int64) + (latent > world.cuts[:, 1])
        each = world.effects[np.arange(self.n_numbers), interval]
        odds = np.where(np.isnan(latent), 0.0, each).sum(axis=1)
        for effects, column in zip(world.name_effects, codes.T, strict=True):
            odds += np.where(column < 0, 0.0, effects[column])
        for (number, name), effects, cut in zip(world.pairs, world.pair_effects, world.pair_cuts, strict=True):
            odds += np.where((latent[:, number] > cut) & (codes[:, name] >= 0), effects[codes[:, name]], 0.0)
        return np.asarray(odds)

    def _matrix(self, latent: Floats, codes: Integers) -> Floats:
        numbers = latent.copy()
        numbers[:, 1::3] = np.exp(numbers[:, 1::3])  # heavy tails
        numbers[:, 2::3] = np.floor(4.0 * numbers[:, 2::3])  # counts
        return np.concatenate([numbers, self._hashes[codes]], axis=1)

    @cached_property
    def _hashes(self) -> Floats:
        """The hash of each value's text; the last one, which -1 takes, is missing."""
        return np.array([*(unit_hash(_text(value)) for value in range(self.most_values)), np.nan])


def _probability(odds: Floats) -> Floats:
    """Log odds as probabilities; what is beyond 700 would overflow."""
    probabilities: Floats = 1.0 / (1.0 + np.exp(-np.maximum(odds, -700.0)))
    return probabilities


def _text(value: int) -> str:
    return f"v{value}"


def _cumulative(shares: Floats) -> Floats:
    upto: Floats = np.cumsum(shares / shares.sum())
    upto[-1] = 1.0
    return upto
