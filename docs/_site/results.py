"""The directive `study-result`: a study's kept result as settings, table and claims."""

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stumpery.studies import STUDIES
from stumpery.studies.saved_results import load_result, path_of
from stumpery.studies.study import Study

SHOWN = ("python", "numpy", "numba", "jax")  # versions of libraries


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("study-result", StudyResult)
    return {"parallel_read_safe": True}


class StudyResult(SphinxDirective):
    """Settings, table and claims of a study."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The nodes of a kept result; the page is built again when it changes."""
        name = self.arguments[0]
        self.env.note_dependency(str(path_of(name)))
        text = markdown(load_result(name)) if path_of(name).is_file() else length_of(STUDIES[name])
        parsed: list[nodes.Node] = self.parse_text_to_nodes(text)
        return parsed


def length_of(study: Study) -> str:
    """What is said of a study without a kept result."""
    return (
        f"*{study.source}.* No result of full length is kept yet: `stumpery study {study.name}` plays "
        f"{study.trials} trials of {study.steps:,} steps, and can be interrupted and resumed."
    )


def markdown(result: dict[str, Any]) -> str:
    """A result as text."""
    given = result["settings"]
    versions = ", ".join(f"{name} {result['versions'][name]}" for name in SHOWN if name in result["versions"])
    seconds = f" It took {duration(result['seconds'])}." if result["seconds"] else ""
    lines = [
        f"*{result['source']}.* {given['steps']:,} steps, {given['trials']} trials from seed {given['seed']}; "
        f"{versions}.{seconds} `stumpery study {result['study']} --compare` does it again, and compares.",
        "",
        *table(result["table"]),
    ]
    if result["findings"]:
        lines += ["", *table([{"verdict": f"**{each['verdict']}**", **without(each)} for each in result["findings"]])]
    return "\n".join(lines)


def without(finding: dict[str, str]) -> dict[str, str]:
    """A claim and its evidence."""
    return {"claim": finding["claim"], "evidence": finding["evidence"]}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as a table of Markdown."""
    names = list(rows[0])
    numeric = [all(isinstance(row[name], int | float) or row[name] is None for row in rows) for name in names]
    return [
        "| " + " | ".join(name.removeprefix("n_").replace("_", " ") for name in names) + " |",
        "|" + "|".join("---:" if is_number else "---" for is_number in numeric) + "|",
        *("| " + " | ".join(cell(row[name]) for name in names) + " |" for row in rows),
    ]


def cell(value: Any) -> str:
    """A value as it is shown in the terminal."""
    if value is None or value != value:  # noqa: PLR0124 - NaN: one trial has no interval
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
    return str(value).replace("|", "\\|")


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(5.2), duration(200), duration(9000)
    ('5 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
