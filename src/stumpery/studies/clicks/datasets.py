"""Datasets as streams of the click challenge."""

from typing import TYPE_CHECKING

from stumpery.encoding import Schema
from stumpery.evaluation.click_challenge.submissions import ClickSource
from stumpery.evaluation.click_challenge.table import ClickTable
from stumpery.studies.contextual import datasets

if TYPE_CHECKING:
    import polars as pl

CAMPAIGNS = ("all", "men", "women")
USER = [f"user_feature_{index}" for index in range(4)]
ITEM = [f"item_feature_{index}" for index in range(4)]
IMPRESSION = ["campaign", "position", "item", "affinity", *USER, *ITEM]


def covertype() -> ClickSource:
    """Covertype's ten numbers and two names; its rarest class, 0.47 % of the rows, is the click."""
    bandit = datasets.covertype_columns()
    table = ClickTable(rows=bandit.contexts, clicks=[str(label) == "4" for label in bandit.labels])
    return _of(table, 0.005)


def open_bandit() -> ClickSource:
    """The Open Bandit lines that were logged at random, of all three campaigns, an impression a row."""
    import polars as pl

    parts = [uniform_lines(campaign) for campaign in CAMPAIGNS]
    lines = pl.concat([part.select([*IMPRESSION, "click"]) for part in parts])
    return _of(ClickTable(rows=lines.drop("click"), clicks=lines["click"].to_numpy()), 0.005)


def uniform_lines(campaign: str) -> "pl.DataFrame":
    """A campaign's lines of the policy that chose at random: visitor, item, their affinity, and the click."""
    import polars as pl

    lines = datasets.load(f"obd_{campaign}").filter(pl.col("behavior_policy") == "random")
    affinities = [f"user-item_affinity_{item}" for item in range(items_of(campaign).height)]
    known = lines.select(affinities).to_numpy()[range(lines.height), lines["item_id"].to_numpy()]
    joined = lines.with_columns(affinity=pl.Series(known), campaign=pl.lit(campaign)).join(
        items_of(campaign), on="item_id", how="left", maintain_order="left"
    )
    return joined.with_columns(item=pl.col("item_id").cast(pl.String), position=pl.col("position").cast(pl.String))


def items_of(campaign: str) -> "pl.DataFrame":
    """A campaign's items, a row each, in the order of their ids."""
    import polars as pl

    items = datasets.load(f"obd_{campaign}_items").filter(pl.col("behavior_policy") == "random")
    return items.drop("behavior_policy").sort("item_id")


def _of(table: ClickTable, prior: float) -> ClickSource:
    kinds = table.schema.kinds if table.schema is not None else {}
    return ClickSource(table, Schema.of(kinds), prior)
