"""Ids, timestamps, money and numbers outside the range of 32-bit floats, in every model that remembers its events."""

import math
import re

import numpy as np
import polars as pl
import pytest
from tests.support import assert_same_state, public, restored

import stumpery as st
from stumpery.jit import INTERPRETED
from stumpery.streaming import StreamModel
from stumpery.streaming.classifier import StreamClassifier
from stumpery.types import State

pytestmark = pytest.mark.kernels

CLASSES = (0, 1)
N = 240 if INTERPRETED else 1200
KINDS = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type) and issubclass(getattr(public, name), StreamModel | st.RewardForest)
]
STREAMS = [kind for kind in KINDS if issubclass(kind, StreamModel)]
CLASSIFIERS = [kind for kind in KINDS if issubclass(kind, StreamClassifier)]
NEIGHBOURS = [2**23 + 1, 2**24, 2**40, 2**53 - 3, 2**53 - 2]


def new(kind, **options):
    """Forests of few trees, to be quick."""
    if kind is st.RewardForest:
        return kind(**{"actions": CLASSES, "n_trees": 5, "seed": 3, **options})
    more = {"n_models": 3} if "Forest" in kind.__name__ else {}
    return kind(**{"grace_period": 30, "seed": 3, **more, **options})


def learned(model, rows, labels):
    """What it answers to each row before it learns it: classes, or numbers near to them."""
    if isinstance(model, st.RewardForest):
        return model.play(rows, np.eye(len(model.actions))[labels]).actions
    found = model.test_then_learn(rows, np.asarray(labels).tolist())
    if found.ndim == 1:
        return found.round()
    return np.array([*model.classes, -1])[found.argmax(axis=1)]


def share_right(kind, values, labels, **options):
    """Of the second half, from a matrix of one column."""
    answers = learned(new(kind, **options), np.asarray(values, np.float64)[:, None], labels)
    return float((answers == labels)[len(labels) // 2 :].mean())


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.mark.parametrize("lower", NEIGHBOURS)
def test_ids_that_are_neighbours_are_told_apart(kind, lower):
    labels = np.random.default_rng(1).integers(0, 2, N)
    assert share_right(kind, lower + labels, labels) > 0.95


@pytest.mark.parametrize(
    "pair", [(1e-300, 2e-300), (1e200, 2e200), (-2e200, -1e200), (1e-300, 1e200), (5e307, 6e307)], ids=str
)
def test_tiny_and_huge_numbers_are_told_apart(kind, pair):
    labels = np.random.default_rng(1).integers(0, 2, N)
    assert share_right(kind, np.array(pair)[labels], labels) > 0.95


@pytest.mark.parametrize("first", [0.0, 0.1, 7.0, 300.0, math.nan, math.inf, 2.0**52], ids=str)
def test_it_does_not_matter_what_came_first(kind, first):
    labels = np.random.default_rng(1).integers(0, 2, N)
    values = 2.0**40 + labels
    values[:20] = first
    assert share_right(kind, values, labels) > 0.95


def test_small_numbers_after_huge_ones_are_told_apart(kind):
    labels = np.random.default_rng(1).integers(0, 2, N)
    values = np.where(np.arange(N) < N // 4, 2.0**40 + 1, 0.25 + labels)
    assert share_right(kind, values, labels) > 0.95


@pytest.mark.parametrize(("unit", "begin"), [(1.0, 1_763_490_000.0), (1000.0, 1_763_490_000_000.0)], ids=["s", "ms"])
def test_timestamps_tell_as_much_as_the_time_since_the_first(kind, unit, begin):
    seconds = np.random.default_rng(2).integers(0, 3600, 2 * N)
    labels = seconds // 600 % 2
    options = {"max_bytes": 64_000_000}
    small = share_right(kind, seconds * unit, labels, **options)
    assert share_right(kind, begin + seconds * unit, labels, **options) > small - 0.02
    assert INTERPRETED or small > 0.8


def test_cents_count_in_amounts_of_fifty_millions(kind):
    cents = np.random.default_rng(2).integers(0, 100, N)
    labels = (cents >= 50).astype(int)
    assert share_right(kind, 50_000_000 + cents / 100, labels) > 0.9


def test_infinities_missing_values_and_huge_numbers_are_different(kind):
    values = np.array([-math.inf, -1e200, math.nan, 1e200, math.inf])
    which = np.random.default_rng(2).integers(0, len(values), 3 * N)
    for right in range(len(values)):
        assert share_right(kind, values[which], (which == right).astype(int)) > 0.9


def mixed(n=N, seed=4):
    """Rows of small and large numbers and a name, in several columns, with gaps; ints and floats."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "id": int(2**53 - rng.integers(1, 9)),
            "time": float(1.7e12 + rng.integers(0, 10**6)) if event > n // 3 else float(rng.integers(0, 9)) + 0.1,
            "x": float(rng.normal()),
            "size": float(rng.choice([1e-300, 0.5, 1e200, math.inf])),
            "name": str(rng.choice(["red", "blue"])),
        }
        for event in range(n)
    ]
    for row in rows[::7]:
        row["time"] = None
    labels = np.array([(row["id"] % 2) ^ (row["size"] == 1e200) for row in rows])
    return rows, labels


def one_by_one(model, rows, labels):
    for row, label in zip(rows, labels.tolist(), strict=True):
        if isinstance(model, st.RewardForest):
            decision = model.decide(row)
            model.learn(decision, float(decision.action == label))
        else:
            model.learn_one(row, label)


def all_at_once(model, rows, labels):
    if isinstance(model, st.RewardForest):
        model.play(rows, np.eye(2)[labels])
    else:
        model.learn_many(rows, labels.tolist())


def test_dicts_frames_and_arrays_give_the_same_bits(kind):
    rows, labels = mixed()
    frame = pl.DataFrame(rows)
    looped, listed, framed = new(kind), new(kind), new(kind)
    one_by_one(looped, rows, labels)
    all_at_once(listed, rows, labels)
    all_at_once(framed, frame, labels)
    assert_same_state(looped, listed)
    assert_same_state(looped, framed)
    numbers = frame.drop("name")
    one, two = new(kind), new(kind)
    all_at_once(one, numbers.to_numpy(), labels)
    all_at_once(two, list(numbers.to_numpy()), labels)
    assert_same_state(one, two)


@pytest.mark.parametrize("at", [N // 4, N // 2])
def test_a_saved_model_goes_on_as_if_never_stopped(kind, at, tmp_path):
    rows, labels = mixed()
    model = new(kind)
    all_at_once(model, rows[:at], labels[:at])
    st.save(model, tmp_path / "model.safetensors")
    loaded = st.load(tmp_path / "model.safetensors")
    for each in (model, loaded):
        all_at_once(each, rows[at:], labels[at:])
    assert_same_state(model, loaded)


@pytest.mark.parametrize("leaf_prediction", ["nb", "nba"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_naive_bayes_knows_large_numbers(kind, leaf_prediction):
    labels = np.random.default_rng(1).integers(0, 2, N)
    options = {"leaf_prediction": leaf_prediction, "max_depth": 0}
    assert share_right(kind, 2**53 - 3 + labels, labels, **options) > 0.9
    assert share_right(kind, np.array([1e-300, 2e-300])[labels], labels, **options) > 0.9


BYTES = {st.RewardForest: 400_000, st.ForestClassifier: 150_000, st.ForestRegressor: 150_000}
BOUNDED = [
    *((kind, BYTES.get(kind, 30_000), {}) for kind in KINDS),
    *((kind, 2 * BYTES.get(kind, 30_000), {"leaf_prediction": "nba"}) for kind in CLASSIFIERS),
]


@pytest.mark.parametrize(("kind", "max_bytes", "options"), BOUNDED, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("n_columns", [1, 6])
def test_memory_stays_bounded_when_columns_turn_out_to_be_wide(kind, max_bytes, options, n_columns):
    rng = np.random.default_rng(5)
    n_rows = 400 if INTERPRETED else 6000
    rows = rng.integers(0, 2000, (n_rows, n_columns)).astype(float)
    labels = (rows[:, 0] > 1000).astype(int)
    model = new(kind, max_bytes=max_bytes, **options)
    quarter = n_rows // 4
    for nth in range(4):
        part = slice(nth * quarter, (nth + 1) * quarter)
        rows[part, : 1 + nth] += 2.0**40 * (nth > 0)
        all_at_once(model, rows[part], labels[part])
        assert model.n_bytes <= max_bytes
    assert_same_state(restored(model), model)


def test_a_model_saved_before_columns_could_be_wide_loads(kind):
    rng = np.random.default_rng(5)
    rows, labels = rng.normal(size=(N, 3)), rng.integers(0, 2, N)
    model = new(kind)
    all_at_once(model, rows, labels)
    options, arrays = model.state()
    assert not any("doubles.values" in name and array.size for name, array in arrays.items())
    before = {name: array for name, array in arrays.items() if "doubles" not in name and "wide" not in name}
    if "edges" in before:
        before["edges"] = before["edges"].astype(np.float32)
    loaded = type(model).from_state(State(options, before))
    for each in (model, loaded):
        all_at_once(each, rows[::-1].copy(), labels)
    assert_same_state(model, loaded)


def test_rules_name_cuts_that_tell_neighbours_apart(kind):
    labels = np.random.default_rng(1).integers(0, 2, N)
    model = new(kind)
    learned(model, (1_763_490_291.0 + labels)[:, None], labels)
    cuts = {float(cut) for cut in re.findall(r"x0 > ([-+.e\d]+)", model.to_text())}
    assert any(1_763_490_291 <= cut < 1_763_490_292 for cut in cuts)


@pytest.mark.parametrize("kind", STREAMS)
def test_an_explanation_follows_the_way_of_the_row(kind):
    labels = np.random.default_rng(1).integers(0, 2, N)
    model = new(kind)
    learned(model, (2.0**53 - 3 + labels)[:, None], labels)
    assert "x0 > 9007199254740989" in str(model.explain_one({"x0": 2**53 - 2}))
    assert "x0 <= 9007199254740989" in str(model.explain_one({"x0": 2**53 - 3}))


DAMAGES = {
    "widths of no column": ("widths", lambda array: np.full_like(array, 3)),
    "widths of another type": ("widths", lambda array: array.astype(np.int64)),
    "fewer widths": ("widths", lambda array: array[1:]),
    "a value that is not a number": ("values", lambda array: np.full_like(array, np.nan)),
    "values of more columns": ("values", lambda array: np.concatenate([array, array], axis=1)),
    "cuts that are not numbers": ("wide_cuts", lambda array: np.full_like(array, np.nan)),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_damaged_64_bit_columns_are_refused(kind, damage):
    model = new(kind, leaf_prediction="nb")
    all_at_once(model, *mixed())
    options, arrays = model.state()
    name, change = DAMAGES[damage]
    (found,) = (each for each in arrays if each.endswith(f".{name}"))
    assert arrays[found].size
    with pytest.raises(ValueError, match=r"its|NaN"):
        kind.from_state(State(options, {**arrays, found: change(arrays[found])}))
