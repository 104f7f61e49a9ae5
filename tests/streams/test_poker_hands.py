import os
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.reference import poker

from stumpery.streams.poker_hands import COLUMNS, PokerHands, poker_class

# Of the 2,598,960 hands of five cards, by the combinatorics of the deck.
COUNTS = [1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 36, 4]


@pytest.fixture(scope="module")
def all_hands():
    decks = np.fromiter(chain.from_iterable(combinations(range(52), 5)), np.uint8).reshape(-1, 5)
    return as_cards(decks)


def as_cards(decks):
    cards = np.empty((len(decks), 10), decks.dtype)
    cards[:, ::2], cards[:, 1::2] = decks // 13 + 1, decks % 13 + 1
    return cards


def test_the_classes_of_all_hands_have_their_known_counts(all_hands):
    assert np.bincount(poker_class(all_hands), minlength=10).tolist() == COUNTS


def test_labels_equal_those_of_the_rule_book(all_hands):
    rare = np.flatnonzero(poker_class(all_hands) >= 3)
    rows = np.concatenate([np.arange(0, len(all_hands), 97), rare[::7], rare[poker_class(all_hands[rare]) >= 7]])
    hands = all_hands[rows]
    assert poker_class(hands).tolist() == [poker.poker_class(hand) for hand in hands.tolist()]


def test_the_order_of_the_cards_does_not_matter():
    cards, labels = PokerHands().rows(20_000, seed=5)
    order = np.random.default_rng(1).permutation(5)
    turned = cards.reshape(-1, 5, 2)[:, order].reshape(-1, 10)
    assert (poker_class(turned) == labels).all()


def test_drawn_hands_hold_five_distinct_cards_and_every_card_is_as_likely_in_every_place():
    cards, _ = PokerHands().rows(100_000, seed=6)
    codes = (cards[:, ::2] - 1) * 13 + cards[:, 1::2] - 1
    assert (np.diff(np.sort(codes, axis=1), axis=1) > 0).all()
    for place in range(5):
        assert stats.chisquare(np.bincount(codes[:, place], minlength=52)).pvalue > 0.001
    pairs = np.bincount(codes[:, 0] * 52 + codes[:, 4], minlength=52 * 52).reshape(52, 52)
    assert stats.chisquare(pairs[~np.eye(52, dtype=bool)]).pvalue > 0.001


def test_drawn_classes_follow_the_exact_frequencies():
    n = 400_000
    seen = np.bincount(PokerHands().rows(n, seed=7)[1], minlength=10)
    expected = np.array(COUNTS) / sum(COUNTS) * n
    pooled = [np.append(counts[:7], counts[7:].sum()) for counts in (seen, expected)]
    assert stats.chisquare(*pooled).pvalue > 0.001


def test_the_stream_pays_1_for_the_right_class_alone():
    cards, labels = PokerHands().rows(5000, seed=8)
    batch = next(PokerHands().batches(seed=8, size=5000))
    assert (batch.contexts == cards).all()
    assert (batch.rewards == np.eye(10)[labels]).all()
    assert (batch.expected == batch.rewards).all()


@pytest.mark.parametrize(
    ("cards", "sentence"),
    [
        ([[1] * 9], r"cards is int64 of shape \(1, 9\); it must be a matrix of whole numbers .*"),
        ([[1.0] * 10], r"cards is float64 of shape \(1, 10\); it must be a matrix of whole numbers .*"),
        (
            [[5, 1, 1, 2, 1, 3, 1, 4, 1, 5]],
            "cards has an unknown card; suits must be from 1 to 4 and ranks from 1 to 13",
        ),
        (
            [[1, 1, 1, 2, 1, 3, 1, 4, 1, 14]],
            "cards has an unknown card; suits must be from 1 to 4 and ranks from 1 to 13",
        ),
        ([[1, 1, 1, 2, 1, 3, 1, 4, 1, 1]], "cards has the same card twice in a hand; the five must differ"),
    ],
)
def test_what_is_not_a_hand_is_refused(cards, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        poker_class(cards)


def test_a_wrong_number_of_rows_is_refused():
    with pytest.raises(ValueError, match=r"^n is 0; it must be a whole number of 1 or more$"):
        PokerHands().rows(0, seed=1)


@pytest.mark.data
@pytest.mark.skipif("STUMPERY_DATA" not in os.environ, reason="STUMPERY_DATA names no folder of Parquet files")
def test_labels_equal_those_of_uci():
    from pyarrow import parquet

    table = parquet.read_table(Path(os.environ["STUMPERY_DATA"]) / "poker.parquet")
    cards = np.column_stack([table[column].to_numpy() for column in COLUMNS])
    assert len(cards) >= 25_010
    assert (poker_class(cards) == table["CLASS"].to_numpy()).all()
