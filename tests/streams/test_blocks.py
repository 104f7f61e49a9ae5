"""What every stream must obey, and the re-slicing that makes it so."""

from itertools import islice

import narwhals as nw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stumpery.streams.arms import BernoulliArms, GaussianArms
from stumpery.streams.blocks import BLOCK, generator, resized
from stumpery.streams.catalogue import Catalogue
from stumpery.streams.classification import ClassificationBandit
from stumpery.streams.poker_hands import PokerHands
from stumpery.streams.shop import Shop
from stumpery.streams.tree_problem import TreeProblem

BITS = np.random.default_rng(1).integers(0, 2, (50, 6), dtype=np.uint8)
LABELS = np.arange(50) % 3

STREAMS = [
    BernoulliArms(),
    GaussianArms(n_actions=3),
    TreeProblem(n_names=0, missing=0.1, drift="gradual", drift_every=700),
    TreeProblem(n_columns=4, n_names=2, missing=0.1),
    PokerHands(),
    Catalogue(n_actions=4, n_topics=2),
    Shop(n_actions=4),
    ClassificationBandit(contexts=BITS, labels=LABELS, flip=0.05),
    ClassificationBandit(contexts=None, labels=LABELS),
]


def first(stream, *, seed, size, n=BLOCK + 500):
    """The first `n` events as plain lists, whatever the batches' size."""
    contexts, rewards, expected = [], [], []
    for batch in islice(stream.batches(seed=seed, size=size), -(-n // size)):
        contexts += rows(batch.contexts, len(batch.rewards))
        rewards += batch.rewards.tolist()
        expected += batch.rewards.tolist() if batch.expected is None else batch.expected.tolist()
    return contexts[:n], rewards[:n], expected[:n]


def rows(contexts, n):
    if contexts is None:
        return [None] * n
    table = contexts.tolist() if isinstance(contexts, np.ndarray) else nw.from_native(contexts).rows()
    return [str(row) for row in table]


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_a_seed_gives_the_same_events_whatever_the_size_of_the_batches(stream):
    whole = first(stream, seed=3, size=1000)
    assert first(stream, seed=3, size=1) == whole
    assert first(stream, seed=3, size=7) == whole
    assert first(stream, seed=3, size=2 * BLOCK + 1) == whole


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_other_seeds_give_other_events(stream):
    assert first(stream, seed=3, size=100, n=100)[1] != first(stream, seed=4, size=100, n=100)[1]


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_batches_have_a_column_per_action_and_rewards_in_the_range(stream):
    batch = next(stream.batches(seed=3, size=5000))
    low, high = stream.reward_range
    for table in [batch.rewards] if batch.expected is None else [batch.rewards, batch.expected]:
        assert table.shape == (5000, len(stream.actions))
        assert table.dtype == np.float64
        assert table.flags.c_contiguous
        assert table.min() >= low
        assert table.max() <= high


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_a_wrong_seed_or_size_is_refused_before_the_first_event(stream):
    with pytest.raises(ValueError, match=r"seed is -1; it must be a whole number of 0 or more"):
        stream.batches(seed=-1, size=10)
    with pytest.raises(ValueError, match=r"size is 0; it must be a whole number of 1 or more"):
        stream.batches(seed=1, size=0)


@given(lengths=st.lists(st.integers(1, 12), max_size=8), size=st.integers(1, 30))
def test_resizing_keeps_every_row_in_order(lengths, size):
    n = sum(lengths)
    ends = np.cumsum(lengths, dtype=int)
    blocks = [
        (np.arange(end - length, end), -np.arange(end - length, end)) for end, length in zip(ends, lengths, strict=True)
    ]
    runs = list(resized(blocks, size))
    assert [len(run[0]) for run in runs] == [size] * (n // size) + [n % size] * (n % size > 0)
    assert [x for run in runs for x in run[0].tolist()] == list(range(n))
    assert all((run[0] == -run[1]).all() for run in runs)


def test_purposes_of_one_seed_draw_apart():
    draws = [generator(5, purpose).random(1000) for purpose in range(2)]
    assert abs(np.corrcoef(draws)[0, 1]) < 0.15
    assert generator(5, 1).random() == draws[1][0]
