"""The study of many actions: who plays, whom it compares, and what it claims."""

import numpy as np
import pytest

from stumpery.streams.shop import Shop
from stumpery.studies.contextual import many_actions
from stumpery.studies.contextual.many_actions import BEST, MAX_PEER_ITEMS, PEER, SINGLE, WITH, WITHOUT


def rows_of(ours, peer, speed=40.0):
    """Lines of a result in which our last fifths, our means and the peer's means are as given."""
    lines = [
        {"items": n, "policy": name, "mean": mean, "last fifth": mean, "events_per_s": speed}
        for n in many_actions.SHOP_SIZES
        for name, mean in ((WITH, ours), (WITHOUT, 0.2), (SINGLE, 0.3), (BEST, 0.6))
    ]
    return [
        *lines,
        {"items": MAX_PEER_ITEMS, "policy": PEER, "mean": peer, "last fifth": peer, "events_per_s": 1.0},
    ]


@pytest.mark.parametrize(
    ("ours", "peer", "speed", "held"),
    [
        (0.4, 0.35, 40.0, [True, True, True]),
        (0.4, 0.45, 40.0, [True, True, False]),
        (0.4, 0.35, 10.0, [True, True, False]),
        (0.25, 0.2, 40.0, [False, False, True]),
    ],
)
def test_claims_hold_where_rewards_and_speed_are_ahead(ours, peer, speed, held):
    assert [each.verdict == "reproduced" for each in many_actions.claims(rows_of(ours, peer, speed))] == held


def test_the_peer_plays_only_in_the_small_shop():
    assert PEER not in many_actions.players_of(MAX_PEER_ITEMS + 1)
    assert {WITH, WITHOUT, SINGLE, BEST} <= set(many_actions.players_of(1000))


def test_who_knows_the_expected_rewards_takes_the_best():
    shop = Shop(n_actions=20)
    batch = next(shop.batches(seed=3, size=300))
    single = many_actions.single_player(shop, batch, 1)
    best = many_actions.best_player(shop, batch, 1)
    users = np.arange(300)
    assert len(set(single.tolist())) == 1
    assert batch.expected[:, single[0]].mean() == pytest.approx(batch.expected.mean(axis=0).max())
    assert (batch.expected[users, best] == batch.expected.max(axis=1)).all()
