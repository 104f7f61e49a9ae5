"""What a schema learns, keeps, saves and refuses."""

import datetime
import enum
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import encoding as slow

from stumpery.encoding import BitEncoder, CodeEncoder, Schema, VectorEncoder
from stumpery.types import State

seeded = settings(deadline=None, derandomize=True)
NO_KIND = (
    "column 'a' is .*; it must be 'numerical', 'categorical', 'categorical number', a list of cut points "
    "or a list of categories"
)
ROWS = [{"age": 31, "vip": True, "device": "phone"}, {"age": None, "vip": False, "device": "desktop"}]


def test_kinds_are_inferred_from_values():
    assert Schema.infer(ROWS).kinds == {"age": "numerical", "vip": "numerical", "device": "categorical"}


def test_all_containers_teach_the_same_schema():
    schema = Schema.infer(ROWS)
    frame = pl.DataFrame(ROWS)
    assert Schema.infer(frame) == Schema.infer(frame.to_arrow()) == Schema.infer(frame.to_pandas()) == schema


def test_categoricals_and_enums_are_categorical_whatever_they_hold():
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}, schema={"a": pl.Categorical, "b": pl.Enum(["u", "v"])})
    assert Schema.infer(frame).kinds == {"a": "categorical", "b": "categorical"}
    stores = Schema.infer(pd.DataFrame({"store": pd.Categorical([17, 4, 17])}))
    assert stores.columns[0].categories == ("17", "4")


def test_string_enums_are_categories():
    class Device(enum.StrEnum):
        PHONE = "phone"

    schema = Schema.infer([{"device": Device.PHONE}])
    assert schema.columns[0].categories == ("phone",)
    assert CodeEncoder(schema=schema).encode_one({"device": "phone"}) == [1]


def test_a_matrix_gets_generated_names():
    assert Schema.infer(np.zeros((3, 2))).names == ("x0", "x1")


def test_a_column_without_any_value_is_numerical_with_one_bin():
    encoder = CodeEncoder(schema=Schema.infer([{"age": None}]))
    assert encoder.code_names == (("age missing", "age present"),)
    assert [encoder.encode_one({"age": age})[0] for age in (None, -5, 7e9)] == [0, 1, 1]


def test_declared_columns_win_over_inferred_ones():
    schema = Schema.infer([{"store": 17.0}, {"store": 4}, {"store": 2.5}], declared={"store": "categorical number"})
    assert schema.columns[0].categories == ("17", "4", "2.5")
    assert CodeEncoder(schema=schema).encode_one({"store": 4}) == [2]
    assert CodeEncoder(schema=schema).encode_one({"store": "4"}) == [2]
    with pytest.raises(ValueError, match=r"^a declared column is 'shop'; it must be one of 'age', 'vip', 'device'$"):
        Schema.infer(ROWS, declared={"shop": "categorical"})


def test_categories_beyond_the_maximum_share_one_code_and_the_most_frequent_keep_theirs():
    schema = Schema.infer([{"c": name} for name in "abbbcc"], max_categories=2)
    encoder = CodeEncoder(schema=schema)
    assert [int(encoder.encode_one({"c": name})[0]) for name in "bcaz"] == [1, 2, 3, 3]


@seeded
@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdefgh")), st.integers(1, 8))
def test_extending_keeps_every_earlier_code(first, later, max_categories):
    before = Schema.of({"c": "categorical"}, max_categories=max_categories).extend([{"c": name} for name in first])
    after = before.extend([{"c": name} for name in later])
    old, new = before.columns[0], after.columns[0]
    assert new.categories[: len(old.categories)] == old.categories
    assert (new.other, CodeEncoder(schema=after).n_codes) == (old.other, CodeEncoder(schema=before).n_codes)
    assert set(new.categories) <= set(first) | set(later)


@seeded
@given(st.lists(st.none() | st.sampled_from("abcdef")), st.integers(1, 8), st.integers(1, 5))
def test_extending_row_by_row_equals_extending_at_once(names, max_categories, size):
    rows = [{"c": name, "s": place % 3} for place, name in enumerate(names)]
    empty = Schema.of({"c": "categorical", "s": "categorical number"}, max_categories=max_categories)
    at_once = empty.extend(rows)
    one_by_one = in_runs = empty
    for row in rows:
        one_by_one = one_by_one.extend([row])
    for start in range(0, len(rows), size):
        in_runs = in_runs.extend(pl.DataFrame(rows[start : start + size], schema={"c": pl.String, "s": pl.Int64}))
    assert one_by_one == in_runs == at_once
    for kind in (VectorEncoder, CodeEncoder, BitEncoder):
        codes = [kind(schema=schema).encode_many(rows) for schema in (one_by_one, at_once)]
        np.testing.assert_array_equal(*codes)


def test_new_categories_get_codes_as_they_come_however_frequent_they_are():
    rows = [{"c": name} for name in "abbbcc"]
    assert Schema.of({"c": "categorical"}, max_categories=2).extend(rows).columns[0].categories == ("a", "b")
    assert Schema.infer(rows).columns[0].categories == ("a", "b", "c")
    assert Schema.infer([{"c": name} for name in "abcbcc"], max_categories=2).columns[0].categories == ("b", "c")


def test_a_list_of_categories_is_complete():
    schema = Schema.of({"device": ["phone", "desktop"]})
    assert schema.extend([{"device": "watch"}]) == schema


def test_a_closed_schema_takes_no_further_categories():
    assert CodeEncoder(schema=Schema.infer(ROWS)).n_codes[2] == 66
    assert CodeEncoder(schema=Schema.infer(ROWS).close()).n_codes[2] == 4


def test_a_declared_numerical_column_needs_rows_before_it_can_be_cut():
    schema = Schema.of({"age": "numerical"})
    with pytest.raises(ValueError, match="'age' has no cut points yet"):
        CodeEncoder(schema=schema)
    with pytest.raises(ValueError, match="'age' has no cut points yet"):
        BitEncoder(schema=schema)
    assert VectorEncoder(schema=schema).encode_one({"age": 3}) == [3.0]
    assert CodeEncoder(schema=schema.extend([{"age": age} for age in range(5)])).n_codes == (6,)


def test_cut_points_are_learned_once():
    schema = Schema.infer([{"age": age} for age in range(5)])
    assert schema.extend([{"age": 99}]) == schema


@seeded
@given(st.lists(st.integers(-5, 5) | st.floats(-1e6, 1e6), min_size=1, max_size=200), st.integers(2, 20))
def test_cut_points_equal_the_slow_twin_and_leave_no_bin_empty(values, n_bins):
    column = Schema.infer([{"x": value} for value in values]).columns[0]
    if set(values) <= {0, 1}:
        assert column.cuts(n_bins) == (0.0,)
        return
    assert list(column.cuts(n_bins)) == slow.equal_frequency_edges(values, n_bins)
    codes = CodeEncoder(schema=Schema(columns=(column,)), n_bins=n_bins).encode_many(np.array([values]).T)
    assert len(np.unique(codes)) == min(n_bins, len(set(values)))


@pytest.mark.parametrize("n_bins", [2, 5, 16, 240])
def test_bins_of_many_distinct_values_have_equal_frequencies(n_bins):
    values = np.random.default_rng(1).normal(size=(24_000, 1))
    codes = CodeEncoder(schema=Schema.infer(values), n_bins=n_bins).encode_many(values)
    assert np.abs(np.bincount(codes[:, 0])[1:] - 24_000 / n_bins).max() <= (0 if n_bins < 240 else 100)


def test_infinities_teach_no_cut_points():
    assert Schema.infer([{"x": value} for value in (1.0, 2.0, np.inf, -np.inf)]).columns[0].points == (
        1.0,
        2.0,
    )


@pytest.mark.parametrize("name", ["columns", "points"])
def test_a_schema_goes_through_json_and_a_damaged_one_is_refused(name):
    schema = Schema.infer(ROWS * 300).extend([{"device": "watch"}])
    options, arrays = schema.state()
    assert Schema.from_state(State(json.loads(json.dumps(options)), arrays)) == schema
    damaged = State({k: v for k, v in options.items() if k != name}, {k: v for k, v in arrays.items() if k != name})
    with pytest.raises(ValueError, match="a saved schema must have columns and points"):
        Schema.from_state(damaged)


@pytest.mark.parametrize("points", [[], [1.0] * 999])
def test_a_saved_schema_with_too_few_or_too_many_points_is_refused(points):
    options, _ = Schema.infer(ROWS).state()
    with pytest.raises(ValueError, match="points"):
        Schema.from_state(State(options, {"points": np.array(points)}))


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (
            {"a": "nubmer"},
            "column 'a' is 'nubmer'; it must be 'numerical', 'categorical', 'categorical number', a list of .*",
        ),
        ({"a": []}, NO_KIND),
        ({"a": None}, NO_KIND),
        ({"a": 3}, NO_KIND),
        ({"a": b"ab"}, NO_KIND),
        ({"a": {1, 2}}, NO_KIND),
        ({"a": pd.Series([1, 2])}, NO_KIND),
        ({"a": pl.Series([1, 2])}, NO_KIND),
        ({"a": np.zeros((2, 2))}, NO_KIND),
        ({"a": np.array(1.0)}, NO_KIND),
        ({"a": [10**400]}, "a value of column 'a' is 1000.*; it must be a number of at most 308 digits or missing"),
        ({"a": ["x", 1]}, NO_KIND),
        ({"a": ["x", "x"]}, r"column 'a' is \('x', 'x'\); it must be different strings, at most 2"),
        ({"a": [3, 1]}, r"column 'a' is \(3.0, 1.0\); it must be finite numbers in ascending order"),
        ({"a": [1, 1]}, "column 'a' is .*; it must be finite numbers in ascending order"),
        ({"a": [1, np.nan]}, "column 'a' is .*; it must be finite numbers in ascending order"),
        ({}, r"columns is \[\]; it must be one or more, named by different strings"),
        ({1: "numerical"}, r"columns is \[1\]; it must be one or more, named by different strings"),
        (["a"], r"columns is \['a'\]; it must be a dict from columns to what they hold"),
        (None, "columns is None; it must be a dict from columns to what they hold"),
    ],
)
def test_wrong_declarations_are_refused(declared, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Schema.of(declared)


@pytest.mark.parametrize("declared", [{"age": []}, {"age": None}, {"age": ""}])
def test_empty_declarations_are_refused_beside_rows(declared):
    with pytest.raises(ValueError, match=r"^column 'age' is .*; it must be 'numerical'"):
        Schema.infer(ROWS, declared=declared)
    with pytest.raises(ValueError, match=r"^declared is \[\]; it must be a dict"):
        Schema.infer(ROWS, declared=[])


def test_arrays_are_declared_as_lists_are():
    assert Schema.of({"a": np.array([1.0, 2.0])}) == Schema.of({"a": [1, 2]})
    assert Schema.of({"a": np.array(["x", "y"])}) == Schema.of({"a": ["x", "y"]})


@pytest.mark.parametrize("max_categories", [0, 2**16, "many", 3.0, True])
def test_wrong_numbers_of_categories_are_refused(max_categories):
    sentence = "^max_categories is .*; it must be a whole number from 1 to 65534$"
    with pytest.raises(ValueError, match=sentence):
        Schema.infer(ROWS, max_categories=max_categories)
    with pytest.raises(ValueError, match=sentence):
        Schema.of({"age": "numerical"}, max_categories=max_categories)


@pytest.mark.parametrize("value", [datetime.datetime(2020, 1, 1), [1, 2], {"a": 1}, 1j, b"x"])
def test_dates_and_nested_values_are_refused_by_name(value):
    with pytest.raises(ValueError, match=r"column 'when' is .*; it must be a number or missing$"):
        Schema.infer([{"when": value}])


@pytest.mark.parametrize("values", [[datetime.date(2020, 1, 1)], [[1, 2]], [{"a": 1}]])
def test_frames_of_dates_and_nested_values_are_refused_by_name(values):
    with pytest.raises(ValueError, match="column 'when' holds"):
        Schema.infer(pl.DataFrame({"when": values}))


def test_frames_need_strings_as_column_names():
    with pytest.raises(ValueError, match=r"^columns is \[0, 1\]; it must be one or more, named by different strings$"):
        Schema.infer(pd.DataFrame(np.zeros((2, 2))))
    with pytest.raises(ValueError, match=r"^rows has several columns of the same name; their names must differ$"):
        Schema.infer(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))


def test_a_column_that_mixes_strings_and_numbers_is_refused():
    with pytest.raises(ValueError, match=r"^a value of column 'c' is 3; it must be a string or missing$"):
        Schema.infer([{"c": "x"}, {"c": 3}])
