"""Quantile summaries: what they promise, on streams of every kind, and against plain lists."""

import bisect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.reference import quantiles as slow
from tests.support import bits_of

import stumpery as st
from stumpery.jit import INTERPRETED
from stumpery.summaries import QuantileSummary
from stumpery.types import State

pytestmark = pytest.mark.kernels

N = 400 if INTERPRETED else 20_000
N_TRIALS = 100 if INTERPRETED else 10_000
seeded = settings(deadline=None, derandomize=True, max_examples=15 if INTERPRETED else 80)
numbers = some.one_of(some.integers(-5, 5).map(float), some.floats(allow_nan=False))
HARD = {"inwards", "a hole that narrows"}  # every value falls where the summary is least sure
streams = some.lists(some.tuples(numbers, some.integers(0, 1)), max_size=300)


def orders(n):
    rng = np.random.default_rng(3)
    normal = rng.normal(size=n)
    return {
        "random": normal,
        "ascending": np.arange(n, dtype=float),
        "descending": -np.arange(n, dtype=float),
        "constant": np.full(n, 7.0),
        "two values": (rng.random(n) < 0.01).astype(float),
        "heavy tail": rng.pareto(0.5, n),
        "mostly zero": np.where(rng.random(n) < 0.7, 0.0, normal),
        "zigzag": np.where(np.arange(n) % 2, 1.0, -1.0) * np.arange(n),
        "inwards": np.where(np.arange(n) % 2, 1.0, -1.0) / (1.0 + np.arange(n)),
        "a hole that narrows": np.where(rng.random(n) < 0.5, -1.0, 1.0) * np.exp2(-np.arange(n) / (n / 900)),
        "blocks": np.repeat(rng.permutation(n // 50 + 1), 50)[:n] + rng.random(n) / 2,
        "infinite": np.select([rng.random(n) < 0.2, rng.random(n) < 0.2], [math.inf, -math.inf], normal),
    }


def summary_of(values, labels=None, **options):
    summary = QuantileSummary(**options)
    summary.add_many(values, labels)
    return summary


def worst_errors(summary, values):
    """The largest errors of ranks and quantiles, as shares of the count, over every value and some in between."""
    ordered = np.sort(values)
    asked = np.unique(np.concatenate([ordered, np.nextafter(ordered, -np.inf), [-1e300, 1e300]]))
    asked = asked[:: max(1, len(asked) // 300)]
    ranks = [abs(summary.rank(x) - np.searchsorted(ordered, x, side="right")) for x in asked]
    quantiles = []
    for share in np.linspace(0.0, 1.0, 41):
        goal = min(max(1, math.ceil(share * len(values))), len(values))
        found = summary.quantile(share)
        low, high = (int(np.searchsorted(ordered, found, side=side)) for side in ("left", "right"))
        assert low < high, "a quantile is a value that came"
        quantiles.append(max(0, goal - high, low + 1 - goal))
    return max(ranks) / len(values), max(quantiles) / len(values)


@pytest.mark.parametrize("options", [{"max_tuples": 50}, {"epsilon": 0.02}], ids=str)
@pytest.mark.parametrize("order", orders(10))
def test_no_error_is_larger_than_the_rank_error_in_any_order(order, options):
    values = orders(N)[order]
    summary = summary_of(values, **options)
    promised = summary.rank_error
    assert max(worst_errors(summary, values)) <= promised
    hard = 6.0 if order in HARD else 1.5
    assert promised <= (options.get("epsilon") or hard / options["max_tuples"])
    assert (summary.count, summary.quantile(0), summary.quantile(1)) == (len(values), values.min(), values.max())


def test_the_rank_error_holds_in_ten_thousand_random_trials():
    rng = np.random.default_rng(11)
    for _ in range(N_TRIALS):
        n = int(rng.integers(1, 120))
        values = np.round(rng.normal(size=n), int(rng.integers(0, 3)))
        summary = summary_of(values, max_tuples=int(rng.integers(3, 12)))
        ordered, promised = sorted(values), round(summary.rank_error * n)
        for x in (*rng.normal(size=3), values[0]):
            assert abs(summary.rank(x) - bisect.bisect_right(ordered, x)) <= promised
        share = rng.random()
        found, goal = summary.quantile(share), max(1, math.ceil(share * n))
        off = max(0, goal - bisect.bisect_right(ordered, found), bisect.bisect_left(ordered, found) + 1 - goal)
        assert off <= promised


@seeded
@given(streams, some.sampled_from([{"max_tuples": 3}, {"max_tuples": 20}, {"epsilon": 0.1}]))
def test_the_kernel_equals_lists_of_plain_tuples(pairs, options):
    summary = QuantileSummary(n_classes=2, **options)
    buffer_size, max_size = summary._streams.buffers.shape[1], summary._max_size
    twin = slow.Summary(max_size, buffer_size, 2, options.get("epsilon", 0.0))
    for value, label in pairs:
        summary.add(value, label)
        twin.add(value + 0.0, label)
    tuples, size = summary._tuples()
    found = zip(*(array[:size].tolist() for array in tuples), strict=True)
    assert [slow.Tuple(*each) for each in found] == twin.whole()


@seeded
@given(streams, some.sampled_from([{"max_tuples": 5}, {"epsilon": 0.05}]), some.booleans())
def test_bulk_and_one_by_one_give_the_same_summary(pairs, options, labelled):
    options = {**options, "n_classes": 2}
    values, labels = [value for value, _ in pairs], [label for _, label in pairs] if labelled else None
    one_by_one = QuantileSummary(**options)
    for place, value in enumerate(values):
        one_by_one.add(value, labels[place] if labels else 0)
    two_halves = summary_of(values[: len(values) // 3], labels and labels[: len(values) // 3], **options)
    two_halves.add_many(values[len(values) // 3 :], labels and labels[len(values) // 3 :])
    assert bits_of(one_by_one) == bits_of(summary_of(values, labels, **options)) == bits_of(two_halves)


def test_queries_change_nothing():
    asked, silent = QuantileSummary(max_tuples=10), QuantileSummary(max_tuples=10)
    for value in np.random.default_rng(1).normal(size=200):
        asked.add(value)
        silent.add(value)
        _ = asked.rank(0.0), asked.quantile(0.5), asked.rank_error, asked.histogram(4)
    assert bits_of(asked) == bits_of(silent)


def test_class_counts_are_certain_and_little_is_left_out():
    rng = np.random.default_rng(5)
    values, labels = rng.normal(size=N), rng.integers(0, 3, N)
    summary = summary_of(values, labels, max_tuples=60, n_classes=3)
    for x in (-2.0, -0.1, 0.0, 1.3):
        true = np.bincount(labels[values <= x], minlength=3)
        found = summary.counts_upto(x)
        assert (found <= true).all()
        assert (true - found).sum() <= 2 * summary.rank_error * N
        assert (found + summary.counts_above(x) == np.bincount(labels, minlength=3)).all()


def test_few_distinct_values_are_counted_exactly():
    rng = np.random.default_rng(6)
    values, labels = rng.integers(0, 30, N).astype(float), rng.integers(0, 2, N)
    summary = summary_of(values, labels, max_tuples=100, n_classes=2)
    assert summary.rank_error == 0.0
    for x in range(30):
        assert summary.counts_upto(x).tolist() == np.bincount(labels[values <= x], minlength=2).tolist()


def test_a_histogram_has_bins_of_equal_frequency():
    summary = summary_of(np.random.default_rng(7).normal(size=N), max_tuples=100)
    edges, counts = summary.histogram(8)
    assert len(counts) == 8
    assert (np.diff(edges) > 0).all()
    assert counts.sum() == N
    assert abs(counts - N / 8).max() <= 2 * 2 * summary.rank_error * N
    assert len(summary_of([]).histogram(3).counts) == 0


@seeded
@given(streams, streams)
def test_a_merged_summary_keeps_its_rank_error(first, second):
    values = [value for value, _ in [*first, *second]]
    merged = summary_of([v for v, _ in first], [c for _, c in first], max_tuples=12, n_classes=2)
    merged.merge(summary_of([v for v, _ in second], [c for _, c in second], max_tuples=12, n_classes=2))
    assert merged.class_counts.tolist() == np.bincount([c for _, c in [*first, *second]], minlength=2).tolist()
    ordered = sorted(values)
    for x in values[::7]:
        assert abs(merged.rank(x) - bisect.bisect_right(ordered, x)) <= round(merged.rank_error * len(values))


def test_merging_many_summaries_stays_close_to_the_sum_of_their_errors():
    values = np.random.default_rng(8).normal(size=N)
    whole, errors = QuantileSummary(max_tuples=100), []
    for part in np.array_split(values, 8):
        piece = summary_of(part, max_tuples=100)
        errors.append(piece.rank_error * len(part))
        whole.merge(piece)
    assert max(worst_errors(whole, values)) <= whole.rank_error <= sum(errors) / N + 0.03


def test_the_memory_is_as_stated():
    fixed = summary_of(np.random.default_rng(1).normal(size=N), max_tuples=93)
    assert fixed.n_bytes == QuantileSummary(max_tuples=93).n_bytes < 2600
    grown = summary_of(np.random.default_rng(1).normal(size=N), epsilon=0.01)
    assert grown._streams.values.shape[1] <= 20 / 0.01
    assert grown.n_bytes < 8000


def test_where_epsilon_takes_too_much_memory_the_rank_error_is_larger(monkeypatch):
    monkeypatch.setattr("stumpery.summaries.quantile_summary.TUPLES_PER_ERROR", 0.2)
    values = orders(N)["random"]
    summary = summary_of(values, epsilon=0.01)
    assert summary._streams.values.shape[1] <= 20
    assert summary.rank_error > 0.01
    assert max(worst_errors(summary, values)) <= summary.rank_error


def test_beyond_32_bits_counts_go_on():
    summary, short = QuantileSummary(max_tuples=5, n_classes=2), QuantileSummary(max_tuples=5, n_classes=2)
    for each in (summary, short):
        each.add_many([1.0] * 40, [1] * 40)
    summary._streams.counts[0, 0, 1] = 2**31 - 50
    summary.merge(short)
    summary.add_many([1.0] * 100, [1] * 100)
    assert summary.count == 2**31 - 50 + 8 + 40 + 100
    assert summary.rank(1.0) == summary.count
    copied = QuantileSummary.from_state(summary.state())
    assert bits_of(copied) == bits_of(summary)


def test_missing_values_are_counted_apart():
    summary = summary_of([1.0, math.nan, 2.0, None], [0, 1, 1, 1], n_classes=2)
    assert (summary.count, summary.missing.tolist()) == (2, [0, 2])
    assert summary_of([math.nan, math.nan]).missing.tolist() == [2]


def test_an_empty_summary_has_no_rank_error():
    summary = summary_of([])
    assert (summary.count, summary.rank(3.0), summary.rank_error) == (0, 0.0, 0.0)
    assert math.isnan(summary.quantile(0.5))


@pytest.mark.parametrize("options", [{"max_tuples": 7}, {"epsilon": 0.01}])
def test_a_saved_summary_goes_on(tmp_path, options):
    values = orders(1000)["random"]
    summary = summary_of(values[:700], **options)
    st.save(summary, tmp_path / "summary")
    loaded = st.load(tmp_path / "summary")
    for each in (summary, loaded):
        each.add_many(values[700:])
    assert bits_of(loaded) == bits_of(summary)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("sizes", 99, "the number of tuples of a summary is 99, which is not within 0 and 10"),
        ("sizes", -1, "the number of tuples of a summary is -1, which is not within 0 and 10"),
        ("n_buffered", 99, "the number of buffered values of a summary is 99, which is not within 0 and 16"),
        ("values", math.nan, "a value of a summary is NaN"),
        ("deltas", -1, "a tuple of a summary has a negative delta"),
        ("deltas", 10**6, "the delta of a tuple of summary 0 is above its count"),
        ("counts", -1, "a tuple of a summary has a negative count"),
        ("buffer_labels", 0, "a buffered value has another weight than 1"),
        ("missing", -1, "a count of missing values is negative"),
    ],
)
def test_a_state_that_no_stream_leaves_is_refused(name, change, sentence):
    options, arrays = summary_of(orders(50)["random"], max_tuples=10).state()
    damaged = {key: array.copy() for key, array in arrays.items()}
    damaged[name].flat[0] = change
    with pytest.raises(ValueError, match=f"^corrupt file: {sentence}$"):
        QuantileSummary.from_state(State(options, damaged))


@pytest.mark.parametrize("wrong", ["abc", ["1"], [1j], [[1.0]], 5, [b"1"], [10**400]])
def test_what_is_no_list_of_numbers_changes_nothing(wrong):
    summary = summary_of([1.0, 2.0])
    before = bits_of(summary)
    with pytest.raises(ValueError, match=r"^values is .*numbers$"):
        summary.add_many(wrong)
    assert bits_of(summary) == before


@pytest.mark.parametrize("wrong", [[2], [-1], [0.5], [math.nan], ["0"], [0, 1], [None], 0])
def test_a_label_that_is_none_changes_nothing(wrong):
    summary = summary_of([1.0, 2.0], [0, 1], n_classes=2)
    before = bits_of(summary)
    with pytest.raises(ValueError, match=r"label"):
        summary.add_many([3.0], wrong)
    assert bits_of(summary) == before


def test_summaries_of_different_options_do_not_merge():
    summary = summary_of([1.0, 2.0], max_tuples=10)
    before = bits_of(summary)
    for other in (
        QuantileSummary(max_tuples=11),
        QuantileSummary(epsilon=0.1),
        QuantileSummary(max_tuples=10, n_classes=2),
    ):
        with pytest.raises(ValueError, match="different options do not merge"):
            summary.merge(other)
    with pytest.raises(ValueError, match="not with 'Moments'"):
        summary.merge(st.summaries.Moments())
    assert bits_of(summary) == before


@pytest.mark.parametrize(
    "wrong",
    [{"max_tuples": 2}, {"max_tuples": 1.5}, {"epsilon": 0}, {"epsilon": 2}, {"n_classes": 0}, {"epsilon": math.nan}],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        QuantileSummary(**wrong)


def test_memory_and_error_cannot_both_be_fixed():
    with pytest.raises(ValueError, match="both given"):
        QuantileSummary(max_tuples=10, epsilon=0.1)


def test_what_is_asked_must_be_a_number():
    summary = summary_of([1.0])
    for wrong in (math.nan, "1", None):
        with pytest.raises(ValueError, match="number"):
            summary.rank(wrong)
    with pytest.raises(ValueError, match=r"^share is 2"):
        summary.quantile(2)


def test_a_summary_that_holds_infinity_twice_can_be_saved():
    summary = QuantileSummary(max_tuples=5)
    rng = np.random.default_rng(0)
    twice = 0
    for _ in range(40):
        summary.add_many(rng.choice([math.inf, *range(1, 10), -math.inf], 17))
        values = summary._streams.values[0, : summary._streams.sizes[0]]
        twice += int((np.isinf(values[1:]) & (values[1:] == values[:-1])).any())
        assert bits_of(QuantileSummary.from_state(summary.state())) == bits_of(summary)
    assert twice, "nothing was tested if infinity never stood there twice"


def test_gap_fractions_that_would_compress_for_ever_are_refused():
    options, arrays = summary_of([1.0, 2.0]).state()
    for wrong in (math.nan, math.inf, -1.0):
        with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
            QuantileSummary.from_state(State(options, {**arrays, "gap_fractions": np.array([wrong])}))


def test_what_is_masked_is_missing():
    summary = summary_of(np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]))
    assert (summary.count, summary.missing.tolist()) == (2, [1])
    assert summary_of(np.ma.array([1, 2, 3], mask=[True, False, False])).missing.tolist() == [1]


@pytest.mark.parametrize("wrong", [[[1, None], [2, 3]], np.array(None), [[None]]], ids=str)
def test_a_table_is_no_list_of_values(wrong):
    summary = QuantileSummary()
    with pytest.raises(ValueError, match=r"^values is .* list or an array of numbers"):
        summary.add_many(wrong)
    assert (summary.count, summary.missing.tolist()) == (0, [0])


@pytest.mark.parametrize("wrong", ["3", [1], math.nan, None, 1j])
def test_a_rank_is_asked_of_a_number(wrong):
    with pytest.raises(ValueError, match=r"^value is .*; it must be a number$"):
        summary_of([1.0]).rank(wrong)


def test_a_histogram_of_too_many_bins_is_refused():
    with pytest.raises(ValueError, match=r"^n_bins is 10000000000"):
        summary_of([1.0]).histogram(10**10)


def test_a_label_beyond_all_whole_numbers_is_refused():
    with pytest.raises(ValueError, match=r"^labels is .*whole numbers from 0 to 1"):
        summary_of([1.0, 2.0], [1e300, 0.0], n_classes=2)


def test_empty_summaries_merge():
    for options in ({"max_tuples": 5}, {"epsilon": 0.1}):
        empty, full = QuantileSummary(**options), summary_of([1.0, 2.0], **options)
        empty.merge(QuantileSummary(**options))
        assert (empty.count, empty.rank_error) == (0, 0.0)
        empty.merge(full)
        full.merge(QuantileSummary(**options))
        assert (empty.quantile(1), full.count, empty.count) == (2.0, 2, 2)


def test_a_summary_that_merges_with_itself_for_ever_is_stopped_before_its_counts_overflow():
    summary = st.summaries.QuantileSummary(max_tuples=10)
    summary.add_many(range(30))
    with pytest.raises(ValueError, match="a summary counts up to"):
        for _ in range(70):
            summary.merge(summary)
    assert 2**61 < summary.count <= 2**62


def test_earlier_files_that_count_further_in_32_bits_load_and_go_on():
    summary = QuantileSummary(max_tuples=100)
    summary.add_many(np.random.default_rng(0).random(131_071))
    for _ in range(14):
        summary.merge(summary)
    options, arrays = summary.state()
    loaded = QuantileSummary.from_state(
        State(
            options,
            {**arrays, "counts": arrays["counts"].astype(np.int32), "deltas": arrays["deltas"].astype(np.int32)},
        )
    )
    for each in (summary, loaded):
        each.merge(each)
        each.add_many([0.1, 0.9])
    assert bits_of(loaded) == bits_of(summary)


def test_a_summary_counts_in_64_bits_before_a_sum_of_two_counts_needs_them():
    summary = QuantileSummary(max_tuples=5)
    summary.add_many([1.0, 2.0, 3.0, 4.0])
    for _ in range(29):
        assert summary._streams.counts.dtype == (np.int32 if summary.count <= 2**30 else np.int64)
        summary.merge(summary)
    assert summary.count == 2**31
    assert summary._streams.counts.dtype == np.int64
