"""The shop: users, items with features, and probabilities."""

import numpy as np
import pytest

from stumpery.streams.shop import Shop


def test_prices_deter_only_those_who_spend_less():
    stream = Shop(n_actions=60, own=0.0)
    features, batch = stream.features, next(stream.batches(seed=3, size=400))
    spends = np.asarray(batch.contexts["spend"])
    pairs = [
        (one, other)
        for one in stream.actions
        for other in stream.actions
        if one < other and all(features[one][name] == features[other][name] for name in ("topic", "level", "brand"))
    ]
    assert pairs
    for one, other in pairs:
        prices = features[one]["price"], features[other]["price"]
        is_rich = spends > max(prices)
        assert batch.expected[is_rich, one] == pytest.approx(batch.expected[is_rich, other])
        cheap, dear = (one, other) if prices[0] < prices[1] else (other, one)
        assert (batch.expected[~is_rich, cheap] > batch.expected[~is_rich, dear]).all()


def test_purchases_follow_their_probabilities():
    batch = next(Shop(n_actions=5).batches(seed=1, size=40_000))
    assert batch.rewards.mean(axis=0) == pytest.approx(batch.expected.mean(axis=0), abs=0.02)
    assert set(np.unique(batch.rewards)) == {0.0, 1.0}


def test_items_have_a_seed_of_their_own():
    stream, again, other = Shop(), Shop(), Shop(items_seed=1)
    assert stream.features == again.features != other.features
    assert list(stream.features) == list(stream.actions)


def test_with_many_items_the_best_for_each_user_is_far_above_the_best_single_one():
    batch = next(Shop(n_actions=300).batches(seed=2, size=2000))
    assert batch.expected.max(axis=1).mean() > batch.expected.mean(axis=0).max() + 0.1


@pytest.mark.parametrize("wrong", [{"n_actions": 1}, {"own": -1.0}, {"items_seed": -1}])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is"):
        Shop(**wrong)
