"""The pages of the API reference: one for each package of public names, one for each class and function."""

import inspect
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "reference"
PACKAGES = {
    "stumpery": "Top level",
    "stumpery.policies": "Policies",
    "stumpery.policies.exploration.explorers": "Explorers",
    "stumpery.streaming": "Streaming classifiers and regressors",
    "stumpery.streaming.scikit": "Estimators for scikit-learn",
    "stumpery.ensembles": "Ensembles",
    "stumpery.clicks": "Click models",
    "stumpery.selection": "Feature selection",
    "stumpery.reinforcement": "Trees by reinforcement",
    "stumpery.evaluation": "Evaluation",
    "stumpery.evaluation.off_policy": "Off-policy evaluation",
    "stumpery.logs": "Logs",
    "stumpery.jobs": "Jobs: threads, processes, Ray",
    "stumpery.client": "Clients of the service",
    "stumpery.encoding": "Schemas and encoders",
    "stumpery.streams": "Streams and datasets",
    "stumpery.streams.transforms": "Transforms of streams",
    "stumpery.summaries": "Summaries",
    "stumpery.types": "Records",
    "stumpery.errors": "Errors",
}


@dataclass(frozen=True)
class Entry:
    """A public class or function, under the shortest path that users import it by."""

    path: str
    member: Any

    @property
    def page(self) -> str:
        """The page about it; names that differ only in case need two files everywhere."""
        return f"api/{self.path}"

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return (inspect.getdoc(self.member) or "").split("\n\n")[0].replace("\n", " ")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", lambda _: write_pages())
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}


def skip_foreign(_app: Any, _kind: str, _name: str, member: Any, skip: bool, _options: Any) -> bool | None:
    """Leave out methods of another library's base classes, which its own reference describes."""
    is_foreign = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    return True if is_foreign else None


def write_pages() -> None:
    """Write what has changed, and delete pages of names that are gone."""
    texts = {f"{name}.md": package_page(name, title) for name, title in PACKAGES.items()}
    texts |= {f"{entry.page}.rst": entry_page(entry) for entry in all_entries().values()}
    texts["index.md"] = index_page()
    for old in [*FOLDER.rglob("*.md"), *FOLDER.rglob("*.rst")]:
        if str(old.relative_to(FOLDER)) not in texts:
            old.unlink()
    for name, text in texts.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def all_entries() -> dict[int, Entry]:
    """Every public class and function once, by its identity; a family's name goes before the top level's."""
    found: dict[int, Entry] = {}
    for name in sorted(PACKAGES, key=lambda each: each == "stumpery"):
        for each in public_names(name):
            member = getattr(import_module(name), each)
            if inspect.isclass(member) or inspect.isfunction(member):
                found.setdefault(id(member), Entry(f"{name}.{each}", member))
    return found


def public_names(name: str) -> list[str]:
    """The names that a package or a module offers."""
    module = import_module(name)
    own = [each for each, value in vars(module).items() if getattr(value, "__module__", None) == name]
    return sorted(each for each in getattr(module, "__all__", own) if not each.startswith("_"))


def package_page(name: str, title: str) -> str:
    """The public names of a package, each with its first sentence."""
    module, entries = import_module(name), all_entries()
    listed = [getattr(module, each) for each in public_names(name)]
    rows = [entries[id(member)] for member in listed if id(member) in entries]
    table = "\n".join(f"| [`{row.path.rpartition('.')[2]}`]({row.page}.rst) | {row.summary} |" for row in rows)
    own = [row for row in rows if row.path.rpartition(".")[0] == name]
    tree = "\n".join(f"{row.path.rpartition('.')[2]} <{row.page}>" for row in own)
    head = f"# {title}\n\n`{name}`: {inspect.getdoc(module).splitlines()[0]}\n\n"
    return f"{head}| name | what it is |\n|---|---|\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"


def entry_page(entry: Entry) -> str:
    """The page of one class or function."""
    package, _, name = entry.path.rpartition(".")
    directive = "autoclass" if inspect.isclass(entry.member) else "autofunction"
    return f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: {package}\n\n.. {directive}:: {name}\n"


def index_page() -> str:
    """The list of packages."""
    rows = "\n".join(
        f"| [{title}]({name}.md) | `{name}` | {inspect.getdoc(import_module(name)).splitlines()[0]} |"
        for name, title in PACKAGES.items()
    )
    tree = "\n".join(PACKAGES)
    return (
        "# API reference\n\nEvery public class and function, with every parameter. "
        "What the models of each family can do is in [Verbs](../verbs.md).\n\n"
        f"| | package | what is there |\n|---|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )
