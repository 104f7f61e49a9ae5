"""Agreement with Open Bandit Pipeline 0.5.7 and vw-estimators 0.2.2, where they are installed, on the same arrays.

`pip install vw-estimators==0.2.2`, and `pip install --no-deps --ignore-requires-python obp==0.5.7 tqdm`; the latter
imports a module named torch, for which an empty one stands in. Definitions differ in one place: a confidence sequence
of vw-estimators predicts with means above 1 where weights are heavy, ours caps them at 1, as the proof needs.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest
from tests.evaluation.off_policy.made_logs import heavy_log, moderate_log

from stumpery.evaluation import off_policy as op

STUBS = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data", "seaborn")
EXACTLY = {"rel": 1e-9, "abs": 1e-12}
LOGS = {"moderate": moderate_log(3000), "heavy": heavy_log(3000)}


@pytest.fixture(params=LOGS)
def log(request):
    return LOGS[request.param]


@pytest.fixture
def unit_log(log):
    """The weights of a log, and its rewards scaled to 0..1."""
    low, high = log.rewards.min(), log.rewards.max()
    return log.weights, (log.rewards - low) / (high - low)


def filled(kind, weights, rewards):
    for weight, reward in zip(weights.tolist(), rewards.tolist(), strict=True):
        kind.add_example(1.0, reward, weight)
    return kind


@pytest.mark.parametrize("name", ["ips", "snips", "cressieread"])
def test_estimates_equal_those_of_vw_estimators(unit_log, name):
    bandits = pytest.importorskip(f"estimators.bandits.{name}", reason="vw-estimators is not installed")
    weights, rewards = unit_log
    ours = {
        "ips": op.ips(weights, rewards),
        "snips": op.snips(weights, rewards),
        "cressieread": op.cressie_read(op.LikelihoodSums.of(weights, rewards)),
    }
    assert ours[name] == pytest.approx(filled(bandits.Estimator(), weights, rewards).get(), **EXACTLY)


@pytest.mark.parametrize("name", ["gaussian", "clopper_pearson", "cressieread"])
def test_intervals_equal_those_of_vw_estimators(unit_log, name):
    bandits = pytest.importorskip(f"estimators.bandits.{name}", reason="vw-estimators is not installed")
    weights, rewards = unit_log
    sums = op.LikelihoodSums.of(weights, rewards)
    ours = {
        "gaussian": op.normal_interval(weights * rewards),
        "clopper_pearson": op.clopper_pearson(sums.wr, sums.n, weights.max()),
        "cressieread": op.cressie_read_interval(sums),
    }
    assert ours[name] == pytest.approx(filled(bandits.Interval(), weights, rewards).get(0.05), **EXACTLY)


@pytest.mark.parametrize("share", [0.5, 1.0, 1.5])
def test_likelihood_intervals_of_bounded_weights_equal_those_of_vw_estimators(unit_log, share):
    bandits = pytest.importorskip("estimators.bandits.cressieread", reason="vw-estimators is not installed")
    weights, rewards = unit_log
    weights = weights * share
    largest = 3.0 * weights.max()
    ours = op.cressie_read_interval(op.LikelihoodSums.of(weights, rewards), largest=largest)
    theirs = filled(bandits.Interval(wmax=largest), weights, rewards).get(0.05)
    assert ours == pytest.approx(theirs, **EXACTLY)


def test_sequences_equal_those_of_vw_estimators_where_no_prediction_exceeds_1():
    cs = pytest.importorskip("estimators.bandits.cs", reason="vw-estimators is not installed")
    rng = np.random.default_rng(6)
    weights, rewards = rng.uniform(0.5, 1.5, 2000), rng.random(2000) * 0.6
    sequence = op.ValueSequence()
    sequence.add(weights * rewards, weights * (1.0 - rewards))
    assert sequence.interval() == pytest.approx(filled(cs.Interval(), weights, rewards).get(0.05), **EXACTLY)


class Anything(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})


@pytest.fixture
def obp(monkeypatch):
    if find_spec("obp") is None:
        pytest.skip("Open Bandit Pipeline is not installed")
    roots = {name.partition(".")[0] for name in STUBS}
    absent = {root for root in roots if root not in sys.modules and find_spec(root) is None}
    for name in STUBS:
        if name.partition(".")[0] in absent:
            monkeypatch.setitem(sys.modules, name, Anything(name))
    return import_module("obp.ope.estimators")


def test_estimates_equal_those_of_open_bandit_pipeline(log, obp):
    n = len(log.actions)
    own = log.logging[np.arange(n), log.actions]
    data = {"reward": log.rewards, "action": log.actions, "pscore": own, "position": np.zeros(n, dtype=int)}
    data |= {"action_dist": log.target[:, :, None], "estimated_rewards_by_reg_model": log.predictions[:, :, None]}
    w, r, q, v = log.weights, log.rewards, log.predicted, log.values
    for theirs, ours in (
        (obp.InverseProbabilityWeighting(), op.ips(w, r)),
        (obp.InverseProbabilityWeighting(lambda_=2.0), op.ips(op.clipped(w, 2.0), r)),
        (obp.SelfNormalizedInverseProbabilityWeighting(), op.snips(w, r)),
        (obp.DirectMethod(), op.direct_method(v)),
        (obp.DoublyRobust(), op.doubly_robust(w, r, q, v)),
        (obp.SelfNormalizedDoublyRobust(), op.self_normalised_dr(w, r, q, v)),
        (obp.SwitchDoublyRobust(lambda_=2.0), op.doubly_robust(op.switched(w, 2.0), r, q, v)),
        (obp.DoublyRobustWithShrinkage(lambda_=3.0), op.doubly_robust(op.shrunk(w, 3.0), r, q, v)),
        (obp.SubGaussianInverseProbabilityWeighting(lambda_=0.05), op.ips(op.sub_gaussian(w, 0.05), r)),
        (obp.SubGaussianDoublyRobust(lambda_=0.05), op.doubly_robust(op.sub_gaussian(w, 0.05), r, q, v)),
    ):
        assert ours == pytest.approx(theirs.estimate_policy_value(**data), **EXACTLY), theirs
