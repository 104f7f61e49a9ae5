"""Explorers against their definitions: probabilities as vectors, choices as draws from them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.reference import bandits

from stumpery.jit import INTERPRETED
from stumpery.policies.exploration import explorer_kernels as kernels
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.exploration import thompson_kernels as thompson
from stumpery.random import new_generator

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

EXACT = {
    "greedy": explorers.greedy(),
    "epsilon": explorers.greedy(epsilon=0.3),
    "decay": explorers.greedy(epsilon=0.9, decay=0.5, floor=0.05),
    "uniform": explorers.uniform(),
    "upper confidence": explorers.upper_confidence(),
    "cautious confidence": explorers.upper_confidence(rho=0.1, epsilon=0.02),
    "inverse gap": explorers.inverse_gap(),
    "sharp inverse gap": explorers.inverse_gap(scale=1e12, epsilon=0.1),
    "flat inverse gap": explorers.inverse_gap(scale=0.0),
    "inverse gap of many": explorers.inverse_gap(scale=20.0, bonus=0.5, many=3),
}
THOMPSON = {
    "beta": explorers.beta_thompson(),
    "beta with epsilon": explorers.beta_thompson(prior=(2.0, 1.0), epsilon=0.2),
    "gaussian": explorers.gaussian_thompson(),
}
N_DRAWS = 300 if INTERPRETED else 20_000
few = settings(max_examples=20 if INTERPRETED else 100, deadline=None)


def action_statistics_of(counts, means, initial=math.inf):
    statistics = rules.new_action_statistics(len(counts))
    counts = np.array(counts, dtype=np.float64)
    tried = counts > 0
    statistics[rules.ACTION_SCORE] = np.where(tried, means, initial)
    statistics[rules.ACTION_UNCERTAINTY, tried] = 1 / np.sqrt(counts[tried])
    return statistics


def probabilities_of(explorer, statistics, available, time):
    kernels.fill_probabilities(explorer.rule(), statistics, np.asarray(available), float(time))
    return statistics[rules.ACTION_PROBABILITY].copy()


def twin(explorer, counts, means, initial, available, time):
    open_actions = np.flatnonzero(available).tolist()
    rho = explorer.strength if explorer.kind == "upper_confidence" else 0.0
    times_many = max(len(open_actions) / explorer.many, 1.0) if explorer.many else 1.0
    bonus = explorer.bonus / math.sqrt(times_many)
    values = [
        mean + bonus / math.sqrt(count) + math.sqrt(rho * math.log(time) / count) if count else initial
        for count, mean in zip(counts, means, strict=True)
    ]
    if explorer.kind == "inverse_gap":
        probabilities = bandits.inverse_gap(values, open_actions, explorer.strength * times_many * math.sqrt(time))
    else:
        probabilities = bandits.greedy(values, open_actions)
    epsilon = bandits.epsilon_at(explorer.epsilon, explorer.decay, explorer.floor, time)
    return bandits.with_epsilon(probabilities, open_actions, epsilon)


@st.composite
def situations(draw):
    n = draw(st.integers(1, 8))
    counts = draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n))
    # Few distinct values, so that ties happen and near-ties do not.
    means = draw(st.lists(st.sampled_from([0.0, 0.125, 0.5, 0.75, 1.0]), min_size=n, max_size=n))
    available = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    initial = draw(st.sampled_from([math.inf, -3.0, 0.5, 10.0]))
    return counts, means, initial, available, draw(st.integers(1, 10**9))


@pytest.mark.parametrize("explorer", EXACT.values(), ids=EXACT)
@few
@given(situation=situations())
def test_probabilities_equal_the_definition(explorer, situation):
    counts, means, initial, available, time = situation
    found = probabilities_of(explorer, action_statistics_of(counts, means, initial), available, time)
    assert found == pytest.approx(twin(explorer, *situation), abs=1e-9)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    assert (found[~np.array(available)] == 0.0).all()


@pytest.mark.parametrize("explorer", EXACT.values(), ids=EXACT)
@few
@given(situation=situations(), seed=st.integers(0, 2**63 - 1))
def test_a_choice_reports_exactly_the_probability_of_its_action(explorer, situation, seed):
    counts, means, initial, available, time = situation
    probabilities = probabilities_of(explorer, action_statistics_of(counts, means, initial), available, time)
    statistics = action_statistics_of(counts, means, initial)
    action, probability = kernels.choose(
        new_generator(seed), explorer.rule(), statistics, np.array(available), float(time)
    )
    assert available[action]
    assert probability == pytest.approx(probabilities[action], rel=1e-12)
    assert probability > 0.0


@pytest.mark.parametrize("explorer", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize(
    ("counts", "means"),
    [([4, 5, 6, 7], [0.2, 0.6, 0.6, 0.5]), ([0, 3, 0, 1], [0.0, 0.5, 0.0, 1.0])],
    ids=["all tried", "two untried"],
)
def test_choices_come_as_often_as_their_probabilities_say(explorer, counts, means):
    available = np.array([True, True, True, True])
    statistics = action_statistics_of(counts, means)
    probabilities = probabilities_of(explorer, statistics, available, 20)
    rng, rule = new_generator(11), explorer.rule()
    drawn = [kernels.choose(rng, rule, statistics, available, 20.0)[0] for _ in range(N_DRAWS)]
    seen = np.bincount(drawn, minlength=4)
    assert (seen[probabilities == 0.0] == 0).all()
    likely = probabilities * N_DRAWS > 5
    if likely.sum() > 1:
        expected = probabilities[likely] / probabilities[likely].sum() * seen[likely].sum()
        assert stats.chisquare(seen[likely], expected).pvalue > 0.001


@pytest.mark.parametrize("explorer", THOMPSON.values(), ids=THOMPSON)
def test_thompson_choices_are_draws_from_the_posteriors(explorer):
    counts, means = [3, 8, 2, 0], [2 / 3, 0.5, 0.5, 0.0]
    available = np.array([True, True, False, True])
    statistics, rng, rule = action_statistics_of(counts, means), new_generator(5), explorer.rule()
    drawn = [kernels.choose(rng, rule, statistics, available, 14.0) for _ in range(N_DRAWS)]
    seen = np.bincount([action for action, _ in drawn], minlength=4)
    probabilities = np.insert(posterior_probabilities(explorer, [3, 8, 0], [2 / 3, 0.5, 0.0], n=400_000), 2, 0.0)
    probabilities = np.array(bandits.with_epsilon(probabilities.tolist(), [0, 1, 3], explorer.epsilon))
    assert seen[2] == 0
    assert stats.chisquare(seen[[0, 1, 3]], probabilities[[0, 1, 3]] * N_DRAWS).pvalue > 0.001
    assert {probability for _, probability in drawn} == set(
        probabilities_of(explorer, statistics, available, 14)[[0, 1, 3]]
    )


def posterior_probabilities(explorer, counts, means, n=40_000, seed=3):
    if explorer.kind == "beta_thompson":
        draws = bandits.beta_draws(counts, means, explorer.prior, n, seed)
    else:
        draws = bandits.normal_draws(counts, means, explorer.prior, explorer.strength, n, seed)
    return np.array(bandits.thompson(draws))


def posteriors(kind):
    """Counts and means: prior only, one action, like against like, and very different widths."""
    rng = np.random.default_rng(17)
    yield [0, 0, 0], [0.0, 0.0, 0.0]
    yield [0] * 20, [0.0] * 20
    yield [5], [0.4]
    yield [100_000, 1], [0.5, 1.0]
    yield [100_000, 0], [0.99, 0.0]
    yield [1000] * 20, np.linspace(0.4, 0.5, 20)
    yield [100_000, *[0] * 19], [1.0, *[0.0] * 19]
    yield [0, *[3000] * 10], [0.0, *[0.574] * 10]  # a newcomer among equals
    yield [20, *[20_000] * 20], [0.0, *[0.03] * 20]
    for n_actions in (2, 3, 5, 10, 20) * (1 if INTERPRETED else 8):
        counts = rng.choice([0, 1, 2, 5, 10, 100, 10_000], size=n_actions)
        yield counts, rng.random(n_actions) if kind == "spread" else rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], n_actions)


@pytest.mark.parametrize("kind", ["spread", "extreme"])
@pytest.mark.parametrize(
    "explorer",
    [
        explorers.beta_thompson(),
        explorers.beta_thompson(prior=(1.0, 2.0)),
        explorers.beta_thompson(prior=(0.5, 0.5)),
        explorers.beta_thompson(prior=(5.0, 5.0)),
        explorers.gaussian_thompson(),
        explorers.gaussian_thompson(sd=0.1, prior=(1.0, 1.0)),
    ],
    ids=str,
)
def test_a_thompson_probability_is_mostly_within_2_and_always_within_8_percent_of_the_frequency(explorer, kind):
    errors = []
    for counts, means in posteriors(kind):
        found = probabilities_of(explorer, action_statistics_of(counts, means), np.ones(len(counts), dtype=bool), 1)
        errors += np.abs(found - posterior_probabilities(explorer, counts, means)).tolist()
        assert max(errors) < 0.08, (counts, means)
        assert found.sum() == pytest.approx(1.0, abs=0.25)
        assert (found >= thompson.MIN_THOMPSON_PROBABILITY).all()
        assert (found <= 1.0).all()
    assert np.quantile(errors, 0.9) < 0.02


@pytest.mark.parametrize("explorer", THOMPSON.values(), ids=THOMPSON)
def test_a_poor_action_keeps_the_minimum_probability_of_thompson_sampling(explorer):
    counts, means = [10_000, 10_000], [0.9, 0.1]
    found = probabilities_of(explorer, action_statistics_of(counts, means), [True, True], 1)
    least = explorer.epsilon / 2 + (1 - explorer.epsilon) * thompson.MIN_THOMPSON_PROBABILITY
    assert found == pytest.approx([1.0 - explorer.epsilon / 2, least], rel=1e-5)


@pytest.mark.parametrize("explorer", [EXACT["greedy"], EXACT["upper confidence"], EXACT["inverse gap"]], ids=str)
@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [9, 9, 9, 9], [0, 0, 0, 9]], ids=str)
def test_ties_are_broken_uniformly(explorer, counts):
    found = probabilities_of(explorer, action_statistics_of(counts, [0.5] * 4), [True] * 4, 37)
    winners = [0, 1, 2, 3] if len(set(counts)) == 1 else [0, 1, 2]
    assert found.tolist() == [1 / len(winners) if action in winners else 0.0 for action in range(4)]


@pytest.mark.parametrize(
    ("explorer", "probabilities"),
    [
        (explorers.greedy(epsilon=0.0, floor=0.0), [0.0, 1.0]),
        (explorers.greedy(epsilon=1.0), [0.5, 0.5]),
        (explorers.greedy(epsilon=0.0, floor=1.0), [0.5, 0.5]),
        (explorers.greedy(epsilon=1.0, decay=1.0), [0.05, 0.95]),
        (explorers.greedy(epsilon=1.0, decay=1000.0), [0.0, 1.0]),
        (explorers.greedy(epsilon=1.0, decay=1000.0, floor=0.2), [0.1, 0.9]),
        (explorers.upper_confidence(rho=0.0), [0.0, 1.0]),
        (explorers.upper_confidence(rho=1e300), [1.0, 0.0]),
        (explorers.inverse_gap(scale=0.0), [0.5, 0.5]),
        (explorers.inverse_gap(scale=1e300), [0.0, 1.0]),
    ],
    ids=str,
)
def test_extreme_settings_have_the_plain_result(explorer, probabilities):
    assert probabilities_of(explorer, action_statistics_of([2, 8], [0.25, 0.5]), [True, True], 10) == pytest.approx(
        probabilities, abs=1e-12
    )


@pytest.mark.parametrize("explorer", [*EXACT.values(), *THOMPSON.values()], ids=str)
def test_the_first_moment_and_the_only_action_are_ordinary(explorer):
    assert probabilities_of(explorer, action_statistics_of([0, 0], [0, 0]), [True, True], 1) == pytest.approx(
        [0.5, 0.5], abs=1e-2
    )
    for counts in ([0, 0], [0, 3]):
        assert probabilities_of(explorer, action_statistics_of(counts, [0.5, 0.5]), [False, True], 1).tolist() == [
            0.0,
            1.0,
        ]


@pytest.mark.parametrize(
    ("make", "options", "sentence"),
    [
        (explorers.greedy, {"epsilon": 1.5}, "epsilon is 1.5; it must be a number from 0 to 1"),
        (explorers.greedy, {"decay": -1}, "decay is -1; it must be a number of 0 or more"),
        (explorers.greedy, {"floor": "low"}, "floor is 'low'; it must be a number from 0 to 1"),
        (explorers.upper_confidence, {"rho": -1}, "rho is -1; it must be a number of 0 or more"),
        (explorers.upper_confidence, {"rho": math.nan}, "rho is nan; it must be a number of 0 or more"),
        (explorers.inverse_gap, {"scale": math.inf}, "scale is inf; it must be a number of 0 or more"),
        (
            explorers.beta_thompson,
            {"prior": (0, 1)},
            r"prior is \(0, 1\); it must be two numbers from 0.1 to 1e\+06, .*",
        ),
        (explorers.beta_thompson, {"prior": 3}, r"prior is 3; it must be two numbers from 0.1 to 1e\+06, .*"),
        (explorers.gaussian_thompson, {"sd": 0.0}, "sd is 0.0; it must be a number from 1e-06 to 1000"),
        (explorers.Explorer, {"kind": "bold"}, "kind is 'bold'; it must be one of 'greedy', .*"),
    ],
)
def test_wrong_options_are_refused_by_their_own_name(make, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make(**options)
