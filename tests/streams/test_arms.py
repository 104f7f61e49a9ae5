import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from stumpery.streams.arms import BernoulliArms, GaussianArms

ARMS = [BernoulliArms, GaussianArms]


def standard_errors(batch):
    """How far each arm's average lies from its expected reward, in standard errors."""
    n = len(batch.rewards)
    error = batch.rewards.std(axis=0) / np.sqrt(n)
    return (batch.rewards.mean(axis=0) - batch.expected[0]) / error


@pytest.mark.parametrize(
    "stream",
    [
        BernoulliArms(),
        BernoulliArms(means=[0.01, 0.5, 0.99]),
        GaussianArms(),
        GaussianArms(means=[-2.0, 0.1, 3.0], sd=2.0, reward_range=(0.0, 1.0)),
    ],
    ids=repr,
)
def test_rewards_average_to_the_expected_ones(stream):
    batch = next(stream.batches(seed=11, size=200_000))
    assert np.abs(standard_errors(batch)).max() < 4


def test_bernoulli_arms_pay_0_or_1_and_certain_arms_are_certain():
    rewards = next(BernoulliArms(means=[0, 0.5, 1]).batches(seed=1, size=10_000)).rewards
    assert set(np.unique(rewards)) == {0.0, 1.0}
    assert (rewards[:, 0] == 0).all()
    assert (rewards[:, 2] == 1).all()


def test_arms_and_events_are_independent():
    rewards = next(BernoulliArms(means=[0.5] * 4).batches(seed=2, size=100_000)).rewards
    assert np.abs(np.corrcoef(rewards.T) - np.eye(4)).max() < 4 / np.sqrt(100_000)
    assert abs(np.corrcoef(rewards[1:, 0], rewards[:-1, 0])[0, 1]) < 4 / np.sqrt(100_000)


def test_each_seed_draws_its_own_problem():
    def drawn(kind):
        return np.concatenate([next(kind().batches(seed=seed, size=1)).expected[0] for seed in range(200)])

    assert stats.kstest(drawn(BernoulliArms), "uniform").pvalue > 0.001
    assert stats.kstest(drawn(GaussianArms), "norm").pvalue > 0.001


def test_given_means_are_the_same_for_every_seed():
    stream = BernoulliArms(means=(0.2, 0.7))
    assert [next(stream.batches(seed=seed, size=1)).expected.tolist() for seed in (1, 2)] == [[[0.2, 0.7]]] * 2


@given(
    mean=st.floats(-20, 20),
    sd=st.floats(0.05, 10),
    low=st.floats(-5, 5),
    width=st.floats(0.1, 10),
)
def test_the_mean_of_the_clipped_normal_equals_its_integral(mean, sd, low, width):
    high = low + width
    stream = GaussianArms(means=[mean], sd=sd, reward_range=(low, high))
    expected = next(stream.batches(seed=1, size=1)).expected[0, 0]
    # The mean of a variable on [low, high] is low plus the integral of its survival function.
    survival = integrate.quad(lambda x: stats.norm.sf(x, mean, sd), low, high, points=[np.clip(mean, low, high)])[0]
    assert expected == pytest.approx(low + survival, abs=1e-6)


def test_gaussian_rewards_inside_the_range_are_normal():
    rewards = next(GaussianArms(means=[0.3], sd=0.5).batches(seed=3, size=20_000)).rewards[:, 0]
    assert stats.kstest(rewards, "norm", args=(0.3, 0.5)).pvalue > 0.001


def test_the_number_of_actions_follows_the_means():
    assert list(BernoulliArms().actions) == list(range(10))
    assert list(GaussianArms(n_actions=3).actions) == [0, 1, 2]
    assert list(BernoulliArms(means=np.array([0.1, 0.2])).actions) == [0, 1]


def test_the_repr_is_the_recipe():
    assert repr(BernoulliArms(means=[0.5])) == "BernoulliArms(means=(0.5,), n_actions=1)"
    for stream in (BernoulliArms(n_actions=4), GaussianArms(means=[1, 2], sd=2, reward_range=(0, 1))):
        assert eval(repr(stream)) == stream  # noqa: S307


@pytest.mark.parametrize("kind", ARMS)
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_actions": 0}, "n_actions is 0; it must be a whole number of 1 or more"),
        ({"n_actions": 2.5}, "n_actions is 2.5; it must be a whole number of 1 or more"),
        ({"means": 0.5}, "means is 0.5; it must be one finite number per action"),
        ({"means": np.array(0.5)}, "means is .*; it must be one finite number per action"),
        ({"means": "ab"}, "means is 'ab'; it must be one finite number per action"),
        ({"means": []}, r"means is \[\]; it must be one finite number per action"),
        ({"means": [0.5, float("nan")]}, "means is .*; it must be one finite number per action"),
        ({"means": [0.5], "n_actions": 2}, "n_actions is 2; it must be 1, as many as there are means"),
    ],
)
def test_wrong_arms_are_refused(kind, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        kind(**options)


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        (BernoulliArms, {"means": [1.5]}, r"means is \(1.5,\); each mean must be a number from 0 to 1"),
        (GaussianArms, {"sd": 0}, "sd is 0; it must be a number above 0"),
        (GaussianArms, {"reward_range": (1, 0)}, r"reward_range is \(1, 0\); it must be two finite numbers, .*"),
        (GaussianArms, {"reward_range": 5}, "reward_range is 5; it must be two finite numbers, the lower one first"),
        (GaussianArms, {"reward_range": (0,)}, r"reward_range is \(0,\); it must be two finite numbers, .*"),
    ],
)
def test_wrong_options_of_one_kind_are_refused(kind, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        kind(**options)
