"""The catalogue: features, chances, and what is no catalogue."""

import numpy as np
import pytest

from stumpery.streams.catalogue import Catalogue


def test_without_differences_of_their_own_articles_of_one_topic_differ_by_price_alone():
    stream = Catalogue(n_actions=40, n_topics=2, own=0.0)
    features = stream.features(seed=3)
    batch = next(stream.batches(seed=3, size=500))
    topics = np.array([features[action]["topic"] for action in stream.actions])
    prices = np.array([features[action]["price"] for action in stream.actions])
    old = np.asarray(batch.contexts["age"]) >= 40
    for topic in set(topics):
        same = batch.expected[:, topics == topic]
        assert np.ptp(same[old], axis=1).max() == pytest.approx(0.0)
        cheapest = same[~old].argmax(axis=1)
        assert (prices[topics == topic][cheapest] == prices[topics == topic].min()).all()


def test_rewards_follow_their_chances():
    batch = next(Catalogue(n_actions=5).batches(seed=1, size=40_000))
    assert batch.rewards.mean(axis=0) == pytest.approx(batch.expected.mean(axis=0), abs=0.02)
    assert set(np.unique(batch.rewards)) == {0.0, 1.0}


def test_features_belong_to_the_seed():
    stream = Catalogue(n_actions=20)
    assert stream.features(seed=1) == stream.features(seed=1) != stream.features(seed=2)
    assert list(stream.features(seed=1)) == list(stream.actions)


@pytest.mark.parametrize("options", [{"n_actions": 1}, {"n_topics": 0}, {"own": -1.0}, {"own": float("nan")}])
def test_what_is_no_catalogue_is_refused(options):
    with pytest.raises(ValueError, match=f"^{next(iter(options))} is"):
        Catalogue(**options)
