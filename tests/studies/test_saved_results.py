"""Results of studies that are kept with the library, and the comparison of a later run with them."""

import json

import pytest
from typer.testing import CliRunner

from stumpery.cli import app
from stumpery.errors import InvalidInput
from stumpery.studies import STUDIES, saved_results
from stumpery.studies.saved_results import compare_results, load_result, save_result
from stumpery.studies.study import Settings

CONTENT = {
    "study": "toy",
    "title": "A toy problem",
    "source": "A paper, Figure 1",
    "settings": {"steps": 200, "trials": 2, "seed": 0, "threads": 2},
    "versions": {"python": "3.12"},
    "seconds": 1.5,
    "table": [
        {"policy": "forest", "regret": "1,200 ± 30", "share": 0.5},
        {"policy": "stump", "regret": "2,000 ± 30", "share": 0.25},
    ],
    "findings": [{"verdict": "reproduced", "claim": "forests win", "evidence": "1,200 < 2,000"}],
    "curves": {"event": [1, 2]},
}


def changed(table=None, verdict="reproduced"):
    findings = [{**CONTENT["findings"][0], "verdict": verdict}]
    return CONTENT | {"table": CONTENT["table"] if table is None else table, "findings": findings}


def test_a_kept_result_has_the_table_and_the_claims_without_the_curves(tmp_path):
    path = save_result(CONTENT, tmp_path / "results")
    assert path.name == "toy.json"
    kept = load_result("toy", tmp_path / "results")
    assert kept == {name: value for name, value in CONTENT.items() if name != "curves"}
    with pytest.raises(InvalidInput, match=r"no kept result of 'other' .* those kept are toy"):
        load_result("other", tmp_path / "results")


def test_equal_results_have_no_rows_to_show():
    assert compare_results(CONTENT, changed()) == []


def test_figures_that_moved_are_told_from_those_within_their_intervals():
    forest, stump = CONTENT["table"]
    rows = compare_results(CONTENT, changed([forest | {"regret": "1,240 ± 30"}, stump | {"regret": "2,050 ± 30"}]))
    assert [(row["row"], row["figure"], row["difference"], row["verdict"]) for row in rows] == [
        ("forest", "regret", 40.0, "within the intervals"),
        ("stump", "regret", 50.0, "differs"),
    ]
    rows = compare_results(CONTENT, changed([forest | {"share": 0.625}, stump]))
    assert [(row["figure"], row["difference"], row["verdict"]) for row in rows] == [("share", 0.125, "differs")]


def test_rows_that_are_gone_and_verdicts_that_changed_are_shown():
    rows = compare_results(CONTENT, changed(CONTENT["table"][:1], "refuted"))
    assert [(row["figure"], row["kept"], row["now"], row["verdict"]) for row in rows] == [
        ("number of rows", 2, 1, "differs"),
        ("forests win", "reproduced", "refuted", "differs"),
    ]


def test_figures_and_claims_that_are_gone_are_shown():
    rows = compare_results(CONTENT, changed([{"policy": "forest", "regret": "1,200 ± 30"}, CONTENT["table"][1]]))
    assert [(row["row"], row["figure"], row["kept"], row["now"]) for row in rows] == [("forest", "share", 0.5, None)]
    rows = compare_results(CONTENT, CONTENT | {"findings": []})
    assert [(row["figure"], row["kept"], row["now"]) for row in rows] == [("forests win", "reproduced", None)]


def test_times_are_left_out():
    fast, slow = ([{"policy": "forest", "events_per_s": n, "seconds": n, "us_per_event": n}] for n in (1.0, 2.0))
    assert compare_results(changed(fast), changed(slow)) == []


def test_a_cell_of_another_kind_differs():
    assert saved_results.compare_cells("none", 3) == ("differs", None)
    assert saved_results.compare_cells(None, None) == ("equal", 0.0)


def test_runs_of_other_settings_are_not_compared():
    saved_results.check_same_settings(CONTENT, Settings(steps=200, trials=2, threads=7))
    with pytest.raises(InvalidInput, match="has steps 200, trials 2: only a run with that"):
        saved_results.check_same_settings(CONTENT, Settings(steps=300, trials=1))


def test_the_command_keeps_a_result_and_compares_a_later_run(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_results.save_result, "__defaults__", (tmp_path / "kept",))
    monkeypatch.setattr(saved_results.load_result, "__defaults__", (tmp_path / "kept",))
    command = ["study", "toy", "--out", str(tmp_path / "out")]
    saved = CliRunner().invoke(app, [*command, "--steps", "200", "--trials", "2", "--save"])
    assert saved.exit_code == 0, saved.output
    again = CliRunner().invoke(app, [*command, "--compare"])  # at the length of the kept result
    assert again.exit_code == 0, again.output
    assert "every figure and every verdict is equal to the kept result" in again.output
    path = tmp_path / "kept" / "toy.json"
    kept = json.loads(path.read_text())
    kept["table"][0]["regret"] = -1.0
    path.write_text(json.dumps(kept))
    moved = CliRunner().invoke(app, [*command, "--compare"])
    assert "Not equal to the kept result" in moved.output
    other = CliRunner().invoke(app, [*command, "--compare", "--steps", "300"])
    assert other.exit_code == 2, other.output
    assert "has steps 200" in other.output


@pytest.mark.parametrize("path", sorted(saved_results.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_kept_results_are_those_of_studies_that_exist(path):
    kept = load_result(path.stem)
    assert kept["study"] in STUDIES
    assert kept["title"] == STUDIES[kept["study"]].title
    assert kept["table"]
    assert {entry["verdict"] for entry in kept["findings"]} <= {"reproduced", "refuted", "not testable"}
