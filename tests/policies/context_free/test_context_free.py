"""What the lecture notes say of the policies without context, in small."""

import numpy as np
import pytest
from scipy import stats
from tests.reference import bandits

from stumpery.policies import UCB, EpsilonGreedy, Greedy, MeansPolicy, RandomPolicy, ThompsonSampling
from stumpery.policies.exploration import explorers
from stumpery.streams import BernoulliArms
from stumpery.types import Decision

MEANS = [0.2, 0.4, 0.6, 0.8]


def played(policy, steps=200, seed=3):
    return policy.play(None, next(BernoulliArms(means=MEANS).batches(seed=seed, size=steps)).rewards).actions.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_a_pessimistic_greedy_stays_with_the_first_action_that_it_tries(seed):
    assert len(set(played(Greedy(actions=range(4), initial=-1.0, seed=seed)))) == 1


@pytest.mark.parametrize("seed", range(5))
def test_an_optimistic_greedy_tries_every_action(seed):
    assert set(played(Greedy(actions=range(4), initial=2.0, seed=seed))) == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", [Greedy, UCB, MeansPolicy])
@pytest.mark.parametrize("seed", range(3))
def test_by_default_every_action_is_tried_once_before_any_is_repeated(kind, seed):
    assert sorted(played(kind(actions=range(4), seed=seed))[:4]) == [0, 1, 2, 3]


def test_what_is_tried_first_is_drawn():
    firsts = [Greedy(actions=range(4), seed=seed).decide().action for seed in range(400)]
    assert stats.chisquare(np.bincount(firsts)).pvalue > 0.001


def test_the_initial_value_is_in_units_of_the_reward():
    policy = Greedy(actions=["a", "b"], initial=50.0, reward_range=(0.0, 100.0))
    policy.learn(Decision("a", 1.0), 49.0)
    assert policy.decide() == ("b", 1.0, None)
    policy.learn(Decision("b", 1.0), 48.0)
    assert policy.decide() == ("a", 1.0, None)


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({"epsilon": 0.4}, [0.4, 0.4, 0.4]),
        ({"epsilon": 0.8, "decay": 1.0}, [0.8, 0.8 / 10, 0.8 / 100]),
        ({"epsilon": 0.8, "decay": 0.5, "floor": 0.1}, [0.8, 0.8 / 10**0.5, 0.1]),
    ],
)
def test_the_share_of_exploring_decays_to_its_floor(options, shares):
    policy = EpsilonGreedy(actions=["a", "b"], initial=0.5, **options)
    for rewards, share in zip((0, 9, 99), shares, strict=True):
        while sum(row["n"] for row in policy.explain().rows) < rewards:
            policy.learn(Decision("a", 1.0), 1.0)
        leading = policy.explain().rows[0]["probability"]
        assert leading == pytest.approx(0.5 if rewards == 0 else 1 - share / 2)


@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_ucb_plays_in_the_order_of_mean_plus_bonus(rho):
    policy, history = UCB(actions=range(4), rho=rho, seed=2), []
    rng = np.random.default_rng(5)
    for _ in range(500):
        decision = policy.decide()
        probabilities = bandits.greedy(bandits.values(history, 4, float("inf"), rho), range(4))
        assert decision.probability == pytest.approx(probabilities[decision.action])
        history.append((decision.action, float(rng.random() < MEANS[decision.action])))
        policy.learn(decision, history[-1][1])
    assert np.bincount([action for action, _ in history]).argmax() == 3


def test_ucb_overtakes_epsilon_greedy_in_the_long_run():
    rewards = next(BernoulliArms(means=[0.45, 0.5, 0.55, 0.7]).batches(seed=8, size=20_000)).rewards
    best = [
        np.mean(policy.play(None, rewards).actions == 3)
        for policy in (UCB(actions=range(4)), EpsilonGreedy(actions=range(4)), RandomPolicy(actions=range(4)))
    ]
    assert best == sorted(best, reverse=True)


def test_beta_posteriors_count_a_reward_as_successes_and_failures():
    policy = ThompsonSampling(actions=["a", "b"], prior=(2.0, 3.0), seed=4)
    for reward in (1.0, 1.0, 0.25):
        policy.learn(Decision("a", 1.0), reward)
    draws = bandits.beta_draws([3, 0], [0.75, 0.0], (2.0, 3.0), 200_000, seed=1)
    share = policy.decide_many(20_000).actions.count("a") / 20_000
    assert share == pytest.approx(np.mean(draws[:, 0] > draws[:, 1]), abs=0.015)


def test_gaussian_posteriors_narrow_with_the_square_root_of_the_rewards():
    policy = ThompsonSampling(actions=["a", "b"], posterior="gaussian", sd=0.2, prior=(0.5, 0.5), seed=4)
    for reward in (0.5, 0.75, 0.25, 0.5):
        policy.learn(Decision("a", 1.0), reward)
    policy.learn(Decision("b", 1.0), 0.6)
    # Normal(2.5 / 5, 0.2 / sqrt 5) against Normal(1.1 / 2, 0.2 / sqrt 2)
    truth = stats.norm.cdf((0.5 - 0.55) / (0.2 * np.sqrt(1 / 5 + 1 / 2)))
    drawn = policy.decide_many(20_000)
    assert drawn.actions.count("a") / 20_000 == pytest.approx(truth, abs=0.015)
    said = [p for a, p in zip(drawn.actions, drawn.probabilities, strict=True) if a == "a"]
    assert said == pytest.approx([truth] * len(said), abs=0.01)


def test_any_explorer_can_stand_on_the_means():
    policy = MeansPolicy(actions=["a", "b", "c"], explorer=explorers.inverse_gap(scale=4.0), initial=0.0)
    policy.learn(Decision("a", 1.0), 1.0)
    probabilities = {row["action"]: row["probability"] for row in policy.explain().rows}
    small = 1 / (3 + 4 * 2**0.5)
    assert probabilities == pytest.approx({"a": 1 - 2 * small, "b": small, "c": small})
