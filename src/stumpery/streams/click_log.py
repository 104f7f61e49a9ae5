"""Generator of a click log like Adobe's, with known click probabilities."""

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

LOG_PARAMETERS, LOG_EVENTS = range(2)  # independent random streams of a seed
N_FACTORS = 11
FACTOR_CORRELATION = 0.5  # of numbers with the same factor
N_SAMPLE = 20_000  # rows that calibrate the click rate


class ClickRows(NamedTuple):
    """Rows of a click log as arrays, their clicks, and the click probabilities behind them.

    Args:
        matrix: Numbers, and categories as hashes, as `HashEncoder` gives them: (rows, columns).
        clicks: 1 where the row was clicked, else 0: (rows,).
        probabilities: Click probability of each row, from 0 to 1: (rows,).
        codes: Index of each category within its column, -1 where it is missing: (rows, categorical columns).

    >>> rows = next(ClickLog(n_numbers=2, n_names=3).blocks(seed=7, size=100))
    >>> rows.matrix.shape, rows.clicks.shape, rows.codes.shape
    ((100, 5), (100,), (100, 3))
    """

    matrix: Floats
    clicks: Integers
    probabilities: Floats
    codes: Integers


class ClickProbabilities(NamedTuple):
    """The parameters of a seed's click probabilities."""

    cuts: Floats  # (numbers, 2), infinite where there are fewer
    effects: Floats  # (numbers, 3): of each interval on the log odds
    popularity: list[Floats]  # cumulative, for each categorical column
    name_effects: list[Floats]
    pairs: Integers  # (pairs, 2): a numerical and a categorical column that interact
    pair_effects: list[Floats]  # for each value of the name, where the number is above its cut
    pair_cuts: Floats
    intercept: float


@dataclass(kw_only=True)
class ClickLog:
    """Click log generator: rows of numbers and categories, of which few are clicked.

    The defaults imitate Adobe's log: numbers have one to three intervals of different click rates, are correlated
    within factors, some heavy-tailed, some counts. Categories are of unequal popularity. The last categorical column
    is the option shown.

    Args:
        n_numbers: Number of numerical columns, 1 or more.
        n_names: Number of categorical columns, 1 or more.
        most_values: Largest number of categories of a column, 2 or more.
        n_pairs: Number of interacting pairs of a numerical and a categorical column.
        strength: Scale of all effects on the log odds, 0 to 1000.
        rate: Mean click probability, above 0 and below 1.
        missing: Probability that a value is missing, at least 0 and below 1.

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
        """The kinds of the columns, as `Schema.of` takes them."""
        names = [f"name{column}" for column in range(self.n_names - 1)]
        numbers = {f"x{column}": "numerical" for column in range(self.n_numbers)}
        return {**numbers, **dict.fromkeys([*names, "option"], "categorical")}

    def blocks(self, *, seed: int, size: int) -> Iterator[ClickRows]:
        """Endless runs of `size` rows."""
        return (ClickRows(*run) for run in resized(self._rows(seed), size))

    def frame(self, rows: ClickRows) -> Any:
        """The rows as a frame of the first library installed among polars, pandas and pyarrow, names as strings."""
        kinds = list(self.kinds)
        numbers = dict(zip(kinds, rows.matrix[:, : self.n_numbers].T, strict=False))
        texts = np.array([*map(_text, range(self.most_values)), None], dtype=object)
        names = zip(kinds[self.n_numbers :], rows.codes.T, strict=True)
        return make_frame({**numbers, **{name: texts[column].tolist() for name, column in names}})

    def _rows(self, seed: int) -> Iterator[Arrays]:
        model = self._click_model(seed)
        rng = generator(seed, LOG_EVENTS)
        while True:
            latent, codes = self._draw(rng, BLOCK, model)
            odds = self._effects(model, latent, codes) + model.intercept
            probabilities = _probability(odds)
            clicks = (rng.random(BLOCK) < probabilities).astype(np.int64)
            yield self._matrix(latent, codes), clicks, probabilities, codes

    def _click_model(self, seed: int) -> ClickProbabilities:
        rng = generator(seed, LOG_PARAMETERS)
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
        model = ClickProbabilities(cuts, effects, popularity, name_effects, pairs.T, pair_effects, pair_cuts, 0.0)
        odds = self._effects(model, *self._draw(rng, N_SAMPLE, model))
        low, high = -30.0 - odds.max(), 30.0 - odds.min()
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if np.mean(_probability(odds + middle)) < self.rate else (low, middle)
        return model._replace(intercept=low)

    def _draw(self, rng: np.random.Generator, n: int, model: ClickProbabilities) -> tuple[Floats, Integers]:
        """Draw the latent normal numbers, and codes of categories; NaN and -1 where missing."""
        factors = rng.standard_normal((n, N_FACTORS))
        latent = rng.standard_normal((n, self.n_numbers)) * np.sqrt(1.0 - FACTOR_CORRELATION)
        latent += np.sqrt(FACTOR_CORRELATION) * factors[:, np.arange(self.n_numbers) % N_FACTORS]
        probabilities = rng.random((n, self.n_names))
        codes = np.stack(
            [
                np.searchsorted(cumulative, column)
                for cumulative, column in zip(model.popularity, probabilities.T, strict=True)
            ]
        )
        if self.missing > 0.0:
            latent[rng.random(latent.shape) < self.missing] = np.nan
            codes[rng.random(codes.shape) < self.missing] = -1
        return latent, codes.T

    def _effects(self, model: ClickProbabilities, latent: Floats, codes: Integers) -> Floats:
        """The log odds of each row, without intercept."""
        interval = (latent > model.cuts[:, 0]).astype(np.int64) + (latent > model.cuts[:, 1])
        number_effects = model.effects[np.arange(self.n_numbers), interval]
        odds = np.where(np.isnan(latent), 0.0, number_effects).sum(axis=1)
        for effects, column in zip(model.name_effects, codes.T, strict=True):
            odds += np.where(column < 0, 0.0, effects[column])
        for (number, name), effects, cut in zip(model.pairs, model.pair_effects, model.pair_cuts, strict=True):
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
    """Probabilities from log odds; below -700 the exponential would overflow."""
    probabilities: Floats = 1.0 / (1.0 + np.exp(-np.maximum(odds, -700.0)))
    return probabilities


def _text(value: int) -> str:
    return f"v{value}"


def _cumulative(shares: Floats) -> Floats:
    cumulative: Floats = np.cumsum(shares / shares.sum())
    cumulative[-1] = 1.0
    return cumulative
