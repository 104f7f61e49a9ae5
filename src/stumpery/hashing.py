"""Hashes of strings and whole numbers: the same 64 bits on every machine and in every process."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stumpery import hashing_kernels as kernels
from stumpery.options import shown
from stumpery.types import RandomState

TO_UNIT = 2.0**-53
SEPARATOR = "\0"


def hash_names(names: Any) -> RandomState:
    """The hashes of strings, or of whole numbers; 3 and "3" are different names."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "biu" and names.ndim == 1:
        hashes = names.astype(np.int64).view(np.uint64) if names.dtype.kind != "u" else names.astype(np.uint64)
        kernels.hash_numbers(hashes)
        return hashes
    if isinstance(names, np.ndarray) and names.ndim == 1:
        names = names.tolist()
    if hasattr(names, "to_pylist"):  # pyarrow's arrays hold scalars of their own
        names = names.to_pylist()
    if isinstance(names, str | bytes | Mapping) or not hasattr(names, "__iter__"):
        raise ValueError(f"names is {shown(names)}; it must be a list or an array of strings or whole numbers")
    listed = names if isinstance(names, list) else list(names)
    try:
        return _hash_texts(listed)
    except TypeError:  # not all are strings
        return np.array([hash_name(name) for name in listed], np.uint64)


def hash_name(name: Any) -> np.uint64:
    """The hash of one string or whole number."""
    if isinstance(name, str):
        return _hash_texts([str(name)])[0]  # type: ignore[no-any-return]
    if isinstance(name, int | np.integer | np.bool_) and -(2**63) <= int(name) < 2**64:
        bits = np.array([int(name) % 2**64], np.uint64)
        kernels.hash_numbers(bits)
        return bits[0]  # type: ignore[no-any-return]
    raise ValueError(f"a name is {shown(name)}; it must be a string or a whole number of 64 bits")


def unit_hash(text: str) -> float:
    """A string's hash as a number from 0 to below 1: its upper 53 bits."""
    return float(int(hash_name(text)) >> 11) * TO_UNIT


def _hash_texts(texts: list[str]) -> RandomState:
    data = SEPARATOR.join([*texts, ""]).encode("utf-8", "surrogatepass")
    hashes = np.empty(len(texts), np.uint64)
    if data.count(0) == len(texts):
        kernels.hash_texts(hashes, np.frombuffer(data or b"-", np.uint8))
        return hashes
    for index, text in enumerate(texts):  # some contain the separator
        letters = bytearray(text, "utf-8", "surrogatepass")
        kernels.hash_bytes(hashes, index, np.array(letters, np.uint8))
    return hashes
