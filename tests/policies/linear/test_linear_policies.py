"""Linear policies against ridge regressions that are solved anew for every score."""

import numpy as np
import pytest
from tests.reference.ridge_regression import RidgeRegression

from stumpery.encoding import Schema
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies import LinearPolicy, LinearThompson, LinUCB, standardisation_kernels
from stumpery.policies.exploration import explorer_kernels, explorers
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.linear import linear_policy_kernels as kernels
from stumpery.random import new_generator
from stumpery.types import Decision, State


@kernel
def sparse_row(columns, row):
    return standardisation_kernels.sparse_row(columns, row)


pytestmark = pytest.mark.kernels

STEPS = 60 if INTERPRETED else 400
WIDTH, N_ACTIONS = 6, 3


def contexts(n, seed=1):
    """Two columns of bits, three of numbers, one that turns from bits to numbers; some values are missing."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 2, (n, 2)), rng.normal(5, 3, (n, 3)), rng.integers(0, 2, n)]).astype(float)
    rows[n // 2 :: 3, 5] = 7.5
    rows[rng.random(rows.shape) < 0.05] = np.nan
    return rows


def rewards_of(rows, seed=2):
    rng = np.random.default_rng(seed)
    x = np.nan_to_num(rows)
    return np.clip(0.5 + 0.05 * x @ rng.normal(size=(WIDTH, N_ACTIONS)) + rng.normal(0, 0.1, (len(rows), 3)), 0, 1)


@pytest.mark.parametrize(("alpha", "ridge"), [(1.0, 1.0), (0.25, 0.1), (0.0, 10.0)])
def test_every_decision_equals_the_twin(alpha, ridge):
    rows = contexts(STEPS)
    rewards = rewards_of(rows)
    policy, twin = LinUCB(actions=range(N_ACTIONS), alpha=alpha, ridge=ridge), RidgeRegression(N_ACTIONS, WIDTH, ridge)
    for row, paid in zip(rows, rewards, strict=True):
        scores, uncertainties = twin.scores_and_uncertainties(row)
        values = scores + alpha * uncertainties
        action, probability, _ = policy.decide(row)
        assert values[action] >= values.max() - 1e-9
        assert probability == pytest.approx(1 / (values >= values.max() - 1e-12).sum())
        policy.learn(Decision(action, probability, row), paid[action])
        twin.learn(row, action, paid[action])
    statistics = policy._statistics_of(rows[0])
    scores, uncertainties = twin.scores_and_uncertainties(rows[0])
    assert statistics[rules.ACTION_SCORE] == pytest.approx(scores, abs=1e-9)
    assert statistics[rules.ACTION_UNCERTAINTY] == pytest.approx(uncertainties, abs=1e-9)


def test_the_inverse_stays_the_inverse_over_many_updates():
    n, size = (300, 5) if INTERPRETED else (10_000, 40)
    rng = np.random.default_rng(3)
    model = kernels.new_ridge_models(1, size + 1, 1.0)
    a, b, columns = np.eye(size + 1), np.zeros(size + 1), np.zeros((size, 3))
    for _ in range(n):
        x = (rng.random(size) < 0.2).astype(float)
        reward = float(rng.random() < 0.3 + 0.5 * x[0])
        kernels.update(model.inverses[0], model.thetas[0], sparse_row(columns, x), reward)
        full = np.append(x, 1.0)
        a += np.outer(full, full)
        b += reward * full
    inverse = np.linalg.inv(a)
    assert np.abs(model.inverses[0] - inverse).max() < 1e-12
    assert np.abs(model.thetas[0] - inverse @ b).max() < 1e-10
    assert (model.inverses[0] == model.inverses[0].T).all()


@pytest.mark.parametrize(
    "explorer",
    [
        explorers.greedy(epsilon=0.3, bonus=0.5),
        explorers.upper_confidence(rho=0.1, epsilon=0.2),
        explorers.inverse_gap(scale=2.0, bonus=0.1),
        explorers.uncertainty_thompson(scale=0.5),
        explorers.gaussian_thompson(),
        explorers.beta_thompson(),
    ],
    ids=lambda explorer: explorer.kind,
)
def test_any_explorers_probabilities_are_the_frequencies(explorer):
    rows = contexts(50)
    policy = LinearPolicy(actions=range(N_ACTIONS), explorer=explorer, seed=4)
    policy.play(rows, rewards_of(rows))
    probabilities = policy._statistics_of(rows[7])[rules.ACTION_PROBABILITY]
    assert probabilities.sum() == pytest.approx(1.0, abs=0.03)
    n = 300 if INTERPRETED else 10_000
    seen = np.bincount([policy.decide(rows[7]).action for _ in range(n)], minlength=N_ACTIONS) / n
    estimated = 0.03 if "thompson" in explorer.kind else 0.0
    assert np.abs(seen - probabilities).max() <= estimated + 3 * np.sqrt(0.25 / n)
    for _ in range(20):
        action, probability, _ = policy.decide(rows[7])
        assert probability == pytest.approx(probabilities[action])


def test_thompson_draws_are_those_of_the_coefficients():
    rows = contexts(40)
    rewards = rewards_of(rows)
    policy, twin = LinearThompson(actions=range(N_ACTIONS), scale=0.4), RidgeRegression(N_ACTIONS, WIDTH, 1.0)
    played = policy.play(rows, rewards)
    for row, action, paid in zip(rows, played.actions, rewards, strict=True):
        twin.learn(row, action, paid[action])
    x, rng = twin.features.transform(rows[3]), np.random.default_rng(5)
    inverses = [np.linalg.inv(a) for a in twin.a]
    thetas = [
        rng.multivariate_normal(inverse @ b, 0.4**2 * inverse, 20_000)
        for inverse, b in zip(inverses, twin.b, strict=True)
    ]
    winners = np.argmax([theta @ x for theta in thetas], axis=0)
    frequencies = np.bincount(winners, minlength=N_ACTIONS) / len(winners)
    assert policy._statistics_of(rows[3])[rules.ACTION_PROBABILITY] == pytest.approx(frequencies, abs=0.03)


def test_a_score_beyond_the_rewards_is_no_matter_to_beta_thompson():
    rule, statistics = explorers.beta_thompson().rule(), rules.new_action_statistics(2)
    statistics[rules.ACTION_SCORE] = -3.0, 4.0
    statistics[rules.ACTION_UNCERTAINTY] = 0.1, 0.1
    rng, both = new_generator(1), np.ones(2, dtype=bool)
    assert {explorer_kernels.choose(rng, rule, statistics, both, 1.0)[0] for _ in range(20)} == {1}


def test_an_untried_action_gets_draws_around_a_half():
    explorer, statistics = explorers.uncertainty_thompson(scale=0.5), rules.new_action_statistics(2)
    statistics[:2, 0] = 0.5, 1.0
    explorer_kernels.fill_probabilities(explorer.rule(), statistics, np.ones(2, dtype=bool), 1.0)
    assert statistics[rules.ACTION_PROBABILITY] == pytest.approx([0.5, 0.5], abs=1e-3)


def test_an_explanation_names_the_columns_that_weigh_most():
    rng = np.random.default_rng(6)
    rows = [
        {"sun": int(sun), "device": device} for sun, device in zip(rng.integers(0, 2, 200), "pd" * 100, strict=True)
    ]
    policy = LinUCB(actions=["walk", "read"], reward_range=(0, 10), schema=None)
    policy.play(rows, np.array([[10.0 * row["sun"], 10.0 - 10.0 * row["sun"]] for row in rows]))
    decision = policy.decide({"sun": 1, "device": "p"})
    explanation = policy.explain(decision)
    assert decision.action == "walk"
    assert explanation.summary.startswith("'walk' was chosen with probability 1. After 200 rewards 'walk' leads with ")
    assert "; the largest terms of 'walk' are sun (+" in explanation.summary
    assert explanation.rows[0]["score"] == pytest.approx(10.0, abs=0.5)


@pytest.mark.parametrize("value", [0.0, -1.0, 2.0])
def test_a_file_with_impossible_inverses_is_refused(value):
    options, arrays = LinUCB(actions=["a"]).state()
    arrays["inverses"][:] = value
    with pytest.raises(ValueError, match=r"^corrupt file: (a variance|an inverse) is [^\n]+$"):
        LinUCB.from_state(State(options, arrays))


def test_a_file_with_a_lopsided_inverse_is_refused():
    options, arrays = LinUCB(actions=["a"], schema=Schema.of({"x": "numerical"})).state()
    arrays["inverses"][0, 0, 1] = 0.5
    with pytest.raises(ValueError, match=r"^corrupt file: (a variance|an inverse) is [^\n]+$"):
        LinUCB.from_state(State(options, arrays))


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        (
            LinearPolicy,
            {"explorer": "greedy"},
            "explorer is 'greedy'; it must come from stumpery.policies.exploration.explorers",
        ),
        (LinearPolicy, {"ridge": 0}, "ridge is 0; it must be a number of 1e-09 or more"),
        (LinUCB, {"alpha": -1}, "alpha is -1; it must be a number of 0 or more"),
        (LinearThompson, {"scale": 0}, "scale is 0; it must be a number from 1e-06 to 1000"),
    ],
)
def test_wrong_options_are_refused(kind, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        kind(actions=["a"], **options)
