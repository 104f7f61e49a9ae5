"""A tree of the reward forest in words and as a picture."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stumpery.encoding import Schema
from stumpery.encoding.names import Name
from stumpery.extras import need
from stumpery.trees import forest_kernels as trees
from stumpery.trees.forest_kernels import Forest
from stumpery.types import Action

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Place(NamedTuple):
    """A node of a drawn tree: where it is, how it is reached from its parent, and the leaves below it."""

    node: int
    parent: int  # among the places; NOTHING for the root
    depth: int
    rule: str  # of the step that leads here
    leaves: tuple[int, ...]


def places(forest: Forest, schema: Schema, tree: int, max_depth: int) -> list[Place]:
    """The nodes of one tree down to a depth, each before its children, left before right."""
    found: list[Place] = []
    waiting = [(tree, trees.NOTHING, 0, "")]
    while waiting:
        node, parent, depth, rule = waiting.pop()
        found.append(Place(node, parent, depth, rule, tuple(leaves_below(forest, node))))
        child = int(forest.nodes[node, trees.CHILD])
        if child != node and depth < max_depth:
            here = len(found) - 1
            left, right = split_in_words(forest, schema, node)
            waiting += [(child + 1, here, depth + 1, right), (child, here, depth + 1, left)]
    return found


def leaves_below(forest: Forest, node: int) -> Iterator[int]:
    """The leaves that can be reached from a node."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        child = int(forest.nodes[here, trees.CHILD])
        if child == here:
            yield int(forest.leaf_of[here])
        else:
            waiting += [child, child + 1]


def split_in_words(forest: Forest, schema: Schema, node: int) -> tuple[str, str]:
    """What holds to the left and to the right of a node."""
    column = int(forest.nodes[node, trees.COLUMN])
    if column >= 0:
        name, threshold = schema.columns[column].name, forest.thresholds[node, trees.PAYLOAD]
        if threshold == -np.inf:
            return f"{name} is missing", f"{name} is known"
        return f"{name} <= {threshold:.4g} or missing", f"{name} > {threshold:.4g}"
    named = schema.columns[~column]
    mask = int(forest.masks[node, trees.PAYLOAD])
    known = named.names if isinstance(named, Name) else ()
    meant = {0: "missing", **dict(enumerate(known, start=1)), len(known) + 1: "any new name"}
    inside = [word for code, word in meant.items() if mask >> code & 1]
    return f"{named.name} in {{{', '.join(inside)}}}", f"{named.name} not in {{{', '.join(inside)}}}"


def knowledge(forest: Forest, actions: Sequence[Action], leaves: Sequence[int]) -> str:
    """How many events leaves have seen, and the best action there by their mean."""
    counts = forest.stats[list(leaves), trees.COUNT].astype(np.float64)
    means = forest.stats[list(leaves), trees.MEAN].astype(np.float64)
    totals = counts.sum(axis=0)
    average = (counts * means).sum(axis=0) / np.maximum(totals, 1.0)
    best = int(np.argmax(np.where(totals > 0, average, -np.inf)))
    return f"{int(totals.sum())} events, {actions[best]!r} earns {average[best]:.3g} ({int(totals[best])} plays)"


def tree_text(forest: Forest, schema: Schema, actions: Sequence[Action], tree: int, max_depth: int) -> str:
    """One tree as an indented list of rules."""
    lines = []
    for place in places(forest, schema, tree, max_depth):
        more = f", {len(place.leaves)} leaves" if len(place.leaves) > 1 else ""
        lines.append(f"{'  ' * place.depth}{place.rule or 'all'}: {knowledge(forest, actions, place.leaves)}{more}")
    return "\n".join(lines)


def draw_tree(
    forest: Forest, schema: Schema, actions: Sequence[Action], tree: int, max_depth: int, ax: "Axes | None" = None
) -> "Axes":
    """One tree as a picture: rules on the way down, what is known in the boxes."""
    shown = places(forest, schema, tree, max_depth)
    ends = [index for index in range(len(shown)) if not any(place.parent == index for place in shown)]
    across = dict.fromkeys(range(len(shown)), 0.0)
    across.update({index: float(order) for order, index in enumerate(ends)})
    for index in reversed(range(len(shown))):
        below = [across[child] for child, place in enumerate(shown) if place.parent == index]
        across[index] = sum(below) / len(below) if below else across[index]
    if ax is None:
        size = (max(6.0, 2.2 * len(ends)), 1.6 * (max_depth + 1))
        ax = need("matplotlib.pyplot", "study").subplots(figsize=size, layout="constrained")[1]
    for index, place in enumerate(shown):
        if place.parent != trees.NOTHING:
            start, end = (across[place.parent], -shown[place.parent].depth), (across[index], -place.depth)
            ax.plot(*zip(start, end, strict=True), color="0.7", zorder=1)
        words = knowledge(forest, actions, place.leaves).replace(", ", "\n").replace(" (", "\n(")
        rule = textwrap.fill(textwrap.shorten(place.rule, 66, placeholder=" ..."), 24)
        text = f"{rule}\n{words}" if rule else words
        ax.text(across[index], -place.depth, text, ha="center", va="center", fontsize=7, bbox={"fc": "w", "ec": "0.4"})
    ax.set(xlim=(-0.6, len(ends) - 0.4), ylim=(-max_depth - 0.5, 0.5), xlabel="left: the rule holds", ylabel="depth")
    ax.set(xticks=[], yticks=range(-max_depth, 1), yticklabels=range(max_depth, -1, -1), title=f"tree {tree}")
    return ax
