"""The public names, and what comes in when they are asked for."""

import inspect
import subprocess
import sys

import pytest

import stumpery as st
from stumpery import public

CLASSES = [name for name in public.__all__ if inspect.isclass(getattr(public, name))]
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None; "  # from here on its import fails


def run(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def test_the_public_names_are_exactly_the_export_list():
    brought = {name for name in vars(public) if not name.startswith("_")}
    assert brought == set(public.__all__)
    assert st.__all__ == public.__all__


def test_the_export_list_is_sorted_and_names_nothing_twice():
    def order(name):
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert public.__all__ == sorted(set(public.__all__), key=order)


@pytest.mark.parametrize("name", public.__all__)
def test_every_public_name_is_there_and_listed(name):
    assert getattr(st, name) is getattr(public, name)
    assert name in dir(st)


def test_nothing_else_is_listed_but_the_version():
    assert set(dir(st)) == {*public.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    for name in ("Unheard", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'stumpery' has no attribute '{name}'"):
            getattr(st, name)


def test_importing_the_package_alone_is_light():
    code = "import sys, stumpery; print([m for m in ('numba', 'numpy', 'narwhals', 'typer') if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_a_star_import_brings_the_public_names():
    done = run("before = set(globals()); from stumpery import *; print(sorted(set(globals()) - before - {'before'}))")
    assert done.stdout.strip() == str(sorted(public.__all__)), done.stderr


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
