"""Results of studies that are kept with the library, so that a later run can be compared with them."""

import json
import re
from math import hypot
from pathlib import Path
from typing import Any

from stumpery.errors import InvalidInput
from stumpery.evaluation.result import json_text
from stumpery.studies.study import Settings
from stumpery.system.writing import write_whole

FOLDER = Path(__file__).parent / "results"
KEPT = ("study", "title", "source", "settings", "versions", "seconds", "table", "findings")  # a few kB
ESTIMATE = re.compile(r"^(-?[\d,]*\.?\d+) ± ([\d,]*\.?\d+)$")
OF_TIME = re.compile(
    r"(^|_|\b)(seconds?|minutes|events[_/]per[_/]s|events/s|us|ms)($|_|\b)"
)  # columns that say how long it took
EQUAL, AGREES, DIFFERS = "equal", "within the intervals", "differs"
Row = dict[str, Any]


def path_of(study: str, folder: Path = FOLDER) -> Path:
    """The file with a study's result."""
    return folder / f"{study}.json"


def save_result(content: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Keep the settings, versions, table and findings of a finished run; `content` is that of its result.json."""
    path = path_of(content["study"], folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, json_text({key: content[key] for key in KEPT}).encode())
    return path


def load_result(study: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The kept result of a study."""
    path = path_of(study, folder)
    if not path.is_file():
        kept = ", ".join(sorted(each.stem for each in folder.glob("*.json"))) or "none"
        raise InvalidInput(f"there is no kept result of {study!r} to compare with; those kept are {kept}")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def check_same_settings(kept: dict[str, Any], settings: Settings) -> None:
    """Refuse to compare runs of different settings."""
    now = settings.numbers()
    other = {
        name: kept["settings"][name] for name in ("steps", "trials", "seed") if kept["settings"][name] != now[name]
    }
    if other:
        wanted = ", ".join(f"{name} {value}" for name, value in other.items())
        raise InvalidInput(f"the kept result of {kept['study']!r} has {wanted}: only a run with that can be compared")


def compare_results(then: dict[str, Any], now: dict[str, Any]) -> list[Row]:
    """A row for each figure and each verdict that is not equal in two results of a study; times are left out."""
    rows = []
    for old, new in zip(then["table"], now["table"], strict=False):
        label = ", ".join(str(value) for value in new.values() if isinstance(value, str) and not _number(value))
        for column in {**new, **old}:
            verdict, change = compare_cells(old.get(column), new.get(column))
            if verdict != EQUAL and not OF_TIME.search(column):
                row = {"row": label, "figure": column, "kept": old.get(column), "now": new.get(column)}
                rows.append({**row, "difference": change, "verdict": verdict})
    if len(then["table"]) != len(now["table"]):
        row = {"row": "all", "figure": "number of rows", "kept": len(then["table"]), "now": len(now["table"])}
        rows.append({**row, "difference": len(now["table"]) - len(then["table"]), "verdict": DIFFERS})
    before, after = ({entry["claim"]: entry["verdict"] for entry in each["findings"]} for each in (then, now))
    for claim in {**after, **before}:
        if before.get(claim) != after.get(claim):
            row = {"row": "claim", "figure": claim, "kept": before.get(claim), "now": after.get(claim)}
            rows.append({**row, "difference": None, "verdict": DIFFERS})
    return rows


def compare_cells(old: Any, new: Any) -> tuple[str, float | None]:
    """Whether two cells are equal, agree within the intervals that they state, or differ; and by how much.

    >>> compare_cells("0.512 ± 0.012", "0.520 ± 0.010")
    ('within the intervals', 0.008)
    >>> compare_cells(0.5, 0.75)
    ('differs', 0.25)
    """
    if old == new:
        return EQUAL, 0.0
    numbers = _number(old), _number(new)
    if numbers[0] is None or numbers[1] is None:
        return DIFFERS, None
    (one, one_width), (other, other_width) = numbers[0], numbers[1]
    change = round(other - one, 9)
    return (AGREES if abs(change) <= hypot(one_width, other_width) else DIFFERS), change


def _number(cell: Any) -> tuple[float, float] | None:
    """The number and the half-width of its interval that a cell shows, if it shows one."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell), 0.0
    found = ESTIMATE.match(cell) if isinstance(cell, str) else None
    return None if found is None else (float(found[1].replace(",", "")), float(found[2].replace(",", "")))
