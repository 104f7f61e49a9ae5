"""Exact sums: against fractions, in any order and grouping."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stumpery.summaries import exact_sums
from stumpery.summaries.exact_sums import ExactSums

NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30)


def sum_of(values):
    sums = ExactSums(1)
    sums.add(np.array(values, dtype=np.float64))
    return sums.values()[0]


@given(NUMBERS)
def test_a_sum_is_that_of_fractions_rounded_once(values):
    try:
        expected = float(sum(map(Fraction, values), Fraction(0)))
    except OverflowError:
        expected = np.inf if sum(map(Fraction, values)) > 0 else -np.inf
    assert sum_of(values) == expected


@given(NUMBERS, NUMBERS, st.randoms())
def test_sums_of_parts_merge_to_the_sum_of_all_in_any_order(one, other, random):
    first, second = ExactSums(1), ExactSums(1)
    first.add(np.array(one, dtype=np.float64))
    second.add(np.array(other, dtype=np.float64))
    first.merge(second, [0])
    together = one + other
    random.shuffle(together)
    assert first.values() == [sum_of(together)]


def test_numbers_are_added_to_their_groups_and_groups_merge_to_others():
    rng = np.random.default_rng(4)
    values, groups = rng.normal(size=5000) * 10.0 ** rng.integers(-9, 9, 5000), rng.integers(0, 7, 5000)
    sums, other = ExactSums(), ExactSums()
    sums.add(values, groups)
    expected = [float(sum(map(Fraction, values[groups == group].tolist()))) for group in range(7)]
    assert sums.values() == expected
    other.merge(sums, [6, 5, 4, 3, 2, 1, 0])
    assert other.values() == expected[::-1]


def test_long_chunks_are_cut(monkeypatch):
    monkeypatch.setattr(exact_sums, "MAX_CHUNK_NUMBERS", 3)
    assert sum_of([1e16, 1.0, 1.0, -1e16, 0.5, 0.25, 0.25]) == 3.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], 0.0), ([5e-324] * 3, 1.5e-323), ([1.7e308, 1.7e308], np.inf), ([1.7e308, 1.7e308, -1.7e308], 1.7e308),
     ([np.inf, 1.0], np.inf), ([np.inf, -np.inf], np.nan), ([-1.7e308, -1.7e308], -np.inf)],
)  # fmt: skip
def test_the_smallest_the_largest_and_infinite_numbers_are_summed(values, expected):
    assert repr(sum_of(values)) == repr(expected)
