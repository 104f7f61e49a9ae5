"""Event ring: what is written is read, however wide the columns are, and become."""

import numpy as np
import pytest

from stumpery.array_forest.binning_kernels import DOUBLE, DOUBLE_INFINITY, SINGLE, copy_events, round_row
from stumpery.array_forest.precision import needs_double, rounded_row
from stumpery.jit import kernel
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring_kernels import (
    BYTE,
    EVENT_ACTION,
    EVENT_REWARD,
    FLOAT,
    SHORT,
    fill_values,
    fits_widths,
    value_of,
    write_event,
)

N = 60


@kernel
def put_all(events, first, rows):
    """Remember rows from a time on, in place: action 2 earns a quarter."""
    for place in range(rows.shape[0]):
        write_event(events, first + place, rows[place], 2, 0.25)


@kernel
def has_place(events, row):
    """Whether a row fits."""
    return fits_widths(events, row)


@kernel
def read_all(events, values):
    """Write every event's values, in place: a row for each column."""
    for column in range(values.shape[0]):
        for place in range(values.shape[1]):
            values[column, place] = value_of(events, place, column)


@kernel
def held_row(values, widths, row):
    """Hold a row."""
    return round_row(values, widths, row)


@kernel
def read(events, copies, found, time, values):
    """Write the values of found events into `values`, in place: a row for each column, then actions and rewards."""
    n = found.shape[0]
    copy_events(events.words, found, n, time, copies.words)
    for column in range(values.shape[0] - 2):
        fill_values(copies, column, n, values[column])
    for index in range(n):
        values[-2, index] = copies.floats[index, EVENT_ACTION]
        values[-1, index] = copies.floats[index, EVENT_REWARD]


def mixed(n=N, seed=1):
    """Columns of all widths, with gaps."""
    rng = np.random.default_rng(seed)
    rows = np.stack(
        [
            rng.integers(0, 2, n),
            rng.normal(size=n),
            rng.integers(-32_767, 32_768, n),
            rng.integers(-127, 128, n),
            1e6 * rng.integers(1, 99, n),
            rng.integers(0, 400, n),
        ],
        axis=1,
    ).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = -np.inf
    return rows


WIDTHS = [BYTE, FLOAT, SHORT, BYTE, FLOAT, SHORT]


def test_a_column_takes_as_few_bytes_as_its_values_need():
    assert ring.widths_of(mixed()).tolist() == WIDTHS
    assert ring.widths_of(np.zeros((0, 2), np.float32)).tolist() == [BYTE, BYTE]
    assert ring.widths_of(np.float32([[127, 128, 32_767, 32_768, 0.5, -np.inf, np.inf]])).tolist() == [
        BYTE, SHORT, SHORT, FLOAT, FLOAT, BYTE, FLOAT,
    ]  # fmt: skip


@pytest.mark.parametrize("value", [0.0, 1.0, 127.0, -127.0, 128.0, -128.0, 0.5, 32_767.0, -32_768.0, 1e30, np.inf])
@pytest.mark.parametrize("width", [BYTE, SHORT, FLOAT])
def test_a_row_fits_where_its_columns_are_wide_enough(value, width):
    row = np.float32([value, -np.inf])
    events = ring.new_ring(3, np.array([width, BYTE], np.uint8))
    assert has_place(events, row) == (ring.widths_of(row[None])[0] <= width)


@pytest.mark.parametrize("n_kept", [7, N, 2 * N])
def test_events_come_out_as_they_went_in(n_kept):
    rows = mixed()
    events = ring.new_ring(n_kept, ring.widths_of(rows))
    put_all(events, 0, rows)
    found = np.arange(max(N - n_kept, 0), N, dtype=np.int32)[::-1].copy()
    values = np.zeros((rows.shape[1] + 2, len(found)), np.float32)
    read(events, ring.new_event_copies(events), found, N, values)
    assert np.array_equal(values[:-2].T, rows[found])
    assert set(values[-2]) == {2.0}
    assert set(values[-1]) == {0.25}
    assert np.array_equal(ring.event_rows(events, found % n_kept), rows[found])
    for column in range(rows.shape[1]):
        assert np.array_equal(ring.column_values(events, column)[found % n_kept], rows[found, column])


@pytest.mark.parametrize(("n_kept", "n_after"), [(N, N), (20, 20), (N, 13), (20, 13), (20, 70), (2 * N, 70)])
@pytest.mark.parametrize("widths", [WIDTHS, [SHORT, FLOAT, FLOAT, SHORT, FLOAT, SHORT], [FLOAT] * 6])
def test_a_ring_laid_out_anew_has_the_latest_events(n_kept, n_after, widths):
    rows = mixed()
    events = ring.new_ring(n_kept, ring.widths_of(rows))
    put_all(events, 0, rows)
    after = ring.with_layout(events, np.array(widths, np.uint8), n_after, N)
    numbers = np.arange(max(N - min(n_kept, n_after), 0), N)
    assert np.array_equal(ring.event_rows(after, numbers % n_after), rows[numbers])
    assert set(after.floats[numbers % n_after, EVENT_ACTION]) == {2.0}
    ring.validate(after, 3, np.zeros(6, np.bool_))


@pytest.mark.parametrize(("n_columns", "width", "size"), [(0, 1, 8), (8, 1, 16), (9, 1, 24), (94, 1, 104), (12, 4, 56)])
def test_events_take_whole_words(n_columns, width, size):
    events = ring.new_ring(5, np.full(n_columns, width, np.uint8))
    assert events.bytes.shape == (5, size)
    assert events.words.shape == (5, size // 8)


@pytest.mark.parametrize("value", [2.0, -2.0, 0.5, np.nan])
def test_an_event_of_an_action_that_does_not_exist_is_refused(value):
    events = ring.new_ring(4, np.array([BYTE], np.uint8))
    ring.validate(events, 2, np.array([True]))
    events.floats[1, EVENT_ACTION] = value
    with pytest.raises(ValueError, match=r"^corrupt file: the action of an event does not exist$"):
        ring.validate(events, 2, np.array([True]))


def large(n=N, seed=3):
    """Columns of which some need 64 bits, with gaps."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, 2, n),
        2**53 - rng.integers(1, 99, n),
        rng.normal(size=n).astype(np.float32),
        1.7e12 + rng.integers(0, 10**6, n),
        rng.choice([1e-300, 1e200, DOUBLE_INFINITY], n),
        5e7 + rng.integers(0, 100, n) / 100,
    ]
    rows = np.stack(columns, axis=1).astype(np.float64)
    rows[rng.random(rows.shape) < 0.1] = -np.inf
    return rows


def test_a_column_takes_eight_bytes_where_32_bits_lose_what_its_values_tell():
    assert ring.widths_of(large()).tolist() == [BYTE, DOUBLE, FLOAT, DOUBLE, DOUBLE, DOUBLE]
    kept = [2.0**24, 65_535.99, 0.1, 1e-37, 2.0**40, DOUBLE_INFINITY, -DOUBLE_INFINITY, 0.0, -np.inf]
    assert set(ring.widths_of(np.array([kept])).tolist()) <= {BYTE, SHORT, FLOAT}
    lost = [2.0**24 + 1, 65_536.01, 131_072.01, 3.5e38, -1e39, 1e-38 * 1.1, 5e-324, 2.0**40 + 1, -1e200]
    assert set(ring.widths_of(np.array([lost])).tolist()) == {DOUBLE}


def test_64_bits_come_out_as_they_went_in():
    rows = large()
    events = ring.new_ring(N, ring.widths_of(rows))
    put_all(events, 0, rows)
    assert events.bytes.shape[1] % 8 == 0
    assert np.array_equal(ring.event_rows(events, np.arange(N)), rows)
    values = np.zeros((rows.shape[1], N))
    read_all(events, values)
    assert np.array_equal(values.T, rows)
    ring.validate(events, 3, np.zeros(rows.shape[1], np.bool_))
    events.doubles[3, events.starts[1]] = np.nan
    with pytest.raises(ValueError, match="the value of an event is NaN"):
        ring.validate(events, 3, np.zeros(rows.shape[1], np.bool_))


@pytest.mark.parametrize("n_after", [N, 13])
def test_columns_become_wider_with_the_same_values(n_after):
    rows = mixed()
    events = ring.new_ring(N, ring.widths_of(rows))
    put_all(events, 0, rows)
    wider = ring.with_layout(events, np.full(rows.shape[1], DOUBLE, np.uint8), n_after, N)
    numbers = np.arange(N - n_after, N)
    assert np.array_equal(ring.event_rows(wider, numbers % n_after), rows[numbers])


@pytest.mark.parametrize("widths", [[SINGLE, SINGLE], [DOUBLE, SINGLE], [DOUBLE, DOUBLE]])
def test_values_are_held_as_python_says(widths):
    tried = [
        0.0,
        -0.0,
        0.1,
        1e5 + 0.1,
        2.0**24 + 1,
        1e-300,
        3e38,
        3.3e38,
        1e200,
        DOUBLE_INFINITY,
        -DOUBLE_INFINITY,
        -np.inf,
        5e-324,
    ]
    widths = np.array(widths, np.uint8)
    for value in tried:
        for other in tried:
            values, row = np.array([value, other]), np.zeros(2)
            fitted = held_row(values, widths, row)
            assert fitted == bool((~needs_double(values) | (widths == DOUBLE)).all())
            assert np.array_equal(row, rounded_row(values, widths))
