"""One name, one meaning: upper-case constants of a package, and classes of the whole code base."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import stumpery

SOURCE = Path(stumpery.__file__).parent
FAMILIES = ("policies", "studies")  # each folder in these is a package of its own
PER_STUDY = {"STUDY", "STUDIES", "LONG_RUN"}  # every study has these: the commands, and steps enough for its claims


def package_of(path):
    """The top folder of a file, or of a family of policies or studies."""
    parts = path.relative_to(SOURCE).parts
    return parts[:2] if parts[0] in FAMILIES and len(parts) > 2 else parts[:1]


def constants(path):
    """Upper-case names assigned anywhere outside functions: in a module, its classes and its branches."""
    statements = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while statements:
        node = statements.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        statements += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler)]
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for each in ast.walk(target) if target else ():
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id.isupper():
                    yield each.id


def test_every_upper_case_name_stands_for_one_thing_within_its_package():
    files = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in constants(path):
            files[package_of(path), name].add(path.relative_to(SOURCE).as_posix())
    assert {package for package, _ in files} >= {("streaming",), ("policies", "reward_forest"), ("studies", "clicks")}
    repeated = {
        f"{'/'.join(package)}: {name}": sorted(paths)
        for (package, name), paths in files.items()
        if len(paths) > 1 and not (package[0] == "studies" and name in PER_STUDY)
    }
    assert repeated == {}


@pytest.mark.parametrize(
    "text",
    [
        "LIMIT = 1",
        "LIMIT: int = 1",
        "LIMIT, other = 1, 2",
        "class Model:\n    LIMIT = 1",
        "if True:\n    LIMIT = 1",
        "try:\n    import numpy\nexcept ImportError:\n    LIMIT = 1",
    ],
)
def test_constants_are_seen_wherever_they_are_defined(text, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(text + "\ndef function():\n    LOCAL = 2\n")
    assert list(constants(path)) == ["LIMIT"]


def test_every_class_name_stands_for_one_class():
    classes = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}
