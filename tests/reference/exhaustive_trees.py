"""Exhaustive search: all decision trees over binary columns as tuples, and their values in the tree-building MDP."""

import itertools
from functools import cache


@cache
def all_trees(columns, classes):
    """Every tree: ("report", class), or ("query", column, tree where it is 0, tree where it is 1)."""
    found = [("report", label) for label in classes]
    for column in columns:
        rest = tuple(other for other in columns if other != column)
        found += [("query", column, *both) for both in itertools.product(all_trees(rest, classes), repeat=2)]
    return found


def episode_return(tree, row, label, *, gamma, price, right, wrong):
    """The discounted return of one episode, action by action."""
    total, discount = 0.0, 1.0
    while tree[0] == "query":
        total += discount * price
        discount *= gamma
        tree = tree[2 + row[tree[1]]]
    return total + discount * (right if tree[1] == label else wrong)


def leaves(tree, path=()):
    """Every leaf: the answers that lead to it, and what it reports."""
    if tree[0] == "report":
        yield dict(path), tree[1]
    else:
        for answer in (0, 1):
            yield from leaves(tree[2 + answer], (*path, (tree[1], answer)))


def value_by_leaves(tree, probabilities, *, gamma, price, right, wrong):
    """Theorem 3.1: the value of a tree as three sums over its leaves; probabilities are by row and label."""
    of_depth = of_right = of_wrong = 0.0
    for answers, report in leaves(tree):
        depth = len(answers)
        here = {key: p for key, p in probabilities.items() if all(key[0][c] == a for c, a in answers.items())}
        mass = sum(here.values())
        good = sum(p for (_, label), p in here.items() if label == report)
        of_depth += price * mass * sum(gamma**step for step in range(depth))
        of_right += right * gamma**depth * good
        of_wrong += wrong * gamma**depth * (mass - good)
    return of_depth + of_right + of_wrong
