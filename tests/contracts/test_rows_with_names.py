"""A pandas Series or a NumPy record is as good a row as a dict, for every policy and every model."""

import pandas as pd
import polars as pl
import pytest
from tests.support import public

import stumpery as st
from stumpery.clicks import ClickModel
from stumpery.encoding.encoder import Encoder
from stumpery.policies import ContextualPolicy
from stumpery.streaming import StreamModel
from stumpery.types import Decision

ROWS = [{"age": 20.0 + hour % 50, "device": "phone" if hour % 3 else "tv", "x": hour / 7} for hour in range(60)]
FRAME = pd.DataFrame(ROWS)
RECORDS = FRAME.to_records(index=False)
SCHEMA = st.Schema.infer(ROWS, max_categories=10)
PREDICTORS = [st.clicks.Stump(), st.clicks.HashedStump()]


def kinds_of(base):
    every = [getattr(public, name) for name in public.__all__]
    return [kind for kind in every if isinstance(kind, type) and issubclass(kind, base)]


def pandas_rows():
    return [FRAME.iloc[place] for place in range(len(FRAME))]


def polars_rows():
    frame = pl.DataFrame(ROWS)
    return [frame.row(place, named=True) for place in range(frame.height)]


FORMS = {"pandas": pandas_rows, "polars": polars_rows, "numpy": lambda: list(RECORDS)}


@pytest.fixture(params=FORMS)
def rows(request):
    return FORMS[request.param]()


@pytest.mark.parametrize("kind", kinds_of(ContextualPolicy), ids=lambda kind: kind.__name__)
def test_policies_decide_and_learn(kind, rows):
    policy, twin = (kind(actions=["a", "b"], schema=SCHEMA, seed=1) for _ in range(2))
    for row, named in zip(ROWS[:20], rows, strict=False):
        decision = policy.decide(named)
        assert decision == twin.decide(row)
        assert type(decision.context) is dict
        policy.learn(Decision(decision.action, decision.probability, named), 1.0)
        twin.learn(decision, 1.0)
    many, expected = policy.decide_many(rows), twin.decide_many(ROWS)
    assert many.actions == expected.actions
    policy.learn_many(many, [1.0] * 60)
    twin.learn_many(expected, [1.0] * 60)
    assert policy.decide(ROWS[0]) == twin.decide(ROWS[0])


def test_the_first_context_may_be_one(rows):
    policy = st.RewardForest(actions=["a", "b"], n_trees=3)
    policy.decide(rows[0])
    assert policy.schema.kinds == {"age": "numerical", "device": "categorical", "x": "numerical"}


@pytest.mark.parametrize("kind", [*kinds_of(StreamModel), *kinds_of(ClickModel)], ids=lambda kind: kind.__name__)
def test_models_learn_and_predict(kind, rows):
    options = {"predictors": PREDICTORS} if "predictors" in kind.__dataclass_fields__ else {}
    model, twin = (kind(seed=1, **options) for _ in range(2))
    labels = [place % 2 for place in range(60)]
    for row, named, label in zip(ROWS[:30], rows, labels, strict=False):
        model.learn_one(named, label)
        twin.learn_one(row, label)
    model.learn_many(rows[30:], labels[30:])
    twin.learn_many(ROWS[30:], labels[30:])
    assert model.predict_one(rows[0]) == twin.predict_one(ROWS[0])
    assert list(model.predict_many(rows)) == list(twin.predict_many(ROWS))


@pytest.mark.parametrize("kind", kinds_of(Encoder), ids=lambda kind: kind.__name__)
def test_encoders_read_them(kind, rows):
    encoder = kind(schema=SCHEMA)
    assert encoder.encode_one(rows[3]).tolist() == encoder.encode_one(ROWS[3]).tolist()
    assert encoder.encode_many(rows).tolist() == encoder.encode_many(ROWS).tolist()


def test_a_content_selector_picks_among_them(rows):
    selector = st.ContentSelector(model=st.clicks.OneVersusAll())
    decision = selector.decide(rows[:3])
    assert decision.context == ROWS[decision.action]
    selector.learn(Decision(0, 1.0, rows[0]), 1)
    assert selector.model.n_bytes > 0


def test_a_feature_selector_looks_at_them(rows):
    selector = st.FeatureSelector(features=["age", "x"], n_features=1)
    selector.learn_one(rows[0], 1)
    assert selector.predict_one(rows[1]) in (0, 1)


def test_foreign_models_get_them_as_dicts():
    class Constant:
        def predict_one(self, x):
            return x["age"]

        def learn_one(self, x, y):
            pass

    result = st.prequential(Constant(), pandas_rows(), [row["age"] for row in ROWS])
    assert result.final()[0]["mae"] == 0.0


def test_a_series_with_a_name_twice_is_refused():
    policy = st.RewardForest(actions=["a", "b"])
    with pytest.raises(ValueError, match=r"^a row has several values of the same name; their names must differ$"):
        policy.decide(pd.Series([1.0, 2.0], index=["age", "age"]))
    assert policy.schema is None


def test_a_series_without_names_is_refused():
    with pytest.raises(ValueError, match=r"^row is .*; it must be a dict, a pandas Series or a 1-D array$"):
        st.LinUCB(actions=["a", "b"], schema=SCHEMA).decide(pl.Series([1.0, 2.0, 3.0]))
