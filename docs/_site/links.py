"""Links of the repository's Markdown, for the site: sources and pages above docs/ become pages of the site."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
SITE_PAGES = {
    "README.md": "/index.md",
    "ARCHITECTURE.md": "/project/architecture.md",
    "CHANGELOG.md": "/project/changelog.md",
    "CONTRIBUTING.md": "/project/contributing.md",
}
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
INCLUDE = re.compile(r"```\{include\} (\S+)\n```\n?")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True}


def read_source(app: Any, page: str, source: list[str]) -> None:
    """Insert included files, and turn the links of a Markdown page."""
    path = Path(app.env.doc2path(page))
    if path.suffix != ".md":
        return
    source[0] = turned(source[0], path.parent)
    source[0] = INCLUDE.sub(lambda match: included(path.parent / match[1]), source[0])


def included(path: Path) -> str:
    """The text of a file, its links turned."""
    return turned(path.read_text(encoding="utf-8"), path.resolve().parent)


def turned(text: str, folder: Path) -> str:
    """The text with links that lead somewhere on the site."""
    return LINK.sub(lambda match: target(match[1], folder), text)


def target(link: str, folder: Path) -> str:
    """Where a link leads on the site."""
    if "://" in link or link.startswith(("#", "/", "mailto:")):
        return link
    name, _, anchor = link.partition("#")
    path = (folder / name).resolve()
    if not path.is_relative_to(ROOT) or not path.exists():
        return link
    page = site_page(path)
    return f"{page}#{anchor}" if anchor else page


def site_page(path: Path) -> str:
    """The page of the site that shows a file of the repository."""
    inside = str(path.relative_to(ROOT))
    return f"/{path.relative_to(DOCS)}" if path.is_relative_to(DOCS) else SITE_PAGES.get(inside, inside)
