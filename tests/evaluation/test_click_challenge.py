"""The click challenge's protocol, its curves and ratios, tables as streams, and replay."""

import numpy as np
import pytest

import stumpery as st
from stumpery.evaluation import ClickTable, play_challenge, replay
from stumpery.evaluation.click_challenge.result import BEST_PROBABILITY, PERFECT, RANDOM, checkpoints_of, combine_trials
from stumpery.evaluation.click_challenge.submissions import (
    GROUPS,
    OURS,
    PAPER,
    generated_clicks,
    selector,
    submission_models,
)
from stumpery.evaluation.replay import ReplayResult
from stumpery.streams import ClickRows


class Chosen:
    """A player that picks a fixed place and remembers what it was told."""

    n_bytes = 8

    def __init__(self, place):
        self.place, self.learned = place, []

    def pick_row(self, matrix):
        return self.place

    def learn_row(self, row, click):
        self.learned.append((float(row[0]), click))


def blocks(n_batches, size=6, probabilities=True):
    """Rows numbered from 0; every seventh is clicked."""
    number = 0
    while True:
        rows = np.arange(number, number + n_batches * size)
        number += n_batches * size
        clicks = (rows % 7 == 0).astype(np.int64)
        known = 0.1 + 0.5 * clicks if probabilities else np.full(len(rows), np.nan)
        yield ClickRows(rows[:, np.newaxis].astype(float), clicks, known, np.zeros((len(rows), 0), np.int64))


def test_only_the_picked_rows_click_is_shown():
    first, last = Chosen(0), Chosen(5)
    found = play_challenge({"first": first, "last": last}, blocks(10), n_batches=25)
    assert first.learned == [(6.0 * batch, int(6 * batch % 7 == 0)) for batch in range(25)]
    assert [row for row, _ in last.learned] == [6.0 * batch + 5 for batch in range(25)]
    assert found["first"]["clicks"][-1] == sum(click for _, click in first.learned)


def test_random_perfect_and_the_best_chance_are_exact():
    found = play_challenge({"first": Chosen(0)}, blocks(10), n_batches=20)
    clicks = (np.arange(120) % 7 == 0).reshape(20, 6)
    assert found[RANDOM]["clicks"][-1] == pytest.approx((0.1 + 0.5 * clicks).mean(axis=1).sum())
    assert found[PERFECT]["clicks"][-1] == clicks.max(axis=1).sum() == found[BEST_PROBABILITY]["clicks"][-1]
    unknown = play_challenge({"first": Chosen(0)}, blocks(10, probabilities=False), n_batches=20)
    assert BEST_PROBABILITY not in unknown
    assert unknown[RANDOM]["clicks"][-1] == pytest.approx(clicks.mean(axis=1).sum())


def test_a_frozen_player_stops_learning_and_goes_on_picking():
    frozen = Chosen(0)
    found = play_challenge({"frozen": frozen}, blocks(10), n_batches=20, freeze={"frozen": 7})
    assert len(frozen.learned) == 7
    assert found["frozen"]["clicks"][-1] == sum(6 * batch % 7 == 0 for batch in range(20))


def test_the_smoothed_rate_of_a_click_a_batch_is_one():
    found = play_challenge({"all": Chosen(0)}, blocks(10, size=7), n_batches=30, size=7)
    assert found["all"]["rates"] == pytest.approx([1.0] * 30)
    assert found["all"]["clicks"] == list(range(1, 31))


@pytest.mark.parametrize("size", [1, 1000])
def test_a_batch_may_have_one_row_or_a_thousand(size):
    assert (
        len(play_challenge({"first": Chosen(0)}, blocks(3, size=size), n_batches=6, size=size)["first"]["clicks"]) == 6
    )


def test_a_block_that_is_shorter_than_a_batch_is_refused():
    with pytest.raises(ValueError, match="a block has 3 rows; it must have at least the 6"):
        play_challenge({"first": Chosen(0)}, blocks(1, size=3), n_batches=2)
    for wrong in ({"n_batches": 0}, {"n_batches": 5, "size": 0}):
        with pytest.raises(ValueError, match="whole number"):
            play_challenge({"first": Chosen(0)}, blocks(1), **wrong)


def test_players_have_names_of_their_own_and_blocks_enough():
    with pytest.raises(ValueError, match=r"^a player is called 'Random'"):
        play_challenge({RANDOM: Chosen(0)}, blocks(1), n_batches=1)
    with pytest.raises(ValueError, match=r"^a frozen player is 'second'; it must be one of 'first'"):
        play_challenge({"first": Chosen(0)}, blocks(1), n_batches=1, freeze={"second": 1})
    with pytest.raises(ValueError, match="the blocks end after 4 batches; there must be 5"):
        play_challenge({"first": Chosen(0)}, iter([next(blocks(4))]), n_batches=5)


def curves(clicks):
    return {"clicks": list(clicks), "rates": list(clicks), "seconds": 2.0, "n_bytes": 10}


def test_ratios_have_intervals_over_trials_or_of_one_count():
    trials = [{RANDOM: curves([1, 10]), "a": curves([2, twice])} for twice in (18, 20, 22)]
    result = combine_trials(trials, 2)
    mean, low, high = result.ratio("a")
    assert mean == pytest.approx(2.0)
    assert high - mean == pytest.approx(4.303 * 0.2 / np.sqrt(3), rel=1e-3)
    alone = combine_trials(trials[:1], 2).ratio("a")
    assert alone == pytest.approx((1.8, 1.8 - 1.96 * np.sqrt(18) / 10, 1.8 + 1.96 * np.sqrt(18) / 10))
    assert combine_trials(trials[:1], 2).ratio(RANDOM) == (1.0, 1.0, 1.0)
    _, low_of_two, _ = combine_trials([{"b": curves([1, 100]), "a": curves([1, 100])}], 2).ratio("a", "b")
    assert low_of_two == pytest.approx(1 - 1.96 * np.sqrt(2 / 100))
    assert [row["player"] for row in result.final()] == [RANDOM, "a"]
    assert result.final()[1]["us_per_batch"] == pytest.approx(1e6)
    assert result.summary()["final"] == result.final()
    columns = result.columns()
    assert columns["batch"] == [1, 2, 1, 2]
    assert columns["clicks"] == [1, 10, 2, 20]
    assert result.plot().get_ylabel() == "cumulative clicks"
    assert low < mean


def test_checkpoints_end_with_the_last_batch():
    assert checkpoints_of(3).tolist() == [1, 2, 3]
    assert checkpoints_of(500_000)[[0, -1]].tolist() == [5000, 500_000]


def test_every_submission_of_the_table_plays():
    source = generated_clicks()
    assert set(submission_models(source, 0)) == {name for group in GROUPS for name in group} >= {*PAPER, OURS}
    players = {name: selector(name, source, 3) for group in GROUPS for name in group}
    found = play_challenge(players, source.stream.blocks(seed=1, size=600), n_batches=40)
    again = play_challenge(
        {name: selector(name, source, 3) for name in players}, source.stream.blocks(seed=1, size=240), n_batches=40
    )
    for name in players:
        assert found[name]["clicks"] == again[name]["clicks"], name
        assert 0 < found[name]["n_bytes"] <= (500e6 if name == "Orange Best" else 50e6)


def test_a_table_comes_shuffled_and_whole():
    table = ClickTable(rows=[{"x": place, "name": f"v{place % 3}"} for place in range(12)], clicks=[0, 1] * 6)
    first, second = (next(table.blocks(seed=seed, size=12)) for seed in (1, 2))
    assert sorted(first.matrix[:, 0]) == list(range(12))
    assert first.matrix[:, 0].tolist() != second.matrix[:, 0].tolist()
    assert (first.clicks == first.matrix[:, 0] % 2).all()
    stream = table.blocks(seed=1, size=6)
    assert sorted(np.concatenate([next(stream).matrix[:, 0] for _ in range(4)])) == sorted([*range(12)] * 2)
    assert len(table) == 12


@pytest.mark.parametrize(
    "clicks", [[0, 1], [0, 2, 1], [0, 1, float("nan")], [0.7, 0, 1], ["1", "0", "1"], [0, None, 1]]
)
def test_clicks_of_a_table_are_zeros_and_ones(clicks):
    with pytest.raises(ValueError, match=r"2 clicks: one of each is needed|it must be True or False, 1 or 0"):
        ClickTable(rows=[{"x": 1}, {"x": 2}, {"x": 3}], clicks=np.array(clicks))


def test_replay_counts_only_lines_whose_pick_was_shown():
    rng = np.random.default_rng(4)
    items = [{"item": name} for name in ("a", "b", "c", "d")]
    shown = rng.integers(0, 4, 4000)
    rates = np.array([0.05, 0.4, 0.1, 0.05])
    clicks = (rng.random(4000) < rates[shown]).astype(int)
    lines = [(items, int(place), int(click)) for place, click in zip(shown, clicks, strict=True)]
    learner = st.ContentSelector(
        model=st.clicks.UnivariateTree(categories=True, min_samples_split=10, prior=0.5, m=10.0), seed=1
    )
    result = replay(learner, lines)
    assert result.n_lines == 4000
    assert result.n_counted == pytest.approx(1000, rel=0.15)
    assert result.rate == pytest.approx(0.4, abs=0.06), "it has found the best item"
    at_random = replay(st.ContentSelector(model=st.clicks.OneVersusAll(), epsilon=1.0), lines)
    low, high = at_random.interval
    assert low <= rates.mean() <= high
    assert at_random.log_rate == clicks.mean()
    assert at_random.columns()["lines"] == [4000]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (([{"item": "a"}], 1, 0), r"^the index that was shown is 1; .* from 0 to 0"),
        (([{"item": "a"}], 0, float("nan")), r"^a label is nan"),
        (([], 0, 0), r"^candidates is empty"),
        (([{"item": "a"}], 0), r"^a line is .*; it must be \(candidates, index that was shown, click\)$"),
        (3, r"^a line is 3; it must be \(candidates, index that was shown, click\)$"),
    ],
)
def test_a_line_that_cannot_be_is_refused(line, said):
    chooser = st.ContentSelector(model=st.clicks.OneVersusAll())
    before = chooser.state().arrays["rng"].copy()
    with pytest.raises(ValueError, match=said):
        replay(chooser, [line])
    assert (chooser.state().arrays["rng"] == before).all()


@pytest.mark.parametrize("selector", [st.clicks.OneVersusAll(), st.UCB(actions=["a", "b"]), st.ContentSelector])
def test_replay_says_what_it_takes(selector):
    said = "^selector is .*; it must be a ContentSelector, whose model is a click predictor or an ensemble of them$"
    with pytest.raises(ValueError, match=said):
        replay(selector, [])


def test_a_log_is_a_list_of_lines():
    with pytest.raises(st.InvalidInput, match=r"^lines is 3; it must be a list of \(candidates, index, click\)$"):
        replay(st.ContentSelector(model=st.clicks.OneVersusAll()), 3)


def test_a_replay_of_nothing_has_the_widest_interval():
    result = ReplayResult(0, 0, 0, 0.0)
    assert result.rate == 0.0
    assert result.interval[0] == 0.0
    assert result.interval[1] > 0.7
