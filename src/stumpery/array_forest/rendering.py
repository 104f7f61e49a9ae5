"""Rendering of trees as text and as pictures.

Trees are an array of nodes: a node's children are neighbours, of which it names the first, and a leaf is its own child.
The owner supplies the rule of each step down and the label of each node.
"""

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.encoding import Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.values import cut_text
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_PARENT = -1
Rules = Callable[[int], tuple[str, str]]  # of the steps to a node's two children
Children = NDArray[np.int32]  # of every node; a leaf's is itself
LINE_LENGTH, MAX_RULE_LENGTH = 36, 60  # letters in a line of a picture's box, and of a rule
MAX_INCHES = 600.0  # of a picture's height: 65,536 dots
LINE_INCHES, GAP_INCHES, BOX_INCHES = 0.12, 0.2, 2.7  # the height of a line, the gap between boxes, a box and its edge


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


class ShownNode(NamedTuple):
    """A node to render: its parent, its depth, the rule of the step that leads to it, and its label."""

    parent: int  # index among the rendered nodes; NO_PARENT for the root
    depth: int
    rule: str
    label: str


def shown_nodes(
    children: Children, root: int, max_depth: int, rules: Rules, label: Callable[[int], str]
) -> list[ShownNode]:
    """The nodes of one tree down to a depth, each before its children, the first child first."""
    nodes: list[ShownNode] = []
    waiting = [(root, NO_PARENT, 0, "")]
    while waiting:
        node, parent, depth, rule = waiting.pop()
        child, index = int(children[node]), len(nodes)
        is_cut = child != node and depth == max_depth
        more = f", {len(leaves_below(children, node))} leaves below" if is_cut else ""
        nodes.append(ShownNode(parent, depth, rule, label(node) + more))
        if child != node and not is_cut:
            first, second = rules(node)
            waiting += [(child + 1, index, depth + 1, second), (child, index, depth + 1, first)]
    return nodes


def leaves_below(children: Children, node: int) -> list[int]:
    """The nodes without children that can be reached from a node."""
    return [leaf for leaf, _ in paths(children, node, lambda _: ("", ""))]


def paths(children: Children, root: int, rules: Rules) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every leaf below a node, the first children's first, and the rules on the way to it."""
    waiting: list[tuple[int, tuple[str, ...]]] = [(root, ())]
    while waiting:
        node, path = waiting.pop()
        child = int(children[node])
        if child == node:
            yield node, path
        else:
            first, second = rules(node)
            waiting += [(child + 1, (*path, second)), (child, (*path, first))]


def text(shown: list[ShownNode]) -> str:
    """A tree as indented lines."""
    return "\n".join("  " * node.depth + (f"{node.rule}: " if node.rule else "") + node.label for node in shown)


def draw(shown: list[ShownNode], title: str, ax: "Axes | None" = None) -> "Axes":
    """A tree as a picture: rules and labels in boxes, the root on the left, the first child above.

    A figure of its own is large enough for all boxes; on given axes many boxes may overlap.
    """
    parents = {node.parent for node in shown}
    ends = [index for index in range(len(shown)) if index not in parents]
    deepest = max(node.depth for node in shown)
    below: dict[int, list[int]] = {}
    for index, node in enumerate(shown):
        below.setdefault(node.parent, []).append(index)
    up = {index: -float(order) for order, index in enumerate(ends)}
    for index in reversed(range(len(shown))):
        children = below.get(index, [])
        up[index] = sum(up[child] for child in children) / len(children) if children else up[index]
    words = [_box_text(node) for node in shown]
    if ax is None:
        height = LINE_INCHES * max(text.count("\n") + 1 for text in words) + GAP_INCHES
        size = (BOX_INCHES * (deepest + 1) + 0.5, min(max(2.0, height * len(ends) + 0.8), MAX_INCHES))
        ax = need("matplotlib.pyplot", "study").subplots(figsize=size, layout="constrained")[1]
    look: Any = {"ha": "center", "va": "center", "fontsize": 7, "bbox": {"fc": "w", "ec": "0.4"}}
    for index, node in enumerate(shown):
        if node.parent != NO_PARENT:
            ax.plot((node.depth - 1, node.depth), (up[node.parent], up[index]), color="0.7", zorder=1)
        ax.text(node.depth, up[index], words[index], parse_math=False, **look)  # names may hold any sign
    ax.set(xlim=(-0.5, deepest + 0.5), ylim=(0.5 - len(ends), 0.5), xlabel="depth", title=title)
    ax.set(xticks=range(deepest + 1), yticks=[])
    return ax


def _box_text(node: ShownNode) -> str:
    """The lines of a box: a rule, shortened where it is long, and the label."""
    rule = textwrap.shorten(node.rule, MAX_RULE_LENGTH, placeholder=" ...")
    parts = node.label.split(", ")
    label = ", ".join(part.replace(" ", "\xa0") if len(part) < LINE_LENGTH else part for part in parts)
    return "\n".join(textwrap.fill(text, LINE_LENGTH, break_on_hyphens=False) for text in (rule, label) if text)
