"""Doubly robust estimates with our forest beside Open Bandit Pipeline's, on the same logs: error and time.

Each log is of a tree problem of its own, logged by a small forest with epsilon-greedy exploration; the target policy
is another forest, whose true value is a mean over many contexts. The peer's reward models are fitted in two folds: a
random forest of 100 trees, and LightGBM with its 100 trees. Ours is all of `st.evaluate`: reading, checks, confidence
sequences and diagnostics come with the estimate.

Open Bandit Pipeline 0.5.7 asks for an older Python; `pip install --no-deps --ignore-requires-python obp==0.5.7 tqdm`
installs it beside the extra `bench`. It imports PyTorch, which it does not need here: an empty module stands in.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from time import process_time
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from stumpery.benchmarks.runner import Benchmark
from stumpery.evaluation.off_policy import evaluate
from stumpery.logs import Log, from_frame
from stumpery.policies import Policy, RewardForest, explorers
from stumpery.streams import TreeProblem
from stumpery.types import Batch

LOG_EVENTS, N_LOGS = 5000, 60
N_TRAINING, N_FEW, N_POPULATION = 1000, 300, 100_000
EPSILON = 0.2
PROBLEM = TreeProblem(n_columns=6, n_names=0, depth=3, n_actions=4)
STUBS = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data", "seaborn")
MODELS = ("random forest", "LightGBM")


class BenchmarkLog(NamedTuple):
    """A log, and a policy whose true value is known."""

    log: Log
    target: Policy
    truth: float


def benchmarks() -> Iterator[Benchmark]:
    """Time of one estimate, and root mean squared error over many logs."""
    for model in MODELS:
        short, peer, peer_name = model.replace(" ", "-"), partial(theirs, model), f"Open Bandit Pipeline, {model}"
        for figure, unit, measure in (("time", "s", timed), ("error", "rmse", error)):
            yield Benchmark(
                name=f"off-policy/doubly-robust/{figure}/{short}",
                unit=unit,
                ours=partial(measure, ours),
                peer=partial(measure, peer),
                peer_name=peer_name,
                needs="obp",
                is_slow=figure == "error",
            )


def timed(estimate: Callable[[BenchmarkLog], float]) -> float:
    """Processor seconds of an estimate."""
    log = made_log(0)
    start = process_time()
    estimate(log)
    return process_time() - start


def error(estimate: Callable[[BenchmarkLog], float]) -> float:
    """Root mean squared error over N_LOGS logs."""
    logs = [made_log(number) for number in range(N_LOGS)]
    return float(np.sqrt(np.mean([(estimate(log) - log.truth) ** 2 for log in logs])))


@cache
def made_log(number: int) -> BenchmarkLog:
    """A log of a tree of its own."""
    batch = next(PROBLEM.batches(seed=number, size=N_TRAINING + N_POPULATION + LOG_EVENTS))
    target = trained(Batch(batch.contexts[:N_TRAINING], batch.rewards[:N_TRAINING]), number, EPSILON / 2.0)
    logger = trained(Batch(batch.contexts[:N_FEW], batch.rewards[:N_FEW]), number + 1, EPSILON)
    population = batch.contexts[N_TRAINING:-LOG_EVENTS]
    expected = PROBLEM.expected(population, seed=number)
    contexts, rewards = batch.contexts[-LOG_EVENTS:], batch.rewards[-LOG_EVENTS:]
    decided = logger.decide_many(contexts)
    columns = {f"x{index}": column for index, column in enumerate(contexts.T)}
    columns |= {"action": np.array(decided.actions), "probability": decided.probabilities}
    columns["reward"] = rewards[np.arange(LOG_EVENTS), columns["action"]]
    log = from_frame(columns, action="action", reward="reward", probability="probability", actions=PROBLEM.actions)
    truth = (target.probabilities_many(population) * expected).sum(axis=1).mean()
    return BenchmarkLog(log, target, float(truth))


def trained(batch: Batch, seed: int, epsilon: float) -> Policy:
    """A small forest that has learned some events."""
    explorer = explorers.greedy(epsilon=epsilon, floor=epsilon)
    forest = RewardForest(actions=PROBLEM.actions, seed=seed, n_trees=8, explorer=explorer)
    forest.play(batch.contexts, batch.rewards)
    return forest


def ours(known: BenchmarkLog) -> float:
    """Our doubly robust estimate."""
    return evaluate(known.log, {"target": known.target}, least_probability=EPSILON / PROBLEM.n_actions).value("target")


def theirs(model: str, known: BenchmarkLog) -> float:
    """Open Bandit Pipeline's, with one of its usual reward models."""
    regression, estimators = import_obp()
    (chunk,) = known.log.chunks(LOG_EVENTS)
    contexts = np.stack([chunk.contexts[name] for name in chunk.contexts.names], axis=1)
    data = {"action": chunk.actions, "reward": chunk.rewards, "pscore": chunk.probabilities}
    fitted = regression.RegressionModel(n_actions=len(known.log.actions), base_model=base_model(model))
    predicted = fitted.fit_predict(context=contexts, n_folds=2, random_state=1, **data)
    value = estimators.DoublyRobust().estimate_policy_value(
        **data,
        position=np.zeros(len(chunk), dtype=np.int64),
        action_dist=known.target.probabilities_many(chunk.contexts)[:, :, np.newaxis],
        estimated_rewards_by_reg_model=predicted,
    )
    return float(value)


def base_model(model: str) -> Any:
    """A classifier as Open Bandit Pipeline's examples take it, on one core."""
    if model == "LightGBM":
        return import_module("lightgbm").LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1, random_state=1)
    forest = import_module("sklearn.ensemble").RandomForestClassifier
    return forest(n_estimators=100, min_samples_leaf=5, n_jobs=1, random_state=1)


@cache
def import_obp() -> tuple[Any, Any]:
    """Its modules of reward models and estimators, with empty ones in place of those that are absent."""
    absent = {name.partition(".")[0] for name in STUBS if find_spec(name.partition(".")[0]) is None}
    for name in STUBS:
        if name.partition(".")[0] in absent:
            sys.modules[name] = _Anything(name)
    try:
        return import_module("obp.ope.regression_model"), import_module("obp.ope.estimators")
    finally:
        for name in STUBS:
            if isinstance(sys.modules.get(name), _Anything):
                del sys.modules[name]


class _Anything(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})
