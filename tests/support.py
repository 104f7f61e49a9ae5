"""What several tests need: programs in processes of their own, and comparisons of states."""

import ast
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from types import SimpleNamespace

import pytest

from stumpery.errors import StumperyError
from stumpery.saving.saveable import FAMILIES
from stumpery.types import State

PROGRAMS = Path(__file__).parent / "programs"


def public_names():
    """What the package and its families export, by name; of classes those that are complete."""
    found = {}
    for module in map(import_module, ("stumpery", *(f"stumpery.{family}" for family in FAMILIES))):
        found |= {name: getattr(module, name) for name in module.__all__}
    return {name: member for name, member in found.items() if not isabstract(member)}


public = SimpleNamespace(**public_names())
public.__all__ = sorted(vars(public))


def environment(cache, **switches):
    """The environment variables of a new process: a cache folder, switches, and none of our settings that hold here."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("STUMPERY_", "NUMBA_"))}
    return {**others, "STUMPERY_CACHE": str(cache), **switches}


def command_of(program, *arguments):
    """The command that runs a program of `tests/programs`, or one at another path; warnings are errors."""
    return [sys.executable, "-W", "error", str(PROGRAMS / program), *map(str, arguments)]


def output_of(command, variables=None):
    """What a command prints, which must succeed; it has these environment variables, or ours."""
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def run(program, *arguments, cache=None, **switches):
    """What a program prints in a new process, with a cache folder and switches of its own, or as it is here."""
    variables = os.environ | switches if cache is None else environment(cache, **switches)
    return output_of(command_of(program, *arguments), variables)


def run_code(code, cache, **switches):
    """What a line of Python prints in a new process."""
    return output_of([sys.executable, "-W", "error", "-c", code], environment(cache, **switches))


def names_in(folder):
    """The names of the files in a folder; none where there is no folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def imported_by(source):
    """The modules that a source file imports; those of `from package import name` as package.name."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def copy_of_state(model):
    """A model's state, which stays as it is when the model learns."""
    options, arrays = model.state()
    return State(options, {name: array.copy() for name, array in arrays.items()})


def restored(model):
    """A new model from a copy of a model's state."""
    return type(model).from_state(copy_of_state(model))


def bits_of(model):
    """The options and the arrays of a model or a state, in a form that is equal only if every bit is."""
    options, arrays = model if isinstance(model, State) else model.state()
    recipe = json.dumps(options, sort_keys=True, default=repr)
    return recipe, {name: (array.dtype, array.tobytes()) for name, array in arrays.items()}


def assert_same_state(found, expected):
    """Compare the states of two models, bit for bit; either may be a state itself."""
    (options, arrays), (other_options, others) = bits_of(found), bits_of(expected)
    assert options == other_options
    assert arrays.keys() == others.keys()
    assert [name for name, array in arrays.items() if array != others[name]] == []


def assert_same_play(found, expected):
    """Compare the decisions of two plays."""
    assert list(found.actions) == list(expected.actions)
    assert found.probabilities.tobytes() == expected.probabilities.tobytes()


@contextmanager
def refused(model=None, naming=".", error=StumperyError):
    """Expect an error of one short sentence, and the model's state as it was, bit for bit."""
    before = bits_of(model) if model else None
    with pytest.raises(error, match=naming) as caught:
        yield
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert 10 < len(sentence) < 500
    assert ". " not in sentence.replace("...", "").rstrip(".")
    if model:
        assert bits_of(model) == before


def mixed_rows(n, rng):
    """Rows of two numbers and a name, with missing values in all but the first."""
    rows = [
        {"age": float(rng.integers(18, 80)), "device": str(rng.choice(["phone", "watch", "desk"])), "x": rng.normal()}
        for _ in range(n)
    ]
    for row in rows[1:]:
        if rng.random() < 0.15:
            row[str(rng.choice(["age", "device", "x"]))] = None
    return rows
