"""The submissions of the click challenge's table, one more, and the streams that they play on."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from stumpery.encoding import Schema
from stumpery.ensembles import Average, ExponentialWeights, LinearRanker, LogOdds, OnlineBagging
from stumpery.evaluation.click_table import ClickTable
from stumpery.policies import ContentSelector
from stumpery.streams import ClickLog
from stumpery.studies import problems
from stumpery.trees import (
    ClickModel,
    HashedStump,
    OneRule,
    OneVersusAll,
    RandomHoeffdingTree,
    Stump,
    UnivariateTree,
)

if TYPE_CHECKING:
    import polars as pl

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
    lifted = UnivariateTree(names=True, m=20_000.0, **own)
    return {
        "LinRankP": lambda: LinearRanker(predictors=[rules], **shared),
        "LinRankB": lambda: LinearRanker(predictors=[flags], **shared),
        "RHT": lambda: OnlineBagging(predictors=[(tree, 200)], **shared),
        "Stumps1vAll": lambda: Average(predictors=[Stump(**own), OneVersusAll(**own)], **shared),
        "UTree": lambda: Average(predictors=[UnivariateTree(**own), HashedStump(**own)], **shared),
        "SimpleStumps": lambda: Average(predictors=stumps, **shared),
        PRINTED: lambda: Average(predictors=summed, **shared),
        EXPONENTIAL: lambda: ExponentialWeights(predictors=stumps, **shared),
        "Orange Best": lambda: OnlineBagging(predictors=bag, **shared),
        OURS: lambda: LogOdds(predictors=[lifted], thin=4, **shared),
    }


def generated() -> Source:
    """Rows of Adobe's shape, whose chances of a click are known."""
    log = ClickLog()
    return Source(log, Schema.of(log.kinds), 0.0025)


def covertype() -> Source:
    """Covertype's ten numbers and two names; its rarest class, 0.47 % of the rows, is the click."""
    bandit = problems.covertype_columns()
    table = ClickTable(rows=bandit.contexts, clicks=[str(label) == "4" for label in bandit.labels])
    return _of(table, 0.005)


def open_bandit() -> Source:
    """The Open Bandit lines that were logged at random, of all three campaigns, an impression a row."""
    import polars as pl

    parts = [uniform_lines(campaign) for campaign in CAMPAIGNS]
    lines = pl.concat([part.select([*IMPRESSION, "click"]) for part in parts])
    return _of(ClickTable(rows=lines.drop("click"), clicks=lines["click"].to_numpy()), 0.005)


CAMPAIGNS = ("all", "men", "women")
USER = [f"user_feature_{place}" for place in range(4)]
ITEM = [f"item_feature_{place}" for place in range(4)]
IMPRESSION = ["campaign", "position", "item", "affinity", *USER, *ITEM]


def uniform_lines(campaign: str) -> "pl.DataFrame":
    """A campaign's lines of the policy that chose at random: visitor, item, their affinity, and the click."""
    import polars as pl

    lines = problems.opened(f"obd_{campaign}").filter(pl.col("behavior_policy") == "random")
    affinities = [f"user-item_affinity_{item}" for item in range(items_of(campaign).height)]
    known = lines.select(affinities).to_numpy()[range(lines.height), lines["item_id"].to_numpy()]
    joined = lines.with_columns(affinity=pl.Series(known), campaign=pl.lit(campaign)).join(
        items_of(campaign), on="item_id", how="left", maintain_order="left"
    )
    return joined.with_columns(item=pl.col("item_id").cast(pl.String), position=pl.col("position").cast(pl.String))


def items_of(campaign: str) -> "pl.DataFrame":
    """A campaign's items, a row each, in the order of their ids."""
    import polars as pl

    items = problems.opened(f"obd_{campaign}_items").filter(pl.col("behavior_policy") == "random")
    return items.drop("behavior_policy").sort("item_id")


def _of(table: ClickTable, prior: float) -> Source:
    kinds = table.schema.kinds if table.schema is not None else {}
    return Source(table, Schema.of(kinds), prior)
