"""scikit-learn's own checks of estimators, on our adapters."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

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
