"""The sample of the Open Bandit Dataset that comes with its pipeline: what a shop showed, and the clicks.

Each campaign has a log and a table of its items. Both hold the rows of the policy that chose at random, then
those of Thompson sampling ("bts"); `propensity_score` is the probability with which the policy chose the item.
"""

from typing import Any

from stumpery.streams.datasets.dataset import Column, Dataset, names, numbers

_OPEN_BANDIT_SITE = "https://raw.githubusercontent.com/st-tech/zr-obp/master/obp/dataset/obd"


def _open_bandit(campaign: str, file: str, **facts: Any) -> Dataset:
    return Dataset(
        origin=tuple(f"{_OPEN_BANDIT_SITE}/{policy}/{campaign}/{file}" for policy in ("random", "bts")),
        format="open bandit",
        licence="CC BY 4.0",
        citation="Saito, Aihara, Matsutani and Narita (2021), Open Bandit Dataset and Pipeline",
        **facts,
    )


def _log(campaign: str, n_items: int, n_clicks: int, sha256: str) -> Dataset:
    return _open_bandit(
        campaign,
        f"{campaign}.csv",
        name=f"obd_{campaign}",
        title=f"Open Bandit Dataset, clicks of the campaign {campaign}",
        columns=(
            *names("behavior_policy"),
            Column("timestamp", "time"),
            *numbers("item_id position click propensity_score"),
            *names(*(f"user_feature_{feature}" for feature in range(4))),
            *numbers(*(f"user-item_affinity_{item}" for item in range(n_items))),
        ),
        target="click",
        n_rows=20_000,
        class_counts={"0": 20_000 - n_clicks, "1": n_clicks},
        note="10,000 impressions of the policy that chose at random, then 10,000 of Thompson sampling.",
        sha256=sha256,
    )


def _items(campaign: str, n_items: int, sha256: str) -> Dataset:
    return _open_bandit(
        campaign,
        "item_context.csv",
        name=f"obd_{campaign}_items",
        title=f"Open Bandit Dataset, items of the campaign {campaign}",
        columns=(
            *names("behavior_policy"),
            *numbers("item_id item_feature_0"),
            *names(*(f"item_feature_{feature}" for feature in range(1, 4))),
        ),
        n_rows=2 * n_items,
        note="Joins the log on `behavior_policy` and `item_id`.",
        sha256=sha256,
    )


OPEN_BANDIT = (
    _log("all", 80, 80, "30cf68f6e6aa3a4a56819147427ef0dd586160391c6af44b7e9091f955301052"),
    _log("men", 34, 115, "c5da2257793d29314e1f1deb0fed41facf9e78aa3afda05fd4ae1eca0dde7e3f"),
    _log("women", 46, 92, "e34d3e9b0589d90057890a24a5c5c4f1468f77e667e5723abc5d134da5f86de3"),
    _items("all", 80, "07ea0e06d1e1244aad2b65856d092e8a67c1335b72c11bcb1dfebc90928414f5"),
    _items("men", 34, "6b68d937b934cc8eab0add85c2d2daa6c0deb9f6fcac0e85089e2c70a93ba0a8"),
    _items("women", 46, "fda057f64353ef67fb761ec5f53512ea108e676a86f69e412755ba7cb57608f9"),
)
