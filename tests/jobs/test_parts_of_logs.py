"""A partitioned log: summaries of its files, merged, equal those of one pass, bit for bit."""

from itertools import pairwise

import numpy as np
import pytest
from tests.support import assert_same_state

import stumpery as st

N = 6000


def rows(seed=0):
    """Rows whose sums depend on their order when they are rounded at each step."""
    rng = np.random.default_rng(seed)
    return {
        "action": rng.choice(["news", "sport", "film"], N).tolist(),
        "reward": np.where(rng.random(N) < 0.1, np.nan, rng.random(N) ** 9),
        "probability": rng.choice([0.1, 0.2, 0.7], N),
        "time": 1.7e9 + np.cumsum(rng.exponential(1.0, N)) - 5.0 * (rng.random(N) < 0.01),
        "price": rng.lognormal(0.0, 5.0, N),
        "user": [f"u{number}" for number in rng.integers(0, 5000, N)],
    }


def in_files(folder, n_files):
    """The same rows in a folder of so many files."""
    folder.mkdir()
    whole = rows()
    names = {"action": "action", "reward": "reward", "probability": "probability", "time": "time"}
    cuts = np.linspace(0, N, n_files + 1).astype(int) if n_files > 1 else [0, N]
    for number, (start, end) in enumerate(pairwise(cuts)):
        frame = {name: column[start:end] for name, column in whole.items()}
        st.logs.write(st.logs.from_frame(frame, **names), folder / f"part-{number}.parquet")
    return st.logs.read(folder)


def figures(summary):
    return repr([summary.rows, summary.actions, summary.figures, summary.times, summary.columns])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    return in_files(folder / "one", 1), in_files(folder / "eight", 8)


def test_eight_files_have_the_figures_of_one(folders):
    one, eight = map(st.logs.inspect, folders)
    assert figures(one) == figures(eight)
    assert one.rows == N
    assert "more than 1,000" in figures(one)
    given = rows()
    assert one.figures[0]["mean"] == np.float64(np.nansum(given["reward"].astype(np.longdouble))) / np.sum(
        ~np.isnan(given["reward"])
    )


def test_map_and_merge_equal_the_serial_summary(folders, executor):
    done = []
    serial = st.logs.inspect(folders[1])
    merged = st.logs.inspect(folders[1], executor=executor, progress=done.append)
    assert figures(merged) == figures(serial)
    assert repr(merged.curve) == repr(serial.curve)
    assert merged.report.table == serial.report.table
    assert sum(done) == N
    assert folders[1].share_read == 1.0


def test_problems_are_named_with_their_file(tmp_path, two_processes):
    (tmp_path / "1.csv").write_text("action,reward,p\na,1,0.5\nb,0,0\n")
    (tmp_path / "2.csv").write_text("action,reward,p\na,1,2\nc,0,0.5\n")
    log = st.logs.read(
        [tmp_path / "1.csv", tmp_path / "2.csv"], action="action", reward="reward", probability="p", on_error="lenient"
    )
    serial, merged = st.logs.inspect(log), st.logs.inspect(log, executor=two_processes)
    assert [row["first lines"] for row in serial.report.table] == ["1.csv:3", "2.csv:2"]
    assert merged.report.table == serial.report.table
    strict = st.logs.read([tmp_path / "1.csv", tmp_path / "2.csv"], action="action", reward="reward", probability="p")
    with pytest.raises(st.InvalidInput, match=r"(1.csv, line 3|2.csv, line 2): its probability"):
        st.logs.inspect(strict, executor=two_processes)


def test_an_executor_is_checked(folders):
    with pytest.raises(st.InvalidInput, match="executor is 3; it must be one"):
        st.logs.inspect(folders[0], executor=3)


@pytest.mark.parametrize("name", ["log.dsjson", "log.jsonl", "log.cb", "log.parquet", "log.csv"])
def test_logs_of_every_format_are_read_in_other_processes(name, tmp_path, two_processes):
    frame = {"hour": [1.0, 2.0] * 5, "action": ["1", "2"] * 5, "reward": [1.0, 0.0] * 5, "p": [0.5] * 10}
    log = st.logs.from_frame(frame, action="action", reward="reward", probability="p")
    paths = [tmp_path / f"{number}-{name}" for number in range(2)]
    for path in paths:
        if name == "log.csv":
            path.write_text("hour,action,reward,p\n" + "1,1,1,0.5\n2,2,0,0.5\n" * 5)
        else:
            st.logs.write(log, path)
    columns = {"action": "action", "reward": "reward", "probability": "p"} if name == "log.csv" else {}
    both = st.logs.read(paths, **columns)
    assert figures(st.logs.inspect(both, executor=two_processes)) == figures(st.logs.inspect(both))
    learned = st.logs.learn(both, {"UCB": st.UCB(actions=both.actions)}, executor=two_processes)
    assert sum(row["n"] for row in learned["UCB"].explain().rows) == 20


def test_policies_that_learn_side_by_side_are_those_that_learn_alone(folders, executor):
    policies = {"linear": st.LinUCB(actions=folders[1].actions), "UCB": st.UCB(actions=folders[1].actions)}
    done = []
    learned = st.logs.learn(folders[1], policies, executor=executor, progress=done.append)
    assert sum(done) == 2 * N
    for name, policy in policies.items():
        policy.learn_log(folders[1])
        assert_same_state(learned[name], policy)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"log": 3}, "log is 3; it must come from"),
        ({"policies": {}}, "policies is {}; it must be a dict from at least one name"),
        ({"policies": {"a": 3}}, "the policy 'a' is 3; it must be a policy"),
        ({"executor": 3}, "executor is 3; it must be one"),
    ],
)
def test_learning_side_by_side_refuses_wrong_input(folders, options, sentence):
    good = {"log": folders[0], "policies": {"UCB": st.UCB(actions=["a"])}}
    with pytest.raises(st.InvalidInput, match=sentence):
        st.logs.learn(**good | options)
