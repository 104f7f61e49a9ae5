"""Count-min sketch after Cormode and Muthukrishnan (2005), with a count per class.

Each of `depth` hash functions maps an item to one of `width` buckets of its row. The smallest of its buckets bounds
an item's count from above. The sum of two tables of one shape is exactly the table of both streams.
"""

from stumpery.hashing_kernels import Hashes, bucket, rehash
from stumpery.jit import kernel
from stumpery.types import Integers


@kernel
def add_all(counts: Integers, hashes: Hashes, labels: Integers, weight: int) -> None:
    """Count hashed items, in place; counts are (depth, width, classes). One label may stand for all."""
    depth, width, _ = counts.shape
    is_same = labels.shape[0] == 1
    for index in range(hashes.shape[0]):
        label = labels[0] if is_same else labels[index]
        for row in range(depth):
            counts[row, bucket(rehash(hashes[index], row), width), label] += weight


@kernel
def read_counts(smallest: Integers, counts: Integers, item: Hashes) -> None:
    """Write the smallest count of an item's buckets for each class, in place."""
    depth, width, n_classes = counts.shape
    for label in range(n_classes):
        for row in range(depth):
            count = counts[row, bucket(rehash(item[0], row), width), label]
            if row == 0 or count < smallest[label]:
                smallest[label] = count
