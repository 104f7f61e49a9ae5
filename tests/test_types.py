"""Records that travel between the layers."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stumpery.types import Decision, Decisions, Explanation

TABLE = {"hour": [3, 21], "device": ["phone", "desktop"]}
AS_DICTS = [{"hour": 3, "device": "phone"}, {"hour": 21, "device": "desktop"}]


def test_a_decision_survives_a_log():
    decision = Decision("news", 0.25, {"hour": 3})
    assert Decision(*json.loads(json.dumps(decision))) == decision
    assert Decision("news", 1.0).context is None


@pytest.mark.parametrize("contexts", [pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE), AS_DICTS])
def test_decisions_are_columns_that_iterate_as_records(contexts):
    decisions = Decisions(["a", "b"], np.array([0.5, 1.0]), contexts)
    assert len(decisions) == 2
    assert list(decisions) == [Decision("a", 0.5, AS_DICTS[0]), Decision("b", 1.0, AS_DICTS[1])]
    assert all(type(decision.probability) is float for decision in decisions)


def test_decisions_without_context_have_none():
    assert [each.context for each in Decisions(["a", "b"], np.array([0.5, 1.0]))] == [None, None]
    assert list(Decisions([], np.array([]))) == []
    assert [each.probability for each in Decisions(["a", "b"], [0.5, 1.0])] == [0.5, 1.0]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="zip"):
        list(Decisions(["a", "b"], np.array([0.5])))


def test_an_explanation_reads_as_a_sentence_and_an_aligned_table():
    explanation = Explanation("b leads.", ({"action": "b", "mean": 0.123456}, {"action": "long", "mean": 1.0}))
    assert str(explanation).splitlines() == ["b leads.", "  action    mean", "       b  0.1235", "    long       1"]
    assert str(Explanation("Nothing is known.", ())) == "Nothing is known."
