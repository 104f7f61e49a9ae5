"""The catalogue: features, probabilities, and what is no catalogue."""

import numpy as np
import pytest

import stumpery as st
from stumpery.streams.catalogue import Catalogue


def test_without_differences_of_their_own_articles_of_one_topic_differ_by_price_alone():
    stream = Catalogue(n_actions=40, n_topics=2, own=0.0)
    features = stream.features
    batch = next(stream.batches(seed=3, size=500))
    topics = np.array([features[action]["topic"] for action in stream.actions])
    prices = np.array([features[action]["price"] for action in stream.actions])
    old = np.asarray(batch.contexts["age"]) >= 40
    for topic in set(topics):
        same = batch.expected[:, topics == topic]
        assert np.ptp(same[old], axis=1).max() == pytest.approx(0.0)
        cheapest = same[~old].argmax(axis=1)
        assert (prices[topics == topic][cheapest] == prices[topics == topic].min()).all()


def test_rewards_follow_their_probabilities():
    batch = next(Catalogue(n_actions=5).batches(seed=1, size=40_000))
    assert batch.rewards.mean(axis=0) == pytest.approx(batch.expected.mean(axis=0), abs=0.02)
    assert set(np.unique(batch.rewards)) == {0.0, 1.0}


def test_articles_have_a_seed_of_their_own():
    stream, again, other = Catalogue(), Catalogue(), Catalogue(articles_seed=1)
    assert stream.features == again.features != other.features
    assert list(stream.features) == list(stream.actions)


def test_features_help_in_every_trial():
    stream = Catalogue(n_actions=150)
    policies = {
        "with": st.RewardForest(actions=stream.actions, features=stream.features, n_trees=10),
        "without": st.RewardForest(actions=stream.actions, n_trees=10),
    }
    result = st.regret(policies, stream, steps=2000, trials=3)
    assert [row["policy"] for row in result.final()] == ["with", "without"]


@pytest.mark.parametrize(
    "options", [{"n_actions": 1}, {"n_topics": 0}, {"own": -1.0}, {"own": float("nan")}, {"articles_seed": -1}]
)
def test_what_is_no_catalogue_is_refused(options):
    with pytest.raises(ValueError, match=f"^{next(iter(options))} is"):
        Catalogue(**options)
