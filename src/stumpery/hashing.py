"""Hashes of strings and whole numbers: the same 64 bits on every machine and in every process."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stumpery import hashing_kernels as kernels
from stumpery.errors import InvalidInput
from stumpery.hashing_kernels import Hashes
from stumpery.options import shown

TO_UNIT = 2.0**-53
SEPARATOR = "\0"


def hash_items(items: Any) -> Hashes:
    """The hashes of strings, or of whole numbers; 3 and "3" are different items."""
    if isinstance(items, np.ndarray) and items.dtype.kind in "biu" and items.ndim == 1:
        hashes = items.astype(np.int64).view(np.uint64) if items.dtype.kind != "u" else items.astype(np.uint64)
        kernels.hash_numbers(hashes)
        return hashes
    if isinstance(items, np.ndarray) and items.ndim == 1:
        items = items.tolist()
    if hasattr(items, "to_pylist"):  # pyarrow's arrays hold scalars of their own
        items = items.to_pylist()
    if isinstance(items, str | bytes | Mapping) or not hasattr(items, "__iter__"):
        raise InvalidInput(f"items is {shown(items)}; it must be a list or an array of strings or whole numbers")
    listed = items if isinstance(items, list) else list(items)
    try:
        return _hash_texts(listed)
    except TypeError:  # not all are strings
        return np.array([hash_item(item) for item in listed], np.uint64)


def hash_item(item: Any) -> np.uint64:
    """The hash of one string or whole number."""
    if isinstance(item, str):
        return _hash_texts([str(item)])[0]  # type: ignore[no-any-return]
    if isinstance(item, int | np.integer | np.bool_) and -(2**63) <= int(item) < 2**64:
        bits = np.array([int(item) % 2**64], np.uint64)
        kernels.hash_numbers(bits)
        return bits[0]  # type: ignore[no-any-return]
    raise InvalidInput(f"an item is {shown(item)}; it must be a string or a whole number of 64 bits")


def unit_hash(text: str) -> float:
    """A string's hash as a number from 0 to below 1: its upper 53 bits."""
    return float(int(hash_item(text)) >> 11) * TO_UNIT


def _hash_texts(texts: list[str]) -> Hashes:
    data = SEPARATOR.join([*texts, ""]).encode("utf-8", "surrogatepass")
    hashes = np.empty(len(texts), np.uint64)
    if data.count(0) == len(texts):
        kernels.hash_texts(hashes, np.frombuffer(data or b"-", np.uint8))
        return hashes
    for index, text in enumerate(texts):  # some contain the separator
        letters = bytearray(text, "utf-8", "surrogatepass")
        kernels.hash_bytes(hashes, index, np.array(letters, np.uint8))
    return hashes
