"""The documentation site builds without a warning, its links lead somewhere, and its notebooks say what they print."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy of the pages: the build writes pages of its own."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "deploy", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / "src").symlink_to(ROOT / "src", target_is_directory=True)
    built = folder / "built"
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    result = subprocess.run(
        [*command, folder / "docs", built], check=False, capture_output=True, text=True, timeout=600
    )
    assert (result.returncode, result.stderr) == (0, "")
    return built


def test_every_link_of_the_site_leads_to_a_page_and_a_place_on_it(site):
    places = {page: set(re.findall(r'\bid="([^"]+)"', page.read_text())) for page in site.rglob("*.html")}
    broken = []
    for page in places:
        for link in re.findall(r'<a [^>]*href="([^"]+)"', page.read_text()):
            name, _, place = unquote(link).partition("#")
            if "://" in link or link.startswith("mailto:"):
                continue
            target = (page.parent / name.partition("?")[0]).resolve() if name else page
            if target not in places:
                broken += [] if target.is_file() else [(page.name, link)]
            elif place and place not in places[target]:
                broken.append((page.name, link))
    assert len(places) > 100
    assert broken == []


def test_the_reference_has_every_public_name(site):
    import stumpery

    text = "".join(page.read_text() for page in (site / "reference" / "api").glob("*.html"))
    classes = [name for name in stumpery.__all__ if name[0].isupper()]
    assert len(classes) > 15
    assert [name for name in classes if not re.search(rf'id="stumpery[\w.]*\.{name}"', text)] == []


def test_every_family_of_public_names_has_its_page(site):
    source = ROOT / "src"
    families = {".".join(stub.parent.relative_to(source).parts) for stub in source.glob("**/__init__.pyi")}
    assert len(families) > 8
    assert families <= {page.stem for page in (site / "reference").glob("*.html")}


def test_the_site_asks_no_other_host_for_anything(site):
    loaded = [
        address
        for page in site.rglob("*.html")
        for address in re.findall(r'<(?:script|img|link)[^>]* (?:src|href)="(https?://[^"]+)"', page.read_text())
    ]
    assert loaded == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_prints_about_what_is_stored_in_it(path):
    notebook = nbformat.read(path, as_version=4)
    before = outputs_of(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    after = outputs_of(notebook)
    assert len(before) > 2
    assert kinds_of(after) == kinds_of(before)
    assert words_of(after) == words_of(before)
    assert numbers_of(after) == pytest.approx(numbers_of(before), abs=0.03)  # the same seed on another version


def outputs_of(notebook):
    """All outputs of a notebook's cells, none of them an error."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output.output_type == "error"] == []
    return outputs


def kinds_of(outputs):
    """The kinds of what was shown; what is printed may come in one piece or in several."""
    return [output.output_type for output in outputs if output.output_type != "stream"]


def printed(outputs):
    """What was printed, one text."""
    return "".join(output.text for output in outputs if output.output_type == "stream")


def words_of(outputs):
    """What was printed, without its numbers."""
    return re.sub(r"[\d.]+", "#", printed(outputs))


def numbers_of(outputs):
    """The numbers that were printed."""
    return [float(number) for number in re.findall(r"\d+\.\d+", printed(outputs))]
