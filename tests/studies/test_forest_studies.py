"""The studies of the Bandit Forest's paper, on a small problem in place of its datasets."""

import numpy as np
import pytest

import stumpery as st
from stumpery.evaluation.regret import RegretResult
from stumpery.streams import ClassificationBandit
from stumpery.studies import STUDIES
from stumpery.studies.bandit_forest import depth as bandit_forest_depth
from stumpery.studies.bandit_forest import rivals as bandit_forest_rivals
from stumpery.studies.bandit_forest import stopping_times, toy_problem
from stumpery.studies.bandit_forest.reference_forest import ReferenceForest
from stumpery.studies.contextual import contest_repeated, datasets
from stumpery.studies.runner import run_study
from stumpery.studies.study import Finding, Settings, load_or_run, verdicts

FORESTS = [name for name in STUDIES if name.startswith("bandit-forest")]
SHORT = Settings(steps=100, trials=2, threads=1)


def small_bits(dataset):
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, size=(300, 6), dtype=np.uint8)
    return ClassificationBandit(contexts=bits, labels=(bits[:, 0] + 2 * bits[:, 1]).tolist(), flip=datasets.FLIP)


@pytest.fixture
def small_problem(monkeypatch):
    monkeypatch.setattr(datasets, "bits", small_bits)
    monkeypatch.setattr(datasets, "is_available", lambda dataset: dataset != datasets.CENSUS)


@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_study_counts_regret_against_its_reference(name, tmp_path, small_problem):
    advanced = []
    outcome, files = run_study(STUDIES[name], SHORT, tmp_path, advanced.append)
    assert sum(advanced) == STUDIES[name].n_events(SHORT)
    assert all(path.exists() for path in files)
    (reference, *_) = [row for row in outcome.table if row["policy"] == "reference of 300 rows"]
    for policy, curves in outcome.result.regrets.items():
        sums = curves[:, -1] + outcome.result.rewards[policy][:, -1]
        assert sums.mean() == pytest.approx(100 * reference["average_reward"])
    assert {entry.verdict for entry in outcome.findings} == {"not testable"}


def test_a_run_that_was_stopped_does_not_repeat_the_reference(tmp_path, small_problem, monkeypatch):
    parts = {}
    study = STUDIES["bandit-forest-adult"]
    whole = study.run(SHORT, parts, lambda n: None)
    monkeypatch.setattr(ReferenceForest, "__init__", lambda *_: pytest.fail("trained again"))
    again = study.run(SHORT, parts, lambda n: None)
    assert [row["regret"] for row in again.table] == [row["regret"] for row in whole.table]


def test_the_size_study_says_that_other_datasets_stand_in(tmp_path, small_problem):
    outcome = STUDIES["bandit-forest-size"].run(SHORT, {}, lambda n: None)
    assert outcome.findings[-1].evidence == "uscensus1990 is not on this machine: Covertype and Adult stand in for it"


@pytest.mark.parametrize("name", [name for name in FORESTS if name != "bandit-forest-size"])
def test_a_dataset_that_is_not_there_is_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.delenv("STUMPERY_DATA", raising=False)
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"^\w+ is not on this machine: stumpery data fetch \w+$"):
        STUDIES[name].run(SHORT, {}, lambda n: None)


def test_the_reference_is_the_majority_of_its_trees():
    stream = small_bits("any")
    codes = np.array(stream.labels)
    forest = ReferenceForest(stream.contexts, codes, SHORT)
    assert (forest.vote(stream.contexts) == codes).all()
    assert (forest.vote_unseen(stream.contexts) == codes).mean() > 0.9


def result_of(regrets):
    curves = {name: np.array([[value]]) for name, value in regrets.items()}
    return RegretResult(np.array([1]), curves, curves, curves)


def test_the_papers_order_is_weighed_pair_by_pair():
    (chapter, *_) = bandit_forest_rivals.CHAPTERS
    names = [
        bandit_forest_rivals.NEURAL,
        bandit_forest_rivals.FOREST,
        bandit_forest_rivals.LINUCB,
        bandit_forest_rivals.BANDITRON,
    ]
    as_said = result_of({name: float(place) for place, name in enumerate(names)})
    reverse = result_of({name: -float(place) for place, name in enumerate(names)})
    assert {entry.verdict for entry in bandit_forest_rivals.claims(as_said, chapter)} == {"reproduced"}
    assert {entry.verdict for entry in bandit_forest_rivals.claims(reverse, chapter)} == {"refuted"}


def test_depth_claims_compare_forest_and_tree():
    regrets = {f"forest, depth {d}": 10.0 for d in bandit_forest_depth.DEPTHS}
    regrets |= {f"tree, depth {d}": 10.0 + d for d in bandit_forest_depth.DEPTHS}
    assert [entry.verdict for entry in bandit_forest_depth.claims(result_of(regrets))] == ["reproduced"] * 2


def test_the_toy_problem_is_the_papers_but_for_its_range():
    assert [entry.verdict for entry in toy_problem.claims()] == ["reproduced"] * 3 + ["refuted"]
    assert toy_problem.claim_on_stump(Settings(steps=toy_problem.LONG_RUN, trials=2)).verdict == "reproduced"


def test_stopping_times_are_right_and_within_the_bounds():
    point = stopping_times.Point("gap", n_variables=4, gap=0.4)
    for what, (events, right) in stopping_times.measure(point, seed=1, trial=0, max_events=100_000).items():
        assert right
        assert 0 < events <= stopping_times.bounds(point)[what]
    stopped = stopping_times.measure(point, seed=1, trial=0, max_events=10)
    assert {events for events, _ in stopped.values()} == {None}


def test_a_part_is_made_once():
    parts, advanced = {}, []
    assert load_or_run(parts, "a", 5, advanced.append, lambda: 1) == 1
    assert load_or_run(parts, "a", 5, advanced.append, lambda: 2) == 1
    assert advanced == [5]


def test_short_runs_weigh_nothing():
    (entry,) = verdicts([Finding("refuted", "a claim", "numbers")], enough=False)
    assert entry == Finding("not testable", "a claim", "numbers")


def test_the_contest_says_who_is_ahead_of_our_forest():
    rows = [
        {"stream": "s", "policy": "RewardForest", "reward_at_10": 0.5},
        {"stream": "s", "policy": "UCB", "reward_at_10": 0.501},
    ]
    assert contest_repeated.claims(rows, [10])[0].verdict == "reproduced"
    rows[1]["reward_at_10"] = 0.6
    assert contest_repeated.claims(rows, [10])[0][::2] == ("refuted", "behind on s (0.5000, UCB 0.6000)")


@pytest.mark.parametrize(("steps", "marks"), [(500, [500]), (10_000, [10_000]), (200_000, [10_000, 100_000, 200_000])])
def test_the_contest_reads_rewards_at_powers_of_ten_and_in_the_end(steps, marks):
    assert contest_repeated.checkpoints(steps) == marks


def test_who_is_too_slow_for_the_contest_plays_what_fits_and_is_ahead_of_nobody(monkeypatch):
    monkeypatch.setattr(contest_repeated, "MAX_SECONDS", 0.0)
    stream = datasets.CONTEST["digits"].open()
    advanced = []
    trial = contest_repeated.play_trial(st.UCB, stream, Settings(steps=20_000, trials=1), 0, advanced.append)
    assert (trial["averages"], trial["events"], sum(advanced)) == ([], contest_repeated.N_FIRST, 20_000)
    row = contest_repeated.row("digits", "UCB", [trial], [10_000, 20_000])
    assert contest_repeated.line(row, [10_000, 20_000])["20,000"] == contest_repeated.TOO_SLOW
    ours = {**row, "policy": "RewardForest", "reward_at_10000": 0.1, "reward_at_20000": 0.1}
    assert [entry.verdict for entry in contest_repeated.claims([row, ours], [10_000, 20_000])] == ["reproduced"] * 2
    assert contest_repeated.draw([row, ours], 20_000, 1).axes
