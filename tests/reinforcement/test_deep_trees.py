"""What every tree that a network learns must obey."""

import math
import os
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import assert_same_state, mixed_rows, public, run

import stumpery as st
from stumpery.reinforcement import DeepTree, learn_together
from stumpery.reinforcement.training import dqn
from stumpery.reinforcement.training.agent import Agent
from stumpery.streams.datasets import load
from stumpery.types import State

KINDS = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type) and issubclass(getattr(public, name), DeepTree)
]
SMALL = {"warm_up": 60, "memory": 300, "n_cells": 4, "seed": 5, "learning_rate": 0.01}
N = 400


def new(kind, **options):
    more = {"batch_size": 32} if kind is st.DQNTree else {}
    return kind(**{**SMALL, **more, **options})


def rows_and_labels(n=N, seed=2):
    rng = np.random.default_rng(seed)
    rows = mixed_rows(n, rng)
    return rows, ["buys" if row["device"] == "watch" else "looks" if (row["age"] or 0) > 50 else "goes" for row in rows]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def learned(kind):
    """A trained model as its state, from which each test takes a copy."""
    model = new(kind)
    model.learn_many(*rows_and_labels())
    return model


@pytest.fixture
def trained(learned):
    return learned.clone(include_attributes=True)


def test_columns_can_be_declared_before_the_first_row(kind):
    rows, labels = rows_and_labels(200)
    sparse = [{name: row[name] for name in ("device", "x")[: 1 + event % 2]} for event, row in enumerate(rows)]
    declared, known = new(kind), new(kind, schema=st.Schema.of({"x": "numerical", "device": "numerical"}))
    declared.declare_columns(["x", "device"])
    for model in (declared, known):
        model.learn_many(sparse, labels)
    assert declared.schema.kinds == {"x": "numerical", "device": "categorical"}
    assert declared.predict_proba_many(rows).tolist() == known.predict_proba_many(rows).tolist()
    declared.declare_columns(["device"])
    with pytest.raises(ValueError, match=r"^the schema has no column 'age'; it has 'x', 'device'$"):
        declared.declare_columns(["age"])


def test_there_are_models_to_check():
    assert {st.DQNTree, st.reinforcement.ActorCriticTree} <= set(KINDS)


def test_learning_many_equals_learning_one_by_one_and_frames_equal_dicts(kind, trained):
    rows, labels = rows_and_labels()
    single = new(kind)
    for row, label in zip(rows[:150], labels, strict=False):
        single.learn_one(row, label)
    single.learn_many(pl.DataFrame(rows[150:300]), np.array(labels[150:300]))
    single.learn_many(pd.DataFrame(rows[300:]), labels[300:])
    assert_same_state(single, trained)


def test_testing_then_learning_equals_doing_so_one_by_one(kind):
    rows, labels = rows_and_labels(150)
    together, single = new(kind), new(kind)
    found = together.learn_logged(rows, labels)
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        before = single.predict_proba_many([row])[0]
        assert found.probabilities[place, : len(before)] == pytest.approx(before, abs=1e-4)
        assert found.probabilities[place, len(before) :].sum() == 0.0
        if place:
            assert found.n_queries[place] == single.depths_many([row])[0]
        single.learn_one(row, label)
    assert_same_state(single, together)
    assert np.isnan(found.losses[: SMALL["warm_up"]]).all()
    assert np.isfinite(found.losses[SMALL["warm_up"] :]).all()


def test_the_policy_learns_what_is_there_to_be_learned(kind):
    model = new(kind, schema=st.Schema.of({"device": ["watch", "phone"], "x": [0.0]}))
    rows = [{"device": ("watch", "phone")[place % 2], "x": float(place % 3)} for place in range(1500)]
    labels = ["buys" if row["device"] == "watch" else "goes" for row in rows]
    model.learn_many(rows, labels)
    assert (model.predict_many(rows) == labels).all()
    assert model.predict_one(rows[0]) == "buys"
    assert model.predict_proba_one(rows[0])["buys"] > 0.5


def test_the_tree_is_the_policy_on_every_row(trained):
    rows, _ = rows_and_labels(3000, seed=8)
    rows += [{}, {"device": "never seen"}, {"age": 1e9, "x": -math.inf}]
    predicted = trained.predict_many(rows)
    for tree in (trained.tree(merge=False), trained.tree(), trained.tree(rows), trained.tree(rows, merge=False)):
        assert (tree.predict_many(rows) == predicted).all()
    whole = trained.tree(merge=False)
    assert (whole.depths_many(rows) == trained.depths_many(rows)).all()
    seen = trained.tree(rows, merge=False)
    assert seen.expected_depth == pytest.approx(trained.depths_many(rows).mean())
    assert trained.tree().n_leaves <= whole.n_leaves
    assert trained.tree().predict_one(rows[0]) == predicted[0]


def test_a_saved_model_goes_on_bit_for_bit(trained, kind, tmp_path):
    st.save(trained, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    assert_same_state(loaded, trained)
    for model in (trained, loaded):
        model.learn_many(*rows_and_labels(100, seed=9))
    assert_same_state(loaded, trained)
    waiting = new(kind)
    waiting.learn_many(*rows_and_labels(20))
    st.save(waiting, tmp_path / "waiting")
    loaded = st.load(tmp_path / "waiting")
    for model in (waiting, loaded):
        model.learn_many(*rows_and_labels(100, seed=9))
    assert_same_state(loaded, waiting)


def test_the_seed_decides(trained):
    again, other = trained.clone(seed=5), trained.clone(seed=6)
    for model in (again, other):
        model.learn_many(*rows_and_labels())
    assert_same_state(again, trained)
    mine, theirs = (model.state().arrays["learner.weights.into"] for model in (other, trained))
    assert not np.array_equal(mine, theirs)


def test_memory_stays_the_same_however_long_the_stream(trained):
    before = trained.n_bytes
    n_columns, n_reports, width, n_spans = 3, 3, 32, 16
    network = n_spans * width + 3 * n_columns * width + width * (width + 3 + n_reports) + n_columns + n_reports + 1
    stated = SMALL["memory"] * (8 * n_columns + 8) + 16 * network
    assert stated < before < stated + 2000  # what is left: cuts, moments, the schema, counters
    for seed in range(3):
        trained.learn_many(*rows_and_labels(500, seed))
    assert trained.n_bytes == before


def test_a_stream_shorter_than_the_warm_up_predicts_the_commonest_class(kind):
    model = new(kind)
    assert model.predict_one({"age": 1}) is None
    assert model.predict_proba_one({"age": 1}) == {}
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        model.tree()
    model.learn_many([{"age": 1.0}, {"age": 2.0}, {"age": 3.0}], ["a", "b", "b"])
    assert model.predict_proba_one({"age": 9.0}) == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    tree = model.tree()
    assert (tree.n_leaves, tree.expected_depth, tree.predict_one({})) == (1, 0.0, "b")


def test_classes_names_and_kinds_that_come_late_are_learned(kind):
    together, single = new(kind), new(kind)
    rows = [{"a": str(place % 3), "late": None} for place in range(80)]
    rows += [{"a": f"new {place % 20}", "late": ("x", "y")[place % 2]} for place in range(120)]
    labels = ["first"] * 80 + [f"class {place % 3}" for place in range(120)]
    together.learn_many(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    assert_same_state(single, together)
    assert together.schema.kinds == {"a": "categorical", "late": "categorical"}
    assert len(together.classes) == 4
    assert set(together.predict_proba_one(rows[-1])) == set(together.classes)
    assert_same_state(together.clone(include_attributes=True), together)


def test_one_column_is_enough_and_names_beyond_the_room_share_a_place(kind):
    model = new(kind, max_categories=3)
    rows = [{"id": f"user {place}"} for place in range(200)]
    model.learn_many(rows, [place % 2 for place in range(200)])
    assert len(model.schema.columns[0].categories) == 3
    assert (model.tree().predict_many(rows) == model.predict_many(rows)).all()


def test_rows_without_any_value_are_learned(kind):
    model = new(kind)
    model.learn_many([{"a": None}] * 200, ["y"] * 200)
    assert model.predict_one({}) == "y"
    assert model.tree().n_leaves == 1


def test_numbers_as_they_are_have_no_finite_tree(kind):
    model = new(kind, n_cells=None)
    rows, labels = rows_and_labels(100)
    model.learn_many(rows, labels)
    assert len(model.predict_many(rows)) == 100
    with pytest.raises(ValueError, match=r"^n_cells is None"):
        model.tree()


def test_a_tree_of_too_many_nodes_is_refused(trained):
    trained.learn_many(*rows_and_labels(10))
    with pytest.raises(ValueError, match=r"more than 1 nodes; give rows"):
        trained.tree(max_nodes=1)
    with pytest.raises(ValueError, match=r"^merge is 'no'"):
        trained.tree(merge="no")


BAD_ROWS = [{"age": "old"}, {"device": 3}, {"age": [1]}, "row", 5, None, {"device": b"x"}]


@pytest.mark.parametrize("wrong", BAD_ROWS, ids=str)
def test_a_value_of_another_type_than_the_columns_changes_nothing(learned, wrong):
    before = learned.clone(include_attributes=True)
    with pytest.raises(ValueError, match="must be"):
        learned.learn_one(wrong, "buys")
    with pytest.raises(ValueError, match="must be"):
        learned.learn_many([{"age": 3.0, "device": "brand new"}, wrong], ["brand new", "buys"])
    with pytest.raises(ValueError, match="must be"):
        learned.predict_many([wrong])
    assert_same_state(learned, before)


@pytest.mark.parametrize("wrong", [None, math.nan, [1], b"x"], ids=str)
def test_a_label_that_is_none_changes_nothing(learned, wrong):
    before = learned.clone(include_attributes=True)
    with pytest.raises(ValueError, match="label is"):
        learned.learn_one({"age": 3.0}, wrong)
    with pytest.raises(ValueError, match="1 rows and 2 labels"):
        learned.learn_many([{"age": 3.0}], ["buys", "goes"])
    learned.learn_many([], [])
    assert_same_state(learned, before)


WRONG = [
    {"depth_penalty": -0.1},
    {"learning_rate": 0.0},
    {"width": 0},
    {"warm_up": 0},
    {"n_cells": 0},
    {"n_cells": 241},
    {"max_categories": 0},
    {"memory": 0},
    {"schema": {}},
    {"seed": -1},
]
OF_DQN = [
    {"double": 1},
    {"epsilon": 2},
    {"batch_size": 1},
    {"n_updates": -1},
    {"target_every": 0},
    {"reports": "some"},
    {"priority": -1},
    {"drift": None},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_options_are_refused(kind, wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        new(kind, **wrong)


@pytest.mark.parametrize("wrong", OF_DQN, ids=str)
def test_wrong_options_of_dqn_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        st.DQNTree(**wrong)


@pytest.mark.parametrize("wrong", [{"entropy": -1}, {"n_step": 0}], ids=str)
def test_wrong_options_of_the_actor_critic_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        st.reinforcement.ActorCriticTree(**wrong)


HOSTILE = {
    "learner.weights.into": (0, math.nan),
    "learner.memory.labels": (0, 99),
    "learner.memory.codes": (0, 999),
    "learner.memory.ranks": (0, 77),
    "learner.memory.filled": (0, 10**6),
    "learner.n_classes": (0, 1),
    "learner.moments.squares": (0, -1.0),
    "learner.weights.first": (slice(4), math.inf),
    "cells.n_codes": (0, -1),
    "cells.n_cuts": (0, 2**62),
    "cells.cuts": (0, 1e30),
    "cells.centres": (0, math.nan),
    "cells.spans": (0, 99.0),
}
MORE_HOSTILE = {
    "cells.n_codes": (0, 16384),
    "cells.cuts": (-1, math.nan),
    "cells.spans": (0, math.inf),
    "learner.memory.time": (0, -1),
}


@pytest.mark.parametrize(("name", "edit"), [*HOSTILE.items(), *MORE_HOSTILE.items()], ids=str)
def test_arrays_that_no_stream_leaves_are_refused(learned, name, edit):
    options, arrays = learned.state()
    damaged = {each: array.copy() for each, array in arrays.items()}
    place, value = edit
    damaged[name].flat[place] = value
    with pytest.raises(ValueError, match=r"^(its|corrupt file:) [^\n]+$"):
        type(learned).from_state(State(options, damaged))


@pytest.mark.parametrize("wrong", [{"memory": 10_000_000}, {"width": 4096}, {"n_cells": None}], ids=str)
def test_options_that_are_not_those_of_the_arrays_are_refused_before_room_is_taken(learned, wrong):
    options, arrays = learned.state()
    with pytest.raises(ValueError, match=r"^(its|corrupt file:) [^\n]+$"):
        type(learned).from_state(State(options | wrong, arrays))


def test_without_jax_a_model_predicts_and_its_learning_names_the_extra(trained, tmp_path):
    st.save(trained, tmp_path / "model")
    first, second = run("without_jax.py", tmp_path / "model").splitlines()
    assert first == f"{trained.predict_one({'device': 'watch'})} {trained.tree().n_leaves}"
    assert second == 'this needs jax, which is not installed: pip install "stumpery[deep]"'


@pytest.mark.parametrize("options", [{"priority": 0.6}, {"drift": True, "reports": "one", "n_updates": None}], ids=str)
def test_the_options_of_dqn_learn_too(options):
    model = new(st.DQNTree, n_cells=8, memory=1000, **options)
    rows = [{"hour": float(event % 24), "device": ("phone", "watch")[event % 2]} for event in range(1200)]
    labels = ["work" if 8 < row["hour"] < 18 else "home" for row in rows]
    model.learn_many(rows, labels)
    assert (model.predict_many(rows) == labels).mean() > 0.9


def test_a_higher_penalty_gives_a_shallower_tree():
    rng = np.random.default_rng(4)
    rows = [{name: int(rng.integers(2)) for name in "abcd"} for _ in range(1500)]
    labels = [row["a"] if rng.random() < 0.9 else row["b"] for row in rows]
    depths = []
    for penalty in (0.0, 0.2, 0.9):
        model = new(st.DQNTree, depth_penalty=penalty, memory=1500)
        model.learn_many(rows, labels)
        depths.append(model.tree(merge=False).expected_depth)
    assert depths[0] > depths[1] > depths[2] == 0.0


REAL = {"nursery": "class", "mushroom": "class", "adult": "income", "skin": "class", "poker": "CLASS"}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_the_tree_is_the_policy_on_every_row_of_every_dataset(name):
    if not os.environ.get("STUMPERY_DATA"):
        pytest.skip("STUMPERY_DATA names no folder of Parquet files")
    frame = load.load(name).sample(fraction=1.0, shuffle=True, seed=1)
    rows, labels = frame.drop(REAL[name]), frame[REAL[name]].to_list()
    model = st.DQNTree(warm_up=500, memory=2000, batch_size=128, seed=3)
    model.learn_many(rows[:2000], labels[:2000])
    tree = model.tree(rows, max_nodes=2_000_000)
    assert (tree.predict_many(rows) == model.predict_many(rows)).all()
    assert (model.tree(rows, merge=False, max_nodes=2_000_000).depths_many(rows) == model.depths_many(rows)).all()


def test_seeds_that_learn_together_learn_as_they_would_alone():
    rows, labels = rows_and_labels(150)
    models = [new(st.DQNTree, seed=seed) for seed in (3, 4)]
    logs = learn_together(models, rows, labels)
    for model, own in zip(models, logs, strict=True):
        alone = new(st.DQNTree, seed=model.seed)
        found = alone.learn_logged(rows, labels)
        assert own.probabilities == pytest.approx(found.probabilities, abs=0.01)
        assert model.predict_proba_many(rows) == pytest.approx(alone.predict_proba_many(rows), abs=0.01)
        model.learn_many(rows, labels)
    assert logs[0].probabilities[-1] != pytest.approx(logs[1].probabilities[-1], abs=0.01)


def test_models_that_differ_or_have_learned_cannot_learn_together(learned):
    rows, labels = rows_and_labels(10)
    twice = [new(st.DQNTree)] * 2
    for wrong in (
        [],
        5,
        {1},
        [learned],
        twice,
        [new(st.DQNTree), new(st.DQNTree, width=8)],
        [st.reinforcement.OptimalTree()],
    ):
        with pytest.raises(ValueError, match=r"^models "):
            learn_together(wrong, rows, labels)


class Interrupted:
    """A loop that is interrupted after so many runs."""

    def __init__(self, loop, n_runs):
        self.loop, self.left = loop, n_runs

    def __call__(self, *given):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return self.loop(*given)


@pytest.mark.parametrize(("n_runs", "n_learned"), [(0, 60), (1, 60), (2, 256)])
def test_an_interrupted_model_has_learned_the_first_rows_and_goes_on(n_runs, n_learned, tmp_path):
    rows, labels = rows_and_labels(300)
    labels = [f"{label} {place // 256}" for place, label in enumerate(labels)]  # new classes, and so a new run, at 256
    model, expected = new(st.DQNTree), new(st.DQNTree)
    model._train_chunk = Interrupted(model._train_chunk, n_runs)
    with pytest.raises(KeyboardInterrupt):
        model.learn_many(rows, labels)
    del model._train_chunk
    assert model.classes == tuple(dict.fromkeys(labels[:n_learned]))
    assert model.tree(rows).predict_many(rows).tolist() == model.predict_many(rows).tolist()
    st.save(model, tmp_path / "model")
    expected.learn_many(rows, labels)
    for each in (model, st.load(tmp_path / "model")):
        each.learn_many(rows[n_learned:], labels[n_learned:])
        assert_same_state(each, expected)


def test_models_interrupted_while_they_learn_together_have_learned_the_warm_up(monkeypatch):
    rows, labels = rows_and_labels(100)
    labels[60:] = ["late"] * 40

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dqn, "run_seeds", interrupted)
    models = [new(st.DQNTree, seed=seed) for seed in (3, 4)]
    with pytest.raises(KeyboardInterrupt):
        learn_together(models, rows, labels)
    for model in models:
        assert "late" not in model.classes
        assert set(model.predict_proba_one(rows[0])) == set(model.classes)


def test_a_thousand_late_names_take_few_steps_of_room():
    agent = Agent.of(st.Schema.of({"id": "categorical"}), np.ones((1, 1), np.float32), 2, new(st.DQNTree))
    sizes = []
    for code in range(1, 1001):
        agent._ensure_capacity(np.full((1, 1), code, np.float32), np.zeros(1, np.int64), np.array([True]))
        agent.cells = agent.cells.extended(np.full((1, 1), code, np.float32), np.array([True]))
        sizes.append(len(agent.state.weights.into))
    assert sizes[-1] >= 1000
    assert len(set(sizes)) <= 8


def test_ctrl_c_just_as_the_loop_returns_loses_nothing(trained):
    rows, labels = rows_and_labels(10, seed=9)
    expected, loop = trained.clone(include_attributes=True), trained._train_chunk

    def interrupted(*given):
        done = loop(*given)
        signal.raise_signal(signal.SIGINT)
        return done

    trained._train_chunk = interrupted
    for row, label in zip(rows, labels, strict=True):  # from the second on, jax's own arrays are taken over
        with pytest.raises(KeyboardInterrupt):
            trained.learn_one(row, label)
    expected.learn_many(rows, labels)
    assert_same_state(trained, expected)


@pytest.mark.parametrize(
    "values", [(2**40, 2**40 + 1), (2**53 - 3, 2**53 - 2), (1e-300, 2e-300), (1e200, 2e200)], ids=str
)
def test_ids_and_tiny_and_huge_numbers_are_told_apart(kind, values):
    labels = np.random.default_rng(1).integers(0, 2, 1200)
    model = new(kind, n_cells=8)
    model.learn_many(np.array(values, np.float64)[labels][:, None], labels.tolist())
    rows = [{"x0": value} for value in values]
    assert [model.predict_one(row) for row in rows] == [0, 1]
    assert model.tree().predict_many(pl.DataFrame(rows)).tolist() == [0, 1]
    loaded = type(model).from_state(model.state())
    assert loaded.predict_many(rows).tolist() == [0, 1]


def test_numbers_as_they_are_reach_the_network_less_their_origin(kind):
    rng = np.random.default_rng(1)
    seconds = rng.integers(0, 60, 1200)
    model = new(kind, n_cells=None)
    model.learn_many((1_763_490_000.0 + seconds)[:, None], (seconds >= 30).astype(int).tolist())
    assert model.predict_many(np.array([[1_763_490_005.0], [1_763_490_055.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("n", [40, 200], ids=["in the warm-up", "after it"])
def test_a_model_saved_when_numbers_had_32_bits_loads(kind, n):
    rows, labels = rows_and_labels(n)
    model = new(kind)
    model.learn_many(rows, labels)
    options, arrays = model.state()
    narrow = {"cells.cuts", "waiting.rows"}
    before = {name: array.astype(np.float32) if name in narrow else array for name, array in arrays.items()}
    before.pop("cells.origins", None)
    loaded = type(model).from_state(State(options, before))
    for each in (model, loaded):
        each.learn_many(rows, labels)
    assert model.predict_proba_many(rows) == pytest.approx(loaded.predict_proba_many(rows), abs=1e-4)
