"""Every study runs short, writes its files, and resumes."""

import csv
import json

import pytest

from stumpery.studies import STUDIES
from stumpery.studies.context_free.lecture_notes import claims_on_greedy
from stumpery.studies.runner import run_study
from stumpery.studies.study import Settings

SHORT = Settings(steps=200, trials=2)


def silent(_: int) -> None:
    pass


def run_here(study, settings, out, progress):
    """Run a study, unless it says in one sentence that its data are not here."""
    try:
        return run_study(study, settings, out, progress)
    except FileNotFoundError as error:
        assert "not on this machine" in str(error)
        pytest.skip(str(error))


def timeless(result):
    """All columns but those that tell how long it took."""
    told = ("events_per_s", "us_per_event", "us_plus_minus")
    return {name: list(column) for name, column in result.columns().items() if name not in told}


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_a_study_writes_data_and_a_picture(study, tmp_path):
    advanced = []
    outcome, files = run_here(study, SHORT, tmp_path, advanced.append)
    assert sum(advanced) == study.n_events(SHORT)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in files)
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["study"] == study.name
    assert found["settings"] == {"steps": 200, "trials": 2, "seed": 0, "threads": 2}
    assert {"stumpery", "numpy", "numba", "python"} <= found["versions"].keys()
    assert len(found["table"]) == len(outcome.table) > 0
    with (tmp_path / "result.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(next(iter(found["curves"].values())))
    assert (tmp_path / f"{study.name}.png").read_bytes().startswith(b"\x89PNG")


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_an_interrupted_study_goes_on_and_finds_the_same(study, tmp_path):
    settings = Settings(steps=200, trials=2, threads=1)
    whole, _ = run_here(study, settings, tmp_path / "whole", silent)
    calls = []

    def interrupt(n: int) -> None:
        calls.append(n)
        if len(calls) >= 4:
            raise StoppedError

    with pytest.raises(StoppedError):
        run_study(study, settings, tmp_path / "cut", interrupt)
    assert not (tmp_path / "cut" / "result.json").exists()
    kept = list((tmp_path / "cut" / "parts").rglob("*.json"))
    assert kept
    before = {path.name: path.stat().st_mtime_ns for path in kept}

    def check_kept(_: int) -> None:
        assert {path.name: path.stat().st_mtime_ns for path in kept} == before

    resumed, _ = run_study(study, settings, tmp_path / "cut", check_kept)
    assert repr(timeless(resumed.result)) == repr(timeless(whole.result))
    assert not (tmp_path / "cut" / "parts").exists()


def test_parts_of_other_settings_are_not_used(tmp_path):
    study = STUDIES["demo"]
    calls = []

    def interrupt(n: int) -> None:
        calls.append(n)
        if len(calls) == 4:
            raise StoppedError

    with pytest.raises(StoppedError):
        run_study(study, Settings(steps=200, trials=2, threads=1), tmp_path, interrupt)
    other, _ = run_study(study, Settings(steps=100, trials=1, threads=1), tmp_path, silent)
    alone, _ = run_study(study, Settings(steps=100, trials=1, threads=1), tmp_path / "alone", silent)
    assert [row["regret"] for row in other.table] == [row["regret"] for row in alone.table]


def test_a_claim_that_does_not_hold_is_called_refuted():
    tried = {"greedy, pessimistic": [1, 2], "greedy, in between": [3, 4], "greedy, optimistic": [10, 10]}
    verdicts = [entry.verdict for entry in claims_on_greedy(tried)]
    assert verdicts == ["refuted", "reproduced", "reproduced"]


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"trials": -1}, {"seed": -1}, {"threads": 0}, {"steps": 1.5}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        Settings(**{"steps": 10, "trials": 1, **wrong})


def test_what_else_lies_in_the_folder_of_parts_stays(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "mine.txt").write_text("x")
    run_study(STUDIES["demo"], SHORT, tmp_path, silent)
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["mine.txt"]
