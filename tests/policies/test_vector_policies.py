"""What all policies obey that see a context as a vector."""

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import assert_same_play, assert_same_state, copy_of_state

import stumpery as st
from stumpery.jit import INTERPRETED
from stumpery.policies.policy import Policy
from stumpery.types import State

pytestmark = pytest.mark.kernels

KINDS = [st.LinUCB, st.LinearThompson, st.policies.LinearPolicy, st.policies.Banditron, st.NeuralBandit]
OPTIONS = {st.NeuralBandit: {"committee": [(3, 0.1), (4, 0.01)], "gamma": 0.3}, st.policies.Banditron: {"gamma": 0.3}}
ACTIONS = ("a", "b", "c")
N = 60 if INTERPRETED else 300


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def new(request):
    def make(**options):
        return request.param(**{"actions": ACTIONS, "seed": 3, **OPTIONS.get(request.param, {}), **options})

    return make


@pytest.fixture
def rows():
    """Dicts of mixed columns with gaps."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "age": float(rng.normal(40, 9)),
            "device": str(rng.choice(["phone", "desk"])),
            "member": int(rng.integers(0, 2)),
        }
        for _ in range(N)
    ]
    for place in range(0, N, 7):
        rows[place][("age", "device", "member")[place % 3]] = None
    return rows


@pytest.fixture
def rewards():
    return np.random.default_rng(2).integers(0, 5, size=(N, 3)) / 4


@pytest.fixture
def schema(rows):
    return st.Schema.infer(rows)


def test_playing_equals_the_plain_loop(new, rows, rewards, schema):
    fast, slow = new(schema=schema), new(schema=schema)
    played, expected = fast.play(rows, rewards), Policy._play(slow, rows, rewards)
    assert_same_play(played, expected)
    assert_same_state(fast, slow)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64, np.bool_])
def test_a_matrix_needs_no_schema_and_its_type_does_not_matter(new, rewards, kind):
    bits = np.random.default_rng(3).integers(0, 2, (N, 5))
    played, expected = new().play(bits.astype(kind), rewards), new().play(bits, rewards)
    assert played.actions.tolist() == expected.actions.tolist()
    loop = Policy._play(new(), bits.astype(kind), rewards)
    assert loop.probabilities.tobytes() == expected.probabilities.tobytes()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_what_dicts_give(new, rows, rewards, frame):
    dicts, frames = new(), new()
    assert dicts.play(rows, rewards).actions.tolist() == frames.play(frame(rows), rewards).actions.tolist()
    assert_same_state(dicts, frames)


def test_missing_new_and_infinite_values_are_ordinary(new, rows, rewards, schema):
    policy = new(schema=schema)
    policy.play(rows, rewards)
    odd = [{}, {"age": math.inf}, {"age": -math.inf, "device": "watch"}, {"age": 1e300}, {"member": 0.5}, {"age": None}]
    for row in odd * 3:
        decision = policy.decide(row)
        assert 0.0 < decision.probability <= 1.0
        policy.learn(decision, 0.5)
        policy.explain(decision)
    assert all(np.isfinite(array).all() for array in policy.state().arrays.values())


def test_actions_come_and_go(new, rows, rewards, schema, tmp_path):
    policy = new(schema=schema)
    policy.play(rows, rewards)
    before = {row["action"]: row["n"] for row in policy.explain().rows}
    n_bytes = policy.n_bytes
    policy.add_action("d")
    assert policy.n_bytes > n_bytes
    policy.remove_action("b")
    assert {row["action"]: row["n"] for row in policy.explain().rows} == {
        "a": before["a"],
        "c": before["c"],
        "d": 0,
    }
    assert 2 in policy.play(rows, np.tile([0.0, 0.0, 1.0], (N, 1))).actions
    st.save(policy, tmp_path / "policy.safetensors")
    assert st.load(tmp_path / "policy.safetensors").decide(rows[0]) == policy.decide(rows[0])


def test_another_reward_range_is_only_another_scale(new, rows, rewards):
    plain, scaled = new(), new(reward_range=(-4.0, 4.0))
    assert plain.play(rows, rewards).actions.tolist() == scaled.play(rows, 8 * rewards - 4).actions.tolist()
    decision = plain.decide(rows[0])
    for unit, other in zip(plain.explain(decision).rows, scaled.explain(decision).rows, strict=True):
        assert other["score"] == pytest.approx(8 * unit["score"] - 4)
        assert other["uncertainty"] == pytest.approx(8 * unit["uncertainty"])
        assert other["probability"] == unit["probability"]


def test_explaining_changes_nothing(new, rows, rewards):
    policy = new()
    assert len(policy.explain().rows) == 3
    policy.play(rows, rewards)
    before = copy_of_state(policy)
    explanation = policy.explain(policy_decision := new(schema=policy.schema).decide(rows[4]))
    assert f"{policy_decision.action!r} was chosen with probability" in str(explanation)
    assert sum(row["probability"] for row in explanation.rows) == pytest.approx(1.0, abs=0.03)
    assert sum(row["n"] for row in explanation.rows) == N
    assert_same_state(policy, before)


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        (None, ".* needs a context to decide on; there is none"),
        ({"age": "old"}, "a value of column 'age' is 'old'; it must be a number or missing"),
        ({"device": 3}, "a value of column 'device' is 3; it must be a string or missing"),
        (np.zeros(2), "row has the shape .*; it must have the schema's 3 columns"),
        ([1, 2, 3], "row is \\[1, 2, 3\\]; it must be a dict, a pandas Series or a 1-D array"),
    ],
)
def test_a_wrong_context_is_refused_in_one_sentence(new, rows, rewards, schema, context, sentence):
    policy = new(schema=schema)
    policy.play(rows, rewards)
    before = copy_of_state(policy)
    for verb in (policy.decide, lambda row: policy.learn(st.Decision("a", 0.5, row), 1.0)):
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            verb(context)
    assert_same_state(policy, before)


def test_one_dict_is_too_little_to_learn_the_columns_from(new):
    with pytest.raises(ValueError, match="cannot learn its columns from one row"):
        new().decide({"age": 3})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("clock", "the number of rewards is -1.0, which is not within 0 and 9.0072e+15"),
        ("arms", "a count or sum of squares is negative"),
        ("columns", "a count or sum of squares is negative"),
        ("rng", "its random state is all zeros"),
    ],
)
def test_an_impossible_file_is_refused(new, rows, rewards, name, sentence):
    policy = new()
    policy.play(rows, rewards)
    options, arrays = copy_of_state(policy)
    arrays[name][:] = 0 if name == "rng" else -1
    with pytest.raises(ValueError, match=f"^corrupt file: {re.escape(sentence)}$"):
        type(policy).from_state(State(options, arrays))
