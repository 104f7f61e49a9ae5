"""How kernels are compiled: lent bundles, and Numba's work done once, give what Numba gives."""

import gc
from threading import Thread
from time import sleep
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite.binding import ffi
from numba import njit, types
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.core.targetconfig import TargetConfig
from numba.extending import overload

from stumpery import compiling
from stumpery.compiling import lending, once
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


@part
def told(inner):
    """The number that tells bundles apart."""
    return inner.scale


@kernel
def told_in_turn(one, two, n):
    """Variables that exchange their bundles, and one that is the one or the other."""
    found = 0.0
    for place in range(n):
        one, two = two, one
        found = 10.0 * found + told(one)
        either = one if place % 2 else two
        found = 10.0 * found + told(either)
    return found


def test_a_variable_is_lent_as_it_is_at_the_call():
    one, two = (bundle().inner._replace(scale=scale) for scale in (1.0, 2.0))
    assert told_in_turn(one, two, 3) == 211121.0


def test_bundles_of_the_same_name_are_told_apart():
    def two_of(first, second):
        return NamedTuple("Pair", [(first, np.ndarray), (second, np.ndarray)])

    @part
    def left(pair):
        return pair.left[0]

    @kernel
    def left_of(pair):
        return left(pair)

    assert left_of(two_of("left", "right")(np.ones(2), np.zeros(2))) == 1.0
    assert left_of(two_of("right", "left")(np.ones(2), np.zeros(2))) == 0.0


@pytest.mark.skipif(INTERPRETED or not compiling.KNOWN, reason="nothing is lent")
def test_a_part_cannot_keep_or_give_back_what_it_was_lent():
    @part
    def same(inner):
        return inner

    @part
    def each(inner):
        for place in range(3):
            yield inner.sums[place]

    @part
    def either(inner, counts, is_new):
        found = Inner(counts, inner.sums, 1.0) if is_new else inner
        return found.scale

    with pytest.raises(TypingError, match="same keeps or gives back a bundle that it was only lent"):
        kernel(lambda inner: same(inner).scale)(bundle().inner)
    with pytest.raises(TypingError, match="each keeps or gives back a bundle that it was only lent"):
        kernel(lambda inner: sum(each(inner)))(bundle().inner)
    with pytest.raises(TypingError, match="Cannot unify"):
        kernel(lambda inner: either(inner, inner.counts, False))(bundle().inner)


@pytest.mark.parametrize("turn", [1, -1], ids=["forward", "backward"])
def test_a_held_bundle_is_the_same_to_a_kernel(turn):
    outer, again = bundle(), bundle()
    outer = outer._replace(table=outer.table[::turn])
    again = again._replace(table=again.table[::turn])
    bundles = lending.held(outer)
    assert filled(bundles, 7) == filled(again, 7)
    assert filled(bundles, 4) == filled(again, 4)
    assert np.array_equal(outer.table, again.table) and np.array_equal(outer.inner.sums, again.inner.sums)


@pytest.mark.skipif(INTERPRETED or not compiling.KNOWN, reason="bundles are passed as they are")
@pytest.mark.parametrize("value", [True, "a name", np.float32(1.0), None])
def test_what_takes_no_whole_word_cannot_be_held(value):
    with pytest.raises(TypeError, match="cannot be held"):
        lending.held(Inner(np.ones(2), np.ones(2), value))


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_an_operator_is_looked_up_once_for_the_same_numbers_and_options(monkeypatch):
    looked_up = []

    def counted(function, context, arguments, named):
        looked_up.append(tuple(map(str, arguments)))
        return find(function, context, arguments, named)

    find = types.BaseFunction.get_call_type.__wrapped__ if compiling.KNOWN else types.BaseFunction.get_call_type
    monkeypatch.setattr(types.BaseFunction, "get_call_type", once._once(counted))
    wanted = ("int16", "float32")
    for name in ("first", "second"):
        source = njit(lambda one, other: one * other + one * other)
        assert source(np.int16(3), np.float32(0.5)) == 3.0, name
    assert looked_up.count(wanted) == 1
    njit(fastmath=True)(lambda one, other: one * other)(np.int16(3), np.float32(0.5))
    assert looked_up.count(wanted) == 2


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_the_compiler_works_as_before_for_others():
    values = np.arange(4.0)
    assert njit(parallel=True)(lambda array: (array + 1).sum())(values) == 10.0
    with pytest.raises(ZeroDivisionError):
        njit(lambda one, other: one // other)(1, 0)


def test_compiling_leaves_listeners_and_collector_as_they_were():
    before = ffi.lib._lock._cblist
    seen = []
    once.undisturbed(lambda: seen.append((gc.isenabled(), list(ffi.lib._lock._cblist))))()
    assert seen == [(False, [])]
    assert ffi.lib._lock._cblist == before and gc.isenabled()
    with pytest.raises(ValueError, match="invalid literal"):
        once.undisturbed(int)("none")
    assert ffi.lib._lock._cblist == before and gc.isenabled()


def test_who_begins_to_listen_meanwhile_is_told_afterwards():
    before, mine = list(ffi.lib._lock._cblist), (lambda: None, lambda: None)
    once.undisturbed(ffi.register_lock_callback)(*mine)
    try:
        assert ffi.lib._lock._cblist == [*before, mine]
    finally:
        ffi.unregister_lock_callback(*mine)


def test_kernels_that_two_threads_compile_leave_all_as_it_was():
    before = list(ffi.lib._lock._cblist)
    compile_ = once.undisturbed(lambda: sleep(0.01))
    threads = [Thread(target=compile_) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ffi.lib._lock._cblist == before and gc.isenabled()


def test_a_collector_that_rests_stays_so():
    collected = gc.isenabled()
    gc.disable()
    try:
        assert once.undisturbed(abs)(-3) == 3
        assert not gc.isenabled()
    finally:
        if collected:
            gc.enable()


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
