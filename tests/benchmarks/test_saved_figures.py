"""Figures of benchmarks are saved for each machine, and compared by more than their noise."""

import json
import re

import pytest
from typer.testing import CliRunner

from stumpery.benchmarks.saved_figures import compare_figures, load_figures, path_of_machine, save_figures
from stumpery.cli import app


def line(name="a", runs=(10.0, 11.0, 12.0, 13.0), peers=(), unit="events/s", better="higher", peer_name="peer"):
    told = {"name": name, "unit": unit, "better": better, "peer_name": peer_name}
    return {**told, "ours": sorted(runs)[len(runs) // 2], "runs": list(runs), "peer_runs": list(peers)}


def verdict(then, now):
    return compare_figures({then["name"]: then}, [now])[0]["verdict"]


def test_a_figure_moved_only_if_every_run_is_beyond_every_run_before():
    assert verdict(line(), line(runs=(13.5, 14, 15, 16))) == "better"
    assert verdict(line(), line(runs=(12.9, 14, 15, 16))) == "within noise"
    assert verdict(line(), line(runs=(9, 9.1, 9.2, 9.3))) == "worse"
    assert verdict(line(unit="s", better="lower"), line(runs=(9, 9.1, 9.2, 9.3), unit="s", better="lower")) == "better"


def test_with_a_peer_in_both_runs_the_ratio_counts_and_not_the_machine():
    busy = line(runs=(5.0, 5.5, 6.0, 6.5), peers=(1.0, 1.1, 1.2, 1.3))
    (row,) = compare_figures({"a": line(peers=(2.0, 2.2, 2.4, 2.6))}, [busy])
    assert (row["verdict"], row["compared"], row["change_%"]) == ("within noise", "ratio to peer", pytest.approx(0))
    other = {**busy, "peer_name": "another"}
    assert verdict(line(peers=(2.0, 2.2, 2.4, 2.6)), other) == "worse"


def test_noise_is_half_of_the_widest_range_of_runs():
    (row,) = compare_figures({"a": line(runs=(9, 10, 10, 11))}, [line(runs=(8, 10, 10, 12))])
    assert (row["noise_%"], row["change_%"]) == (20, 0)


def test_a_figure_that_was_run_once_has_no_noise_and_no_verdict():
    assert verdict(line(runs=(10,)), line(runs=(99,))) == "unknown: fewer than 4 runs"


def test_what_moved_comes_first_and_new_figures_are_said_to_be_new():
    rows = compare_figures({"a": line(), "c": line("c")}, [line(), line("b"), line("c", runs=(1, 1, 1, 1))])
    assert [(row["figure"], row["verdict"]) for row in rows] == [
        ("c", "worse"),
        ("a", "within noise"),
        ("b", "not saved before"),
    ]


def test_figures_that_were_not_run_now_stay_saved(tmp_path):
    path = path_of_machine(tmp_path / "kept")
    save_figures(path, [line(), line("b")])
    save_figures(path, [line(runs=(20, 21, 22, 23))])
    found = load_figures(path)
    assert (found["a"]["runs"], found["b"]["runs"]) == ([20, 21, 22, 23], [10, 11, 12, 13])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["a"]["measured"])
    assert "cores" in json.loads(path.read_text())["machine"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"figures": [{"name": "a"}]}',
        '{"figures": [{"name": 1, "runs": []}]}',
        '{"figures": 3}',
        b"\xff",
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"corrupt file: .* has no figures of benchmarks"):
        load_figures(path)


def test_the_command_saves_and_compares(tmp_path):
    command = ["bench", "--only", "start/help", "--repeats", "1", "--folder", str(tmp_path)]
    saved = CliRunner().invoke(app, [*command, "--save"])
    assert saved.exit_code == 0, saved.output
    assert "wrote " in saved.output
    compared = CliRunner().invoke(app, [*command, "--against"])
    assert compared.exit_code == 0, compared.output
    assert "Since the figures were saved" in compared.output
    assert len(list(tmp_path.iterdir())) == 1
