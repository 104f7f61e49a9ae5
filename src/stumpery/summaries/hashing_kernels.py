"""One fixed hash: the same value gives the same 64 bits on every machine and in every process.

Bytes go through FNV-1a (offset 14695981039346656037, prime 1099511628211), whole numbers are taken as they are plus the
golden ratio's 64 bits; both are then mixed by the finaliser of SplitMix64 (Steele et al. 2014). A further hash function
is the same mixer on the same bits plus its number times the golden ratio's 64 bits.
"""

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal, kernel
from stumpery.types import RandomState

_U = np.uint64
OFFSET, PRIME = _U(14695981039346656037), _U(1099511628211)
GOLDEN = _U(0x9E3779B97F4A7C15)
FIRST, SECOND = _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)


@internal
def mix(bits: np.uint64) -> np.uint64:
    """Spread 64 bits."""
    bits = (bits ^ (bits >> _U(30))) * FIRST
    bits = (bits ^ (bits >> _U(27))) * SECOND
    return bits ^ (bits >> _U(31))


@internal
def rehash(bits: np.uint64, number: int) -> np.uint64:
    """The hash by another function."""
    return mix(bits + GOLDEN * _U(number))


@internal
def bucket(bits: np.uint64, width: int) -> int:
    """The bits' place among `width` buckets, by their upper half."""
    return int(((bits >> _U(32)) * _U(width)) >> _U(32))


@kernel
def hash_texts(hashes: RandomState, letters: NDArray[np.uint8]) -> None:
    """Hash texts that stand one after the other, a zero byte after each, in place."""
    place = 0
    for text in range(hashes.shape[0]):
        bits = OFFSET
        while letters[place] != 0:
            bits = (bits ^ _U(letters[place])) * PRIME
            place += 1
        hashes[text] = mix(bits)
        place += 1


@kernel
def hash_bytes(hashes: RandomState, place: int, letters: NDArray[np.uint8]) -> None:
    """Hash one text, which may hold zero bytes, in place."""
    bits = OFFSET
    for letter in letters:
        bits = (bits ^ _U(letter)) * PRIME
    hashes[place] = mix(bits)


@kernel
def hash_numbers(hashes: RandomState) -> None:
    """Hash whole numbers, as 64 bits, in place."""
    for place in range(hashes.shape[0]):
        hashes[place] = mix(hashes[place] + GOLDEN)
