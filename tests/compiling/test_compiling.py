"""How kernels are compiled: passing by pointer gives what Numba gives, and Numba itself is as without us."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload
from tests.support import run

from stumpery.compiling import EXTENDED
from stumpery.compiling.pointers import pinned
from stumpery.jit import INTERPRETED, internal, kernel

pytestmark = [pytest.mark.kernels, pytest.mark.plain]


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
    """A NamedTuple within a NamedTuple."""

    name: Plain
    inner: Inner
    table: np.ndarray


@internal
def count(inner, place):
    """Fold a place into the counts and sums, in place."""
    inner.counts[place] += 1
    inner.sums[place] += inner.scale * inner.counts[place]


@internal
def fill(outer, plain, n):
    """Count n places and add up the first sum in the table, in place: reads follow writes through one NamedTuple."""
    for place in range(n):
        count(outer.inner, place % outer.inner.counts.shape[0])
        outer.table[place % 2, 0] += outer.inner.sums[0] + plain.first
    return outer.name.second + plain.second


@kernel
def filled(outer, n):
    """Fill a NamedTuple that came from Python."""
    return fill(outer, Plain(n, 0.5), n)


@kernel
def filled_copy(counts, table, n):
    """Fill a NamedTuple that was made in the kernel, others in turn."""
    total = 0.0
    for scale in range(2):
        outer = Outer(Plain(1, 2.0), Inner(counts, np.zeros(3), 1.0 + scale), table)
        total += fill(outer, outer.name, n) + outer.inner.sums[2]
    return total


def state():
    return Outer(Plain(3, 0.25), Inner(np.zeros(3, np.int32), np.zeros(3), 2.0), np.zeros((2, 4)))


def test_arrays_passed_by_pointer_are_read_and_written():
    actual, expected = state(), state()
    assert filled(actual, 11) == 0.75
    table = expected.table
    for place in range(11):
        expected.inner.counts[place % 3] += 1
        expected.inner.sums[place % 3] += 2.0 * expected.inner.counts[place % 3]
        table[place % 2, 0] += expected.inner.sums[0] + 11
    assert np.array_equal(actual.inner.counts, expected.inner.counts)
    assert np.array_equal(actual.inner.sums, expected.inner.sums)
    assert np.array_equal(actual.table, table)


def test_named_tuples_made_in_a_kernel_can_be_passed_one_after_the_other():
    counts, table = np.zeros(3, np.int32), np.zeros((2, 2))
    assert filled_copy(counts, table, 6) == 2 * (2.0 + 2.0) + (1 + 2) + 2.0 * (3 + 4)
    assert counts.tolist() == [4, 4, 4]


@internal
def missing(inner):
    """Ask for what is not there."""
    return inner.nothing


@kernel
def ask_for_missing(outer):
    """A mistake of whoever wrote it."""
    return missing(outer.inner)


def test_a_member_that_is_not_there_is_named():
    with pytest.raises((TypingError, AttributeError), match="nothing"):
        ask_for_missing(state())


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


@internal
def told(inner):
    """The number that distinguishes NamedTuples."""
    return inner.scale


@kernel
def told_in_turn(one, two, n):
    """Variables that exchange their NamedTuples, and one that is the one or the other."""
    found = 0.0
    for place in range(n):
        one, two = two, one
        found = 10.0 * found + told(one)
        either = one if place % 2 else two
        found = 10.0 * found + told(either)
    return found


def test_a_variable_is_passed_as_it_is_at_the_call():
    one, two = (state().inner._replace(scale=scale) for scale in (1.0, 2.0))
    assert told_in_turn(one, two, 3) == 211121.0


def test_named_tuples_of_the_same_name_are_told_apart():
    def two_of(first, second):
        return NamedTuple("Pair", [(first, np.ndarray), (second, np.ndarray)])

    @internal
    def left(pair):
        return pair.left[0]

    @kernel
    def left_of(pair):
        return left(pair)

    assert left_of(two_of("left", "right")(np.ones(2), np.zeros(2))) == 1.0
    assert left_of(two_of("right", "left")(np.ones(2), np.zeros(2))) == 0.0


@pytest.mark.skipif(INTERPRETED or not EXTENDED, reason="nothing is passed by pointer")
def test_an_internal_function_cannot_keep_or_return_what_it_got_by_pointer():
    @internal
    def same(inner):
        return inner

    @internal
    def each(inner):
        for place in range(3):
            yield inner.sums[place]

    @internal
    def either(inner, counts, is_new):
        found = Inner(counts, inner.sums, 1.0) if is_new else inner
        return found.scale

    with pytest.raises(TypingError, match="same stores or returns a NamedTuple that was passed by pointer"):
        kernel(lambda inner: same(inner).scale)(state().inner)
    with pytest.raises(TypingError, match="each stores or returns a NamedTuple that was passed by pointer"):
        kernel(lambda inner: sum(each(inner)))(state().inner)
    with pytest.raises(TypingError, match="Cannot unify"):
        kernel(lambda inner: either(inner, inner.counts, False))(state().inner)


@pytest.mark.parametrize("turn", [1, -1], ids=["forward", "backward"])
def test_a_pinned_named_tuple_is_the_same_to_a_kernel(turn):
    outer, again = state(), state()
    outer = outer._replace(table=outer.table[::turn])
    again = again._replace(table=again.table[::turn])
    pinned_state = pinned(outer)
    assert filled(pinned_state, 7) == filled(again, 7)
    assert filled(pinned_state, 4) == filled(again, 4)
    assert np.array_equal(outer.table, again.table) and np.array_equal(outer.inner.sums, again.inner.sums)


@pytest.mark.skipif(INTERPRETED or not EXTENDED, reason="NamedTuples are passed as they are")
@pytest.mark.parametrize("value", [True, "a name", np.float32(1.0), None])
def test_what_takes_no_whole_word_cannot_be_pinned(value):
    with pytest.raises(TypeError, match="cannot pin"):
        pinned(Inner(np.ones(2), np.ones(2), value))


@pytest.mark.skipif(not EXTENDED or INTERPRETED, reason="an internal function is an ordinary one")
def test_an_internal_function_cannot_be_called_from_python():
    for _ in range(2):  # before it is compiled, and after
        with pytest.raises(TypeError, match="told can only be called by kernels"):
            told(state().inner)
        told_in_turn(state().inner, state().inner, 1)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_users_own_numba_code_is_compiled_as_without_us(tmp_path):
    said = run("users_numba_code.py", "with", STUMPERY_CACHE=str(tmp_path))
    assert said == run("users_numba_code.py", "without", STUMPERY_CACHE=str(tmp_path))
    assert "ZeroDivisionError" not in said and "refused" in said


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize(("minor", "plain"), [(10, "0"), (10, "1"), (99, "0")])
def test_a_version_of_numba_that_is_not_tested_compiles_plainly_with_one_warning(tmp_path, minor, plain):
    said = run("untested_numba.py", minor, cache=tmp_path, STUMPERY_PLAIN=plain)
    if plain == "1":
        assert said == "False 0 1.0 CPUDispatcher"
    else:
        assert said.startswith(f"False 1 Numba 0.{minor}.1 is outside the range 0.66 to 0.68 that Stumpery's ")
        assert said.endswith("STUMPERY_PLAIN=1 chooses this without a warning 1.0 CPUDispatcher")
