"""One name, one meaning: upper-case constants of a package, and classes of the whole code base."""

import ast
from collections import defaultdict
from pathlib import Path

import stumpery

SOURCE = Path(stumpery.__file__).parent
TOP = ("studies", "benchmarks")  # commands, each with settings of its own


def package_of(path):
    """The top folder of a file, or of a policy's family."""
    parts = path.relative_to(SOURCE).parts
    return parts[:2] if parts[0] == "policies" and len(parts) > 2 else parts[:1]


def constants(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name) and each.id.isupper():
                    yield each.id


def test_every_upper_case_name_stands_for_one_thing_within_its_package():
    found = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] not in TOP:
            for name in constants(path):
                found[package_of(path), name].add(path.relative_to(SOURCE).as_posix())
    twice = {
        f"{'/'.join(package)}: {name}": sorted(paths) for (package, name), paths in found.items() if len(paths) > 1
    }
    assert twice == {}


def test_every_class_name_stands_for_one_class():
    found = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
