"""The exact solution, against every tree there is."""

import itertools
import os

import numpy as np
import pytest
from tests.reference.exhaustive_trees import all_trees, episode_return, leaves, value_by_leaves

import stumpery as st
from stumpery.streams.datasets import load

ROWS = list(itertools.product((0, 1), repeat=3))


def events(seed, n=40, n_classes=2):
    rng = np.random.default_rng(seed)
    rows = [ROWS[place] for place in rng.integers(len(ROWS), size=n)]
    labels = [int((row[0] ^ row[1]) if rng.random() < 0.8 else rng.integers(n_classes)) for row in rows]
    return rows, labels


def probabilities_of(rows, labels):
    found = {}
    for key in zip(rows, labels, strict=True):
        found[key] = found.get(key, 0.0) + 1.0 / len(rows)
    return found


def as_dicts(rows):
    return [dict(zip("abc", map(str, row), strict=True)) for row in rows]


def value(tree, probabilities, **rewards):
    return sum(p * episode_return(tree, row, label, **rewards) for (row, label), p in probabilities.items())


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.3])
def test_the_value_of_a_policy_is_a_sum_over_the_leaves_of_its_tree(gamma):
    probabilities = probabilities_of(*events(1))
    rewards = {"gamma": gamma, "price": -0.07, "right": 1.3, "wrong": -0.4}
    for tree in all_trees((0, 1, 2), (0, 1))[::37]:
        assert value(tree, probabilities, **rewards) == pytest.approx(value_by_leaves(tree, probabilities, **rewards))


def test_with_right_1_and_wrong_0_it_is_accuracy_less_the_price_of_the_expected_depth():
    probabilities = probabilities_of(*events(2))
    for tree in all_trees((0, 1, 2), (0, 1))[::37]:
        ends = [
            (
                sum(p for (row, y), p in probabilities.items() if fits(row, path) and y == report),
                sum_of(probabilities, path),
                len(path),
            )
            for path, report in leaves(tree)
        ]
        accuracy, depth = sum(end[0] for end in ends), sum(end[1] * end[2] for end in ends)
        assert value(tree, probabilities, gamma=1.0, price=-0.05, right=1.0, wrong=0.0) == pytest.approx(
            accuracy - 0.05 * depth
        )


def fits(row, path):
    return all(row[column] == answer for column, answer in path.items())


def sum_of(probabilities, path):
    return sum(p for (row, _), p in probabilities.items() if fits(row, path))


@pytest.mark.kernels
@pytest.mark.parametrize("price", [0.0, 0.01, 0.05, 0.2])
def test_no_tree_earns_more_than_the_optimal_one(price):
    rows, labels = events(3)
    probabilities = probabilities_of(rows, labels)
    best = max(
        value(tree, probabilities, gamma=1.0, price=-price, right=1.0, wrong=0.0)
        for tree in all_trees((0, 1, 2), (0, 1))
    )
    model = st.reinforcement.OptimalTree(depth_penalty=price)
    model.learn_many(as_dicts(rows), labels)
    assert model.value == pytest.approx(best)
    tree = model.tree()
    accuracy = np.mean(tree.predict_many(as_dicts(rows)) == labels)
    assert accuracy - price * tree.expected_depth == pytest.approx(best)
    assert tree.expected_depth == pytest.approx(tree.depths_many(as_dicts(rows)).mean())


def test_learning_one_by_one_gives_the_same_tree():
    rows, labels = events(4, n_classes=3)
    many, single = st.reinforcement.OptimalTree(depth_penalty=0.02), st.reinforcement.OptimalTree(depth_penalty=0.02)
    many.learn_many(as_dicts(rows), labels)
    for row, label in zip(as_dicts(rows), labels, strict=True):
        single.learn_one(row, label)
    assert single.tree().to_text() == many.tree().to_text()
    assert single.predict_proba_many(as_dicts(rows)).tolist() == many.predict_proba_many(as_dicts(rows)).tolist()


@pytest.mark.kernels
def test_numbers_are_categories_and_a_missing_value_is_one_too_that_costs_nothing():
    model = st.reinforcement.OptimalTree(depth_penalty=0.1)
    rows = [{"x": 1.5}, {"x": 7}, {"x": None}, {}] * 5
    model.learn_many(rows, ["low", "high", "none", "none"] * 5)
    assert model.predict_many(rows).tolist() == ["low", "high", "none", "none"] * 5
    assert model.value == pytest.approx(1.0 - 0.1 * 0.5)
    assert model.tree().expected_depth == pytest.approx(0.5)


def test_an_answer_that_never_came_ends_at_the_question():
    model = st.reinforcement.OptimalTree(depth_penalty=0.01)
    model.learn_many([{"x": "a"}, {"x": "b"}, {"x": "b"}], ["A", "B", "B"])
    assert model.predict_one({"x": "never seen"}) == "B"
    assert model.predict_proba_one({}) == pytest.approx({"A": 1 / 3, "B": 2 / 3})


def test_too_many_states_are_refused_and_change_nothing():
    model = st.reinforcement.OptimalTree(max_states=30)
    model.learn_many([{"x": "a", "y": "c"}, {"x": "b", "y": "d"}], [0, 1])
    before = model.tree().to_text()
    with pytest.raises(ValueError, match=r"^max_states is 30, but these rows need 36: "):
        model.learn_many([{"x": str(place), "y": "c"} for place in range(9)], [1] * 9)
    assert model.tree().to_text() == before
    assert model.classes == (0, 1)


def test_before_anything_came_there_is_no_tree_and_no_prediction():
    model = st.reinforcement.OptimalTree()
    assert model.predict_one({"x": 1}) is None
    assert model.predict_proba_one({"x": 1}) == {}
    for ask in (model.tree, lambda: model.value):
        with pytest.raises(ValueError, match="nothing has been learned yet"):
            ask()


@pytest.mark.parametrize(
    "wrong", [{"depth_penalty": -1}, {"depth_penalty": 2}, {"max_states": 1}, {"schema": {}}], ids=str
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        st.reinforcement.OptimalTree(**wrong)


@pytest.mark.data
def test_the_best_tree_of_nursery_has_797_leaves_and_looks_at_less_than_half_of_the_columns():
    if not os.environ.get("STUMPERY_DATA"):
        pytest.skip("STUMPERY_DATA names no folder of Parquet files")
    frame = load.load("nursery")
    rows, labels = frame.drop("class"), frame["class"].to_list()
    model = st.reinforcement.OptimalTree(depth_penalty=0.001)
    model.learn_many(rows, labels)
    tree = model.tree()
    assert (tree.predict_many(rows) == labels).all()
    assert tree.n_leaves == 797
    assert tree.expected_depth == pytest.approx(3.449, abs=0.0005)


def test_many_classes_need_room_too():
    model = st.reinforcement.OptimalTree(max_states=100)
    rows = [{"x": place % 5, "y": place // 5} for place in range(25)]
    model.learn_many(rows, [place % 20 for place in range(25)])
    before = model.tree().to_text()
    with pytest.raises(ValueError, match=r"^max_states is 100, but these rows need 36 states of 45 classes: "):
        model.learn_many(rows, [f"class {place}" for place in range(25)])
    assert model.tree().to_text() == before
