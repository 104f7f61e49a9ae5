"""A schema of `Schema.of` with its defaults is taken by every model that learns its names itself."""

import dataclasses

import pytest
from tests.support import public

import stumpery as st

GIVEN = (
    st.BanditForest,
    st.policies.BanditStump,
    st.policies.BanditTree,
    st.encoding.BitEncoder,
    st.encoding.CodeEncoder,
)  # need cut points and names
PREDICTORS = [st.clicks.Stump(), st.clicks.HashedStump()]
KINDS = [
    kind
    for kind in (getattr(public, name) for name in public.__all__)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and "schema" in kind.__dataclass_fields__
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_model_takes_a_schema_with_defaults(kind):
    declared = (
        {"device": ["phone", "tv"], "age": [18, 65]} if kind in GIVEN else {"device": "categorical", "age": "numerical"}
    )
    options = {"schema": st.Schema.of(declared)}
    options |= {"actions": ["a", "b"]} if "actions" in kind.__dataclass_fields__ else {}
    options |= {"predictors": PREDICTORS} if "predictors" in kind.__dataclass_fields__ else {}
    model = kind(**options)
    for place in range(5):
        row = {"device": ["phone", "tv"][place % 2], "age": 20 + place}
        if "actions" in options:
            model.learn(model.decide(row), 1.0)
        elif hasattr(model, "learn_one"):
            model.learn_one(row, place % 2)
    assert model.schema.names == ("device", "age")
