"""Policies by key: those of one process, one by one, also when actors and nodes are killed while they learn."""

import json

import numpy as np
import pytest
from tests.support import bits_of

import stumpery as st
from stumpery.logs.by_key.group import last_state, new_start

N, SHOPS = 6000, [f"shop {number}" for number in range(40)]


def made_log():
    rng = np.random.default_rng(5)
    frame = {
        "shop": rng.choice(SHOPS, N).tolist(),
        "hour": rng.integers(0, 24, N).astype(float),
        "action": rng.choice(["news", "film"], N).tolist(),
        "probability": np.full(N, 0.5),
    }
    late = frame["hour"] > 12
    frame["reward"] = ((np.array(frame["action"]) == "film") == late).astype(float)
    return st.logs.from_frame(frame, action="action", reward="reward", probability="probability")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyed") / "log"
    assert st.logs.write_by_key(made_log(), folder, key="shop", n_files=4).rows == N
    return folder


@pytest.fixture(scope="module")
def recipe():
    return st.LinUCB(actions=["film", "news"], seed=3, schema=st.Schema.of({"hour": "numerical"}))


@pytest.fixture(scope="module")
def alone(folder, recipe, tmp_path_factory):
    return st.logs.learn_by_key(st.logs.read(folder), recipe, tmp_path_factory.mktemp("alone"), key="shop")


def same_bits(policies, others):
    assert set(policies) == set(others) == set(SHOPS)
    for key in policies:
        assert bits_of(policies[key]) == bits_of(others[key])


class Killing:
    """An executor that kills each file's first actors after their first save."""

    def __init__(self, inner, n_kills):
        self._inner, self._left, self.n_killed = inner, n_kills, 0
        self.n_workers = inner.n_workers
        self.map, self.put = inner.map, inner.put

    def actor(self, kind, *arguments):
        made = self._inner.actor(kind, *arguments)
        call = made.call

        def killing_call(method):
            answer = call(method)
            if self._left:
                self._left -= 1
                self.n_killed += 1
                made.stop()
            return answer

        made.call = killing_call
        return made


def test_each_key_has_the_policy_that_its_rows_give(alone, recipe):
    assert (len(alone), alone.n_rows) == (40, N)
    chunks = list(made_log().chunks())
    for shop in SHOPS[:3]:
        policy = recipe.clone(seed=alone[shop].seed)
        for chunk in chunks:
            rows = np.array([name == shop for name in chunk.contexts["shop"]])
            names = [("film", "news")[action] for action in chunk.actions[rows].tolist()]
            contexts = [{"hour": hour} for hour in chunk.contexts["hour"][rows].tolist()]
            decisions = st.Decisions(names, chunk.probabilities[rows], contexts)
            policy.learn_many(decisions, chunk.rewards[rows])
        row = [{"hour": 20.0}]
        assert policy.probabilities_many(row) == pytest.approx(alone[shop].probabilities_many(row))
        learned = [row["n"] for row in alone[shop].explain().rows]
        assert sum(learned) == sum(name == shop for chunk in chunks for name in chunk.contexts["shop"])
    assert len({alone[shop].seed for shop in SHOPS}) == 40


def test_policies_are_the_same_wherever_they_are_learned(folder, recipe, alone, executor, tmp_path):
    done = []
    log = st.logs.read(folder)
    found = st.logs.learn_by_key(log, recipe, tmp_path, key="shop", executor=executor, progress=done.append)
    same_bits(found, alone)
    assert sum(done) == N


@pytest.mark.parametrize("kind", ["two_processes", "local_cluster"])
def test_killed_actors_go_on_from_their_last_save(request, folder, recipe, alone, kind, tmp_path):
    made = request.getfixturevalue(kind)
    executor = Killing(made[1] if kind == "local_cluster" else made, 4)
    done, log = [], st.logs.read(folder)
    found = st.logs.learn_by_key(
        log, recipe, tmp_path, key="shop", executor=executor, save_rows=400, progress=done.append
    )
    assert executor.n_killed == 4
    same_bits(found, alone)
    assert sum(done) == N


def test_when_a_node_is_killed_its_policies_go_on_elsewhere(folder, recipe, alone, local_cluster, tmp_path):
    cluster, executor = local_cluster
    n_advances = []

    def kill_once(n):
        n_advances.append(n)
        if len(n_advances) == 2:
            cluster.kill_node()

    log = st.logs.read(folder)
    found = st.logs.learn_by_key(log, recipe, tmp_path, key="shop", executor=executor, progress=kill_once)
    cluster.add_node()
    same_bits(found, alone)
    assert sum(n_advances) == N


def test_few_bytes_let_policies_wait_in_files_with_the_same_bits(folder, recipe, alone, tmp_path):
    found = st.logs.learn_by_key(st.logs.read(folder), recipe, tmp_path, key="shop", max_bytes=1)
    same_bits(found, alone)
    n_files = len(list(tmp_path.rglob("*.safetensors")))
    assert n_files == 40


def test_a_finished_folder_is_read_and_not_learned_again(folder, recipe, tmp_path):
    log, done = st.logs.read(folder), []
    st.logs.learn_by_key(log, recipe, tmp_path, key="shop")
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.safetensors"))
    again = st.logs.learn_by_key(log, recipe, tmp_path, key="shop", progress=done.append)
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.safetensors")) == before
    assert (len(again), sum(done)) == (40, N)
    with pytest.raises(st.InvalidInput, match="has policies of another policy; out must be a folder of these"):
        st.logs.learn_by_key(log, st.UCB(actions=["film", "news"]), tmp_path, key="shop")


def test_a_worker_that_was_thought_dead_harms_nothing(tmp_path):
    one, other = new_start(tmp_path), new_start(tmp_path)
    (tmp_path / str(other) / "state.json").write_text(json.dumps({"position": 7, "files": [["a", "2/a"]]}))
    (tmp_path / str(one) / "state.json").write_text(json.dumps({"position": 9, "files": [["a", "1/a"]]}))
    assert last_state(tmp_path) == (7, {"a": "2/a"})
    (tmp_path / str(other) / "state.json").write_text("{")
    with pytest.raises(st.CorruptFile, match="it is no state of policies by key"):
        last_state(tmp_path)


def test_a_key_in_two_files_is_refused(tmp_path):
    for name in "ab":
        frame = {"shop": ["rome"] * 4, "action": ["film", "news"] * 2, "reward": [1.0, 0.0] * 2, "p": [0.5] * 4}
        log = st.logs.from_frame(frame, action="action", reward="reward", probability="p")
        st.logs.write(log, tmp_path / f"{name}.parquet")
    recipe = st.UCB(actions=["film", "news"])
    with pytest.raises(st.InvalidInput, match=r"the key 'rome' is in a.parquet and b.parquet; write_by_key writes"):
        st.logs.learn_by_key(st.logs.read(tmp_path), recipe, tmp_path / "out", key="shop")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"key": "shp"}, "there is no column 'shp': did you mean shop"),
        ({"log": 3}, "log is 3; it must come from stumpery.logs.read"),
        ({"policy": 3}, "policy is 3; it must be one that has learned nothing"),
        ({"save_rows": 0}, "save_rows is 0; it must be a whole number of 1 or more"),
        ({"max_bytes": 0}, "max_bytes is 0; it must be a whole number of 1 or more"),
        ({"executor": 3}, "executor is 3; it must be one"),
        ({"progress": 3}, "progress is 3; it must be a function or None"),
        ({"key": "half"}, "the column 'half' has numbers that are not whole; keys are strings or whole numbers"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(recipe, tmp_path, options, sentence):
    frame = {"shop": ["rome"], "half": [0.5], "action": ["film"], "reward": [1.0]}
    log = st.logs.from_frame(frame, action="action", reward="reward")
    given = {"log": log, "policy": recipe, "key": "shop", **options}
    with pytest.raises(st.InvalidInput, match=sentence):
        st.logs.learn_by_key(given.pop("log"), given.pop("policy"), tmp_path / "out", **given)


def test_rows_without_a_key_are_left_out(recipe, tmp_path):
    frame = {"shop": [7.0, np.nan, 9.0], "action": ["film"] * 3, "reward": [1.0, 0.0, 1.0], "hour": [1.0, 2.0, 3.0]}
    log = st.logs.from_frame(frame, action="action", reward="reward")
    assert st.logs.write_by_key(log, tmp_path / "log", key="shop", n_files=2) == (2, 1)
    assert set(st.logs.learn_by_key(log, recipe, tmp_path / "out", key="shop")) == {7, 9}
    with pytest.raises(FileNotFoundError, match="there are no policies by key in"):
        st.logs.KeyedPolicies(tmp_path / "log")


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (np.array([2**53, 2**53 + 1]), "has numbers of 2\\^53 or more, of which several look alike; use strings"),
        (np.array([-(2**63), 1]), "has numbers of 2\\^53 or more, of which several look alike; use strings"),
        (["rome", b"rome"], "has the value b'rome'; keys are strings or whole numbers"),
        (["rome", ["rome"]], r"has the value \['rome'\]; keys are strings or whole numbers"),
    ],
)
def test_keys_that_cannot_be_told_apart_are_refused(recipe, tmp_path, keys, sentence):
    frame = {"shop": keys, "action": ["film", "news"], "reward": [1.0, 0.0], "hour": [1.0, 2.0]}
    log = st.logs.from_frame(frame, action="action", reward="reward")
    with pytest.raises(st.InvalidInput, match=sentence):
        st.logs.learn_by_key(log, recipe, tmp_path / "out", key="shop")
    with pytest.raises(st.InvalidInput, match=sentence):
        st.logs.write_by_key(log, tmp_path / "log", key="shop")


def test_a_nan_among_strings_is_no_key_and_any_string_is_one(recipe, tmp_path):
    frame = {
        "shop": ["rome", np.nan, "", "a\ud800", 3.0, 2**53 - 1],
        "action": ["film", "news"] * 3,
        "reward": [1.0] * 6,
    }
    log = st.logs.from_frame(frame, action="action", reward="reward")
    found = st.logs.learn_by_key(log, st.UCB(actions=["film", "news"]), tmp_path / "out", key="shop")
    assert set(found) == {"rome", "", "a\ud800", "3", str(2**53 - 1)}
    assert sum(row["n"] for row in found["a\ud800"].explain().rows) == 1


def test_a_log_without_probabilities_is_cut_by_key_and_learned(recipe, tmp_path):
    frame = {"shop": ["rome", "oslo"] * 20, "action": ["film"] * 40, "reward": [1.0] * 40, "hour": [1.0] * 40}
    log = st.logs.from_frame(frame, action="action", reward="reward")
    st.logs.write_by_key(log, tmp_path / "log", key="shop", n_files=3)
    found = st.logs.learn_by_key(st.logs.read(tmp_path / "log"), recipe, tmp_path / "out", key="shop")
    assert (set(found), found.n_rows) == ({"rome", "oslo"}, 40)
