"""scikit-learn's own checks of estimators, on our adapters."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import check_estimator
from tests.support import refused

from stumpery.streaming.scikit import StreamClassifierEstimator, StreamRegressorEstimator


@pytest.mark.parametrize(
    "estimator",
    [StreamClassifierEstimator(), StreamRegressorEstimator(), StreamClassifierEstimator(n_models=3)],
    ids=lambda each: f"{type(each).__name__} {each.n_models}",
)
def test_the_adapters_pass_the_estimator_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert sum(result["status"] == "passed" for result in results) > 30


def mixed(n=400):
    """A pandas frame with numbers, strings, a categorical, gaps; and labels that its columns tell."""
    rng = np.random.default_rng(1)
    device, size = rng.choice(["phone", "tv"], n), rng.choice(["s", "m", "l"], n)
    frame = pd.DataFrame({"age": rng.normal(40, 9, n), "device": device, "size": pd.Categorical(size)})
    labels = np.where((device == "tv") | (size == "l"), "buys", "looks")
    frame.loc[::7, "age"] = np.nan
    frame["device"] = frame["device"].astype(object)
    frame.loc[5, "device"] = None
    frame.loc[6, "size"] = np.nan
    return frame, labels


FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "objects": lambda frame: frame.astype(object).to_numpy(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("n_models", [1, 3])
def test_frames_with_categories_and_gaps_are_learned(form, n_models):
    frame, labels = mixed()
    rows = form(frame)
    model = StreamClassifierEstimator(n_models=n_models).fit(rows, labels)
    assert model.score(rows, labels) > 0.95
    numbers = StreamRegressorEstimator(n_models=n_models).fit(rows, labels == "buys")
    assert numbers.score(rows, labels == "buys") > 0.8


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_parts_of_a_frame_teach_as_much(form):
    frame, labels = mixed()
    model = StreamClassifierEstimator()
    for start in range(0, 400, 50):
        model.partial_fit(form(frame.iloc[start : start + 50]), labels[start : start + 50], classes=["buys", "looks"])
    assert model.score(form(frame), labels) > 0.95
    whole = StreamClassifierEstimator(shuffle=False).fit(form(frame), labels)
    assert model.predict_proba(form(frame)).tolist() == whole.predict_proba(form(frame)).tolist()


def test_columns_of_a_frame_are_known_by_name():
    frame, labels = mixed()
    model = StreamClassifierEstimator().fit(frame, labels)
    assert model.feature_names_in_.tolist() == ["age", "device", "size"]
    assert model.model_.schema.kinds == {"age": "numerical", "device": "categorical", "size": "categorical"}
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(frame, labels[:-1])
    with pytest.raises(ValueError, match="at least 1 is required"):
        model.predict(frame.iloc[:0])


def test_the_tags_say_what_rows_may_hold():
    tags = StreamClassifierEstimator().__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.string
    assert tags.categorical


ROWS = np.random.default_rng(2).random((60, 2))
LETTERS = ["a", "b"] * 30


@pytest.mark.parametrize("kind", [StreamClassifierEstimator, StreamRegressorEstimator])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"options": 3}, "options is 3; it must be a dict"),
        ({"options": {"colour": 1}}, "options hold 'colour', which HoeffdingTree.* does not have"),
        ({"random_state": "a"}, "random_state is 'a'; it must be a whole number"),
        ({"random_state": np.random.default_rng(0)}, "random_state is .*; it must be a whole number"),
    ],
)
def test_wrong_options_are_refused(kind, options, sentence):
    estimator = kind(**options)
    for learn in (estimator.fit, estimator.partial_fit):
        with refused(naming=f"^{sentence}"):
            learn(ROWS, [0, 1] * 30)
        assert not hasattr(estimator, "model_")
        assert not hasattr(estimator, "classes_")


def test_a_class_that_was_not_named_first_is_refused():
    estimator = StreamClassifierEstimator()
    with refused(naming="^y holds 'a', 'b'; classes are 'a'$"):
        estimator.partial_fit(ROWS, LETTERS, classes=["a"])
    estimator.partial_fit(ROWS, LETTERS, classes=["a", "b", "c"])
    assert estimator.predict_proba(ROWS).shape == (60, 3)
    with refused(estimator.model_, naming="^y holds 1; classes are 'a', 'b', 'c'$"):
        estimator.partial_fit(ROWS, [1] * 60)


def test_rows_that_are_refused_leave_the_classes_as_they_were():
    estimator = StreamClassifierEstimator().fit(ROWS, LETTERS)
    with refused(estimator.model_, naming="^a value of column 'x0' is 'text'"):
        estimator.partial_fit(np.array([["text", 1.0]] * 2, dtype=object), ["c", "d"])
    assert estimator.classes_.tolist() == ["a", "b"]


def test_a_table_sorted_by_its_labels_is_learned_in_random_order():
    rows = np.repeat(np.arange(3.0), 60)[:, None] + np.random.default_rng(3).normal(0, 0.1, (180, 1))
    labels = np.repeat(["a", "b", "c"], 60)
    assert StreamClassifierEstimator(n_models=3).fit(rows, labels).score(rows, labels) > 0.9
    assert StreamClassifierEstimator(n_models=3, shuffle=False).fit(rows, labels).score(rows, labels) < 0.9
    with refused(naming="shuffle is 'yes'"):
        StreamClassifierEstimator(shuffle="yes").fit(rows, labels)


def test_frames_are_shuffled_as_matrices_are():
    frame, labels = mixed()
    of_frame = StreamClassifierEstimator(random_state=5).fit(frame, labels)
    of_polars = StreamClassifierEstimator(random_state=5).fit(pl.from_pandas(frame), labels)
    assert (of_frame.predict_proba(frame) == of_polars.predict_proba(pl.from_pandas(frame))).all()
    other = StreamClassifierEstimator(random_state=6).fit(frame, labels)
    assert (of_frame.predict_proba(frame) != other.predict_proba(frame)).any()
