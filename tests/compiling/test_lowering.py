"""How kernels come to LLVM's code: elements, rows, ranges, variables and calls give what plain Python gives."""

import numpy as np
import pytest
from numba import njit

from stumpery.compiling import EXTENDED
from stumpery.jit import INTERPRETED, internal, kernel

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

COMPILED = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


@internal
def elements(numbers, table, cube):
    """Read and write by one, two and three places, whole ones of several kinds, fixed or not."""
    small, unsigned = np.int32(1), np.uint8(2)
    numbers[small] = numbers[unsigned] + table[small, unsigned] + cube[1, small, unsigned]
    numbers[0] += table[1, 2] * cube[0, 0, 1]
    table[unsigned - 1, 0] -= numbers[small]
    cube[1, 0, 0] = numbers[-1] + table[-1, 0] + table[0, -1]  # these count from the end
    return numbers[0] + len(numbers) + table.shape[0] * table.shape[1] + cube.shape[2] + table.size


@kernel
def run_elements(numbers, table, cube):
    return elements(numbers, table, cube)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i2", "u1"])
def test_elements_are_where_python_finds_them(kind, order):
    def made():
        return [
            np.arange(np.prod(shape)).reshape(shape).astype(kind).copy(order) for shape in ((4,), (2, 3), (2, 2, 3))
        ]

    mine, plain = made(), made()
    with np.errstate(all="ignore"):
        result = run_elements(*mine)
        expected = (run_elements if INTERPRETED else njit(elements.py_func))(*plain)
    assert result == expected
    assert all(map(np.array_equal, mine, plain))


@internal
def rows(table, cube):
    """Rows and planes are views, of which rows and elements can be asked."""
    row, plane = table[1], cube[1]
    row[0] += 100.0
    plane[0][1] += row[2] + plane[1, 0]
    cube[0, 1][2] = plane.shape[0] * 10 + plane[1].shape[0] + row.size
    return last(row) + last(cube[1, 1]) + total(plane) + len(cube[0])


@internal
def last(row):
    return row[row.shape[0] - 1]


@internal
def total(table):
    """Over a view's rows, and their elements."""
    found = 0.0
    for row in range(table.shape[0]):
        for value in table[row]:
            found += value
    return found


@kernel
def run_rows(table, cube):
    return rows(table, cube)


def test_rows_are_views():
    table, cube = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(2, 2, 3)
    result = run_rows(table, cube)
    assert table.tolist() == [[0, 1, 2], [103, 4, 5]]
    assert cube.tolist() == [[[0, 1, 2], [3, 4, 26]], [[6, 21, 8], [9, 10, 11]]]
    assert result == 5 + 11 + (6 + 21 + 8 + 9 + 10 + 11) + 2


@internal
def flags(mask, counts):
    """Bools are bytes in memory, and bits elsewhere."""
    mask[1] = mask[0] and not mask[2]
    counts[0] = mask[1]
    return mask[1]


@kernel
def run_flags(mask, counts):
    return flags(mask, counts)


def test_bools_are_read_and_written():
    for first in (False, True):
        for third in (False, True):
            mask, counts = np.array([first, False, third]), np.zeros(1, np.int64)
            assert run_flags(mask, counts) == (first and not third)
            assert mask[1] == counts[0] == (first and not third)


@internal
def steps(out, start, stop, by):
    """Ranges with steps of 1, others that are known, and one that is not; how many of each, and their sum."""
    for place in range(stop):
        out[0, 0] += 1
        out[0, 1] += place
    for place in range(start, stop):
        out[1, 0] += 1
        out[1, 1] += place
    for place in range(start, stop, 3):
        out[2, 0] += 1
        out[2, 1] += place
    for place in range(stop, start, -1):
        out[3, 0] += 1
        out[3, 1] += place
    for place in range(stop, start, -4):
        out[4, 0] += 1
        out[4, 1] += place
    for place in range(start, stop, by):
        out[5, 0] += 1
        out[5, 1] += place


@kernel
def run_steps(out, start, stop, by):
    steps(out, start, stop, by)


@pytest.mark.parametrize("by", [-3, -1, 1, 2, 7])
def test_ranges_give_pythons_numbers(by):
    for start in range(-5, 6):
        for stop in range(-5, 14):
            out = np.zeros((6, 2), np.int64)
            run_steps(out, start, stop, by)
            known = [
                (0, stop),
                (start, stop),
                (start, stop, 3),
                (stop, start, -1),
                (stop, start, -4),
                (start, stop, by),
            ]
            assert out.tolist() == [[len(range(*each)), sum(range(*each))] for each in known]


@COMPILED
def test_a_step_of_nothing_is_refused():
    with pytest.raises(ValueError, match="must not be zero"):
        run_steps(np.zeros((6, 2), np.int64), 0, 3, 0)


@internal
def ways(values, n):
    """Variables set on some ways only, changed in loops, left early, and used after loops."""
    best, found = -1, 0.0
    for place in range(n):
        value = values[place]
        if value < 0:
            continue
        if value > 10:
            found = value
            break
        if best < 0 or value > values[best]:
            best = place
            before = found
            found = before + value
    else:
        found += 0.5
    while n > 0:
        n -= 1
        if values[n] == 3.0:
            last_three = n
            best += last_three
    return found * 100 + best * 10 + n


@kernel
def run_ways(values, n):
    return ways(values, n)


def test_variables_keep_their_values_on_every_way():
    def plainly(values, n):
        return ways.py_func(values, n) if not INTERPRETED else ways(values, n)

    rng = np.random.default_rng(7)
    for _ in range(300):
        values = rng.integers(-3, 13, 8).astype(float)
        n = int(rng.integers(0, 9))
        assert run_ways(values, n) == plainly(values, n)


@internal
def swapped(pairs, n):
    """Values that change places in a loop, by way of tuples."""
    first, second = 0, 1
    for place in range(n):
        first, second = second, first + pairs[place]
        both = first, second
        first, second = both[1], both[0]
    return first, second


@kernel
def run_swapped(pairs, n):
    return swapped(pairs, n)


def test_values_change_places():
    pairs = np.arange(5)
    plain = swapped if INTERPRETED else swapped.py_func
    for n in range(6):
        assert run_swapped(pairs, n) == plain(pairs, n)


@internal
def checked(value):
    """A part that may fail."""
    if value < 0:
        raise ValueError("less than nothing")
    return value


@internal
def within(values, place):
    """One that fails where another does, after it wrote."""
    values[0] = place
    return checked(values[place]) + 1.0


@kernel
def run_within(values, place):
    return within(values, place)


def test_what_fails_is_told_through_all_calls():
    values = np.array([0.0, 4.0, -1.0])
    assert run_within(values, 1) == 5.0
    with pytest.raises(ValueError, match="less than nothing"):
        run_within(values, 2)
    assert values[0] == 2


@internal
def choices(first, second, wide):
    return max(first, second), min(first, second), max(first, wide), min(wide, 3), int(first), int(wide), max(1, 2)


@kernel
def run_choices(first, second, wide):
    return choices(first, second, wide)


@kernel
def most_of(first, second, third):
    return max(first, second, third) + largest(first, second, third)


@internal
def largest(first, second, third):
    """More than two, and those of a tuple."""
    return max(first, second, third) * max((first, second, third))


def test_the_larger_the_smaller_and_the_whole_are_pythons():
    numbers = [0.0, -0.0, 2.5, -2.5, float("nan"), float("inf")]
    plain = choices if INTERPRETED else choices.py_func
    for first in numbers[:4]:
        for second in numbers:
            for wide in (-3, 0, 7):
                assert list(map(repr, map(float, run_choices(first, second, wide)))) == list(
                    map(repr, map(float, plain(first, second, wide)))
                )
    assert most_of(1.0, 3.0, 2.0) == 3 + 9


LAST = np.int32(-1)


@internal
def evens(n):
    return range(0, 2 * n, 2)


@internal
def unusual(n, pair, records, values):
    """What looks like something shorter and is not."""
    found = 0
    for number in evens(n):  # a range of another function's
        found += number
    for number in range(*pair):
        found += 100 * number
    larger = max
    found += larger(n, 3) + larger(n, 3, 9)
    return found + records["x"][1] + values[LAST] + tried(values, n)


@internal
def tried(values, n):
    """A way that ends within a block, and a variable that was set before."""
    found = 1.0
    try:
        found += values[0]
        if n > 4:
            raise ValueError("too many")
        found += 10.0
    except Exception:
        found += 100.0
    return found


@kernel
def run_unusual(n, pair, records, values):
    return unusual(n, pair, records, values)


@pytest.mark.parametrize("n", [0, 4, 7])
def test_what_is_unusual_is_left_to_the_compiler(n):
    records = np.array([(1, 2.0), (3, 4.0)], np.dtype([("x", "f8"), ("y", "f8")]))
    values = np.array([5.0, 6.0, 7.0])
    expected = n * (n - 1) + 100 * (2 + 3) + max(n, 3) + max(n, 9) + 3 + 7 + (1 + 5 + (100 if n > 4 else 10))
    assert run_unusual(n, (2, 4), records, values) == expected


@internal
def element(values, table, place):
    """Indices that are known only at run time: alone, in tuples, for views, in arrays with gaps."""
    return values[place] + table[place, 1] + table[0, place] + table[place][1] + table[:, place][1]


@internal
def written(values, table, place):
    """The same to write to."""
    values[place] = 5.0
    table[place, 1] = 6.0
    table[0, place] += 7.0
    return values[place]


@kernel
def run_element(values, table, place):
    return element(values, table, place)


@kernel
def run_written(values, table, place):
    return written(values, table, place)


@kernel
def run_narrow(values, places):
    """An index of fewer bits, in the kernel itself."""
    return values[places[0]]


INDEXED = {
    "read in an internal function": run_element,
    "written in an internal function": run_written,
    "read in a kernel": lambda values, table, place: run_narrow(values, np.array([place], np.int32)),
    "written in a kernel": lambda values, table, place: direct(values, place),
    "in a kernel that another one calls": lambda values, table, place: run_direct(values, place),
}


@kernel
def direct(values, place):
    values[place] += 1.0
    return values[place]


@kernel
def run_direct(values, place):
    return direct(values, place)


@pytest.mark.parametrize("way", INDEXED)
@pytest.mark.parametrize("step", [1, 2])
def test_a_negative_index_is_refused_or_counts_from_the_end_whoever_asks(way, step):
    def made():
        return np.arange(4.0 * step)[::step], np.arange(16.0 * step * step).reshape(4 * step, 4 * step)[::step, ::step]

    values, table = made()
    last = INDEXED[way](values, table, 3)
    for place in (-1, -4):
        same, other = made()
        if EXTENDED and not INTERPRETED:
            with pytest.raises(IndexError, match="a negative index counts from the end only where it is a constant"):
                INDEXED[way](same, other, place)
            assert np.array_equal(same, made()[0]) and np.array_equal(other, made()[1])
        elif place == -1:
            assert INDEXED[way](same, other, place) == last
            assert np.array_equal(same, values) and np.array_equal(other, table)


COLUMN, ROW = -2, np.int32(-1)


@internal
def constants(table, n):
    """Negative constants: a literal, globals, beside an index that is not one, across a loop."""
    found = 0.0
    for place in range(n):
        found += table[place, COLUMN] + table[ROW, -1] + table[ROW][COLUMN] + table[np.uint8(1), ROW]
        table[place, -1] = found
    return found + table[ROW, ROW]


@kernel
def run_constants(table, n):
    return constants(table, n)


@internal
def unusual_index(values, places, place, chosen):
    """An array that may be missing, and others as an index."""
    perhaps = values if chosen else None
    found = values[places][0]
    if perhaps is not None:
        found += perhaps[0] + perhaps[place]
    return found


@kernel
def run_unusual_index(values, places, place, chosen):
    return unusual_index(values, places, place, chosen)


def test_an_array_may_be_missing_or_an_index():
    values, places = np.array([2.0, 3.0, 5.0]), np.arange(3) - 2
    assert run_unusual_index(values, places, 2, True) == 3.0 + 2.0 + 5.0
    assert run_unusual_index(values, places, 1, False) == 3.0
    if EXTENDED and not INTERPRETED:
        with pytest.raises(IndexError, match="a negative index"):
            run_unusual_index(values, places, -1, True)


def test_negative_constants_count_from_the_end():
    mine, plain = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
    expected = (constants if INTERPRETED else constants.py_func)(plain, 3)
    assert run_constants(mine, 3) == expected
    assert np.array_equal(mine, plain)


@internal
def cautious(values, place):
    """A negative index within a try, and in a generator."""
    try:
        found = values[place]
    except Exception:
        found = -1.0
    return found


@kernel
def run_cautious(values, place):
    return cautious(values, place)


@pytest.mark.skipif(not EXTENDED or INTERPRETED, reason="a negative index counts from the end")
def test_a_refused_index_can_be_caught():
    assert run_cautious(np.arange(3.0), 1) == 1.0
    assert run_cautious(np.arange(3.0), -1) == -1.0


@internal
def kept(n):
    """An array of its own, that is counted as Numba counts."""
    made = np.zeros((n, 2))
    for row in range(n):
        made[row, 1] = row
    return made[1:]


@internal
def through(table, n):
    """Views of what it makes and of what it was given, one or the other."""
    mine = kept(n)
    chosen = mine if n > 2 else table
    chosen[0, 0] += 5.0
    return chosen[0, 0] + mine.sum()


@kernel
def run_through(table, n):
    return through(table, n)


def test_arrays_that_parts_make_live_as_long_as_they_are_used():
    for n in (1, 2, 3, 50):
        table = np.ones((2, 2))
        assert run_through(table, n) == (5 + 5 + sum(range(n)) if n > 2 else 6 + sum(range(n)))
        assert table[0, 0] == (1 if n > 2 else 6)


@COMPILED
def test_the_compilers_own_functions_are_left_alone():
    assert njit(lambda values, place: values[place])(np.arange(3.0), -2) == 1.0
    assert njit(lambda first, second: max(first, second) is True)(True, False)
