"""Sparse storage of arrays: their nonzero 64-bit words, with bit masks of their positions.

Preallocated memory of a model is mostly zeros. An array is viewed as bytes, padded with zeros to whole blocks of eight
words. `words` holds the nonzero words. `masks` has a byte for each block with a nonzero word, a bit per word, and
`blocks` has a bit per block. Bits are ordered from the most significant, as in `numpy.packbits`:

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
MIN_BYTES = 1024  # smaller arrays are not packed
TYPES = frozenset(
    {"bool", "float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))}
)
MAX_DIMENSIONS = 8
_IS_LITTLE = sys.byteorder == "little"  # the byte order of safetensors files


class Packed(NamedTuple):
    """An array in sparse storage."""

    words: RandomState
    masks: NDArray[np.uint8]
    blocks: NDArray[np.uint8]

    @property
    def n_bytes(self) -> int:
        """The bytes of the packed arrays."""
        return sum(array.nbytes for array in self)


def pack(array: NDArray[Any]) -> Packed | None:
    """Pack a contiguous array; None if that would not save 10 % of its bytes."""
    if array.nbytes < MIN_BYTES or not _IS_LITTLE:
        return None
    flat = array.reshape(-1).view(np.uint8)
    if len(flat) % BLOCK_BYTES:
        flat = np.concatenate([flat, np.zeros(-len(flat) % BLOCK_BYTES, np.uint8)])
    words = flat.view(np.uint64)
    masks = np.packbits(words != 0)
    packed = Packed(words[words != 0], masks[masks != 0], np.packbits(masks != 0))
    return packed if 10 * packed.n_bytes < 9 * array.nbytes else None


def size_of(form: Any) -> int:
    """The size in bytes of an array with this type and shape; a ValueError if they are invalid."""
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
        raise CorruptFile("corrupt file: the parts of a packed array have wrong types or shapes")
    has_words = np.unpackbits(blocks, count=n_blocks).view(np.bool_)
    if len(masks) != np.count_nonzero(has_words):
        raise CorruptFile("corrupt file: the number of masks of a packed array is not that of its blocks")
    all_masks = np.zeros(n_blocks, np.uint8)
    all_masks[has_words] = masks
    is_nonzero = np.unpackbits(all_masks).view(np.bool_)
    if len(words) != np.count_nonzero(is_nonzero):
        raise CorruptFile("corrupt file: the number of words of a packed array is not that of its masks")
    all_words = np.zeros(8 * n_blocks, np.uint64)
    all_words[is_nonzero] = words
    if not _IS_LITTLE:
        all_words = all_words.byteswap()
    kind, shape = form
    array: NDArray[Any] = all_words.view(np.uint8)[:n_bytes].view(np.dtype(kind).newbyteorder("<")).reshape(shape)
    return array.astype(kind, copy=False)
