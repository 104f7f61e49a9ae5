"""One row, many rows, every container: the same codes, equal to the slow twins."""

import json
import math
from collections import defaultdict
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import encoding as slow

from stumpery.encoding import BitEncoder, CodeEncoder, HashEncoder, Schema, VectorEncoder, code_encoder_kernels
from stumpery.encoding.chunks import EncodedColumns, chunks
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.jit import INTERPRETED
from stumpery.types import State

seeded = settings(deadline=None, derandomize=True, max_examples=50)
numbers = st.none() | st.floats(width=64) | st.integers(-3, 3).map(float)
rows_of_all_kinds = st.lists(
    st.fixed_dictionaries(
        {
            "x": numbers,
            "count": st.none() | st.integers(-(2**62), 2**62) | st.integers(-3, 3),
            "flag": st.none() | st.booleans(),
            "device": st.none() | st.sampled_from(["phone", "desktop", "", "é", "watch"]),
            "store": st.none() | st.integers(-2, 3),
        }
    ),
    max_size=30,
)
TYPES = {"x": pl.Float64, "count": pl.Int64, "flag": pl.Boolean, "device": pl.String, "store": pl.Int64}
EXTENSIONS = {"x": "Float64", "count": "Int64", "flag": "boolean", "device": "string", "store": "Int64"}


def encoders(schema):
    yield VectorEncoder(schema=schema)
    yield VectorEncoder(schema=schema, one_hot=True)
    yield CodeEncoder(schema=schema)
    yield CodeEncoder(schema=schema, n_bins=3)
    yield BitEncoder(schema=schema)
    yield BitEncoder(schema=schema, indicators=True)


def learn(rows):
    declared = dict.fromkeys(["x", "count", "flag"], "numerical") | {
        "device": "categorical",
        "store": "categorical number",
    }
    return Schema.of(declared, max_categories=3).extend(rows)


def containers(rows):
    frame = pl.DataFrame(rows, schema=TYPES)
    yield frame.select(reversed(frame.columns))
    yield frame.with_columns(extra=pl.lit("ignored"), device=pl.col("device").cast(pl.Categorical))
    yield frame.to_arrow()
    yield frame.to_pandas()
    yield pd.DataFrame(rows, columns=list(TYPES)).astype(EXTENSIONS)
    yield pd.DataFrame(rows, columns=list(TYPES), dtype=object)
    matrix = np.empty((len(rows), len(TYPES)), object)
    for place, name in enumerate(TYPES):
        matrix[:, place] = [row[name] for row in rows]
    yield matrix


@seeded
@given(rows_of_all_kinds, rows_of_all_kinds)
def test_every_container_gives_the_same_bits(sample, rows):
    for encoder in encoders(learn(sample)):
        expected = encoder.encode_many(rows)
        assert expected.shape == (len(rows), encoder.width)
        assert expected.flags.c_contiguous
        for container in containers(rows):
            actual = encoder.encode_many(container)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected)


@seeded
@given(rows_of_all_kinds, rows_of_all_kinds)
def test_one_row_equals_its_row_among_many(sample, rows):
    for encoder in encoders(learn(sample)):
        for row, expected in zip(rows, encoder.encode_many(rows), strict=True):
            present = {name: value for name, value in row.items() if value is not None}
            array = np.array([row[name] for name in TYPES], object)
            for one in (row, present, defaultdict(int, row), MappingProxyType(present), array):
                actual = encoder.encode_one(one)
                assert actual.dtype == expected.dtype
                np.testing.assert_array_equal(actual, expected)


@seeded
@given(rows_of_all_kinds, rows_of_all_kinds, st.integers(2, 20))
def test_codes_and_bits_equal_the_slow_twin(sample, rows, n_bins):
    schema = learn(sample)
    rows = [row | {"store": None} for row in rows]
    codes = CodeEncoder(schema=schema, n_bins=n_bins)
    bits = BitEncoder(schema=schema, n_bins=n_bins)
    for row in rows:
        expected_codes, expected_bits = [], []
        for column in schema.columns:
            value = row[column.name]
            if column.kind == "categorical":
                expected_codes.append(slow.category_code(value, column.categories, column.max_categories))
                expected_bits += slow.one_hot(value, column.categories)
                continue
            edges = column.cuts(n_bins)
            value = None if value is None else float(value)
            expected_codes.append(slow.number_code(value, edges))
            expected_bits += slow.number_bits(value, edges)[1 if column.is_bit else 0 :]
        assert codes.encode_one(row).tolist() == expected_codes
        assert bits.encode_one(row).tolist() == expected_bits


@seeded
@given(rows_of_all_kinds, rows_of_all_kinds)
def test_codes_stay_below_their_number_and_features_have_names(sample, rows):
    schema = learn(sample)
    codes = CodeEncoder(schema=schema)
    assert (codes.encode_many(rows) < np.array(codes.n_codes)).all()
    assert tuple(map(len, codes.code_names)) == codes.n_codes
    for encoder in encoders(schema):
        assert len(encoder.feature_names) == encoder.width


@seeded
@given(rows_of_all_kinds)
def test_a_saved_encoder_comes_back_equal(sample):
    for encoder in encoders(learn(sample)):
        options, arrays = encoder.state()
        again = type(encoder).from_state(State(json.loads(json.dumps(options)), arrays))
        assert again == encoder
        np.testing.assert_array_equal(again.encode_many(sample), encoder.encode_many(sample))


@seeded
@given(st.lists(st.lists(st.floats(width=32), min_size=2, max_size=2), min_size=1))
def test_numeric_arrays_of_any_type_equal_their_dicts(values):
    matrix = np.array(values)
    encoder = CodeEncoder(schema=Schema.infer(matrix))
    expected = encoder.encode_many([{"x0": first, "x1": second} for first, second in values])
    for found in (matrix, matrix.astype(np.float32), np.asfortranarray(matrix)):
        np.testing.assert_array_equal(encoder.encode_many(found), expected)
    np.testing.assert_array_equal([encoder.encode_one(row) for row in matrix], expected)


def test_encoders_change_nothing_they_are_given():
    row = defaultdict(int, {"x": 1.0})
    matrix = np.array([[1.0], [np.nan]])
    for encoder in encoders(Schema.infer([{"x": 0.5}, {"x": 3.0}])):
        encoder.encode_one(row)
        encoder.encode_many(matrix)[:] = 9
    assert dict(row) == {"x": 1.0}
    np.testing.assert_array_equal(matrix, [[1.0], [np.nan]])


def test_infinities_fall_in_the_end_bins_and_stay_in_vectors():
    schema = Schema.of({"x": [1, 2]})
    matrix = np.array([[-np.inf], [1.0], [1.5], [np.inf]])
    assert CodeEncoder(schema=schema).encode_many(matrix)[:, 0].tolist() == [1, 1, 2, 3]
    np.testing.assert_array_equal(VectorEncoder(schema=schema).encode_many(matrix), matrix)


def test_features_are_named_in_words():
    schema = Schema.infer([{"age": age, "vip": age % 2, "device": "phone"} for age in range(1, 4)])
    assert BitEncoder(schema=schema, indicators=True).feature_names == (
        *("age <= 1", "age in (1, 2]", "age > 2", "age missing"),
        *("vip", "vip missing"),
        *("device = phone", "device = other", "device missing"),
    )
    assert BitEncoder(schema=schema).feature_names == (
        "age <= 1",
        "age in (1, 2]",
        "age > 2",
        "vip",
        "device = phone",
    )
    assert VectorEncoder(schema=schema).feature_names == ("age", "vip", "device")


def test_indicators_are_set_for_missing_values_and_other_categories_only():
    encoder = BitEncoder(schema=Schema.of({"age": [30], "device": ["phone"]}), indicators=True)
    assert encoder.encode_one({}).tolist() == [0, 0, 1, 0, 0, 1]
    assert encoder.encode_one({"age": 31, "device": "watch"}).tolist() == [0, 1, 0, 0, 1, 0]
    assert BitEncoder(schema=encoder.schema).encode_one({}).tolist() == [0, 0, 0]


def test_a_column_of_zeros_in_the_sample_is_a_bit_that_can_still_be_set():
    encoder = BitEncoder(schema=Schema.infer([{"soil": 0}]))
    assert [encoder.encode_one({"soil": value}).tolist() for value in (0, 1, None)] == [[0], [1], [0]]


def test_many_categories_need_two_bytes():
    names = [f"n{place}" for place in range(300)]
    encoder = CodeEncoder(schema=Schema.of({"c": names}))
    assert encoder.dtype == np.uint16
    assert encoder.encode_many([{"c": name} for name in names])[:, 0].tolist() == list(range(1, 301))


@pytest.mark.parametrize("rows", [[], pl.DataFrame(schema={"x": pl.Float64}), np.empty((0, 1)), pa.table({"x": []})])
def test_no_rows_give_an_empty_matrix_of_full_width(rows):
    for encoder in encoders(Schema.of({"x": [1, 2]})):
        assert encoder.encode_many(rows).shape == (0, encoder.width)


@pytest.mark.parametrize("missing", [None, math.nan, np.nan, np.float32("nan"), pd.NA])
def test_every_kind_of_missing_value_is_missing(missing):
    encoder = CodeEncoder(schema=Schema.of({"x": [1], "c": ["a"], "s": "categorical number"}))
    assert encoder.encode_one({"x": missing, "c": missing, "s": missing}).tolist() == [0, 0, 0]
    assert encoder.encode_one({}).tolist() == [0, 0, 0]


@pytest.mark.parametrize("number", [True, 1, 1.0, np.int8(1), np.float32(1), np.bool_(1), 10**400 // 10**400])
def test_every_kind_of_number_is_a_number(number):
    encoder = VectorEncoder(schema=Schema.of({"x": "numerical", "s": "categorical number"}).extend([{"s": "1"}]))
    assert encoder.encode_one({"x": number, "s": number}).tolist() == [1.0, 1.0]


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_kernels_are_compiled_once_for_each_size_of_codes():
    schema = Schema.infer([{"x": 1, "c": "a"}, {"x": 2.5, "c": None}])
    for encoder in encoders(schema):
        for row in ({"x": 1, "c": "a"}, {"x": 0.5}, {"c": "b"}, {"x": True, "c": None}):
            encoder.encode_one(row)
            encoder.encode_many([row])
            encoder.encode_many(pl.DataFrame([row], schema={"x": pl.Float32, "c": pl.String}))
    assert len(code_encoder_kernels.encode_row.signatures) <= 2
    assert len(code_encoder_kernels.encode_column.signatures) <= 2
    assert len(code_encoder_kernels.set_ones.signatures) <= 3


@pytest.mark.parametrize(
    "pair",
    [(2**24, 2**24 + 1), (2**53 - 3, 2**53 - 2), (5e7 + 0.01, 5e7 + 0.02), (1e-300, 2e-300), (1e200, 2e200)],
    ids=str,
)
@pytest.mark.parametrize("kind", [VectorEncoder, CodeEncoder, HashEncoder, BitEncoder])
def test_neighbours_among_large_numbers_are_told_apart(kind, pair):
    rows = [{"x": value} for value in pair] * 20
    encoder = kind(schema=Schema.infer(rows))
    ones = [encoder.encode_one(row).tolist() for row in rows[:2]]
    assert ones[0] != ones[1]
    assert encoder.encode_many(pl.DataFrame(rows))[:2].tolist() == ones
    assert encoder.encode_many(np.array(pair)[:, None]).tolist() == ones


def test_ends_of_bins_are_named_with_the_digits_that_tell_them_apart():
    names = CodeEncoder(schema=Schema.of({"t": [0.123456789, 1_763_490_291.5, 1e200]})).code_names[0]
    assert names[1:] == (
        "t <= 0.123457", "t in (0.123457, 1763490291.5]", "t in (1763490291.5, 1e+200]", "t > 1e+200",
    )  # fmt: skip


def test_rows_that_are_encoded_later_are_the_same_rows():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"a": rng.integers(0, 9, 10_000), "b": rng.random(10_000), "c": rng.choice(["x", "y"], 10_000)}
    )
    _, rows = OnlineEncoder.from_rows(frame, max_categories=62).extend(frame)
    assert isinstance(rows, EncodedColumns) and len(rows) == 10_000
    whole = rows[:]
    assert whole.dtype == np.float64 and np.array_equal(whole[:, :2], frame[:, :2].to_numpy())
    assert np.array_equal(rows[4000:4200], whole[4000:4200]) and rows[9:3].shape == (0, 3)
    assert np.array_equal(np.concatenate([matrix for _, matrix in chunks(rows)]), whole)


WIDE = [10**30, 3, None, 2**64 - 1]
EXACT = [Decimal("1.5"), Decimal("0.1"), None, Decimal("12345678901234567890.25")]
UNUSUAL = {
    "128 bits": pl.Series(WIDE, dtype=pl.Int128),
    "128 bits without gaps": pl.Series([each or 0 for each in WIDE], dtype=pl.Int128),
    "unsigned 128 bits": pl.Series([each or 0 for each in WIDE], dtype=pl.UInt128),
    "polars decimals": pl.Series(EXACT, dtype=pl.Decimal(38, 2)),
    "arrow decimals": pa.array(EXACT, type=pa.decimal256(40, 2)),
    "pandas decimals": pd.Series(EXACT, dtype=object),
    "pandas arrow decimals": pd.Series(EXACT, dtype=pd.ArrowDtype(pa.decimal128(38, 2))),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_numbers_that_numpy_does_not_have_are_numbers(name):
    column = UNUSUAL[name]
    make = pa.table if name == "arrow decimals" else pd.DataFrame if "pandas" in name else pl.DataFrame
    frame, values = make({"x": column}), column.to_pylist() if name == "arrow decimals" else column.to_list()
    rows = [{"x": None if value is None or value is pd.NA else value} for value in values]
    expected = [math.nan if row["x"] is None else float(row["x"]) for row in rows]
    assert Schema.infer(frame).kinds == Schema.infer(rows).kinds == {"x": "numerical"}
    encoder = VectorEncoder(schema=Schema.infer(frame))
    by_row = [encoder.encode_one(row).tolist() for row in rows]
    assert np.array_equal(encoder.encode_many(frame)[:, 0], expected, equal_nan=True)
    assert np.array_equal(encoder.encode_many(frame), by_row, equal_nan=True)
