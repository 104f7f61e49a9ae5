"""Draws against their distributions, and the generator against whole numbers."""

import numpy as np
import pytest
from scipy import stats
from tests.reference import random as slow

from stumpery import random
from stumpery.jit import INTERPRETED
from stumpery.random import new_generator

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

N_DRAWS = 1_000 if INTERPRETED else 100_000  # with 100 000 a distribution function that is off by 0.008 is seen
LEAST_P = 1e-4  # for some sixty tests; the seeds are fixed, so that one that passes once passes always


def draws(kernel, *arguments, seed=7):
    rng = new_generator(seed)
    return np.array([kernel(rng, *arguments) for _ in range(N_DRAWS)])


def assert_counts_fit(drawn, distribution):
    """A chi-square test in which values expected less than ten times share the cells at both ends."""
    assert (drawn == np.floor(drawn)).all()
    low, high = (int(distribution.ppf(q)) for q in (10 / N_DRAWS, 1 - 10 / N_DRAWS))
    inner = np.arange(low + 1, high)
    shares = np.concatenate([[distribution.cdf(low)], distribution.pmf(inner), [distribution.sf(high - 1)]])
    counts = np.bincount(np.clip(drawn, low, high).astype(np.int64) - low, minlength=len(shares))
    assert stats.chisquare(counts, shares / shares.sum() * N_DRAWS).pvalue > LEAST_P


def test_words_equal_the_whole_number_twin():
    rng = new_generator(7)
    expected, state = slow.words(rng, 1000)
    assert [int(random.word(rng)) for _ in range(1000)] == expected
    assert rng.tolist() == state


def test_the_twin_gives_the_words_of_the_published_code():
    # The first words from the state 1, 2, 3, 4, as other implementations of the C code give them.
    assert slow.words([1, 2, 3, 4], 10)[0] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]


def test_the_first_words_of_a_seed_never_change():
    rng = new_generator(7)
    assert rng.tolist() == [16920295385781661272, 610735763742393210, 7078124019849193311, 12917519645081627820]
    assert [int(random.word(rng)) for _ in range(6)] == [
        4773582985263937779,
        3764864390252459391,
        3744459089670869090,
        14996196041967768839,
        10465707394316965114,
        15867208857137748778,
    ]


def test_the_first_draws_of_a_seed_never_change():
    rng = new_generator(7)
    assert random.uniform(rng) == 0.25877645215815004
    assert random.integer(rng, 10) == 2
    drawn = [random.normal(rng), random.exponential(rng), random.gamma(rng, 0.5), random.gamma(rng, 3.0)]
    assert drawn == pytest.approx([-0.5286827914888278, 0.837819569221175, 0.01713576527284947, 1.6302296421757707])
    assert random.beta(rng, 2.0, 5.0) == pytest.approx(0.31438053206572814)
    assert [random.poisson(rng, 3.0), random.poisson(rng, 100.0), random.binomial(rng, 40, 0.3)] == [1, 97, 9]


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [("uniform", ()), ("integer", (10,)), ("normal", ()), ("gamma", (0.3,)), ("gamma", (2.5,)), ("beta", (0.7, 30.0))],
)
def test_draws_equal_the_twin(kernel, arguments):
    rng, twin = new_generator(5, 2), slow.Generator(5, 2)
    drawn = [getattr(random, kernel)(rng, *arguments) for _ in range(500)]
    assert drawn == pytest.approx([getattr(twin, kernel)(*arguments) for _ in drawn], rel=1e-12)
    assert rng.tolist() == twin.state


def test_the_same_seed_gives_the_same_draws_and_another_seed_or_stream_gives_others():
    def first(*arguments):
        rng = new_generator(*arguments)
        return [int(random.word(rng)) for _ in range(5)]

    assert first(7) == first(7) == first(7, 0) == first(np.int64(7))
    others = [first(8), first(7, 1), first(0, 7), first(2**63 - 1), first(0)]
    assert len({word for each in [first(7), *others] for word in each}) == 30


def test_the_state_alone_determines_the_future():
    rng = new_generator(3)
    random.gamma(rng, 0.3)
    copy = rng.copy()
    calls = [(random.normal,), (random.poisson, 50.0), (random.beta, 0.1, 0.1), (random.choice, np.array([1.0, 2.0]))]
    future = [kernel(rng, *arguments) for kernel, *arguments in calls * 20]
    assert [kernel(copy, *arguments) for kernel, *arguments in calls * 20] == future
    assert rng.tolist() == copy.tolist()


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", None, True, float("nan")])
def test_a_bad_seed_is_refused_in_one_sentence(seed):
    with pytest.raises(ValueError, match=r"^seed is .*; it must be a whole number from 0 to \d+$"):
        new_generator(seed)


def test_uniform_draws_are_uniform_and_never_reach_one():
    drawn = draws(random.uniform)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > LEAST_P
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 4 / np.sqrt(N_DRAWS)


def test_the_largest_word_stays_below_one_and_below_n():
    state = np.zeros(4, np.uint64)
    state[0] = np.uint64(2**64 - 1)  # the first word is rotl(s0 + s3, 23) + s0: all ones and a wrap
    state[3] = np.uint64(1)  # s0 + s3 wraps to 0, so the word is s0
    assert int(random.word(state.copy())) == 2**64 - 1
    assert random.uniform(state.copy()) == 1.0 - 2.0**-53
    for n in (1, 2, 3, 7, 10, 2**31 - 1, 2**40 + 1, 2**52 + 1):
        assert random.integer(state.copy(), n) == n - 1


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_integers_stay_in_range_and_are_all_as_likely(n):
    drawn = draws(random.integer, n)
    assert drawn.min() == 0
    assert drawn.max() == n - 1
    assert n == 1 or stats.chisquare(np.bincount(drawn, minlength=n)).pvalue > LEAST_P


def test_choice_follows_the_weights_and_never_picks_weight_zero():
    weights = np.array([0.0, 3.0, 0.0, 1.0, 0.5, 1e-300, 0.0])
    counts = np.bincount(draws(random.choice, weights), minlength=7)
    assert counts[[0, 2, 5, 6]].tolist() == [0, 0, 0, 0]
    likely = [1, 3, 4]
    assert stats.chisquare(counts[likely], weights[likely] / 4.5 * N_DRAWS).pvalue > LEAST_P


def test_choice_gives_the_last_possible_index_where_rounding_leaves_a_crumb():
    state = np.array([2**64 - 1, 0, 0, 1], np.uint64)  # draws the largest number below 1
    weights = np.array([0.1] * 10 + [0.0, 0.0])
    assert random.choice(state, weights) == 9


def test_normal_draws_are_normal():
    drawn = draws(random.normal)
    assert stats.kstest(drawn, "norm").pvalue > LEAST_P
    assert abs(np.mean(drawn**4) - 3.0) < 5 * np.sqrt(96 / N_DRAWS)  # the tails, which the test above hardly sees


def test_exponential_draws_are_exponential():
    drawn = draws(random.exponential)
    assert drawn.min() >= 0.0
    assert stats.kstest(drawn, "expon").pvalue > LEAST_P


@pytest.mark.parametrize("shape", [0.01, 0.3, 0.999, 1.0, 1.001, 2.5, 50.0, 1e6])
def test_gamma_draws_follow_the_gamma_distribution(shape):
    drawn = draws(random.gamma, shape)
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > LEAST_P
    assert abs(drawn.mean() - shape) < 4 * np.sqrt(shape / N_DRAWS)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 0.5), (2.0, 5.0), (30.0, 0.2), (1e4, 3e4), (1e8, 1e8)])
def test_beta_draws_follow_the_beta_distribution(a, b):
    drawn = draws(random.beta, a, b)
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0
    assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > LEAST_P


def test_beta_with_small_parameters_piles_up_at_both_ends():
    ends = [1e-30, 1e-9, 1e-3, 0.5, 0.999, 1 - 1e-9]  # nearer to 1 than that the floats are too coarse
    counts = np.bincount(np.searchsorted(ends, draws(random.beta, 0.02, 0.05)), minlength=len(ends) + 1)
    shares = np.diff([0.0, *stats.beta(0.02, 0.05).cdf(ends), 1.0])
    assert stats.chisquare(counts, shares * N_DRAWS).pvalue > LEAST_P


@pytest.mark.parametrize(("a", "b"), [(1e-3, 3e-3), (1e-8, 1e-8), (1e-300, 3e-300)])
def test_beta_with_tiny_parameters_falls_at_the_ends_in_their_proportion(a, b):
    drawn = draws(random.beta, a, b)
    assert np.isfinite(drawn).all()
    at_one = int((drawn > 0.5).sum())
    assert stats.binomtest(at_one, N_DRAWS, a / (a + b)).pvalue > LEAST_P  # to within a * log 2


def test_beta_with_huge_parameters_stays_at_its_mean():
    drawn = draws(random.beta, 1e15, 3e15)
    assert np.abs(drawn - 0.25).max() < 1e-6


@pytest.mark.parametrize("mean", [0.1, 1.0, 6.5, 10.0, 10.001, 12.0, 40.0, 300.0, 5000.0])
def test_poisson_draws_follow_the_poisson_distribution(mean):
    assert_counts_fit(draws(random.poisson, mean), stats.poisson(mean))


def test_poisson_with_mean_zero_is_zero_and_with_a_huge_mean_stays_near_it():
    rng = new_generator(7)
    assert {random.poisson(rng, 0.0) for _ in range(100)} == {0}
    assert all(abs(random.poisson(rng, 1e12) - 1e12) < 6e6 for _ in range(100))


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (16, 0.5), (17, 0.1), (40, 0.9), (1000, 0.02), (100_000, 0.6)])
def test_binomial_draws_follow_the_binomial_distribution(n, p):
    assert_counts_fit(draws(random.binomial, n, p), stats.binom(n, p))


@pytest.mark.parametrize("n", [0, 1, 16, 17, 1000])
def test_binomial_with_certain_chances_is_certain(n):
    rng = new_generator(7)
    assert {random.binomial(rng, n, 0.0) for _ in range(100)} == {0}
    assert {random.binomial(rng, n, 1.0) for _ in range(100)} == {n}
