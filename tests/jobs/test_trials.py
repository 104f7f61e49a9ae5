"""Trials of policies and studies: the same bits in threads, in processes and on a Ray cluster."""

import pytest

import stumpery as st
from stumpery.streams import TreeProblem
from stumpery.studies import STUDIES
from stumpery.studies.runner import run_study
from stumpery.studies.study import Settings

STREAM = TreeProblem(n_columns=4, n_names=1, depth=2, n_actions=3)


class StoppedError(Exception):
    pass


def curves(result):
    return {name: (result.rewards[name].tolist(), result.regrets[name].tolist()) for name in result.regrets}


def test_regrets_are_the_same_wherever_trials_are_played(executor):
    policies = {"forest": st.RewardForest(actions=STREAM.actions), "linear": st.LinUCB(actions=STREAM.actions)}
    alone = st.regret(policies, STREAM, steps=400, trials=2, seed=3, threads=1)
    assert curves(st.regret(policies, STREAM, steps=400, trials=2, seed=3, executor=executor)) == curves(alone)


@pytest.mark.parametrize("name", ["demo", "click-drift"])
def test_a_study_that_was_stopped_in_threads_goes_on_elsewhere_with_the_same_bits(executor, name, tmp_path):
    whole, _ = run_study(STUDIES[name], Settings(steps=150, trials=2, threads=1), tmp_path / "whole", lambda n: None)
    calls = []

    def stop_early(n):
        calls.append(n)
        if len(calls) == 4:
            raise StoppedError

    with pytest.raises(StoppedError):
        run_study(STUDIES[name], Settings(steps=150, trials=2, threads=1), tmp_path / "cut", stop_early)
    kept = len(list((tmp_path / "cut" / "parts").rglob("*.json")))
    done, settings = [], Settings(steps=150, trials=2, threads=1, executor=executor)
    resumed, _ = run_study(STUDIES[name], settings, tmp_path / "cut", done.append)
    assert kept > 0
    assert sum(done) == STUDIES[name].n_events(settings)
    timeless = [
        {key: list(value) for key, value in outcome.result.columns().items() if "per_s" not in key}
        for outcome in (whole, resumed)
    ]
    assert repr(timeless[0]) == repr(timeless[1])
