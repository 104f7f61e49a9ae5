"""The fast way of ordinary rows: it refuses what is unusual, and writes the same bits as the thorough way."""

import math
from collections import OrderedDict
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stumpery.encoding import Schema
from stumpery.encoding.online_encoder import OnlineEncoder, _refuse
from stumpery.encoding.plain_rows import MAX_NUMBER, PlainRowWriter


class Name(str):
    __slots__ = ()


ABSENT = object()
ODD = [ABSENT, None, math.nan, math.inf, -math.inf, 1e308, -1e308, MAX_NUMBER, -MAX_NUMBER, 5e-324, -0.0, True, False]
ODD += [2**53 + 1, -(2**63) - 1, 2**64 + 1025, 10**400, np.float32(0.1), np.float64(0.1), np.int8(3), np.bool_(1)]
ODD += [Decimal("0.1"), "phone", "", Name("phone"), Name("new"), np.str_("phone"), "new", b"phone", pd.NA, [1], 1j]
ODD += [np.timedelta64(1, "s"), np.array(1.0), object()]
SCHEMA = Schema.of(
    {
        "x": "numerical",
        "n": "numerical",
        "open": "categorical",
        "closed": ["phone", "watch"],
        "number": "categorical number",
    },
    max_categories=3,
).extend([{"open": "phone", "number": 3}])
values = st.sampled_from(ODD) | st.floats() | st.integers() | st.sampled_from(["phone", "watch", "tv", "3"])
rows = st.fixed_dictionaries(dict.fromkeys(SCHEMA.names, values), optional={"extra": values}).map(
    lambda row: {name: value for name, value in row.items() if value is not ABSENT}
)
plain_rows = st.fixed_dictionaries(
    {
        "x": st.floats(-1e300, 1e300),
        "n": st.integers(-(2**70), 2**70) | st.booleans(),
        "open": st.just("phone"),
        "closed": st.sampled_from(["phone", "watch", "tv"]),
        "number": st.just("3"),
    }
)


def encoder_of(schema=SCHEMA):
    encoder = OnlineEncoder.from_schema(schema, max_categories=62)
    encoder.seen[:] = True
    return encoder


def thorough(encoder):
    """The same encoder without the fast way."""
    other = OnlineEncoder(encoder.schema, encoder.seen, encoder.max_categories)
    vars(other)["write_plain"] = _refuse
    return other


def outcome(call, *arguments):
    """The bits of the encoded row and the categories known then, or the error."""
    try:
        result = call(*arguments)
    except (ValueError, TypeError) as error:
        return type(error), str(error)
    extended, encoded = result if isinstance(result, tuple) else (None, result)
    return encoded.tobytes(), encoded.dtype, extended and extended.schema, extended and extended.seen.tolist()


@settings(deadline=None, derandomize=True, max_examples=500)
@given(rows | plain_rows)
def test_fast_and_thorough_way_agree_on_any_row(row):
    fast = encoder_of()
    for method in ("encode_one", "extend_one"):
        slow = getattr(thorough(fast), method)
        assert outcome(getattr(fast, method), row) == outcome(slow, row)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(plain_rows)
def test_ordinary_rows_are_written(row):
    encoder, written = encoder_of(), np.full((1, len(SCHEMA)), np.nan)
    assert encoder.write_plain(row, written)
    assert written.tobytes() == thorough(encoder).encode_one(row).tobytes()
    assert encoder.extend_one(row)[0] is encoder


@pytest.mark.parametrize("name", SCHEMA.names)
@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_is_refused_leaves_the_buffer_alone(name, value):
    row = {"x": 1.0, "n": 2, "open": "phone", "closed": "watch", "number": "3", name: value}
    if value is ABSENT:
        del row[name]
    buffer = np.full(len(SCHEMA), 7.0)
    if not encoder_of().write_plain(row, buffer):
        assert (buffer == 7.0).all()


@pytest.mark.parametrize(
    "row",
    [OrderedDict(x=1.0), np.ones(1), [1.0], pd.Series({"x": 1.0}), None, "x", {}, {"x": None}, {"X": 1.0}],
    ids=lambda row: type(row).__name__,
)
def test_only_dicts_with_all_columns_are_written(row):
    assert not PlainRowWriter(Schema.of({"x": "numerical"}).columns).write(row, np.zeros(1))


def test_a_single_column_and_the_order_of_keys():
    one, two = (PlainRowWriter(Schema.of(dict.fromkeys(names, "numerical")).columns) for names in ("a", "ab"))
    buffer = np.zeros(2)
    assert one.write({"a": 3}, buffer[:1]) and two.write({"b": 5, "c": None, "a": 4}, buffer)
    assert buffer.tolist() == [4.0, 5.0]


def test_nothing_is_written_while_a_column_has_had_no_value():
    encoder = OnlineEncoder.from_rows([{"x": None, "y": 1}], max_categories=5)
    assert not encoder.write_plain({"x": 1.0, "y": 2.0}, np.zeros(2))
    extended, _ = encoder.extend_one({"x": 1.0, "y": 2.0})
    assert extended.write_plain({"x": 1.0, "y": 2.0}, np.zeros(2))
