"""The submissions of the click challenge's table, and one of our own."""

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

BATCH = 6
OURS = "LogOdds (ours)"
EXPONENTIAL = "ExpWeights"
PRINTED = "SimpleStumps, sum"  # by the criterion as the paper prints it
# The paper's table from the lowest score to the highest, and what was scored there beside 1127 for Random.
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
    ("LinRankP", "LinRankB", "Stumps1vAll", "UTree", "SimpleStumps", PRINTED, EXPONENTIAL, OURS),
    ("RHT",),
    ("Orange Best",),
)
TAU = 0.02  # with so few clicks, a leaf waits for 20,000 events before a cut that is no better than the next


class Source(NamedTuple):
    """Where the rows of a challenge come from."""

    stream: Any  # has `blocks(seed, size)`
    schema: Schema
    prior: float  # a bit higher than the share of clicks


def selector(name: str, source: Source, seed: int) -> ContentSelector:
    """One submission, new."""
    return ContentSelector(model=models(source, seed)[name](), seed=seed)


def models(source: Source, seed: int) -> dict[str, Callable[[], ClickModel]]:
    """How each submission is made."""
    own: dict[str, Any] = {"prior": source.prior}
    shared: dict[str, Any] = {"schema": source.schema, "seed": seed}
    stumps, tree = [Stump(**own), HashedStump(**own)], RandomHoeffdingTree(tau=TAU, **own)
    summed = [Stump(criterion="sum", **own), HashedStump(criterion="sum", **own)]
    bag = [(Stump(**own), 660), (HashedStump(**own), 140), (tree, 200)]
    rules, flags = OneRule(max_tuples=4, **own), OneRule(max_tuples=4, binary=True, **own)
    lifted = UnivariateTree(categories=True, m=20_000.0, **own)
    return {
        "LinRankP": lambda: LinearRanker(predictors=[rules], **shared),
        "LinRankB": lambda: LinearRanker(predictors=[flags], **shared),
        "RHT": lambda: BaggedPredictors(predictors=[(tree, 200)], **shared),
        "Stumps1vAll": lambda: Average(predictors=[Stump(**own), OneVersusAll(**own)], **shared),
        "UTree": lambda: Average(predictors=[UnivariateTree(**own), HashedStump(**own)], **shared),
        "SimpleStumps": lambda: Average(predictors=stumps, **shared),
        PRINTED: lambda: Average(predictors=summed, **shared),
        EXPONENTIAL: lambda: WeightedPredictors(predictors=stumps, **shared),
        "Orange Best": lambda: BaggedPredictors(predictors=bag, **shared),
        OURS: lambda: LogOdds(predictors=[lifted], thin=4, **shared),
    }


def generated() -> Source:
    """Rows of Adobe's shape, whose probabilities of a click are known."""
    log = ClickLog()
    return Source(log, Schema.of(log.kinds), 0.0025)
