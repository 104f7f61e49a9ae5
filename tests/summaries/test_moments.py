"""Moments against two passes with exact sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import moments as slow

from stumpery.jit import INTERPRETED
from stumpery.random import new_generator, uniform
from stumpery.summaries import Moments
from stumpery.summaries import moments_kernels as kernels
from stumpery.types import State

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

seeded = settings(deadline=None, derandomize=True, max_examples=20 if INTERPRETED else 100)
values_lists = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)
WRONG_NUMBERS = [math.nan, math.inf, -math.inf, "3", "abc", b"1", None, [1.0], 1j, 10**400]


def summary_of(values):
    summary = Moments()
    summary.add_many(values)
    return summary


def bits(summary):
    return summary.state().arrays["row"].tobytes()


@seeded
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3)), min_size=1, max_size=50))
def test_the_kernel_equals_two_exact_passes(pairs):
    rows = kernels.new_moments(3)
    for value, weight in pairs:
        kernels.add(rows, 1, value, weight)
    values, weights = zip(*pairs, strict=True)
    count, mean, variance = slow.moments(values, weights)
    largest = max(map(abs, values))
    assert rows[1, kernels.COUNT] == pytest.approx(count, rel=1e-13)
    assert rows[1, kernels.MEAN] == pytest.approx(mean, abs=1e-13 * largest)
    assert rows[1, kernels.SQUARES] / count == pytest.approx(variance, rel=1e-9, abs=1e-13 * largest**2)
    assert not rows[[0, 2]].any()


@seeded
@given(values_lists)
def test_add_many_equals_the_loop_of_add_bit_for_bit(values):
    one_by_one = Moments()
    for value in values:
        one_by_one.add(value)
    assert bits(one_by_one) == bits(summary_of(values)) == bits(summary_of(np.array(values)))
    assert bits(one_by_one) == bits(summary_of(value for value in values))


@seeded
@given(values_lists, values_lists)
def test_merge_equals_one_stream_after_the_other(first, second):
    merged, both = summary_of(first), summary_of([*first, *second])
    merged.merge(summary_of(second))
    largest = max(map(abs, [*first, *second]))
    assert merged.count == both.count
    assert merged.mean == pytest.approx(both.mean, abs=1e-13 * largest)
    assert merged.variance == pytest.approx(both.variance, rel=1e-9, abs=1e-12 * largest**2)


def test_merging_with_an_empty_summary_changes_no_bit():
    summary, empty = summary_of([1e99, 2e99]), Moments()
    before = bits(summary)
    summary.merge(Moments())
    empty.merge(summary)
    assert bits(summary) == bits(empty) == before


def test_merging_with_itself_doubles_the_weight_alone():
    summary = summary_of([1.0, 2.0, 6.0])
    summary.merge(summary)
    assert (summary.count, summary.mean) == (6.0, 3.0)
    assert summary.variance == pytest.approx(14 / 3)


def test_a_weight_counts_as_so_many_values():
    weighted, repeated = Moments(), Moments()
    for value, weight in [(2.0, 3), (5.0, 1), (-1.0, 2)]:
        weighted.add(value, weight)
        repeated.add_many([value] * weight)
    assert weighted.count == repeated.count == 6
    assert weighted.mean == pytest.approx(repeated.mean, rel=1e-15)
    assert weighted.variance == pytest.approx(repeated.variance, rel=1e-14)


def test_a_small_spread_around_a_large_mean_survives():
    rng = new_generator(7)
    spread = [uniform(rng) for _ in range(1000)]
    summary = summary_of([1e9 + value for value in spread])
    assert summary.variance == pytest.approx(slow.moments(spread)[2], rel=1e-4)


def test_nothing_seen_has_no_mean():
    summary = Moments()
    summary.add_many([])
    assert summary.count == 0.0
    assert math.isnan(summary.mean)
    assert math.isnan(summary.variance)


@pytest.mark.parametrize("wrong", WRONG_NUMBERS)
def test_a_value_or_weight_that_is_no_finite_number_changes_nothing(wrong):
    summary = summary_of([1.0, 2.0])
    before = bits(summary)
    with pytest.raises(ValueError, match=r"^value is .* finite number"):
        summary.add(wrong)
    with pytest.raises(ValueError, match=r"^weight is .* finite number"):
        summary.add(1.0, wrong)
    assert bits(summary) == before


@pytest.mark.parametrize("wrong", [*WRONG_NUMBERS[:7], 1j, 10**400])
def test_one_wrong_value_among_many_changes_nothing(wrong):
    summary = summary_of([1.0, 2.0])
    before = bits(summary)
    with pytest.raises(ValueError, match="finite number"):
        summary.add_many([3.0, wrong, 4.0])
    assert bits(summary) == before


@pytest.mark.parametrize("wrong", ["123", None, 5, np.array(["1"]), np.array([1j])])
def test_what_is_no_series_of_numbers_is_refused(wrong):
    summary = Moments()
    with pytest.raises(ValueError, match="finite number"):
        summary.add_many(wrong)
    assert summary.count == 0


@pytest.mark.parametrize("weight", [0.0, -1.0, -0.0])
def test_a_weight_must_be_above_zero(weight):
    summary = summary_of([1.0, 2.0])
    before = bits(summary)
    with pytest.raises(ValueError, match=r"^weight is .*; it must be above 0$"):
        summary.add(1.0, weight)
    assert bits(summary) == before


def test_a_summary_merges_only_with_its_own_kind():
    with pytest.raises(ValueError, match="not with 'dict'"):
        Moments().merge({})


def test_the_memory_never_grows():
    summary = Moments()
    before = summary.n_bytes
    summary.add_many(np.arange(1000.0))
    assert summary.n_bytes == before == 24


def n_compiled():
    return [len(getattr(kernel, "signatures", ())) for kernel in (kernels.add, kernels.add_all, kernels.merge)]


def test_arrays_of_every_make_use_the_same_machine_code():
    summary_of([1.0]).add(1.0)
    before = n_compiled()
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    for values in (frozen, np.arange(8.0)[::2], np.arange(4), np.ones((2, 3), np.float32).T, [True, 2, 3.0]):
        summary_of(values)
    summary_of([]).add(np.float32(1), weight=2)
    assert n_compiled() == before


@pytest.mark.parametrize(
    "row",
    [[-1.0, 0.0, 0.0], [1.0, math.nan, 0.0], [1.0, 0.0, -1.0], [math.inf, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 7.0]],
)
def test_a_state_that_no_stream_leaves_is_refused(row):
    with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
        Moments.from_state(State({}, {"row": np.array([row])}))
