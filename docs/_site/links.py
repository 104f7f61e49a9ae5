"""Links of the repository's Markdown, for the site: sources and pages above docs/ become pages of the site."""

import os
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
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
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
    return turned(path.read_text(encoding="utf-8"), Path(os.path.normpath(path)).parent)


def turned(text: str, folder: Path) -> str:
    """The text with links that lead somewhere on the site; of others, such as to folders, the words stay."""
    return LINK.sub(lambda match: link(match[1], match[2], folder), text)


def link(words: str, target: str, folder: Path) -> str:
    """A link as it is on the site."""
    if "://" in target or target.startswith(("#", "/", "mailto:")):
        return f"[{words}]({target})"
    name, _, anchor = target.partition("#")
    path = Path(os.path.normpath(folder / name))
    if not path.is_relative_to(ROOT) or not path.exists():
        return f"[{words}]({target})"  # a page that is written by the build, or a mistake, which the build reports
    page = site_page(path)
    return words if page is None else f"[{words}]({page}#{anchor})" if anchor else f"[{words}]({page})"


def site_page(path: Path) -> str | None:
    """The page of the site that shows a file of the repository, if there is one."""
    if path.is_relative_to(DOCS):
        return f"/{path.relative_to(DOCS)}"
    return SITE_PAGES.get(str(path.relative_to(ROOT)))
