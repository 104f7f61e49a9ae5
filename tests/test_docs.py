"""The guides' examples run as they are printed."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest
from tests.support import public

from stumpery.models import Model

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"  # which `make docs` writes
GUIDES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if REFERENCE not in page.parents]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *GUIDES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(example, page.name, "exec"), names)  # noqa: S102 - our own pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page):
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()) if "://" not in link]
    pages = {link: (page.parent / link).resolve() for link in links}
    written = [link for link, path in pages.items() if REFERENCE not in path.parents]  # tests/test_site.py: the others
    assert [link for link in written if not pages[link].exists()] == []


ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
SOURCE = ROOT / "src" / "stumpery"


def layers_of_the_architecture():
    """The names in each line of the first block, as they are in the folder."""
    block = ARCHITECTURE.split("```")[1]
    return [re.split(r"  +", line)[0].split(" | ") for line in block.strip().splitlines()]


def test_the_files_that_the_architecture_names_exist():
    named = set(re.findall(r"`([\w/]+\.py)\b", ARCHITECTURE))
    tests = set(re.findall(r"`(tests/[\w/.]+)", ARCHITECTURE))
    layers = {name for line in layers_of_the_architecture() for name in line}
    assert len(named) > 100
    assert len(layers) > 20
    assert [name for name in sorted(tests) if not (ROOT / name).exists()] == []
    assert [name for name in sorted((named | layers) - tests) if not (SOURCE / name).exists()] == []


def test_the_functions_that_the_architecture_names_are_in_their_files():
    named = re.findall(r"`([\w/]+\.py): (\w+)`", ARCHITECTURE)
    assert len(named) > 5
    assert [name for name in named if f"def {name[1]}(" not in (SOURCE / name[0]).read_text()] == []


def test_the_layers_of_the_architecture_are_those_that_are_checked():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [each for each in contracts if each["type"] == "layers"]
    checked = [[name.removeprefix("stumpery.") for name in line.split(" | ")] for line in contract["layers"]]
    told = [[name.removesuffix("/").removesuffix(".py") for name in line] for line in layers_of_the_architecture()]
    assert told == checked


JOURNEYS = {  # the most files that one may have to open to follow an event
    "One event without context": 10,
    "An event of the reward forest": 18,
    "`learn_many` of a forest classifier": 15,
    "A click": 10,
    "A row of a `DQNTree`": 10,
}


@pytest.mark.parametrize("title", JOURNEYS)
def test_journeys_stay_short(title):
    section = ARCHITECTURE.split(f"## {title}\n")[1].split("\n## ")[0]
    steps = re.findall(r"^\| (\d+)\. .* \| (.*) \|$", section, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert 5 <= len({file for _, files in steps for file in re.findall(r"`([\w/]+\.py)", files)}) <= JOURNEYS[title]


def test_every_target_that_the_pages_name_is_in_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [page.read_text() for page in PAGES]
    named = {target for page in pages for target in re.findall(r"(?:^|`)make ([a-z-]+)", page, re.MULTILINE)}
    assert {"test", "demo", "numba-versions"} <= named <= targets


def verbs_of(page):
    """The verbs of each model, as the table of a page names them; "the same" is those of the row above."""
    found, above = {}, [set(), set()]
    for row in re.findall(r"^\| (.*`.*) \|$", page.read_text(), re.MULTILINE):
        models, *columns = row.split("|")
        own = [set(re.findall(r"`(\w+)`", column)) for column in columns]
        shared = [before if "the same" in column else set() for before, column in zip(above, columns, strict=True)]
        above = [one | other for one, other in zip(own, shared, strict=True)]
        found |= {model: set().union(*above) for model in re.findall(r"`(\w+)`", models)}
    return found


def test_the_table_of_verbs_names_all_that_each_model_has():
    models = {name: member for name, member in vars(public).items() if inspect.isclass(member)}
    learners = {name: kind for name, kind in models.items() if issubclass(kind, Model) or name == "PolicyTree"}
    everywhere = {"clone", "snapshot", "state", "from_state"}
    verbs = {
        name: {verb for verb, _ in inspect.getmembers(kind, inspect.isfunction) if verb[0] != "_"} - everywhere
        for name, kind in learners.items()
    }
    assert verbs_of(ROOT / "docs" / "verbs.md") == verbs
