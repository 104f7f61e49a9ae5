"""A tree in words and as a picture, whoever grew it.

Trees stand in one array of nodes: a node's children are neighbours, of which it names the first, and a leaf is its own
child. What a step down means, and what is known at a node, its owner says.
"""

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_PARENT = -1
Rules = Callable[[int], tuple[str, str]]  # of the steps to a node's two children
Children = NDArray[np.int32]  # of every node; a leaf's is itself
RULE_WIDTH, MAX_RULE_LENGTH = 24, 66  # letters of a rule in a picture


class ShownNode(NamedTuple):
    """A node that is shown: where it hangs, the rule of the step that leads to it, and what is known there."""

    parent: int  # among the places; NO_PARENT for the root
    depth: int
    rule: str
    known: str


def shown_nodes(
    children: Children, root: int, max_depth: int, rules: Rules, known: Callable[[int], str]
) -> list[ShownNode]:
    """The nodes of one tree down to a depth, each before its children, the first child first."""
    found: list[ShownNode] = []
    waiting = [(root, NO_PARENT, 0, "")]
    while waiting:
        node, parent, depth, rule = waiting.pop()
        child, here = int(children[node]), len(found)
        is_cut = child != node and depth == max_depth
        more = f", {len(leaves_below(children, node))} leaves below" if is_cut else ""
        found.append(ShownNode(parent, depth, rule, known(node) + more))
        if child != node and not is_cut:
            first, second = rules(node)
            waiting += [(child + 1, here, depth + 1, second), (child, here, depth + 1, first)]
    return found


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
    return "\n".join("  " * place.depth + (f"{place.rule}: " if place.rule else "") + place.known for place in shown)


def draw(shown: list[ShownNode], title: str, ax: "Axes | None" = None) -> "Axes":
    """A tree as a picture: rules and what is known in boxes, the root on top."""
    parents = {place.parent for place in shown}
    ends = [index for index in range(len(shown)) if index not in parents]
    deepest = max(place.depth for place in shown)
    across = {index: float(order) for order, index in enumerate(ends)}
    for index in reversed(range(len(shown))):
        below = [across[child] for child, place in enumerate(shown) if place.parent == index]
        across[index] = sum(below) / len(below) if below else across[index]
    if ax is None:
        size = (max(6.0, 2.2 * len(ends)), 1.6 * (deepest + 1))
        ax = need("matplotlib.pyplot", "study").subplots(figsize=size, layout="constrained")[1]
    for index, place in enumerate(shown):
        if place.parent != NO_PARENT:
            start, end = (across[place.parent], -shown[place.parent].depth), (across[index], -place.depth)
            ax.plot(*zip(start, end, strict=True), color="0.7", zorder=1)
        rule = textwrap.fill(textwrap.shorten(place.rule, MAX_RULE_LENGTH, placeholder=" ..."), RULE_WIDTH)
        words = f"{rule}\n{textwrap.fill(place.known, RULE_WIDTH)}".strip()
        look: Any = {"ha": "center", "va": "center", "fontsize": 7, "bbox": {"fc": "w", "ec": "0.4"}}
        ax.text(across[index], -place.depth, words, parse_math=False, **look)  # names may hold any sign
    ax.set(xlim=(-0.6, len(ends) - 0.4), ylim=(-deepest - 0.5, 0.5), ylabel="depth", title=title)
    ax.set(xticks=[], yticks=range(-deepest, 1), yticklabels=range(deepest, -1, -1))
    return ax
