"""Rules of the splits of an array forest, with the names of columns and categories."""

import numpy as np

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.encoding import Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.values import cut_text


def rules_of(forest: ForestState, schema: Schema, node: int) -> tuple[str, str]:
    """The rules of a node's left and right child."""
    column = int(forest.nodes[node, trees.NODE_COLUMN])
    if column >= 0:
        name, threshold = schema.columns[column].name, forest.thresholds[2 * node + trees.NODE_PAYLOAD]
        if threshold == -np.inf:
            return f"{name} is missing", f"{name} is known"
        cut = cut_text(threshold)
        return f"{name} <= {cut} or missing", f"{name} > {cut}"
    named = schema.columns[~column]
    mask = int(forest.masks[2 * node + trees.NODE_PAYLOAD])
    categories = named.categories if isinstance(named, Categorical) else ()
    meaning = {0: "missing", **dict(enumerate(categories, start=1)), len(categories) + 1: "any new name"}
    inside = ", ".join(word for code, word in meaning.items() if mask >> code & 1)
    return f"{named.name} in {{{inside}}}", f"{named.name} not in {{{inside}}}"
