"""Exceptions: each that the library raises because of what it was given is a StumperyError."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stumpery as st

SOURCE = Path(st.__file__).parent
REFINED = {"ValueError", "MemoryError", "Exception"}  # the library raises its own in place of these
INTERNAL = {  # what no input leads to, and protocols of Python's
    "compiling/internal.py: TypeError",
    "compiling/pointers.py: TypeError",
    "locks.py: RuntimeError",
    "saving/files.py: TypeError",
    "studies/finished_parts.py: KeyError",
    "summaries/numbers.py: TypeError",
}


def raised(path):
    """The names of the exceptions that a file makes, also those that it returns for others to raise."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        given = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Return) else None
        named = given.func if isinstance(given, ast.Call) else given
        if isinstance(named, ast.Name):
            yield named.id


def test_no_file_raises_a_built_in_exception_that_one_of_ours_refines():
    found = {path.relative_to(SOURCE).as_posix(): set(raised(path)) & REFINED for path in SOURCE.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_other_built_in_exceptions_are_internal():
    kinds = {"TypeError", "KeyError", "RuntimeError", "IndexError", "ArithmeticError", "NotImplementedError"}
    files = {path.relative_to(SOURCE).as_posix(): set(raised(path)) & kinds for path in SOURCE.rglob("*.py")}
    assert {f"{path}: {name}" for path, names in files.items() for name in names} == INTERNAL


def policy():
    return st.UCB(actions=["news", "film"])


REFUSED = {
    "no action": lambda: st.UCB(actions=[]),
    "option": lambda: st.RewardForest(actions=["news", "film"], seed=-1),
    "explorer": lambda: st.explorers.greedy(epsilon=2.0),
    "reward": lambda: policy().learn(st.Decision("news", 0.5), np.nan),
    "action": lambda: policy().learn(st.Decision("sport", 0.5), 1.0),
    "available": lambda: policy().decide(available=["sport"]),
    "row": lambda: st.RewardForest(actions=["news", "film"]).decide({"hour": [1, 2]}),
    "label": lambda: st.HoeffdingTreeClassifier().learn_one({"hour": 1}, [1]),
    "weight": lambda: st.HoeffdingTreeClassifier().learn_one({"hour": 1}, "work", -1.0),
    "play without rewards": lambda: st.play(policy()),
    "play of no policy": lambda: st.play(3, rewards=["news"]),
    "regret of no policy": lambda: st.regret(
        {"mine": 3}, st.streams.BernoulliArms(means=[0.5, 0.6]), steps=9, trials=2
    ),
    "prequential without models": lambda: st.prequential({}, [], []),
    "replay": lambda: st.evaluation.replay(policy(), []),
    "schema": lambda: st.Schema.of([]),
    "frame": lambda: st.Schema.of({"hour": "numerical"}).extend(pd.DataFrame({"day": [1]})),
    "moments": lambda: st.summaries.Moments().add("x"),
    "quantiles": lambda: st.summaries.QuantileSummary(epsilon=2.0),
    "counts": lambda: st.summaries.CountMin(width=0),
    "arms": lambda: st.streams.BernoulliArms(means=[]),
    "tree problem": lambda: st.streams.TreeProblem(n_actions=0),
    "transform": lambda: st.streams.transforms.shuffle(3, seed=1),
    "dataset": lambda: st.streams.load_dataset("covertyp"),
    "selector": lambda: st.FeatureSelector(features=["a", "b"], n_features=3),
    "ensemble": lambda: st.ensembles.Voting(models=[]),
    "file": lambda: st.load(3),
    "saved": lambda: st.save(3, "nowhere.safetensors"),
    "reinforcement": lambda: st.DQNTree(seed=-1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_invalid_input(case):
    with pytest.raises(st.InvalidInput, match=r"^[^\n]+$"):
        REFUSED[case]()
