"""Packed arrays: only the 64-bit words that are not zero, with bit masks of where they stand.

Memory that a model has reserved is mostly zeros. An array is seen as bytes, filled up with zeros to whole blocks of
eight words. `words` are those words that are not 0. `masks` has a byte for each block that holds any, a bit for each
of its words, and `blocks` has a bit for each block. Bits are counted from a byte's highest, as `numpy.packbits` does:

    masks = np.zeros(n_blocks, np.uint8)
    masks[np.unpackbits(blocks, count=n_blocks) == 1] = file_masks
    words = np.zeros(8 * n_blocks, np.uint64)
    words[np.unpackbits(masks) == 1] = file_words
"""

import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile
from stumpery.types import RandomState

BLOCK_BYTES = 64
LEAST_BYTES = 1024  # smaller arrays stay as they are
TYPES = frozenset(
    {"bool", "float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))}
)
MAX_DIMENSIONS = 8
_IS_LITTLE = sys.byteorder == "little"  # as safetensors files are


class Packed(NamedTuple):
    """An array without its zeros."""

    words: RandomState
    masks: NDArray[np.uint8]
    blocks: NDArray[np.uint8]

    @property
    def n_bytes(self) -> int:
        """What it takes."""
        return sum(part.nbytes for part in self)


def pack(array: NDArray[Any]) -> Packed | None:
    """A contiguous array without its zeros; None where that would not be smaller by a tenth."""
    if array.nbytes < LEAST_BYTES or not _IS_LITTLE:
        return None
    flat = array.reshape(-1).view(np.uint8)
    if len(flat) % BLOCK_BYTES:
        flat = np.concatenate([flat, np.zeros(-len(flat) % BLOCK_BYTES, np.uint8)])
    words = flat.view(np.uint64)
    masks = np.packbits(words != 0)
    packed = Packed(words[words != 0], masks[masks != 0], np.packbits(masks != 0))
    return packed if 10 * packed.n_bytes < 9 * array.nbytes else None


def size_of(form: Any) -> int:
    """How many bytes an array of that form takes, given as its type and shape; a ValueError says that it is none."""
    match form:
        case [str() as kind, [*shape]] if kind in TYPES and len(shape) <= MAX_DIMENSIONS:
            if all(type(size) is int and size >= 0 for size in shape):
                return int(math.prod(shape, start=np.dtype(kind).itemsize))
    raise CorruptFile(f"corrupt file: {str(form)[:60]!r} is no array's type and shape")


def unpack(parts: Mapping[str, NDArray[Any]], form: Any) -> NDArray[Any]:
    """The array again, of that type and shape; a ValueError says that its parts do not fit each other."""
    n_bytes = size_of(form)
    n_blocks = -(-n_bytes // BLOCK_BYTES)
    words, masks, blocks = parts["words"], parts["masks"], parts["blocks"]
    types = words.dtype == np.uint64 and masks.dtype == blocks.dtype == np.uint8
    if not types or words.ndim != 1 or masks.ndim != 1 or blocks.shape != (-(-n_blocks // 8),):
        raise CorruptFile("corrupt file: a packed array has parts of other types or shapes than its own")
    marked = np.unpackbits(blocks, count=n_blocks).view(np.bool_)
    if len(masks) != np.count_nonzero(marked):
        raise CorruptFile("corrupt file: a packed array has another number of blocks than its masks say")
    all_masks = np.zeros(n_blocks, np.uint8)
    all_masks[marked] = masks
    marked = np.unpackbits(all_masks).view(np.bool_)
    if len(words) != np.count_nonzero(marked):
        raise CorruptFile("corrupt file: a packed array has another number of words than its masks say")
    found = np.zeros(8 * n_blocks, np.uint64)
    found[marked] = words
    if not _IS_LITTLE:
        found = found.byteswap()
    kind, shape = form
    array: NDArray[Any] = found.view(np.uint8)[:n_bytes].view(np.dtype(kind).newbyteorder("<")).reshape(shape)
    return array.astype(kind, copy=False)
