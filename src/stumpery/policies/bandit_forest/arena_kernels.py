"""The arena of bandit trees: what is kept of nodes, leaves and actions.

A node under selection owns a block: for every action and variable the sum of the rewards that came with the bit set.
With the bit clear it is the action's whole sum less that. At the last depth two more blocks count the plays and add up
the weights, so that the leaves below begin with what was seen. Blocks of finished nodes serve again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal
from stumpery.types import Bits, Floats

CHILD, VARIABLE, CHOICE, LEAF = range(4)  # of a node; its children are neighbours, and a leaf is its own child
DEPTH, NEXT, WAITING, SUMS, COUNTS, WEIGHTS = range(6)  # of a leaf; NEXT plays of each action call for a check
PLAYS, WEIGHT, SUM, REMAINS = range(4)  # of an action in a leaf
MAX_DEPTH, EPSILON, FIRST_SPLIT, FIRST_DROP = range(4)  # of a tree; before these plays no check can fire
DELTA, NEEDED, IN_TURN, LEAF_KIND, SHARE, WEIGHING, GROWTH = range(7)  # of the rule
N_NODES, N_LEAVES, N_BLOCKS, N_FREE, N_LAST, STACK = range(6)  # of the pool; the blocks to use again stand last

N_NODE_FIELDS, N_LEAF_FIELDS, N_ARM_FIELDS, N_TREE_FIELDS, N_RULE_FIELDS = 4, 6, 4, 4, 7
NOTHING, SELECTING_VARIABLE, SELECTING_ACTION = -1, -1, -2  # choices, other than the action that was found
ELIMINATION, UPPER_CONFIDENCE, THOMPSON = range(3)  # kinds of leaves
SELF_NORMALISED, INVERSE, PLAIN = range(3)  # kinds of weights
USED, OUT, IN = range(3)  # marks of a variable at a node: on the path, not or no more a candidate, a candidate
EVERYTHING = 0  # the leaf that counts all events
N_LAST_BLOCKS = 3  # that a node at the last depth owns

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]


class Forest(NamedTuple):
    """All trees, in one arena."""

    nodes: Int32s  # (nodes, 4): tree i begins at node i
    leaves: Int32s  # (leaves, 6)
    arms: Floats  # (leaves, actions, 4)
    sums: Float32s  # (blocks, actions, variables): exact for 16 million plays of a node
    marks: Bits  # (blocks, variables)
    pool: Int32s  # (STACK + blocks,)
    trees: Floats  # (trees, 4)
    rule: Floats  # (7,)


@internal
def wide(number: int) -> int:
    """A number of an array of small integers in 64 bits: functions called with one width are compiled once."""
    return number + 0


@internal
def leaf_of(forest: Forest, node: int) -> int:
    """A node's leaf."""
    return wide(forest.nodes[node, LEAF])


@internal
def take_block(forest: Forest) -> int:
    """A block of zeros; the caller has seen that there is one."""
    pool = forest.pool
    if pool[N_FREE] > 0:
        pool[N_FREE] -= 1
        block = wide(pool[STACK + pool[N_FREE]])
    else:
        block = wide(pool[N_BLOCKS])
        pool[N_BLOCKS] += 1
    for action in range(forest.sums.shape[1]):
        for variable in range(forest.sums.shape[2]):
            forest.sums[block, action, variable] = np.float32(0.0)
    return block


@internal
def release(forest: Forest, leaf: int) -> None:
    """Give a leaf's blocks back, in place."""
    forest.pool[N_LAST] -= forest.leaves[leaf, COUNTS] != NOTHING
    for field in (WEIGHTS, COUNTS, SUMS):
        block = forest.leaves[leaf, field]
        if block != NOTHING:
            forest.pool[STACK + forest.pool[N_FREE]] = block
            forest.pool[N_FREE] += 1
            forest.leaves[leaf, field] = NOTHING
