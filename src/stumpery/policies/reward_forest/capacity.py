"""Capacity plan of the reward forest: events, nodes, blocks, slots and buckets within `max_bytes`."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import GAPS_PER_BLOCK
from stumpery.errors import CorruptFile, InvalidInput
from stumpery.policies.reward_forest.scorers.context_memory import BUCKET_BYTES
from stumpery.policies.reward_forest.scorers.crossed import crossed_bytes, n_places_within
from stumpery.policies.reward_forest.scorers.frequent_categories import entry_bytes_of
from stumpery.policies.reward_forest.scorers.frequent_categories_kernels import ENTRIES_PER_BUCKET
from stumpery.policies.reward_forest.scorers.ridge import ridge_bytes, ridge_size
from stumpery.policies.reward_forest.scorers.scorers_kernels import CODES_PER_COLUMN
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring import Widths
from stumpery.policies.reward_forest.trees.ring_kernels import FLOAT

INITIAL_EVENTS = 4096
MAX_EVENTS = 2**20
MAX_SLOTS = 2**18
MAX_BUCKETS = 2**17
MIN_EVENTS, MIN_SLOTS, MIN_BUCKETS = 256, 64, 8
NODE_SHARE, MIN_NODE_SHARE = 0.5, 0.25  # of the memory that slots and buckets leave
OVERHEAD_BYTES = 256  # beside a little of all memory, for what is small
MAX_EXCESS = 2  # times `max_bytes`: what a full forest may take when actions are added to it
BLOCK_BYTES = 4 * trees.N_BLOCK_FIELDS


def default_n_trees(n_columns: int) -> int:
    """The default number of trees: each considers half of the columns at a time, so more columns need more trees."""
    return min(26 + n_columns // 2, 72)


class RewardForestCapacity(NamedTuple):
    """The number of events, nodes, blocks, slots, buckets of the context memory, features and frequent categories.

    Slots are those of the quadratic scorer, features those of the ridge scorer.
    """

    n_events: int
    n_nodes: int
    n_blocks: int
    n_slots: int
    n_buckets: int
    n_ridge_features: int
    n_categories: int = 0  # none before the first category without a code

    def initial(self, n_trees: int) -> Self:
        """The capacity to start with on the way to this one: a fraction, with some nodes beside the roots."""
        fraction = max(1, self.n_events // INITIAL_EVENTS)
        return self._replace(
            n_events=self.n_events // fraction,
            n_nodes=max(self.n_nodes // fraction, min(self.n_nodes, 4 * n_trees)),
            n_blocks=max(self.n_blocks // fraction, 1),
        )

    def is_below(self, limit: "RewardForestCapacity") -> bool:
        """Whether anything is less than a limit."""
        return any(n < most for n, most in zip(self, limit, strict=True))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], max_bytes: int) -> "RewardForestCapacity":
        """The capacity of saved arrays; refuses an impossible one."""
        names = (
            "ring.bytes",
            "forest.nodes",
            "forest.blocks",
            "quadratic",
            "context_memory.buckets",
            "ridge.weights",
            "categories.hashes",
        )
        if missing := [name for name in names if name not in arrays]:
            raise CorruptFile(f"its array {missing[0]!r} is missing, as in a file of another version of Stumpery")
        sizes = [len(arrays[name]) if arrays[name].ndim else 0 for name in names]
        capacity = cls(*sizes)._replace(n_categories=ENTRIES_PER_BUCKET * sizes[-1])
        if 0 in sizes[:-1] or sum(array.nbytes for array in arrays.values()) > MAX_EXCESS * max_bytes:
            raise InvalidInput(
                f"its arrays have the capacity {tuple(capacity)}, which does not match its max_bytes of {max_bytes}"
            )
        for n, what in (
            (capacity.n_slots, "slots of the quadratic scorer"),
            (capacity.n_buckets, "buckets"),
            (capacity.n_categories, "frequent categories"),
        ):
            if n & (n - 1):
                raise CorruptFile(f"corrupt file: it has {n} {what}, which is no power of two")
        return capacity


def capacity_within(
    max_bytes: int,
    n_trees: int,
    n_actions: int,
    n_features: int,
    widths: Widths,
    present: RewardForestCapacity | None = None,
) -> RewardForestCapacity:
    """The largest capacity within `max_bytes`: at most an eighth for slots, and as much for buckets.

    One half of the rest is for nodes and leaves, the other for events, until it is known what they need. Slots,
    buckets, entries of frequent categories and features of a `present` capacity stay. What is enough for narrow columns
    is enough when they become wide.
    """
    n_columns = len(widths)
    slot_bytes, leaf_bytes, node_bytes = 2 * 4 * n_actions, leaf_bytes_of(n_actions), node_bytes_of(n_actions)
    event_bytes, widest = event_bytes_of(widths, n_trees), event_bytes_of(np.full(n_columns, FLOAT), n_trees)
    min_rest = max(4 * n_trees * node_bytes / NODE_SHARE, MIN_EVENTS * widest / (1.0 - NODE_SHARE))
    n_codes = (n_columns + 1) * CODES_PER_COLUMN
    n_ridge_features = present.n_ridge_features if present else ridge_size(max_bytes, n_columns, n_actions)
    fixed = n_codes * (3 * slot_bytes + 2 * 4 * n_features) + 8 * n_actions * n_features + n_trees * leaf_bytes
    n_categories = present.n_categories if present else 0
    fixed += n_categories * entry_bytes_of(n_actions)
    fixed += ridge_bytes(n_ridge_features, n_columns, n_actions)
    n_places = n_places_within(max_bytes, n_columns, n_features)
    fixed += crossed_bytes(n_places, n_columns, n_features, n_actions, n_features)
    rest = 0.97 * max_bytes - fixed - OVERHEAD_BYTES
    n_buckets, min_slots = (present.n_buckets, present.n_buckets) if present else (MAX_BUCKETS, MIN_BUCKETS)
    while n_buckets > min_slots and n_buckets * BUCKET_BYTES > max_bytes // 8:
        n_buckets //= 2
    rest -= n_buckets * BUCKET_BYTES
    n_slots, min_slots = (present.n_slots, present.n_slots) if present else (MAX_SLOTS, MIN_SLOTS)
    while n_slots > min_slots and (n_slots * slot_bytes > max_bytes // 8 or rest - n_slots * slot_bytes < min_rest):
        n_slots //= 2
    rest -= n_slots * slot_bytes
    if rest < min_rest:
        raise InvalidInput(
            f"max_bytes is {max_bytes}; {n_trees} trees over {n_columns} columns and {n_actions} actions"
            f"{f' of {n_features} features' if n_features else ''} need "
            f"about {int((min_rest + fixed + min_slots * slot_bytes + n_buckets * BUCKET_BYTES) * 4 / 3):,}"
        )
    n_events = min(int(rest * (1.0 - NODE_SHARE) / event_bytes), MAX_EVENTS)
    n_nodes = min(int(rest * NODE_SHARE / node_bytes), 2 * n_trees * n_events // trees.MIN_CHILD_EVENTS)
    n_blocks = n_blocks_for(n_trees, n_events)
    return RewardForestCapacity(n_events, n_nodes, n_blocks, n_slots, n_buckets, n_ridge_features, n_categories)


def slots_within(max_bytes: int, n_actions: int, n_slots: int) -> int:
    """So many slots, or where they would take more than a quarter of `max_bytes`, as few as take no more.

    At first they take an eighth, so that they stay as they are where a few actions are added.
    """
    while n_slots > MIN_SLOTS and n_slots * 2 * 4 * n_actions > max_bytes // 4:
        n_slots //= 2
    return n_slots


def leaf_bytes_of(n_actions: int) -> int:
    """The bytes of a leaf, without its events."""
    return 4 * trees.N_LEAF_FIELDS + 2 * trees.N_STATS * n_actions


def node_bytes_of(n_actions: int) -> float:
    """The bytes of a node and half a leaf: there is one leaf for every two nodes."""
    return 16 + leaf_bytes_of(n_actions) / 2


def event_bytes_of(widths: Widths, n_trees: int) -> float:
    """The bytes of an event in the ring and in the blocks of all trees."""
    return ring.event_bytes(widths) + n_trees * BLOCK_BYTES / GAPS_PER_BLOCK


def n_blocks_for(n_trees: int, n_events: int) -> int:
    """The number of blocks for the event lists.

    The latest numbers stand in the leaves, which leaves blocks for some that have left the ring; those expire when
    blocks run short.
    """
    return n_trees * n_events // GAPS_PER_BLOCK
