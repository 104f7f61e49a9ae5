"""One row at a time: the fast way of ordinary rows and the thorough way of all others give the same bits and errors."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import bits_of

from stumpery.encoding.online_encoder import _refuse
from stumpery.streaming import ForestClassifier, HoeffdingTreeClassifier, HoeffdingTreeRegressor

ROWS = [{"x": i % 7 / 7, "n": i % 5, "device": ("phone", "watch")[i % 2]} for i in range(60)]
KINDS = {
    "tree": (HoeffdingTreeClassifier, {}),
    "bayes": (HoeffdingTreeClassifier, {"leaf_prediction": "nba"}),
    "forest": (ForestClassifier, {"n_models": 3}),
    "regressor": (HoeffdingTreeRegressor, {}),
}
plain = st.fixed_dictionaries(
    {"x": st.floats(0, 1), "n": st.integers(0, 9), "device": st.sampled_from(["phone", "watch", "tv"])}
)
odd_values = st.sampled_from(
    [None, math.nan, math.inf, 1e308, True, np.float32(0.5), 2**60 + 1, 10**400, Decimal("0.5"), "phone", "new", [], 1j]
)
odd = st.builds(
    lambda row, name, value: {**row, name: value}, plain, st.sampled_from(["x", "n", "device", "y"]), odd_values
)
short = st.builds(lambda row, name: {key: row[key] for key in row if key != name}, plain, st.sampled_from("xn"))
rows = plain | odd | short | st.sampled_from([None, [], np.zeros(3)])
labels = st.sampled_from([0, 1, 1, 0, 2, True, 1.0, 0.5, np.int64(1), "a", None, math.nan, 10**30])
weights = st.sampled_from([1.0, 1.0, 1.0, 2, 0.5, 0, 0.0, 1e-9, -1.0, 1e7, math.nan, True, np.float32(2.0), "1", None])
events = st.lists(st.tuples(rows, labels, weights), max_size=12)


def thorough(model):
    """The same model without the fast way."""
    model._learn_row = lambda *_: False
    return model


def outcome(call, *arguments):
    try:
        return repr(call(*arguments))
    except (ValueError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", KINDS)
@settings(deadline=None, derandomize=True, max_examples=20)
@given(events)
def test_fast_and_thorough_way_agree_on_any_row_label_and_weight(name, events):
    kind, options = KINDS[name]
    fast, slow = kind(grace_period=10, **options), thorough(kind(grace_period=10, **options))
    for model in (fast, slow):
        model.learn_many(ROWS, [row["n"] % 2 for row in ROWS])
    for row, label, weight in events:
        assert outcome(fast.learn_one, row, label, weight) == outcome(slow.learn_one, row, label, weight)
        vars(slow._encoder)["write_plain"] = _refuse
        assert outcome(fast.predict_one, row) == outcome(slow.predict_one, row)
    assert bits_of(fast) == bits_of(slow)


@pytest.mark.parametrize("name", KINDS)
def test_single_rows_give_the_bits_of_many_while_memory_grows(name):
    kind, options = KINDS[name]
    rng = np.random.default_rng(1)
    many = [{"x": x, "n": int(n), "device": ("phone", "watch")[n % 2]} for n, x in enumerate(rng.random(3000))]
    many[2000]["x"] = 2.0**24 + 1  # needs 64 bits
    targets = [int(row["x"] > 0.5) for row in many]
    one, other = kind(**options), kind(**options)
    before = one._arena
    for row, target in zip(many, targets, strict=True):
        one.learn_one(row, target)
    other.learn_many(many, targets)
    assert before is None and len(one._arena.state.events) > 1000 and one._arena.shape.widths.tolist() == [8, 4, 4]
    assert bits_of(one) == bits_of(other)


def test_ordinary_rows_take_the_fast_way():
    model = HoeffdingTreeClassifier()
    model.learn_many(ROWS, [row["n"] % 2 for row in ROWS])
    model._encode = None  # the thorough way would call it
    for row in ROWS:
        model.learn_one(row, 1)
        model.learn_one({"device": "phone", "extra": object(), "n": True, "x": 3}, True, 2)
    assert model.n_events == 3 * len(ROWS)


def test_a_row_that_is_refused_leaves_buffers_and_model_as_they_were():
    model = HoeffdingTreeClassifier()
    model.learn_many(ROWS, [row["n"] % 2 for row in ROWS])
    before, probabilities = bits_of(model), model.predict_proba_one(ROWS[1])
    for row in ({"x": "a", "n": 1, "device": "phone"}, {"x": 1.0, "n": 1j, "device": "phone"}, "row"):
        for call in (model.predict_one, model.predict_proba_one, lambda row: model.learn_one(row, 1)):
            with pytest.raises(ValueError, match="must be a"):
                call(row)
    assert bits_of(model) == before
    assert model.predict_proba_one(ROWS[1]) == probabilities
