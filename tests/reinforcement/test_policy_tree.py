"""The explicit tree: in words, merged, saved, and refused where it is none."""

import numpy as np
import pytest

import stumpery as st
from stumpery.reinforcement.policy_tree_nodes import LEAF, children_of
from stumpery.types import State

SMALL = {"warm_up": 60, "memory": 400, "batch_size": 32, "n_cells": 4, "learning_rate": 0.01, "target_every": 50}


SEED_THAT_ASKS = 1  # of a network that, before any update, asks for several columns


def learned():
    """Fruit: by colour, and where it is red by size; nobody knows what is blue."""
    rows = [{"colour": "red", "size": 1}, {"colour": "red", "size": 2}, {"colour": "green", "size": 1}, {"size": 2}]
    model = st.reinforcement.OptimalTree(depth_penalty=0.01)
    model.learn_many(rows * 5, ["cherry", "apple", "grape", "apple"] * 5)
    return model, rows


@pytest.fixture
def tree():
    return learned()[0].tree()


def test_it_predicts_and_counts(tree):
    rows = learned()[1]
    assert tree.predict_many(rows).tolist() == ["cherry", "apple", "grape", "apple"]
    assert tree.depths_many(rows).tolist() == [2, 2, 1, 0]
    assert (tree.n_leaves, tree.max_depth, tree.expected_depth) == (4, 2, 1.25)


def test_words_name_columns_answers_shares_and_reports(tree):
    text = tree.to_text()
    assert text.splitlines()[0].startswith("100.0% of rows, ask ")
    assert "25.0% of rows, report 'grape'" in text
    assert "leaves below" in tree.to_text(max_depth=1)
    assert tree.draw().get_title() == "4 leaves"
    assert len(tree.to_frame()) == 4
    leaves = tree.leaves()
    assert sum(leaf["share"] for leaf in leaves) == pytest.approx(1.0)
    assert any("colour = green" in leaf["rule"] for leaf in leaves)


def test_numbers_read_as_ranges_and_leaves_that_agree_share_a_line():
    model = st.DQNTree(**SMALL, depth_penalty=0.05, seed=5)
    rows = [{"x": float(place % 8)} for place in range(600)]
    model.learn_many(rows, ["low" if row["x"] < 4 else "high" for row in rows])
    assert model.tree().to_text().splitlines() == [
        "100.0% of rows, ask x",
        "  x <= 3: 50.0% of rows, report 'low'",
        "  x > 3: 50.0% of rows, report 'high'",
    ]


def test_merging_changes_no_prediction_and_leaves_no_query_in_vain():
    rng = np.random.default_rng(6)
    rows = [{name: int(rng.integers(3)) for name in "abc"} for _ in range(600)]
    model = st.DQNTree(**SMALL, n_updates=0, seed=SEED_THAT_ASKS)
    model.learn_many(rows[:100], [int(row["a"] == 1) for row in rows[:100]])
    whole, merged = model.tree(merge=False), model.tree()
    assert merged.n_leaves < whole.n_leaves
    assert merged.expected_depth < whole.expected_depth
    assert (merged.predict_many(rows) == whole.predict_many(rows)).all()
    assert merged.merged().n_leaves == merged.n_leaves
    for node in np.flatnonzero(merged.nodes.column != LEAF).tolist():
        under = children_of(merged.nodes, merged.cells.n_codes, node)
        assert (merged.nodes.column[under] != LEAF).any() or len(set(merged.nodes.report[under].tolist())) > 1


HOSTILE = {
    "nodes.column": 99,
    "nodes.report": -1,
    "nodes.weight": np.nan,
    "nodes.slots": 7,
    "nodes.children": 0,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nodes_that_would_lead_a_row_astray_are_refused(tree, name):
    options, arrays = tree.state()
    damaged = {each: array.copy() for each, array in arrays.items()}
    damaged[name].flat[0] = HOSTILE[name]
    with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
        st.reinforcement.PolicyTree.from_state(State(options, damaged))


def test_nodes_of_another_shape_are_refused(tree):
    options, arrays = tree.state()
    with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+ differ in length$"):
        st.reinforcement.PolicyTree.from_state(
            State(options, arrays | {"nodes.weight": arrays["nodes.weight"][:, np.newaxis]})
        )


def test_a_tree_whose_branches_run_in_a_circle_is_refused(tree):
    options, arrays = tree.state()
    damaged = {each: array.copy() for each, array in arrays.items()}
    damaged["nodes.children"][damaged["nodes.children"] == 1] = 2
    with pytest.raises(ValueError, match=r"^corrupt file: node 2 has two parents$"):
        st.reinforcement.PolicyTree.from_state(State(options, damaged))
