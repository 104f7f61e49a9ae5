"""Estimators and intervals: golden values, slow twins, SciPy's distributions, and peers where they are installed."""

import numpy as np
import pytest
from scipy import stats
from tests.evaluation.off_policy.made_logs import heavy_log, moderate_log
from tests.reference import off_policy as slow

from stumpery.evaluation import off_policy as op
from stumpery.evaluation.off_policy import distributions
from stumpery.evaluation.off_policy.estimates import estimates_of
from stumpery.evaluation.off_policy.sums import LIMITS, MAX_BLOCKS, BlockSums, JudgedEvents, likelihood_sums

LOGS = {"moderate": moderate_log(), "heavy": heavy_log()}


@pytest.fixture(params=LOGS)
def log(request):
    return LOGS[request.param]


def digits(value, text):
    """Whether a value, rounded to as many digits, is the text."""
    return f"{value:.{len(text) - 1}f}"[1:] == text


def test_estimates_of_the_moderate_log_to_the_printed_digits():
    log = LOGS["moderate"]
    w, r, q, v = log.weights, log.rewards, log.predicted, log.values
    assert digits(log.truth, ".742288")
    assert digits(op.ips(w, r), ".736629")
    assert digits(op.snips(w, r), ".741894")
    assert digits(op.direct_method(v), ".736366")
    assert digits(op.doubly_robust(w, r, q, v), ".739440")
    assert digits(op.self_normalised_dr(w, r, q, v), ".739462")
    assert digits(op.doubly_robust(op.switched(w, 5.0), r, q, v), ".739440")
    assert digits(op.doubly_robust(op.shrunk(w, 10.0), r, q, v), ".739218")
    assert digits(op.ips(op.sub_gaussian(w, 0.05), r), ".701636")
    assert digits(op.doubly_robust(op.sub_gaussian(w, 0.05), r, q, v), ".739438")
    assert digits(op.cressie_read(op.LikelihoodSums.of(w, r)), ".740901")
    assert f"{w.sum() ** 2 / (w @ w):,.0f}" == "9,978"
    assert f"{w.max():.2f}" == "3.76"


def test_intervals_of_the_moderate_log_to_the_printed_digits():
    log = LOGS["moderate"]
    w, r = log.weights, log.rewards
    sums = op.LikelihoodSums.of(w, r)
    sequence = op.ValueSequence()
    sequence.add(w * r, w * (1.0 - r))
    for interval, low, high in [
        (op.normal_interval(w * r), ".7231", ".7502"),
        (op.clopper_pearson(sums.wr, sums.n, w.max()), ".7246", ".7484"),
        (op.cressie_read_interval(sums), ".7231", ".7526"),
        (sequence.interval(), ".7083", ".7620"),
    ]:
        assert digits(interval.low, low)
        assert digits(interval.high, high)


def test_a_bound_on_weights_narrows_the_likelihood_interval():
    log = LOGS["moderate"]
    sums = op.LikelihoodSums.of(log.weights, log.rewards)
    plain, bounded = op.cressie_read_interval(sums), op.cressie_read_interval(sums, largest=4.0)
    assert plain.low <= bounded.low < log.truth < bounded.high <= plain.high
    assert bounded.width < 0.8 * plain.width
    assert tuple(op.cressie_read_interval(sums, largest=1e6)) == pytest.approx(tuple(plain), abs=1e-5)
    assert op.cressie_read_interval(sums, largest=1e12) == plain


def test_estimators_equal_their_slow_twins(log):
    w, r, q, v = log.weights, log.rewards, log.predicted, log.values
    assert op.ips(w, r) == pytest.approx(slow.ips(w, r), rel=1e-12)
    assert op.snips(w, r) == pytest.approx(slow.snips(w, r), rel=1e-12)
    assert op.doubly_robust(w, r, q, v) == pytest.approx(slow.doubly_robust(w, r, q, v), rel=1e-12)
    assert op.self_normalised_dr(w, r, q, v) == pytest.approx(slow.self_normalised_dr(w, r, q, v), rel=1e-12)
    for ours, twin in ((op.clipped, slow.clipped), (op.switched, slow.switched), (op.shrunk, slow.shrunk)):
        assert ours(w, 3.0).tolist() == pytest.approx(twin(w.tolist(), 3.0), rel=1e-12)


def test_clipping_and_switching_matter_where_weights_are_heavy():
    log = LOGS["heavy"]
    w, r, q, v = log.weights, log.rewards, log.predicted, log.values
    assert w.max() > 100.0
    plain = op.doubly_robust(w, r, q, v)
    assert abs(op.doubly_robust(op.switched(w, 5.0), r, q, v) - plain) > 1e-3
    assert abs(op.doubly_robust(op.shrunk(w, 10.0), r, q, v) - plain) > 1e-3
    assert abs(op.ips(op.clipped(w, 5.0), r) - op.ips(w, r)) > 0.1


def sums_of(log, size=777):
    sums = BlockSums()
    for start in range(0, len(log.weights), size):
        part = slice(start, start + size)
        sums.add(JudgedEvents(log.weights[part], log.rewards[part], log.predicted[part], log.values[part]).terms())
    return sums


def test_streamed_estimates_equal_those_of_arrays(log):
    w, r, q, v = log.weights, log.rewards, log.predicted, log.values
    found = estimates_of(sums_of(log), -3.0, 7.0)
    expected = {
        "IPS": op.ips(w, r),
        "SNIPS": op.snips(w, r),
        "DM": op.direct_method(v),
        "DR": op.doubly_robust(w, r, q, v),
        "SNDR": op.self_normalised_dr(w, r, q, v),
        "clipped IPS": op.ips(op.clipped(w, found["clipped IPS"].limit), r),
        "Switch-DR": op.doubly_robust(op.switched(w, found["Switch-DR"].limit), r, q, v),
        "Cressie-Read": -3.0 + 10.0 * op.cressie_read(op.LikelihoodSums.of(w, (r + 3.0) / 10.0)),
    }
    limit = found["DRos"].limit
    expected["DRos"] = op.doubly_robust(w if np.isinf(limit) else op.shrunk(w, limit), r, q, v)
    assert {name: each.value for name, each in found.items()} == pytest.approx(expected, rel=1e-9)


def test_the_chosen_limit_has_the_least_variance_and_squared_bias():
    log = LOGS["heavy"]
    w, r, q, v = log.weights[:MAX_BLOCKS], log.rewards[:MAX_BLOCKS], log.predicted[:MAX_BLOCKS], log.values[:MAX_BLOCKS]
    sums = BlockSums()
    sums.add(JudgedEvents(w, r, q, v).terms())
    terms = {limit: v + op.switched(w, limit) * (r - q) for limit in (*LIMITS, np.inf)}
    whole = terms[np.inf].mean()
    errors = {limit: each.var(ddof=1) / len(w) + (each.mean() - whole) ** 2 for limit, each in terms.items()}
    assert errors[estimates_of(sums)["Switch-DR"].limit] == pytest.approx(min(errors.values()), rel=1e-9)


def test_standard_errors_are_those_of_the_events_up_to_as_many_as_blocks():
    log = LOGS["heavy"]
    events = JudgedEvents(*(array[:MAX_BLOCKS] for array in log[1:5]))
    sums = BlockSums()
    sums.add(events.terms())
    w, r, q, v = events[:4]
    found = estimates_of(sums)
    for name, terms in (("IPS", w * r), ("DM", v), ("DR", v + w * (r - q))):
        assert found[name].normal() == pytest.approx(op.normal_interval(terms), rel=1e-9)


def test_standard_errors_of_many_events_are_close_to_those_of_blocks():
    log = LOGS["moderate"]
    found = estimates_of(sums_of(log))["DR"].standard_error
    terms = log.values + log.weights * (log.rewards - log.predicted)
    assert found == pytest.approx(terms.std() / np.sqrt(len(terms)), rel=0.05)


def test_blocks_keep_all_sums_however_they_come():
    rows = np.random.default_rng(2).normal(size=(30_000, 3))
    one, many = BlockSums(3), BlockSums(3)
    one.add(rows)
    for start in range(0, len(rows), 501):
        many.add(rows[start : start + 501])
    assert one.block_rows == many.block_rows == 8
    assert len(one.blocks) == -(-30_000 // 8)
    np.testing.assert_allclose(one.blocks, many.blocks, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.blocks[5], rows[40:48].sum(axis=0), atol=1e-12)


def test_empirical_likelihood_scales_rewards():
    log = LOGS["heavy"]
    streamed = likelihood_sums(sums_of(log).totals, -3.0, 7.0)
    direct = op.LikelihoodSums.of(log.weights, (log.rewards + 3.0) / 10.0)
    assert streamed == pytest.approx(direct, rel=1e-9)


def test_the_bootstrap_is_near_the_normal_interval_and_shifts_with_skewness():
    rng = np.random.default_rng(5)
    even, skewed = rng.normal(size=2000), rng.pareto(3.0, 2000)
    normal = op.normal_interval(even)
    assert op.bootstrap_interval(even - even.mean(), even.mean()) == pytest.approx(normal, abs=0.01)
    low, high = op.bootstrap_interval(skewed - skewed.mean(), skewed.mean())
    assert high - skewed.mean() > skewed.mean() - low
    reference = stats.bootstrap((skewed,), np.mean, n_resamples=2000, method="BCa", rng=1).confidence_interval
    assert (low, high) == pytest.approx(tuple(reference), abs=0.2 * (high - low))


@pytest.mark.parametrize("p", [0.025, 0.5, 0.975])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (3.5, 40.0), (5000.25, 2500.5)])
def test_beta_quantiles_are_those_of_scipy(p, a, b):
    assert distributions.beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), rel=1e-9)


@pytest.mark.parametrize("freedom", [1.0, 9.0, 20_000.0, 1e6])
def test_student_quantiles_are_those_of_scipy(freedom):
    assert distributions.student_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


def test_intervals_of_nothing_are_everything_or_a_point():
    assert op.normal_interval(np.array([1.0])) == (-np.inf, np.inf)
    assert op.bootstrap_interval(np.zeros(10), 0.5) == (0.5, 0.5)
    assert op.clopper_pearson(0.0, 10, 0.0) == (0.0, 1.0)
    assert op.clopper_pearson(0.0, 10, 1.0).low == 0.0
    assert op.clopper_pearson(10.0, 10, 1.0).high == 1.0


@pytest.mark.parametrize("largest", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("n", [1, 5, 200])
def test_likelihood_intervals_of_equal_rewards_are_no_point_where_all_weights_are_1(n, largest):
    """They are about as wide as Clopper-Pearson's exact ones, as the Cressie-Read divergence is."""
    ones = np.ones(n)
    low, high = op.cressie_read_interval(op.LikelihoodSums.of(ones, ones), largest=largest)
    exact = op.clopper_pearson(float(n), float(n), 1.0).low
    assert high == 1.0
    assert 0.5 * (1.0 - exact) < 1.0 - low < 2.5 * (1.0 - exact)
    low, high = op.cressie_read_interval(op.LikelihoodSums.of(ones, 0.0 * ones), largest=largest)
    assert low == 0.0
    assert 0.5 * (1.0 - exact) < high < 2.5 * (1.0 - exact)
