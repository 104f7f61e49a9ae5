"""What does not fit is refused in one sentence that says what came and what is allowed."""

import datetime
import decimal
import json
from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support import refused

import stumpery as st
from stumpery.encoding import BitEncoder, CodeEncoder, Schema, VectorEncoder
from stumpery.types import State

SCHEMA = Schema.of({"age": [18, 65], "device": ["phone"]})
GOOD = {"age": 30, "device": "phone"}
WRONG_VALUES = [
    ({"age": "old"}, "^a value of column 'age' is 'old'; it must be a number or missing$"),
    ({"age": [1]}, r"^a value of column 'age' is \[1\]; it must be a number or missing$"),
    ({"age": datetime.date(2020, 1, 1)}, "column 'age' is datetime.*; it must be a number"),
    ({"age": 10**400}, "column 'age' is 1000.*; it must be a number of at most 308 digits or missing$"),
    ({"device": 3}, "^a value of column 'device' is 3; it must be a string or missing$"),
    ({"device": 10**5000}, "column 'device' is a number of very many digits; it must be a string"),
    ({"device": ["phone"]}, "column 'device' is .*; it must be a string"),
    ({"device": b"phone"}, "column 'device' is .*; it must be a string"),
    ({"device": datetime.date(2020, 1, 1)}, "column 'device' is .*; it must be a string"),
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
        ({"age": [1]}, "^rows lacks 'device'; it must have every column of the schema$"),
        ({"age": ["old"], "device": ["phone"]}, "column 'age' is 'old'; it must be a number"),
        ({"age": [1], "device": [3]}, "column 'device' is 3; it must be a string"),
        (
            {"age": [datetime.datetime(2020, 1, 1)], "device": ["phone"]},
            "^column 'age' holds Datetime.*; it must hold numbers, bools, strings or categoricals$",
        ),
        ({"age": [[1]], "device": ["phone"]}, "column 'age' holds List"),
    ],
)
def test_wrong_frames_are_refused(encoder, frame, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_many(pl.DataFrame(frame))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros((2, 3)), "^rows has 3 columns; it must have the schema's 2$"),
        (np.zeros(2), "^rows has 1 dimensions; it must have 2$"),
        (np.zeros((2, 2)), "column 'device' is 0.0; it must be a string"),
        ([[1, 2]], r"^a row is \[1, 2\]; it must be a dict$"),
        ("rows", "^rows is 'rows'; it must be a list of dicts, a 2-D array or a pandas, polars or pyarrow frame$"),
        (pl.LazyFrame({"age": [1]}), "^rows is <LazyFrame .*; it must be a list of dicts"),
        (3, "^rows is 3; it must be a list of dicts"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["age", "device", "age"]),
            "^rows has several columns of the same name; .*$",
        ),
        (pa.table([[1], [2]], ["age", "age"]), "^rows has several columns of the same name; .*$"),
        (pd.DataFrame([[1, 2]]), "^rows lacks 'age', 'device'; it must have every column of the schema$"),
    ],
)
def test_wrong_containers_are_refused(encoder, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_many(rows)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([1, 2], r"^row is \[1, 2\]; it must be a dict, a pandas Series or a 1-D array$"),
        (np.zeros(3), r"^row has the shape \(3,\); it must have .* 2 columns$"),
    ],
)
def test_wrong_rows_are_refused(encoder, row, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder.encode_one(row)


@pytest.mark.parametrize("n_bins", [1, 241, "five", 5.0, True, None])
@pytest.mark.parametrize("kind", [CodeEncoder, BitEncoder])
def test_wrong_numbers_of_bins_are_refused(kind, n_bins):
    with pytest.raises(ValueError, match=r"^n_bins is .*; it must be a whole number from 2 to 240$"):
        kind(schema=SCHEMA, n_bins=n_bins)


@pytest.mark.parametrize("kind", [VectorEncoder, CodeEncoder, BitEncoder])
@pytest.mark.parametrize("schema", [None, {"age": "numerical"}, SCHEMA.columns])
def test_what_is_no_schema_is_refused(kind, schema):
    with pytest.raises(ValueError, match=r"^schema is .*; it must be a Schema, as Schema.infer gives it$"):
        kind(schema=schema)


@pytest.mark.parametrize(("kind", "option"), [(VectorEncoder, "one_hot"), (BitEncoder, "indicators")])
@pytest.mark.parametrize("value", ["no", 1, None, np.True_])
def test_switches_are_true_or_false(kind, option, value):
    with pytest.raises(ValueError, match=f"^{option} is .*; it must be True or False$"):
        kind(schema=SCHEMA, **{option: value})


def test_numpys_whole_numbers_are_saved_as_plain_ones():
    schema = Schema.of({"age": [18], "device": "categorical"}, max_categories=np.int64(3))
    options, arrays = CodeEncoder(schema=schema, n_bins=np.int64(5)).state()
    saved = State(json.loads(json.dumps(options)), arrays)
    assert CodeEncoder.from_state(saved) == CodeEncoder(schema=schema, n_bins=5)


def test_a_saved_encoder_of_another_kind_is_refused():
    options, arrays = CodeEncoder(schema=SCHEMA).state()
    with pytest.raises(
        ValueError, match=r"^a saved BitEncoder has 'n_bins', 'schema'; it must have 'indicators', 'n_bins', 'schema'$"
    ):
        BitEncoder.from_state(State(options, arrays))


SIGNALING = decimal.Decimal("sNaN")


@pytest.mark.parametrize("kind", ["numerical", "categorical", "categorical number"])
def test_a_signaling_nan_is_refused(kind):
    schema = Schema.of({"x": kind})
    for read in (VectorEncoder(schema=schema).encode_one, lambda row: schema.extend([row])):
        with refused(naming=r"^a value of column 'x' is Decimal\('sNaN'\); it must be a "):
            read({"x": SIGNALING})


@pytest.mark.parametrize("kind", [st.RewardForest, st.LinUCB, st.BanditForest])
def test_a_single_record_is_no_table(kind):
    record = np.array([(1.0, "a")], dtype=[("x", "f8"), ("d", "U1")])[0]
    policy = kind(actions=["a", "b"])
    for verb in (policy.decide_many, policy.probabilities_many):
        with refused(policy, naming="^contexts is .*; it must be a list, an array or a frame of rows$"):
            verb(record)


def test_a_masked_array_without_masked_values_is_an_array():
    rows = np.random.default_rng(1).random((50, 2))
    masked, plain = st.HoeffdingTreeRegressor(), st.HoeffdingTreeRegressor()
    masked.learn_many(np.ma.masked_array(rows, mask=False), rows[:, 0])
    plain.learn_many(rows, rows[:, 0])
    assert masked.predict_many(rows).tolist() == plain.predict_many(rows).tolist()


def test_what_cannot_be_sliced_is_refused_or_read():
    rows = deque({"x": place} for place in range(20))
    model = st.HoeffdingTreeClassifier()
    model.learn_many(rows, [0, 1] * 10)
    assert len(model.predict_many(list(rows))) == 20
    clicks = st.clicks.OneVersusAll()
    with refused(clicks, naming="^rows is deque.*; it must be a list of dicts"):
        clicks.learn_many(rows, [0, 1] * 10)
