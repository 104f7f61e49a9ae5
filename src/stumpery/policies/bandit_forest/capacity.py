"""The memory of bandit trees: how much, how it is saved, and what becomes of it when actions come and go."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile
from stumpery.policies.bandit_forest import arena_kernels as arena
from stumpery.policies.bandit_forest import growth_kernels as growth
from stumpery.policies.bandit_forest.arena_kernels import (
    CHOICE,
    COUNTS,
    ELIMINATION,
    LEAF,
    LEAF_KIND,
    N_BLOCKS,
    N_LAST,
    N_LEAVES,
    N_NODES,
    NOTHING,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SELECTING_VARIABLE,
    STACK,
    SUM,
    SUMS,
    Forest,
)
from stumpery.policies.bandit_forest.validation import used, validate
from stumpery.system.allocation import reserve
from stumpery.types import Floats

ARENA = ("nodes", "leaves", "arms", "sums", "marks", "pool", "room")
LEAF_SHARE = 0.25  # of the memory that leaves may take where blocks need the rest
DEEPEST = 40  # beyond this depth the number of leaves bounds nothing


class Room(NamedTuple):
    """How many leaves, with twice as many nodes, and how many blocks there may be."""

    n_leaves: int
    n_blocks: int


def leaf_bytes(n_actions: int) -> int:
    """What a leaf and its two nodes take."""
    nodes = 2 * arena.N_NODE_FIELDS * 4
    return nodes + arena.N_LEAF_FIELDS * 4 + n_actions * arena.N_ARM_FIELDS * 8


def block_bytes(n_actions: int, width: int) -> int:
    """What a block, its marks and its place on the stack take."""
    return 4 * n_actions * width + width + 4


def room(max_bytes: int, n_actions: int, width: int, depths: list[int], n_used: int = 0) -> Room:
    """As many leaves and blocks as trees of these depths can use, within `max_bytes`; at least `n_used` leaves."""
    leaf, block = leaf_bytes(n_actions), block_bytes(n_actions, width)
    n_trees = len(depths)
    least_leaves = max(n_trees + 1, n_used)
    least_blocks = sum(arena.N_LAST_BLOCKS if depth == 1 else 1 for depth in depths)
    fixed = 8 * (n_trees * arena.N_TREE_FIELDS + arena.N_RULE_FIELDS + arena.STACK + 16)
    needed = fixed + least_leaves * leaf + least_blocks * block
    if max_bytes < needed:
        trees = "one tree" if n_trees == 1 else f"{n_trees} trees"
        raise ValueError(
            f"max_bytes is {max_bytes}; {trees} over {width} bits and {n_actions} actions need at least {needed}"
        )
    n_ends = sum(2 ** min(depth, DEEPEST) for depth in depths)
    most_blocks = arena.N_LAST_BLOCKS * n_ends // 2
    left = max_bytes - fixed
    for_leaves = min(max(LEAF_SHARE * left, left - most_blocks * block), left - least_blocks * block)
    n_leaves = max(min(n_ends + 1, int(for_leaves // leaf)), least_leaves)
    return Room(n_leaves, min(most_blocks, (left - n_leaves * leaf) // block))


def new_forest(room: Room, n_actions: int, width: int, trees: Floats, rule: Floats) -> Forest:
    """Arrays without trees."""
    reserve(room.n_leaves * leaf_bytes(n_actions) + room.n_blocks * block_bytes(n_actions, width))
    return Forest(
        np.zeros((2 * room.n_leaves, arena.N_NODE_FIELDS), np.int32),
        np.zeros((room.n_leaves, arena.N_LEAF_FIELDS), np.int32),
        np.zeros((room.n_leaves, n_actions, arena.N_ARM_FIELDS)),
        np.zeros((room.n_blocks, n_actions, width), np.float32),
        np.zeros((room.n_blocks, width), np.uint8),
        np.zeros(STACK + room.n_blocks, np.int32),
        trees,
        rule,
    )


def packed(forest: Forest) -> dict[str, NDArray[Any]]:
    """What is to be saved: the parts in use, and how much room there is."""
    return {**used(forest), "room": np.array([len(forest.leaves), len(forest.sums)])}


def unpacked(
    arena: dict[str, NDArray[Any]], n_actions: int, width: int, trees: Floats, rule: Floats, max_bytes: int
) -> Forest:
    """A forest with the room and the content that were saved; a ValueError says what does not fit."""
    if set(arena) != set(ARENA):
        raise CorruptFile(f"its trees have {sorted(arena)}, not {sorted(ARENA)}")
    sizes, pool = arena["room"], arena["pool"]
    if sizes.dtype != np.int64 or sizes.shape != (2,) or pool.dtype != np.int32 or pool.ndim != 1 or len(pool) < STACK:
        raise CorruptFile("its trees say nothing of their room")
    place = Room(*sizes.tolist())
    size = place.n_leaves * leaf_bytes(n_actions) + place.n_blocks * block_bytes(n_actions, width)
    n_nodes, n_leaves, n_blocks, n_free, _ = pool[:STACK].tolist()
    n_trees = len(trees)
    if not (
        n_trees < n_leaves <= place.n_leaves
        and n_trees <= n_nodes <= 2 * place.n_leaves
        and 0 <= n_free <= n_blocks <= place.n_blocks
        and size <= max_bytes
    ):
        raise CorruptFile("its trees are larger than their room")
    forest = new_forest(place, n_actions, width, trees, rule)
    forest.pool[:STACK] = pool[:STACK]
    for name, part in used(forest).items():
        if arena[name].dtype != part.dtype or arena[name].shape != part.shape:
            what = f"{arena[name].dtype}{arena[name].shape}"
            raise CorruptFile(f"its array {name!r} is {what}, not {part.dtype}{part.shape}")
        np.copyto(part, arena[name])
    validate(forest)
    _bound_sums(forest)
    return forest


def _bound_sums(forest: Forest) -> None:
    """Have no mean above 1 in the leaves that are bandits, in place: files of earlier versions may hold some."""
    if forest.rule[LEAF_KIND] == ELIMINATION:
        return
    parts = used(forest)
    leaves = parts["nodes"][parts["nodes"][:, CHOICE] == SELECTING_ACTION, LEAF]
    parts["arms"][leaves, :, SUM] = np.minimum(*parts["arms"][leaves][:, :, [SUM, PLAYS]].T).T


def regrown(forest: Forest, room: Room, trees: Floats, origins: list[int]) -> Forest:
    """The same trees over other actions: each new one's place among the old, or NOTHING.

    A finished leaf goes on comparing when an action came, or when its own choice went; a leaf whose blocks find no
    room any more selects its action.
    """
    n_actions, width = len(origins), forest.marks.shape[1]
    larger = new_forest(room, n_actions, width, trees, forest.rule)
    n_nodes, n_leaves = forest.pool[N_NODES], forest.pool[N_LEAVES]
    larger.pool[N_NODES], larger.pool[N_LEAVES] = n_nodes, n_leaves
    nodes, leaves, arms = larger.nodes[:n_nodes], larger.leaves[:n_leaves], larger.arms[:n_leaves]
    nodes[:], leaves[:] = forest.nodes[:n_nodes], forest.leaves[:n_leaves]
    old = np.array(origins)
    kept = np.flatnonzero(old != NOTHING)
    arms[:, kept] = forest.arms[:n_leaves, old[kept]]
    arms[:, old == NOTHING, REMAINS] = 1.0
    arms[~arms[:, :, REMAINS].any(axis=1), :, REMAINS] = 1.0
    nodes[nodes[:, CHOICE] >= 0, CHOICE] = SELECTING_ACTION
    for leaf in range(1, n_leaves):
        fields = slice(SUMS, COUNTS + 2)
        blocks = leaves[leaf, fields][leaves[leaf, fields] != NOTHING]
        first = larger.pool[N_BLOCKS]
        if first + len(blocks) > room.n_blocks:
            leaves[leaf, fields] = NOTHING
            continue
        larger.pool[N_BLOCKS] += len(blocks)
        leaves[leaf, SUMS : SUMS + len(blocks)] = first + np.arange(len(blocks))
        for place, block in enumerate(blocks.tolist(), start=first):
            larger.sums[place, kept] = forest.sums[block, old[kept]]
            larger.marks[place] = forest.marks[block]
    larger.pool[N_LAST] = (leaves[1:, COUNTS] != NOTHING).sum()
    homeless = leaves[nodes[:, LEAF], SUMS] == NOTHING
    nodes[homeless & (nodes[:, CHOICE] == SELECTING_VARIABLE), CHOICE] = SELECTING_ACTION
    growth.resume(larger)
    return larger
