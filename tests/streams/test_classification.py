from itertools import combinations, islice

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stumpery.streams.blocks import BLOCK
from stumpery.streams.classification import ClassificationBandit

N = 5000
BITS = np.random.default_rng(0).integers(0, 2, (N, 20), dtype=np.uint8)
ROWS = np.column_stack([np.arange(N), np.arange(N) % 4])  # a row tells its own number and class
LABELS = np.arange(N) % 4


def test_only_the_row_s_class_pays():
    batch = next(ClassificationBandit(contexts=ROWS, labels=LABELS).batches(seed=1, size=3 * N))
    assert (batch.rewards == np.eye(4)[batch.contexts[:, 1]]).all()
    assert batch.expected is None


def test_rows_are_shuffled_once_per_seed_and_then_looped():
    stream = ClassificationBandit(contexts=ROWS, labels=LABELS)
    first, second, third = (batch.contexts[:, 0] for batch in islice(stream.batches(seed=1, size=N), 3))
    assert sorted(first) == list(range(N))
    assert (first == second).all()
    assert (first == third).all()
    other = next(stream.batches(seed=2, size=N)).contexts[:, 0]
    assert (first == other).mean() < 0.01
    assert abs(np.corrcoef(first, np.arange(N))[0, 1]) < 4 / np.sqrt(N)


def test_without_shuffle_and_loop_the_data_is_played_once_in_its_order():
    stream = ClassificationBandit(contexts=ROWS, labels=LABELS, shuffle=False, loop=False)
    batches = list(stream.batches(seed=1, size=2000))
    assert [len(batch.rewards) for batch in batches] == [2000, 2000, 1000]
    assert (np.concatenate([batch.contexts for batch in batches]) == ROWS).all()


def test_flips_are_drawn_afresh_in_every_pass_and_leave_the_rewards_alone():
    bits = BITS[: BLOCK // 4]
    before = bits.copy()
    stream = ClassificationBandit(contexts=bits, labels=LABELS[: len(bits)], shuffle=False, flip=0.05)
    passes = list(islice(stream.batches(seed=1, size=len(bits)), 12))
    masks = [shown.contexts != bits for shown in passes]
    spread = np.sqrt(0.05 * 0.95 / bits.size)
    assert all(abs(mask.mean() - 0.05) < 4.5 * spread for mask in masks)
    for one, other in combinations(masks, 2):
        assert abs((one & other).mean() - 0.05**2) < 4.5 * np.sqrt(0.05**2 / bits.size)
    assert all((shown.rewards == np.eye(4)[LABELS[: len(bits)]]).all() for shown in passes)
    assert passes[0].contexts.dtype == np.uint8
    assert np.array_equal(before, bits)


def test_flips_do_not_change_the_order_of_a_seed():
    plain, noisy = (
        next(ClassificationBandit(contexts=BITS, labels=LABELS, flip=flip).batches(seed=9, size=N))
        for flip in (0.0, 0.05)
    )
    assert (plain.rewards == noisy.rewards).all()


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("flip", [0.0, 0.05])
def test_a_frame_is_played_as_its_matrix_is_and_stays_a_frame(make, flip):
    frame = make({f"bit{place}": column for place, column in enumerate(BITS[:300].T)})
    options = {"labels": LABELS[:300], "flip": flip}
    matrix = next(ClassificationBandit(contexts=BITS[:300], **options).batches(seed=3, size=700)).contexts
    shown = next(ClassificationBandit(contexts=frame, **options).batches(seed=3, size=700)).contexts
    assert type(shown) is type(frame)
    assert (nw.from_native(shown).to_numpy() == matrix).all()


def test_trials_share_the_data():
    stream = ClassificationBandit(contexts=BITS, labels=LABELS)
    assert stream.contexts is BITS
    assert stream.labels is LABELS


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"]),
        pl.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
    ],
    ids=lambda labels: type(labels).__module__.partition(".")[0],
)
def test_classes_in_order_are_the_actions(labels):
    stream = ClassificationBandit(contexts=None, labels=labels, shuffle=False)
    assert stream.actions == ("a", "b")
    batch = next(stream.batches(seed=1, size=3))
    assert batch.contexts is None
    assert batch.rewards.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_labels_become_plain_values_and_numbers_come_before_text():
    stream = ClassificationBandit(contexts=None, labels=[np.int64(2), "x", 1])
    assert stream.actions == (1, 2, "x")
    assert [type(action) for action in stream.actions] == [int, int, str]


def test_given_actions_set_the_order_and_may_be_more_than_the_classes():
    stream = ClassificationBandit(contexts=None, labels=[1, 2], actions=[3, 2, 1], shuffle=False)
    assert next(stream.batches(seed=1, size=2)).rewards.tolist() == [[0, 0, 1], [0, 1, 0]]


def test_the_repr_holds_the_options_and_not_the_data():
    stream = ClassificationBandit(contexts=BITS, labels=LABELS, flip=0.05)
    assert repr(stream) == "ClassificationBandit(actions=(0, 1, 2, 3), shuffle=True, loop=True, flip=0.05)"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"labels": []}, "labels is empty; it must have at least one row"),
        (
            {"labels": ["a", None]},
            "labels has 1 missing or unusable values; each must be text or a number",
        ),
        ({"labels": np.array([1.0, np.nan])}, "labels has 1 missing .*"),
        ({"labels": pl.Series(["a", None])}, "labels has 1 missing .*"),
        ({"labels": pd.Series([1, None], dtype="Int64")}, "labels has 1 missing .*"),
        ({"labels": [[1], [2]]}, "labels has 2 missing .*"),
        ({"labels": np.zeros((2, 2))}, "labels is a 2-dimensional array; it must be a list, .*"),
        ({"labels": "ab"}, "labels is a str; it must be a list, .*"),
        ({"contexts": np.zeros((3, 2))}, "contexts has 3 rows; it must have 2, as labels has"),
        ({"contexts": np.zeros(2)}, "contexts has 1 dimensions; it must have 2"),
        ({"contexts": [[1], [2]]}, r"contexts is \[\[1\], \[2\]\]; it must be a NumPy array or a frame of .*"),
        (
            {"contexts": pd.DataFrame([[0, 1]] * 2, columns=["a", "a"])},
            "contexts has several columns of the same name; their names must differ",
        ),
        ({"shuffle": "no"}, "shuffle is 'no'; it must be True or False"),
        ({"loop": 1}, "loop is 1; it must be True or False"),
        ({"actions": 5}, "actions is 5; it must be a list of text or numbers"),
        ({"actions": "ab"}, "actions is 'ab'; it must be a list of text or numbers"),
        ({"actions": [[1]]}, r"actions is \[\[1\]\]; it must be a list of text or numbers"),
        (
            {"contexts": np.array([[2], [1]]), "flip": 0.1},
            "contexts has values other than 0 and 1; it must have only bits",
        ),
        (
            {"contexts": pl.DataFrame({"a": ["x", "y"]}), "flip": 0.1},
            "contexts has values other than 0 and 1; it must have only bits",
        ),
        ({"flip": 0.1}, "flip is 0.1; it must be 0 where there are no contexts"),
        ({"flip": 1.1}, "flip is 1.1; it must be a number from 0 to 1"),
        ({"actions": [1, 1]}, r"actions is \(1, 1\); each action must be named once"),
        ({"actions": [1, 3]}, "labels has 2; each must be one of the actions 1, 3"),
    ],
)
def test_wrong_data_is_refused_in_one_sentence(options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        ClassificationBandit(**{"contexts": None, "labels": [1, 2], **options})
