"""Packed arrays come back bit for bit, and hostile ones are refused before anything large is made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stumpery.saving import packing


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    kind=some.sampled_from(sorted(packing.TYPES)),
    shape=some.lists(some.integers(1, 40), min_size=1, max_size=3),
    n_filled=some.integers(0, 40),
    seed=some.integers(0, 2**32),
)
def test_what_is_packed_comes_back_bit_for_bit(kind, shape, n_filled, seed):
    rng = np.random.default_rng(seed)
    array = np.zeros(shape, kind)
    flat = array.reshape(-1)
    places = rng.integers(0, len(flat), n_filled)
    flat[places] = rng.integers(0, 2, n_filled).astype(kind)
    packed = packing.pack(array)
    if packed is None:
        assert array.nbytes < packing.MIN_BYTES or 10 * n_filled > array.nbytes // 10
        return
    assert packed.n_bytes < array.nbytes
    back = packing.unpack(packed._asdict(), [kind, shape])
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_negative_zeros_and_nan_survive():
    array = np.zeros(1000)
    array[3], array[500] = -0.0, np.frombuffer(np.uint64(0x7FF8_0000_0000_1234).tobytes())[0]
    packed = packing.pack(array)
    assert packing.unpack(packed._asdict(), ["float64", [1000]]).tobytes() == array.tobytes()


def test_what_would_hardly_be_smaller_is_not_packed():
    assert packing.pack(np.ones(10_000)) is None
    assert packing.pack(np.zeros(10)) is None


def parts_of(array):
    return dict(packing.pack(array)._asdict())


@pytest.mark.parametrize(
    "change",
    [
        {"words": np.ones(3, np.uint64)},
        {"words": np.ones(0, np.uint64)},
        {"words": np.ones((2, 2), np.uint64)},
        {"words": np.ones(2, np.float64)},
        {"masks": np.ones(9, np.uint8)},
        {"masks": np.full(1, 255, np.uint8)},
        {"blocks": np.zeros(1, np.uint8)},
        {"blocks": np.full(16, 255, np.uint8)},
        {"blocks": np.ones(16, np.int8)},
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(change):
    parts = parts_of(np.arange(1000.0) * (np.arange(1000) == 7))
    with pytest.raises(ValueError, match=r"^corrupt file: the [^\n]+ packed array [^\n]+$"):
        packing.unpack({**parts, **change}, ["float64", [1000]])


@pytest.mark.parametrize(
    "form",
    [
        None,
        [],
        ["float64"],
        ["float64", 3],
        ["float64", [-1]],
        ["float64", [1.0]],
        ["float64", [True]],
        ["float64", ["3"]],
        ["object", [3]],
        ["U5", [3]],
        ["float64", [1] * 9],
        [["float64"], [3]],
        {"float64": [3]},
    ],
)
def test_what_is_no_type_and_shape_is_refused(form):
    with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+ is no array's type and shape$"):
        packing.size_of(form)


def test_a_shape_beyond_the_parts_is_refused_before_it_is_allocated():
    parts = parts_of(np.zeros(1000))
    with pytest.raises(ValueError, match="wrong types or shapes"):
        packing.unpack(parts, ["float64", [2**50, 2**50]])
