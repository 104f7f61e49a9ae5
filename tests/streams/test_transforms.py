import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stumpery.streams import transforms

COLUMNS = {"a": np.arange(7, dtype=np.int64), "b": np.arange(7) % 2}
BITS = {"a": np.arange(4000) % 2, "b": np.arange(4000) % 3 == 0}


def kinds(columns):
    """The same table as an array and as three kinds of frames."""
    frames = [
        pl.DataFrame(columns),
        pd.DataFrame(columns, index=range(9, 9 + len(columns["a"]))),
        pa.table(columns),
    ]
    return [np.column_stack(list(columns.values())), *frames]


def plain(data):
    if isinstance(data, np.ndarray):
        return data.tolist()
    return [list(row) for row in nw.from_native(data).rows()]


def name(data):
    return type(data).__module__.partition(".")[0]


@pytest.mark.parametrize("data", kinds(COLUMNS), ids=name)
def test_every_kind_of_table_comes_back_as_its_own_kind_with_the_same_rows(data):
    before = plain(data)
    results = {
        "take": transforms.take(data, [6, 0, 6]),
        "loop": transforms.loop(data, 9),
        "shuffle": transforms.shuffle(data, seed=3),
    }
    runs = list(transforms.batches(data, 3))
    assert all(type(result) is type(data) for result in [*results.values(), *runs])
    assert plain(results["take"]) == [before[6], before[0], before[6]]
    assert plain(results["loop"]) == before + before[:2]
    assert sorted(plain(results["shuffle"])) == before != plain(results["shuffle"])
    assert [len(run) for run in runs] == [3, 3, 1]
    assert [row for run in runs for row in plain(run)] == before
    assert plain(data) == before


def test_all_kinds_are_shuffled_alike_and_a_series_with_them():
    orders = [plain(transforms.shuffle(data, seed=3)) for data in kinds(COLUMNS)]
    assert all(order == orders[0] for order in orders)
    series = transforms.shuffle(pl.Series(COLUMNS["a"]), seed=3)
    assert series.to_list() == [row[0] for row in orders[0]]


def test_shuffles_are_uniform_over_places():
    places = np.array([transforms.shuffle(np.arange(5), seed=seed) for seed in range(4000)])
    counts = np.array([np.bincount(column, minlength=5) for column in places.T])
    assert np.abs(counts - 800).max() < 4.5 * np.sqrt(800 * 0.8)


@given(n_rows=st.integers(1, 30), n=st.integers(0, 100))
def test_a_loop_starts_again_where_the_data_ends(n_rows, n):
    assert transforms.loop(np.arange(n_rows), n).tolist() == [event % n_rows for event in range(n)]


@given(n_rows=st.integers(0, 40), n=st.integers(1, 50))
def test_batches_put_together_are_the_data(n_rows, n):
    runs = list(transforms.batches(np.arange(n_rows), n))
    assert all(len(run) == n for run in runs[:-1])
    assert [row for run in runs for row in run.tolist()] == list(range(n_rows))


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64, np.float64])
def test_flipped_bits_are_bits_of_the_same_type_in_a_copy(dtype):
    bits = (np.arange(9400).reshape(100, 94) % 3 == 0).astype(dtype)
    before = bits.copy()
    flipped = transforms.flip_bits(bits, seed=1)
    assert flipped.dtype == dtype
    assert set(np.unique(flipped).tolist()) == {0, 1}
    assert (bits == before).all()
    assert not np.shares_memory(bits, flipped)
    assert 0.04 < (flipped != bits).mean() < 0.06


@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 0.97])
def test_each_bit_flips_independently_with_the_chance_asked_for(share):
    n = 2_000_000
    flips = transforms.flip_bits(np.zeros((n // 100, 100), np.uint8), share=share, seed=2).astype(bool)
    spread = np.sqrt(share * (1 - share) / n)
    assert abs(flips.mean() - share) < 4 * spread
    columns = flips.mean(axis=0)
    assert np.abs(columns - share).max() < 5 * spread * np.sqrt(100)
    flat = flips.reshape(-1)
    both = (flat[1:] & flat[:-1]).mean()
    assert abs(both - share**2) < 4 * np.sqrt(3 * share**2 / n)


def test_gaps_between_flips_go_on_where_one_draw_of_them_ends():
    class EveryTenth:
        def geometric(self, share, n):
            return np.full(n, 10)

    mask = transforms.flips(EveryTenth(), (100, 40), share=0.05)
    assert np.flatnonzero(mask).tolist() == list(range(9, 4000, 10))


def test_no_share_flips_nothing_and_the_whole_share_flips_all():
    bits = np.eye(30, dtype=np.uint8)
    assert (transforms.flip_bits(bits, share=0, seed=1) == bits).all()
    assert (transforms.flip_bits(bits, share=1, seed=1) == 1 - bits).all()


@pytest.mark.parametrize("data", kinds(BITS), ids=name)
def test_frames_are_flipped_as_the_matrix_is_and_keep_their_types(data):
    matrix = transforms.flip_bits(np.column_stack(list(BITS.values())), seed=4)
    flipped = transforms.flip_bits(data, seed=4)
    assert plain(flipped) == matrix.tolist()
    if not isinstance(data, np.ndarray):
        assert nw.from_native(flipped).schema == nw.from_native(data).schema


def test_a_series_is_flipped_as_the_vector_is():
    bits = np.arange(500) % 2
    assert transforms.flip_bits(pl.Series("x", bits), seed=4).to_list() == transforms.flip_bits(bits, seed=4).tolist()


def test_empty_tables_stay_empty():
    assert transforms.flip_bits(np.zeros((0, 5), np.uint8), seed=1).shape == (0, 5)
    assert transforms.shuffle(np.zeros((0, 5)), seed=1).shape == (0, 5)
    assert list(transforms.batches(np.zeros((0, 5)), 3)) == []


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: transforms.take([1, 2], [0]),
            r"data is \[1, 2\]; it must be a NumPy array or a frame of .*",
        ),
        (
            lambda: transforms.take(np.arange(3), [3]),
            "rows goes from 3 to 3; it must stay between 0 and 2",
        ),
        (
            lambda: transforms.take(np.arange(3), [-1]),
            "rows goes from -1 to -1; it must stay between 0 and 2",
        ),
        (
            lambda: transforms.take(np.arange(3), [0.5]),
            r"rows is \[0.5\]; it must be a list of whole numbers",
        ),
        (lambda: transforms.loop(np.zeros(0), 3), "data has no rows; it must have at least one"),
        (lambda: transforms.loop(5, 3), "data is 5; it must be a list, an array or a frame of rows"),
        (lambda: transforms.shuffled_rows(2.5, seed=1), "n is 2.5; it must be a whole number of 0 or more"),
        (
            lambda: transforms.shuffle(pd.DataFrame([[1, 2]], columns=["a", "a"]), seed=1),
            "data has several columns of the same name; their names must differ",
        ),
        (lambda: transforms.loop(np.zeros(2), -1), "n is -1; it must be a whole number of 0 or more"),
        (lambda: transforms.batches(np.zeros(2), 0), "n is 0; it must be a whole number of 1 or more"),
        (
            lambda: transforms.flip_bits(np.array([0, 2]), seed=1),
            "bits has values other than 0 and 1; it must have only bits",
        ),
        (
            lambda: transforms.flip_bits(np.array([0, np.nan]), seed=1),
            "bits has values other than 0 and 1; it must have only bits",
        ),
        (
            lambda: transforms.flip_bits(pl.DataFrame({"a": ["x"]}), seed=1),
            "bits has values other than 0 and 1; it must have only bits",
        ),
        (
            lambda: transforms.flip_bits(np.zeros(2), share=1.5, seed=1),
            "share is 1.5; it must be a number from 0 to 1",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        call()
