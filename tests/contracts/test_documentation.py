"""Every public class explains each of its parameters, and its example runs elsewhere as a doctest."""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import stumpery

PACKAGE = Path(stumpery.__file__).parent
FAMILIES = sorted(".".join(stub.parent.relative_to(PACKAGE.parent).parts) for stub in PACKAGE.glob("**/__init__.pyi"))


def public_classes():
    """The classes that the package and its families export."""
    found = {}
    for family in FAMILIES:
        module = import_module(family)
        for name in module.__all__:
            member = getattr(module, name)
            is_ours = inspect.isclass(member) and member.__module__.startswith("stumpery")
            if is_ours and not issubclass(member, Exception):
                found[f"{member.__module__}.{member.__qualname__}"] = member
    return found


CLASSES = public_classes()


def parameters(kind):
    """The parameters of a class, as its users give them."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.init]
    if hasattr(kind, "_fields"):  # a NamedTuple
        return list(kind._fields)
    return [name for name in inspect.signature(kind).parameters if name not in ("args", "kwargs")]


def described(kind):
    """The parameters that the class's own docstring describes."""
    section = re.search(r"^\s*Args:\n(.*?)(?:^\S|\Z)", inspect.getdoc(kind) or "", re.DOTALL | re.MULTILINE)
    return re.findall(r"^ {4}(\w+)(?: \([^)]*\))?: \S", section[1], re.MULTILINE) if section else []


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_every_parameter_of_a_public_class_is_described(kind):
    if inspect.isabstract(kind) or not parameters(kind):
        return
    assert [name for name in parameters(kind) if name not in described(kind)] == []


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_no_parameter_is_described_that_is_none(kind):
    assert [name for name in described(kind) if name not in parameters(kind)] == []
