"""The state of bandit trees: arrays of nodes, leaves, statistics per leaf and action, and blocks of sums.

A leaf that selects a variable owns a block: for every action and variable the sum of the rewards that came with the bit
set. The sum with the bit clear is the action's total less that. At the last level a leaf owns two more blocks, for
numbers of plays and sums of weights, so that its two children inherit statistics. Blocks of finished leaves are reused.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import as_int64
from stumpery.jit import internal
from stumpery.types import Bits, Floats

# Fields of a node; its two children are neighbours, and a leaf is its own child.
NODE_CHILD, NODE_VARIABLE, NODE_CHOICE, NODE_LEAF = range(4)
# Fields of a leaf; it is checked when LEAF_N_WAITING is 0, the number of actions with fewer than LEAF_NEXT_CHECK plays.
# The last three are its blocks.
LEAF_DEPTH, LEAF_NEXT_CHECK, LEAF_N_WAITING, LEAF_SUMS, LEAF_COUNTS, LEAF_WEIGHTS = range(6)
# Fields of an action in a leaf.
ARM_PLAYS, ARM_WEIGHT, ARM_SUM, ARM_REMAINS = range(4)
# Fields of a tree; with fewer plays than the last two no variable, or no action, can be eliminated.
TREE_MAX_DEPTH, TREE_EPSILON, TREE_FIRST_SPLIT, TREE_FIRST_DROP = range(4)
(
    OPTION_DELTA,
    OPTION_VOTES_NEEDED,
    OPTION_IN_TURN,
    OPTION_LEAF_KIND,
    OPTION_VARIABLE_SHARE,
    OPTION_WEIGHTING,
    OPTION_CHECK_GROWTH,
) = range(7)
# Fields of the pool: how many are in use, and from POOL_FREE_BLOCKS on a stack of the blocks to reuse.
POOL_N_NODES, POOL_N_LEAVES, POOL_N_BLOCKS, POOL_N_FREE, POOL_N_LAST_LEVEL, POOL_FREE_BLOCKS = range(6)

N_NODE_FIELDS, N_LEAF_FIELDS, N_ARM_FIELDS, N_TREE_FIELDS, N_OPTIONS = 4, 6, 4, 4, 7
NO_INDEX = -1
SELECTING_VARIABLE, SELECTING_ACTION = -1, -2  # NODE_CHOICE of a leaf that has not chosen its action
ELIMINATION_LEAF, UCB_LEAF, THOMPSON_LEAF = range(3)  # OPTION_LEAF_KIND
SELF_NORMALISED, INVERSE_PROPENSITY, UNWEIGHTED = range(3)  # OPTION_WEIGHTING
MARK_ON_PATH, MARK_DROPPED, MARK_CANDIDATE = range(3)  # of a variable in a leaf
ALL_EVENTS = 0  # the leaf whose statistics are those of all events
N_LAST_LEVEL_BLOCKS = 3  # that a leaf at the last level owns

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]


class BanditState(NamedTuple):
    """All trees of a policy in one set of arrays."""

    nodes: Int32s  # (nodes, 4): tree i begins at node i
    leaves: Int32s  # (leaves, 6)
    arms: Floats  # (leaves, actions, 4)
    sums: Float32s  # (blocks, actions, variables): exact for 16 million plays of a node
    marks: Bits  # (blocks, variables)
    pool: Int32s  # (POOL_FREE_BLOCKS + blocks,)
    trees: Floats  # (trees, 4)
    options: Floats  # (7,)


@internal
def leaf_of(state: BanditState, node: int) -> int:
    """A node's leaf."""
    return as_int64(state.nodes[node, NODE_LEAF])


@internal
def allocate_block(state: BanditState) -> int:
    """A block of zeros; the caller has checked that there is one."""
    pool = state.pool
    if pool[POOL_N_FREE] > 0:
        pool[POOL_N_FREE] -= 1
        block = as_int64(pool[POOL_FREE_BLOCKS + pool[POOL_N_FREE]])
    else:
        block = as_int64(pool[POOL_N_BLOCKS])
        pool[POOL_N_BLOCKS] += 1
    for action in range(state.sums.shape[1]):
        for variable in range(state.sums.shape[2]):
            state.sums[block, action, variable] = np.float32(0.0)
    return block


@internal
def free_blocks(state: BanditState, leaf: int) -> None:
    """Give a leaf's blocks back to the pool, in place."""
    state.pool[POOL_N_LAST_LEVEL] -= state.leaves[leaf, LEAF_COUNTS] != NO_INDEX
    for field in (LEAF_WEIGHTS, LEAF_COUNTS, LEAF_SUMS):
        block = state.leaves[leaf, field]
        if block != NO_INDEX:
            state.pool[POOL_FREE_BLOCKS + state.pool[POOL_N_FREE]] = block
            state.pool[POOL_N_FREE] += 1
            state.leaves[leaf, field] = NO_INDEX
