"""How much memory a reward forest may take: events, nodes, blocks, pairs and contexts within `max_bytes`."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import GAPS_PER_BLOCK
from stumpery.errors import CorruptFile
from stumpery.policies.reward_forest.scorers import codes_kernels as feature_codes
from stumpery.policies.reward_forest.scorers.context_memory import BUCKET_BYTES
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring import Widths
from stumpery.policies.reward_forest.trees.ring_kernels import FLOAT

INITIAL_EVENTS = 4096
MAX_EVENTS = 2**20
MAX_SLOTS = 2**18
MAX_BUCKETS = 2**17
MIN_EVENTS, MIN_SLOTS, MIN_BUCKETS = 256, 64, 8
NODE_SHARE, MIN_NODE_SHARE = 0.5, 0.25  # of the memory that pairs and contexts leave
OVERHEAD_BYTES = 256  # bytes, and a little of all memory, for what is small
MAX_EXCESS = 2  # times `max_bytes`: what a full forest may come to when actions are added to it
BLOCK_BYTES = 4 * trees.N_BLOCK_FIELDS


def default_n_trees(n_columns: int) -> int:
    """How many trees are enough: each looks at half of the columns at a time, so more columns need more of them."""
    return min(26 + n_columns // 2, 72)


class RewardForestCapacity(NamedTuple):
    """How many events, nodes, blocks, slots of pairs and buckets of contexts there is room for."""

    n_events: int
    n_nodes: int
    n_blocks: int
    n_slots: int
    n_buckets: int

    def first(self, n_trees: int) -> Self:
        """Where to start: a fraction of it all, with room for the roots of the trees and some more."""
        share = max(1, self.n_events // INITIAL_EVENTS)
        return self._replace(
            n_events=self.n_events // share,
            n_nodes=max(self.n_nodes // share, min(self.n_nodes, 4 * n_trees)),
            n_blocks=max(self.n_blocks // share, 1),
        )

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], max_bytes: int) -> "RewardForestCapacity":
        """The sizes of saved arrays; a ValueError says that they are none, or more than they may be."""
        names = ("ring.bytes", "forest.nodes", "forest.blocks", "pairs", "familiar.buckets")
        if missing := [name for name in names if name not in arrays]:
            raise CorruptFile(f"its array {missing[0]!r} is missing, as in a file of another version of Stumpery")
        found = RewardForestCapacity(*(len(arrays[name]) if arrays[name].ndim else 0 for name in names))
        if 0 in found or sum(array.nbytes for array in arrays.values()) > MAX_EXCESS * max_bytes:
            raise ValueError(
                f"its arrays have room for {tuple(found)}, which does not fit its max_bytes of {max_bytes}"
            )
        for part, n, places in (("pairs", found.n_slots, "slots"), ("contexts", found.n_buckets, "buckets")):
            if n & (n - 1):
                raise CorruptFile(f"its {part} have {n} {places}, which is no power of two")
        return found

    def may_grow(self, most: "RewardForestCapacity") -> bool:
        """Whether anything is smaller than it may be."""
        return any(size < limit for size, limit in zip(self, most, strict=True))


def capacity_within(
    max_bytes: int,
    n_trees: int,
    n_actions: int,
    n_features: int,
    widths: Widths,
    now: RewardForestCapacity | None = None,
) -> RewardForestCapacity:
    """The most that fits: at most an eighth for pairs, and as much for contexts that may come again.

    One half of the rest is for nodes and leaves, the other for events, until it is known what they need. With sizes
    that there are `now`, pairs and contexts keep theirs. What is enough for columns of few bytes is enough when they
    turn out to need more.
    """
    n_columns = len(widths)
    slot_bytes, leaf_bytes, node_bytes = 2 * 4 * n_actions, leaf_bytes_of(n_actions), node_bytes_of(n_actions)
    event_bytes, widest = event_bytes_of(widths, n_trees), event_bytes_of(np.full(n_columns, FLOAT), n_trees)
    least = max(4 * n_trees * node_bytes / NODE_SHARE, MIN_EVENTS * widest / (1.0 - NODE_SHARE))
    n_codes = (n_columns + 1) * feature_codes.CODES_PER_COLUMN
    fixed = n_codes * (3 * slot_bytes + 2 * 4 * n_features) + 8 * n_actions * n_features + n_trees * leaf_bytes
    whole = 0.97 * max_bytes - fixed - OVERHEAD_BYTES
    n_buckets, fewest = (now.n_buckets, now.n_buckets) if now else (MAX_BUCKETS, MIN_BUCKETS)
    while n_buckets > fewest and n_buckets * BUCKET_BYTES > max_bytes // 8:
        n_buckets //= 2
    whole -= n_buckets * BUCKET_BYTES
    slots, fewest = (now.n_slots, now.n_slots) if now else (MAX_SLOTS, MIN_SLOTS)
    while slots > fewest and (slots * slot_bytes > max_bytes // 8 or whole - slots * slot_bytes < least):
        slots //= 2
    left = whole - slots * slot_bytes
    if left < least:
        raise ValueError(
            f"max_bytes is {max_bytes}; {n_trees} trees over {n_columns} columns and {n_actions} actions"
            f"{f' of {n_features} features' if n_features else ''} need "
            f"about {int((least + fixed + fewest * slot_bytes + n_buckets * BUCKET_BYTES) * 4 / 3):,}"
        )
    n_events = min(int(left * (1.0 - NODE_SHARE) / event_bytes), MAX_EVENTS)
    n_nodes = min(int(left * NODE_SHARE / node_bytes), 2 * n_trees * n_events // trees.MIN_CHILD_EVENTS)
    return RewardForestCapacity(n_events, n_nodes, n_blocks_for(n_trees, n_events), slots, n_buckets)


def leaf_bytes_of(n_actions: int) -> int:
    """What a leaf takes, without its events."""
    return 4 * trees.N_LEAF_FIELDS + 2 * trees.N_STATS * n_actions


def node_bytes_of(n_actions: int) -> float:
    """What a node takes, with its share of a leaf: every second one is there for one."""
    return 16 + leaf_bytes_of(n_actions) / 2


def event_bytes_of(widths: Widths, n_trees: int) -> float:
    """What an event takes in the ring and in the blocks of all trees."""
    return ring.event_bytes(widths) + n_trees * BLOCK_BYTES / GAPS_PER_BLOCK


def n_blocks_for(n_trees: int, n_events: int) -> int:
    """How many blocks note so many events.

    The latest stand in the leaves' own lines. That makes room for some that have left the ring; of those, leaves let go
    when blocks run short.
    """
    return n_trees * n_events // GAPS_PER_BLOCK
