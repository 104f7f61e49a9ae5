"""How kernels are compiled: lent bundles, and Numba's work done once, give what Numba gives."""

import gc
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite.binding import ffi
from numba import njit
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.core.targetconfig import TargetConfig
from numba.extending import overload

from stumpery import compiling
from stumpery.jit import INTERPRETED, kernel, part

pytestmark = pytest.mark.kernels


class Inner(NamedTuple):
    """Arrays of two kinds, and a number."""

    counts: np.ndarray
    sums: np.ndarray
    scale: float


class Plain(NamedTuple):
    """No array."""

    first: int
    second: float


class Outer(NamedTuple):
    """A bundle within a bundle."""

    name: Plain
    inner: Inner
    table: np.ndarray


@part
def count(inner, place):
    """Fold a place into the counts and sums, in place."""
    inner.counts[place] += 1
    inner.sums[place] += inner.scale * inner.counts[place]


@part
def fill(outer, plain, n):
    """Count n places and add up the first sum in the table, in place: reads follow writes through the same bundle."""
    for place in range(n):
        count(outer.inner, place % outer.inner.counts.shape[0])
        outer.table[place % 2, 0] += outer.inner.sums[0] + plain.first
    return outer.name.second + plain.second


@kernel
def filled(outer, n):
    """Fill a bundle that came from Python."""
    return fill(outer, Plain(n, 0.5), n)


@kernel
def filled_copy(counts, table, n):
    """Fill a bundle that was made here, others in turn."""
    total = 0.0
    for scale in range(2):
        outer = Outer(Plain(1, 2.0), Inner(counts, np.zeros(3), 1.0 + scale), table)
        total += fill(outer, outer.name, n) + outer.inner.sums[2]
    return total


def bundle():
    return Outer(Plain(3, 0.25), Inner(np.zeros(3, np.int32), np.zeros(3), 2.0), np.zeros((2, 4)))


def test_a_lent_bundle_is_read_and_written_as_the_same_arrays():
    found, wanted = bundle(), bundle()
    assert filled(found, 11) == 0.75
    table = wanted.table
    for place in range(11):
        wanted.inner.counts[place % 3] += 1
        wanted.inner.sums[place % 3] += 2.0 * wanted.inner.counts[place % 3]
        table[place % 2, 0] += wanted.inner.sums[0] + 11
    assert np.array_equal(found.inner.counts, wanted.inner.counts)
    assert np.array_equal(found.inner.sums, wanted.inner.sums)
    assert np.array_equal(found.table, table)


def test_bundles_made_in_a_kernel_can_be_lent_one_after_the_other():
    counts, table = np.zeros(3, np.int32), np.zeros((2, 2))
    assert filled_copy(counts, table, 6) == 2 * (2.0 + 2.0) + (1 + 2) + 2.0 * (3 + 4)
    assert counts.tolist() == [4, 4, 4]


@part
def missing(inner):
    """Ask for what is not there."""
    return inner.nothing


@kernel
def ask_for_missing(outer):
    """A mistake of whoever wrote it."""
    return missing(outer.inner)


def test_a_member_that_is_not_there_is_named():
    with pytest.raises((TypingError, AttributeError), match="nothing"):
        ask_for_missing(bundle())


def plus_one(number):
    """Nothing that Numba knows, at first."""
    return number + 1


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_what_the_compiler_learns_later_is_found():
    with pytest.raises(TypingError):
        njit(lambda number: -plus_one(number))(1)
    overload(plus_one)(lambda number: lambda number: number + 1)
    assert njit(lambda number: -plus_one(number))(1) == -2
    assert njit(lambda number: -plus_one(number))(1.5) == -2.5


@pytest.mark.skipif(INTERPRETED or not compiling.KNOWN, reason="nothing is compiled, or by another Numba")
def test_an_operator_is_looked_up_once_for_the_same_kinds_of_numbers(monkeypatch):
    looked_up = []

    def find(function, context, arguments, named):
        looked_up.append(arguments)
        function._impl_keys[arguments] = "a way"
        return way

    class Way(NamedTuple):
        args: tuple

    class Function:
        _impl_keys: dict = {}  # noqa: RUF012

    way, function = Way(("int",)), Function()
    found = compiling._once(find)
    assert [found(function, "context", ("int",), {}) for _ in range(3)] == [way] * 3
    assert looked_up == [("int",)]
    found(function, "another context", ("int",), {})
    found(function, "context", ("int",), {"named": 1})
    found(function, "context", ("int",), {"named": 1})
    assert len(looked_up) == 4


def test_compiling_leaves_listeners_and_collector_as_they_were():
    before = ffi.lib._lock._cblist
    seen = []
    compiling.undisturbed(lambda: seen.append((gc.isenabled(), list(ffi.lib._lock._cblist))))()
    assert seen == [(False, [])]
    assert ffi.lib._lock._cblist is before and gc.isenabled()
    with pytest.raises(ValueError, match="invalid literal"):
        compiling.undisturbed(int)("none")
    assert ffi.lib._lock._cblist is before and gc.isenabled()


def test_objects_that_somebody_has_frozen_stay_frozen():
    gc.freeze()
    n_frozen = gc.get_freeze_count()
    try:
        compiling.undisturbed(abs)(-3)
        assert gc.get_freeze_count() == n_frozen > 0
    finally:
        gc.unfreeze()


def test_a_collector_that_rests_for_another_thread_is_left_to_it(monkeypatch):
    collected, calls = gc.isenabled(), []
    gc.disable()
    monkeypatch.setattr(gc, "disable", lambda: calls.append("off"))
    monkeypatch.setattr(gc, "enable", lambda: calls.append("on"))
    try:
        assert compiling.undisturbed(abs)(-3) == 3
    finally:
        monkeypatch.undo()
        if collected:
            gc.enable()
    assert calls == []


def test_compiler_options_are_equal_where_all_their_values_are():
    options = Flags()
    same, other, more = Flags(), Flags(), Flags()
    same.nrt = options.nrt  # set to what it is anyway
    other.nrt = not options.nrt
    more.nrt, more.boundscheck = not options.nrt, True
    assert options == same and hash(options) == hash(same)
    assert other == other.copy() and hash(other) == hash(other.copy())
    assert len({options, same, other, more}) == 3
    assert options != "options"
    assert options != TargetConfig()
