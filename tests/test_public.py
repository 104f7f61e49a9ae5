"""The public names, and what comes in when they are asked for."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_origin

import numpy as np
import pytest
from tests.support import public

import stumpery as st
from stumpery.types import Explanation

CLASSES = [name for name in public.__all__ if inspect.isclass(getattr(public, name))]
STUB = Path(st.__file__).with_suffix(".pyi")
PACKAGES = sorted(path.parent for path in STUB.parent.glob("**/__init__.pyi"))
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None; "  # from here on its import fails


def run(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_type_checkers_see_the_names_that_are_there(package):
    steps = ast.parse((package / "__init__.pyi").read_text()).body
    imported = [name.asname or name.name for step in steps if isinstance(step, ast.ImportFrom) for name in step.names]
    (exported,) = [ast.literal_eval(step.value) for step in steps if isinstance(step, ast.Assign)]
    here = import_module(".".join(package.relative_to(STUB.parent.parent).parts))
    assert sorted(imported) == sorted(exported) == here.__all__
    assert all(hasattr(here, name) for name in here.__all__)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_any_public_name_may_be_the_first_that_is_asked_for(package):
    name = ".".join(package.relative_to(STUB.parent.parent).parts)
    program = Path(__file__).parent / "programs" / "first_access.py"
    result = subprocess.run([sys.executable, program, name], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n", 1) == [str(len(import_module(name).__all__)), ""]


@pytest.mark.parametrize("name", st.__all__)
def test_every_public_name_is_listed(name):
    assert name in dir(st)


def test_nothing_else_is_listed_but_the_version():
    assert set(dir(st)) == {*st.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    for name in ("Unheard", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'stumpery' has no attribute '{name}'"):
            getattr(st, name)


def test_importing_the_package_alone_is_light():
    code = "import sys, stumpery; print([m for m in ('numba', 'numpy', 'narwhals', 'typer') if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_importing_the_package_configures_no_logging():
    code = (
        "import logging, stumpery as st; st.UCB; print(logging.root.handlers, logging.getLogger('stumpery').handlers)"
    )
    assert run(code).stdout.strip() == "[] []"


def test_a_policy_brings_no_other_and_no_library_of_frames():
    code = "import sys, stumpery; stumpery.RewardForest; print(*(m for m in sys.modules if m.startswith('stumpery.')))"
    brought = run(code).stdout.split()
    assert "stumpery.policies.reward_forest.policy" in brought
    assert not {
        "stumpery.policies.linear.linear_policy",
        "stumpery.clicks.predictors.stump",
        "stumpery.streams",
        "narwhals",
    } & set(brought)


def test_a_star_import_brings_the_public_names():
    done = run("before = set(globals()); from stumpery import *; print(sorted(set(globals()) - before - {'before'}))")
    assert done.stdout.strip() == str(st.__all__), done.stderr


@pytest.mark.parametrize("command", [["--help"], ["study", "--help"], ["data", "--help"]])
def test_the_command_lines_help_needs_no_numba(command):
    done = run(WITHOUT_NUMBA + f"from stumpery.cli import app; app({command!r})")
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_parts_of_the_package_are_reached_by_attribute():
    assert run("import stumpery; print(stumpery.random.new_generator(7)[0])").stdout.strip() == "16920295385781661272"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_has_an_example(name):
    assert ">>> " in (getattr(public, name).__doc__ or ""), f"{name} shows no example"


def verbs(ending):
    """The public methods of public classes whose name matches, with what they return."""
    for name in CLASSES:
        for verb, method in inspect.getmembers(getattr(public, name), inspect.isfunction):
            if verb[0] != "_" and re.fullmatch(ending, verb):
                yield f"{name}.{verb}", inspect.signature(method).return_annotation


def test_verbs_of_many_rows_give_arrays_or_decisions():
    found = dict(verbs(".*_many"))
    assert {"UCB.decide_many", "LinUCB.probabilities_many", "Stump.predict_many"} <= set(found)
    others = {name: kind for name, kind in found.items() if get_origin(kind) is not np.ndarray}
    assert {name for name, kind in others.items() if kind not in (None, st.Decisions)} == set()


def test_every_explain_gives_an_explanation():
    found = dict(verbs("explain(_one)?"))
    assert {"UCB.explain", "ForestClassifier.explain_one", "ContentSelector.explain"} <= set(found)
    assert set(found.values()) == {Explanation}
