"""Counts of names in a fixed table: the count-min sketch of Cormode and Muthukrishnan (2005), with a count per class.

Each of `depth` hash functions sends a name to one of `width` buckets of its row; a name's count is at most the least
of its buckets. Two tables of the same shape add up to the table of both streams, exactly.
"""

from stumpery.hashing_kernels import bucket, rehash
from stumpery.jit import kernel
from stumpery.types import Integers, RandomState


@kernel
def add_all(counts: Integers, hashes: RandomState, labels: Integers, weight: int) -> None:
    """Count names, in place; counts are (depth, width, classes). One label may stand for all."""
    depth, width, _ = counts.shape
    same = labels.shape[0] == 1
    for place in range(hashes.shape[0]):
        label = labels[0] if same else labels[place]
        for row in range(depth):
            counts[row, bucket(rehash(hashes[place], row), width), label] += weight


@kernel
def least(found: Integers, counts: Integers, bits: RandomState) -> None:
    """Write the least of a name's buckets for each class, in place."""
    depth, width, n_classes = counts.shape
    for label in range(n_classes):
        for row in range(depth):
            here = counts[row, bucket(rehash(bits[0], row), width), label]
            if row == 0 or here < found[label]:
                found[label] = here
