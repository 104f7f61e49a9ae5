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
MODULES = [  # whose names users meet, too
    "stumpery.errors",
    "stumpery.policies.exploration.explorers",
    "stumpery.streaming.scikit",
    "stumpery.streams",
    "stumpery.streams.transforms",
    "stumpery.types",
]


def public_members():
    """The classes and functions that the package, its families and its public modules offer, by their full names."""
    found = {}
    for name in FAMILIES + MODULES:
        module = import_module(name)
        own = [each for each, value in vars(module).items() if getattr(value, "__module__", None) == name]
        for each in getattr(module, "__all__", own):
            member = getattr(module, each)
            is_one = inspect.isclass(member) or inspect.isfunction(member)
            if is_one and not each.startswith("_") and member.__module__.startswith("stumpery"):
                found[f"{member.__module__}.{member.__qualname__}"] = member
    return found


MEMBERS = public_members()
CLASSES = {name: member for name, member in MEMBERS.items() if inspect.isclass(member)}


def parameters(member):
    """The parameters of a class or function, as its users give them."""
    if dataclasses.is_dataclass(member):
        return [field.name for field in dataclasses.fields(member) if field.init]
    if hasattr(member, "_fields"):  # a NamedTuple
        return list(member._fields)
    if inspect.isclass(member) and (issubclass(member, Exception) or getattr(member, "_is_protocol", False)):
        return []
    return [name for name in inspect.signature(member).parameters if name not in ("args", "kwargs")]


def described(member):
    """The parameters that the docstring describes; that of a base class leaves those of its own bases to them."""
    bases = member.__mro__[1:-1] if inspect.isabstract(member) else ()
    return [name for each in (member, *bases) for name in described_by(each)]


def described_by(member):
    doc = inspect.cleandoc(member.__doc__ or "")
    section = re.search(r"^Args:\n(.*?)(?:^\S|\Z)", doc, re.DOTALL | re.MULTILINE)
    return re.findall(r"^ {4}(\w+)(?: \([^)]*\))?: \S", section[1], re.MULTILINE) if section else []


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_every_parameter_of_a_public_class_or_function_is_described(member):
    assert [name for name in parameters(member) if name not in described(member)] == []


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_no_parameter_is_described_that_is_none(member):
    assert [name for name in described_by(member) if name not in parameters(member)] == []


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_the_summary_of_a_public_class_is_one_sentence(kind):
    summary = inspect.cleandoc(kind.__doc__).split("\n\n")[0]
    assert re.fullmatch(r"[^\n]+\.", summary), summary


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_every_public_class_that_can_be_made_has_an_example(kind):
    assert inspect.isabstract(kind) or ">>> " in kind.__doc__


def test_an_undescribed_parameter_is_found():
    @dataclasses.dataclass
    class Half:
        """A class of which one field is described.

        Args:
            left: the one
        """

        left: int
        right: int

    assert described(Half) == ["left"]
    assert parameters(Half) == ["left", "right"]
