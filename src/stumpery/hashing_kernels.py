"""Hash functions on 64 bits: SplitMix64, and FNV-1a for texts. A value has the same hash on every machine.

Texts go through FNV-1a, byte by byte; whole numbers are taken as they are plus `GOLDEN`. Both are then mixed by the
finaliser of SplitMix64 (Steele et al. 2014). Further hash functions mix the same bits plus a multiple of `GOLDEN`.
"""

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal, kernel

Hashes = NDArray[np.uint64]

_U = np.uint64
FNV_OFFSET, FNV_PRIME = _U(14695981039346656037), _U(1099511628211)
GOLDEN = _U(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio
FIRST_FACTOR, SECOND_FACTOR = _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)


@internal
def splitmix64(bits: np.uint64) -> np.uint64:
    """Mix 64 bits by the finaliser of SplitMix64."""
    bits = (bits ^ (bits >> _U(30))) * FIRST_FACTOR
    bits = (bits ^ (bits >> _U(27))) * SECOND_FACTOR
    return bits ^ (bits >> _U(31))


@internal
def rehash(bits: np.uint64, function: int) -> np.uint64:
    """The hash of `bits` by another hash function, given by its number."""
    return splitmix64(bits + GOLDEN * _U(function))


@internal
def bucket(bits: np.uint64, width: int) -> int:
    """The bucket of a hash among `width` buckets, by its upper half."""
    return int(((bits >> _U(32)) * _U(width)) >> _U(32))


@kernel
def hash_texts(hashes: Hashes, letters: NDArray[np.uint8]) -> None:
    """Hash texts that stand one after the other, a zero byte after each, in place."""
    position = 0
    for text in range(hashes.shape[0]):
        bits = FNV_OFFSET
        while letters[position] != 0:
            bits = (bits ^ _U(letters[position])) * FNV_PRIME
            position += 1
        hashes[text] = splitmix64(bits)
        position += 1


@kernel
def hash_bytes(hashes: Hashes, index: int, letters: NDArray[np.uint8]) -> None:
    """Hash one text, which may hold zero bytes, in place."""
    bits = FNV_OFFSET
    for letter in letters:
        bits = (bits ^ _U(letter)) * FNV_PRIME
    hashes[index] = splitmix64(bits)


@kernel
def hash_numbers(hashes: Hashes) -> None:
    """Hash whole numbers, given as 64 bits, in place."""
    for index in range(hashes.shape[0]):
        hashes[index] = splitmix64(hashes[index] + GOLDEN)
