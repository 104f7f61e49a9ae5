"""Submissions of the click challenge: the models of Salperwyck and Urvoy (2011), and one of our own."""

from collections.abc import Callable
from typing import Any, NamedTuple

from stumpery.clicks import (
    Average,
    BaggedPredictors,
    ClickModel,
    ContentSelector,
    HashedStump,
    LinearRanker,
    LogOdds,
    OneRule,
    OneVersusAll,
    RandomHoeffdingTree,
    Stump,
    UnivariateTree,
    WeightedPredictors,
)
from stumpery.encoding import Schema
from stumpery.streams import ClickLog

N_CANDIDATES = 6
OURS = "LogOdds (ours)"
EXPONENTIAL = "ExpWeights"
SUMMED_CRITERION = "SimpleStumps, sum"  # the Gini sum, as the paper prints the criterion
# The paper's scores in clicks, lowest first; Random scored 1127.
PAPER = {
    "LinRankP": 1600,
    "LinRankB": 1800,
    "RHT": 1900,
    "Stumps1vAll": 2000,
    "UTree": 2030,
    "SimpleStumps": 2050,
    "Orange Best": 2080,
}
GROUPS = (
    ("LinRankP", "LinRankB", "Stumps1vAll", "UTree", "SimpleStumps", SUMMED_CRITERION, EXPONENTIAL, OURS),
    ("RHT",),
    ("Orange Best",),
)
TAU = 0.02  # tie threshold: about 20,000 events before a split whose gain is no larger than the runner-up's


class ClickSource(NamedTuple):
    """Source of a challenge's rows: a stream of blocks, its columns, and the prior click probability."""

    stream: Any  # has `blocks(seed, size)`
    schema: Schema
    prior: float  # somewhat above the click rate


def selector(name: str, source: ClickSource, seed: int) -> ContentSelector:
    """A new content selector with the model of a submission."""
    return ContentSelector(model=submission_models(source, seed)[name](), seed=seed)


def submission_models(source: ClickSource, seed: int) -> dict[str, Callable[[], ClickModel]]:
    """Constructors of the submissions' models, by name."""
    options: dict[str, Any] = {"prior": source.prior}
    shared: dict[str, Any] = {"schema": source.schema, "seed": seed}
    stumps, tree = [Stump(**options), HashedStump(**options)], RandomHoeffdingTree(tau=TAU, **options)
    summed = [Stump(criterion="sum", **options), HashedStump(criterion="sum", **options)]
    bag = [(Stump(**options), 660), (HashedStump(**options), 140), (tree, 200)]
    rules, flags = OneRule(max_tuples=4, **options), OneRule(max_tuples=4, binary=True, **options)
    shrunk = UnivariateTree(categories=True, m=20_000.0, **options)
    return {
        "LinRankP": lambda: LinearRanker(predictors=[rules], **shared),
        "LinRankB": lambda: LinearRanker(predictors=[flags], **shared),
        "RHT": lambda: BaggedPredictors(predictors=[(tree, 200)], **shared),
        "Stumps1vAll": lambda: Average(predictors=[Stump(**options), OneVersusAll(**options)], **shared),
        "UTree": lambda: Average(predictors=[UnivariateTree(**options), HashedStump(**options)], **shared),
        "SimpleStumps": lambda: Average(predictors=stumps, **shared),
        SUMMED_CRITERION: lambda: Average(predictors=summed, **shared),
        EXPONENTIAL: lambda: WeightedPredictors(predictors=stumps, **shared),
        "Orange Best": lambda: BaggedPredictors(predictors=bag, **shared),
        OURS: lambda: LogOdds(predictors=[shrunk], thin=4, **shared),
    }


def generated_clicks() -> ClickSource:
    """Generated rows of the shape of Adobe's data, whose click probabilities are known."""
    log = ClickLog()
    return ClickSource(log, Schema.of(log.kinds), 0.0025)
