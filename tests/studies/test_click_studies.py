"""What the click studies claim, on results that are known."""

import numpy as np

from stumpery.evaluation.click_challenge.result import RANDOM, combine_trials
from stumpery.evaluation.click_challenge.submissions import EXPONENTIAL, GROUPS, OURS, PAPER, SUMMED_CRITERION
from stumpery.studies.clicks import challenge as click_challenge
from stumpery.studies.clicks import discretisation as click_discretisation
from stumpery.studies.clicks import drift as click_drift


def challenge(scores, seconds):
    def curve(name, clicks):
        return {"clicks": [clicks], "rates": [clicks], "seconds": seconds.get(name, 1.0), "n_bytes": 1}

    return combine_trials(
        [{name: curve(name, clicks + trial) for name, clicks in scores.items()} for trial in (0, 1)], 1
    )


def verdicts(scores, seconds):
    return [entry.verdict for entry in click_challenge.claims(challenge(scores, seconds))]


def test_the_papers_own_figures_bear_out_its_claims():
    scores = {RANDOM: 1127, **PAPER, EXPONENTIAL: 1700, SUMMED_CRITERION: 1500, OURS: 2500}
    assert set(verdicts(scores, {OURS: 0.1})) == {"reproduced"}
    assert verdicts(scores, {OURS: 0.2})[-1] == "refuted"
    assert verdicts({**scores, OURS: 2070}, {OURS: 0.1})[-1] == "refuted"


def test_another_order_is_refuted_and_said():
    scores = {RANDOM: 1127, **PAPER, EXPONENTIAL: 2200, SUMMED_CRITERION: 2300, OURS: 2500, "RHT": 900, "UTree": 2000}
    assert verdicts(scores, {})[:4] == ["refuted"] * 4
    evidence = click_challenge.claims(challenge(scores, {}))[1].evidence
    assert evidence.startswith("from the lowest: RHT, LinRankP")


def test_every_player_belongs_to_one_group():
    names = [name for group in GROUPS for name in group]
    assert len(set(names)) == len(names) == click_challenge.N_PLAYERS


def test_the_offline_stump_is_the_best_of_all_cuts():
    rng = np.random.default_rng(1)
    values = rng.normal(size=3000)
    clicks = (rng.random(3000) < np.where(values > 0.8, 0.3, 0.02)).astype(int)
    values[::50] = np.nan
    cut, gain = click_discretisation.offline_stump(values, clicks)
    assert 0.6 < cut < 1.0
    assert gain > 0
    assert click_discretisation.offline_stump(np.ones(5), np.zeros(5, int))[1] == 0.0


def test_the_second_half_begins_at_the_middle():
    trials = [{"a": {"clicks": list(range(1, 101)), "rates": [0] * 100, "seconds": 1.0, "n_bytes": 1}}]
    assert click_drift.second_half(combine_trials(trials, 100), "a").tolist() == [50]
