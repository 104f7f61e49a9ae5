"""Regret by hand, checkpoints, intervals, threads and resumed runs."""

import threading

import numpy as np
import pytest
from scipy import stats

import stumpery as st
from stumpery.evaluation.events import BATCH_SIZE
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import log_grid, trial_seeds
from stumpery.policies import Policy
from stumpery.streams import BernoulliArms, GaussianArms
from stumpery.types import Batch

REWARDS = np.array([[1.0, 0.0], [0.0, 0.5], [0.25, 1.0], [0.5, 0.5], [0.0, 1.0]])
MEANS = np.array([[0.5, 0.25], [0.5, 0.75], [0.0, 1.0], [0.5, 0.5], [0.25, 0.5]])


class Tiny:
    """Five events, one a batch, the means known or not; it notes which seeds were asked for."""

    actions = ("a", "b")
    reward_range = (0.0, 1.0)

    def __init__(self, *, known):
        self.known = known
        self.asked = []

    def batches(self, *, seed, size):
        self.asked.append(seed)
        for row in range(5):
            here = slice(row, row + 1)
            yield Batch(None, REWARDS[here], MEANS[here] if self.known else None)


class AlwaysA(st.policies.Greedy):
    """The first action whatever it pays."""

    def _play(self, contexts, rewards):
        played = super()._play(contexts, rewards)
        played.actions[:] = 0
        return played


class Slow(st.EpsilonGreedy):
    """Epsilon-greedy with the plain Python loop."""

    _play = Policy._play


def curves(result):
    return {name: (result.rewards[name].tolist(), result.regrets[name].tolist()) for name in result.regrets}


@pytest.fixture
def policies():
    return {"ucb": st.UCB(actions=range(4)), "epsilon": st.EpsilonGreedy(actions=range(4))}


@pytest.mark.parametrize(
    ("known", "reference", "lost"),
    [
        (True, None, [0.0, 0.25, 1.0, 0.0, 0.25]),  # the best mean less the chosen one's
        (False, None, [0.0, 0.5, 0.75, 0.0, 1.0]),  # the best reward less the earned one
        (True, lambda batch: np.full(len(batch.rewards), 0.5), [0.0, 0.0, 0.5, 0.0, 0.25]),
        (False, lambda batch: batch.rewards[:, 1], [-1.0, 0.5, 0.75, 0.0, 1.0]),
    ],
)
def test_regret_equals_the_sum_by_hand(known, reference, lost):
    result = st.regret({"a": AlwaysA(actions=["a", "b"])}, Tiny(known=known), steps=5, trials=2, reference=reference)
    assert result.checkpoints.tolist() == [1, 2, 3, 4, 5]
    assert result.regrets["a"].tolist() == [pytest.approx(np.cumsum(lost))] * 2
    assert result.rewards["a"].tolist() == [pytest.approx(np.cumsum(REWARDS[:, 0]))] * 2
    (row,) = result.final()
    assert row["regret"] == pytest.approx(sum(lost))
    assert row["average_reward"] == pytest.approx(1.75 / 5)


def test_regret_adds_up_across_batches():
    stream, steps = BernoulliArms(means=[0.2, 0.9]), 2 * BATCH_SIZE + 5
    result = st.regret({"random": st.policies.RandomPolicy(actions=[0, 1])}, stream, steps=steps, trials=1, seed=3)
    events_seed, policy_seed = trial_seeds(3, 0)
    played = st.play(
        st.policies.RandomPolicy(actions=[0, 1], seed=policy_seed), stream=stream, steps=steps, seed=events_seed
    )
    wrong = np.array(played.actions) == 0
    assert result.regrets["random"][0] == pytest.approx(np.cumsum(wrong * 0.7)[result.checkpoints - 1])
    assert result.rewards["random"][0] == pytest.approx(np.cumsum(played.rewards)[result.checkpoints - 1])


@pytest.mark.parametrize("steps", [1, 2, 10, 79, 1000, 10**6, 123_456_789])
def test_checkpoints_go_from_the_first_to_the_last_step(steps):
    grid = log_grid(steps)
    assert grid[0] == 1
    assert grid[-1] == steps
    assert (np.diff(grid) > 0).all()
    assert len(grid) <= 80
    late = grid[grid > 100]
    if len(late) > 3:
        ratios = late[1:] / late[:-1]
        assert ratios.max() / ratios.min() < 1.03


@pytest.mark.parametrize("trials", [2, 3, 5, 10, 11, 12, 20, 40, 1000])
def test_the_band_is_students_interval(trials):
    sample = np.random.default_rng(trials).normal(5.0, 2.0, size=(trials, 3))
    mean, low, high = mean_and_interval(sample)
    expected = stats.t.interval(0.95, trials - 1, sample.mean(axis=0), stats.sem(sample, axis=0))
    assert mean == pytest.approx(sample.mean(axis=0))
    assert high - mean == pytest.approx(expected[1] - mean, rel=0.01)
    assert mean - low == pytest.approx(mean - expected[0], rel=0.01)


def test_a_single_trial_has_no_band():
    mean, low, high = mean_and_interval(np.array([[1.0, 2.0]]))
    assert mean.tolist() == [1.0, 2.0]
    assert np.isnan([low, high]).all()


def test_the_result_does_not_depend_on_the_number_of_threads(policies):
    one, two = (
        st.regret(policies, BernoulliArms(n_actions=4), steps=1500, trials=6, seed=9, threads=threads)
        for threads in (1, 2)
    )
    assert curves(one) == curves(two)


def test_the_seed_decides_and_trials_differ(policies):
    first, same, other = (
        st.regret(policies, BernoulliArms(n_actions=4), steps=300, trials=3, seed=seed) for seed in (1, 1, 2)
    )
    assert curves(first) == curves(same)
    assert curves(first) != curves(other)
    assert len({tuple(row) for row in first.regrets["ucb"].tolist()}) == 3


def test_all_policies_meet_the_same_events_and_stay_as_they_were(policies):
    stream = Tiny(known=True)
    twice = {"one": st.UCB(actions=["a", "b"], seed=1), "other": st.UCB(actions=["b", "a"], seed=1)}
    st.regret(twice, stream, steps=5, trials=3, seed=4, threads=1)
    for trial in range(3):
        assert stream.asked.count(trial_seeds(4, trial)[0]) == 2
    assert all(sum(row["n"] for row in policy.explain().rows) == 0 for policy in twice.values())


def test_a_policy_without_a_compiled_loop_has_the_same_curves():
    found = st.regret(
        {"fast": st.EpsilonGreedy(actions=range(4)), "slow": Slow(actions=range(4))},
        BernoulliArms(n_actions=4),
        steps=400,
        trials=2,
    )
    assert found.regrets["fast"].tolist() == found.regrets["slow"].tolist()
    assert found.rewards["fast"].tolist() == found.rewards["slow"].tolist()


class Interrupted(Exception):  # noqa: N818
    """What a user's Control-C would be."""


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_run_goes_on_where_it_stopped(threads):
    policies = {"ucb": st.UCB(actions=["a", "b"]), "greedy": st.policies.Greedy(actions=["a", "b"])}
    expected = st.regret(policies, Tiny(known=True), steps=5, trials=4, seed=6)
    kept, lock, n_seen = {}, threading.Lock(), [0]

    def stop_in_the_middle(steps):
        with lock:
            n_seen[0] += steps
            if n_seen[0] > 17:
                raise Interrupted

    with pytest.raises(Interrupted):
        st.regret(
            policies,
            Tiny(known=True),
            steps=5,
            trials=4,
            seed=6,
            threads=threads,
            progress=stop_in_the_middle,
            kept=kept,
        )
    assert 1 <= len(kept) < 8
    finished = set(kept)
    stream, steps = Tiny(known=True), []
    resumed = st.regret(policies, stream, steps=5, trials=4, seed=6, kept=kept, progress=steps.append)
    assert curves(resumed) == curves(expected)
    assert sum(steps) == 4 * 2 * 5
    for trial in range(4):
        left = sum(f"{name} {trial}" not in finished for name in policies)
        assert stream.asked.count(trial_seeds(6, trial)[0]) == left


def test_final_figures_come_in_order_of_regret():
    policies = {"random": st.policies.RandomPolicy(actions=range(3)), "ucb": st.UCB(actions=range(3))}
    result = st.regret(policies, BernoulliArms(means=[0.1, 0.5, 0.9]), steps=2000, trials=4)
    first, second = result.final()
    assert [first["policy"], second["policy"]] == ["ucb", "random"]
    assert second["regret"] == pytest.approx(2000 * 0.4, rel=0.05)
    assert second["average_reward"] == pytest.approx(0.5, abs=0.02)
    reach = stats.t.ppf(0.975, 3) * stats.sem(result.regrets["ucb"][:, -1])
    assert first["plus_minus"] == pytest.approx(reach, rel=0.01)
    assert first["events_per_s"] == pytest.approx(2000 / np.median(result.seconds["ucb"]))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policies": {}}, "policies is {}; it must be a dict from at least one name to its policy"),
        (
            {"policies": [st.UCB(actions=range(4))]},
            r"policies is .*; it must be a dict from .*",
        ),
        ({"policies": {"ucb": st.UCB}}, r"the policy 'ucb' is <class '.*UCB'>; it must be a policy, such as .*"),
        ({"policies": {"none": object()}}, r"the policy 'none' is <object .*>; it must be a policy, such as .*"),
        ({"policies": {"ucb": st.UCB(actions=range(3))}}, r"the stream's actions are \[0, 1, 2, 3\], the policy's .*"),
        ({"stream": None}, "stream is a NoneType; it must have .*"),
        ({"stream": GaussianArms(n_actions=4)}, "the stream's rewards go from -5 to 5, the policy's from 0 to 1"),
        ({"steps": 0}, "steps is 0; it must be a whole number of 1 or more"),
        ({"steps": 1e3}, "steps is 1000.0; it must be a whole number of 1 or more"),
        ({"trials": 0}, "trials is 0; it must be a whole number of 1 or more"),
        ({"threads": 0}, "threads is 0; it must be a whole number of 1 or more"),
        ({"executor": 4}, "executor is 4; it must be one, such as .*"),
        ({"seed": -1}, "seed is -1; it must be a whole number of 0 or more"),
        ({"seed": 1.5}, "seed is 1.5; it must be a whole number of 0 or more"),
        ({"reference": lambda batch: batch.rewards}, r"the reference gave shape \(50, 4\) for 50 events; .*"),
        ({"reference": lambda batch: 1.0}, r"the reference gave shape \(\) for 50 events; .*"),
        ({"reference": lambda batch: "best"}, "the reference gave 'best'; one number for each event is needed"),
        ({"reference": 3}, "reference is 3; it must be a function or None"),
        ({"progress": 3}, "progress is 3; it must be a function or None"),
        ({"kept": []}, r"kept is \[\]; it must be a dict or None"),
        ({"stream": BernoulliArms}, "stream is a type; it must have .*"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(policies, options, sentence):
    good = {"policies": policies, "stream": BernoulliArms(n_actions=4), "steps": 50, "trials": 2}
    with pytest.raises(st.InvalidInput, match=f"^{sentence}$"):
        st.regret(**good | options)


def test_kept_trials_of_another_seed_or_length_are_not_taken_for_ours():
    kept = {}
    policies = {"UCB": st.UCB(actions=range(10))}
    st.regret(policies, BernoulliArms(), steps=50, trials=1, kept=kept)
    again = st.regret(policies, BernoulliArms(), steps=60, trials=1, seed=1, kept=kept)
    alone = st.regret(policies, BernoulliArms(), steps=60, trials=1, seed=1)
    assert again.regrets["UCB"].tolist() == alone.regrets["UCB"].tolist()
    for name in kept:
        kept[name] = {"reward": [], "regret": [], "seconds": 0.0}  # damaged
    mended = st.regret(policies, BernoulliArms(), steps=60, trials=1, seed=1, kept=kept)
    assert mended.regrets["UCB"].tolist() == alone.regrets["UCB"].tolist()


def test_trials_in_processes_have_the_same_curves(policies):
    stream, done = BernoulliArms(n_actions=4), []
    alone = st.regret(policies, stream, steps=1500, trials=3, seed=9, threads=1)
    with st.jobs.Processes(2) as executor:
        shared = st.regret(policies, stream, steps=1500, trials=3, seed=9, executor=executor, progress=done.append)
        with pytest.raises(st.InvalidInput, match="cannot be sent to another process"):
            st.regret(policies, stream, steps=15, executor=executor, reference=lambda batch: batch.rewards.max(axis=1))
    assert curves(shared) == curves(alone)
    assert sum(done) == 1500 * 3 * 2
