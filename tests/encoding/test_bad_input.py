"""What does not fit is refused in one sentence that says what came and what is allowed."""

import datetime

import numpy as np
import polars as pl
import pytest

from stumpery.encoding import BitEncoder, CodeEncoder, Schema, VectorEncoder
from stumpery.types import State

SCHEMA = Schema.of({"age": [18, 65], "device": ["phone"]})
GOOD = {"age": 30, "device": "phone"}
WRONG_VALUES = [
    ({"age": "old"}, r"column 'age' takes a number or a missing value; 'old' \(str\) came"),
    ({"age": [1]}, r"column 'age' takes a number or a missing value; \[1\] \(list\) came"),
    ({"age": datetime.date(2020, 1, 1)}, "column 'age' takes a number"),
    ({"age": 10**400}, "column 'age' takes a number of at most 308 digits"),
    ({"device": 3}, r"column 'device' takes a name or a missing value; 3 \(int\) came"),
    ({"device": 10**400}, "column 'device' takes a name"),
    ({"device": ["phone"]}, "column 'device' takes a name"),
    ({"device": b"phone"}, "column 'device' takes a name"),
    ({"device": datetime.date(2020, 1, 1)}, "column 'device' takes a name"),
]


@pytest.fixture(params=[VectorEncoder, CodeEncoder, BitEncoder])
def encoder(request):
    return request.param(schema=SCHEMA)


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_VALUES)
def test_wrong_values_are_refused_alone_and_among_many(encoder, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_one(GOOD | wrong)
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_many([GOOD, GOOD | wrong])


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ({"age": [1]}, "'device' are absent"),
        ({"age": ["old"], "device": ["phone"]}, "column 'age' takes a number"),
        ({"age": [1], "device": [3]}, "column 'device' takes a name"),
        ({"age": [datetime.datetime(2020, 1, 1)], "device": ["phone"]}, "column 'age' holds Datetime"),
        ({"age": [[1]], "device": ["phone"]}, "column 'age' holds List"),
    ],
)
def test_wrong_frames_are_refused(encoder, frame, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_many(pl.DataFrame(frame))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros((2, 3)), "the schema's 2 columns; 3 came"),
        (np.zeros(2), "must have 2 dimensions; one of 1 came"),
        (np.zeros((2, 2)), "column 'device' takes a name"),
        ([[1, 2]], "must hold dicts; a list came"),
        ("rows", "a list of dicts, a 2-D array or a pandas, polars or pyarrow frame; a str came"),
        (pl.LazyFrame({"age": [1]}), "a LazyFrame came"),
        (3, "a int came"),
    ],
)
def test_wrong_containers_are_refused(encoder, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_many(rows)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [([1, 2], "a dict or a 1-D array; a list came"), (np.zeros(3), "the schema's 2 columns")],
)
def test_wrong_rows_are_refused(encoder, row, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_one(row)


@pytest.mark.parametrize("n_bins", [1, 241, "five"])
@pytest.mark.parametrize("kind", [CodeEncoder, BitEncoder])
def test_wrong_numbers_of_bins_are_refused(kind, n_bins):
    with pytest.raises(ValueError, match="n_bins must be a whole number from 2 to 240"):
        kind(schema=SCHEMA, n_bins=n_bins)


def test_a_saved_encoder_of_another_kind_is_refused():
    options, arrays = CodeEncoder(schema=SCHEMA).state()
    with pytest.raises(ValueError, match="a saved BitEncoder has"):
        BitEncoder.from_state(State(options, arrays))
