"""Categories beyond the codes of a column as hashes, for models that tell more categories apart than they have codes.

A category without a code is encoded as the number of codes plus 52 bits of its text's hash: a whole number that 64-bit
floats represent exactly. Nothing is stored for it, so any number of them takes no memory.
"""

from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from stumpery.encoding.columns.categorical import Categorical, CodeLookup

HASH_BYTES, SURPLUS_BITS = 8, 12  # 52 of 64 bits are kept


class HashedCategorical(Categorical):
    """A categorical column without free codes, in which each category without one is encoded as its hash.

    >>> column = HashedCategorical(name="user", categories=("ann", "bob"), max_categories=2)
    >>> column.read(["bob", None, "eve"]).tolist()
    [2.0, nan, 2294866569345419.0]
    """

    @classmethod
    def of(cls, column: Categorical) -> "HashedCategorical":
        """The same column."""
        return cls(
            name=column.name,
            categories=column.categories,
            max_categories=column.max_categories,
            takes_numbers=column.takes_numbers,
        )

    @cached_property
    def lookup(self) -> dict[Any, float]:
        """From a value to its code or hash: NaN if it is missing."""
        return _HashLookup(self)


class _HashLookup(CodeLookup):
    """A column's categories and their codes; the hash of any other is computed and not kept."""

    def __missing__(self, value: Any) -> float:
        text = self.column.text(value)
        if text is None:
            return np.nan
        return self.get(text) or self.column.other + 1.0 + category_hash(text)


def category_hash(text: str) -> float:
    """A category's hash: the same whole number below 2^52 on every machine."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()
    return float(int.from_bytes(digest, "little") >> SURPLUS_BITS)
