"""Sample complexity of the elimination algorithms of Feraud et al. 2016: how many events they need.

The lemmas' and theorems' upper bounds are worst cases with a constant of 64; `lower_bound` is what no algorithm beats,
up to a constant; `plays_until_elimination` solves the test itself and says what a run will need. Gaps are differences
of mean reward: `variable_gap` between the best variable and the next (Delta_1 of the paper), `action_gap` between the
best action and the next (Delta_2). For a choice within epsilon of the best, `gap_to_within` gives the gap (Remark 2).
"""

import math

from stumpery.options import check_number, check_whole

MIN_GAP = 1e-9
MIN_DELTA = 1e-12
MAX_DEPTH = 100


def action_selection(*, n_actions: int, action_gap: float, delta: float = 0.05) -> float:
    """Lemma 3: events until successive elimination has found the best action, with probability 1 - delta.

    >>> round(action_selection(n_actions=2, action_gap=0.1, delta=0.05))
    94435
    """
    return _bound("action_gap", action_gap, n_actions, delta, 1)


def variable_selection(*, n_actions: int, n_variables: int, variable_gap: float, delta: float = 0.05) -> float:
    """Lemma 1: events until the best of `n_variables` binary variables is found."""
    check_whole("n_variables", n_variables, 2)
    return _bound("variable_gap", variable_gap, n_actions, delta, n_variables)


def decision_stump(
    *, n_actions: int, n_variables: int, variable_gap: float, action_gap: float, delta: float = 0.05
) -> float:
    """Theorem 1: events until the best variable and the best action for both of its values are found."""
    variable = variable_selection(n_actions=n_actions, n_variables=n_variables, variable_gap=variable_gap, delta=delta)
    return variable + action_selection(n_actions=n_actions, action_gap=action_gap, delta=delta)


def bandit_forest(
    *,
    n_actions: int,
    n_variables: int,
    variable_gap: float,
    action_gap: float,
    depth: int = 1,
    n_trees: int = 1,
    delta: float = 0.05,
) -> float:
    """Theorem 3: events until a forest of `n_trees` trees of `depth` is the optimal one."""
    check_whole("n_variables", n_variables, 2)
    check_whole("depth", depth, 1, MAX_DEPTH)
    check_whole("n_trees", n_trees, 1)
    variable = _bound("variable_gap", variable_gap, n_actions, delta, n_variables * depth * n_trees)
    return 2.0**depth * (variable + _bound("action_gap", action_gap, n_actions, delta, n_trees))


def lower_bound(
    *,
    n_actions: int,
    action_gap: float | None = None,
    variable_gap: float | None = None,
    depth: int = 0,
    delta: float = 0.05,
) -> float:
    """Lemmas 2 and 4, Theorems 2 and 4: some problem needs as many events, times a constant that the paper leaves open.

    With the gap of variables alone it is Lemma 2, with that of actions alone Lemma 4, with both Theorem 2, and with the
    depth of a forest's trees Theorem 4.

    >>> round(lower_bound(n_actions=2, action_gap=0.1, delta=0.05))
    599
    """
    check_whole("n_actions", n_actions, 2)
    check_whole("depth", depth, 0, MAX_DEPTH)
    check_number("delta", delta, MIN_DELTA, 1.0)
    inverse_squares = 0.0
    for name, gap in (("variable_gap", variable_gap), ("action_gap", action_gap)):
        if gap is not None:
            check_number(name, gap, MIN_GAP, 1.0)
            inverse_squares += 1.0 / gap**2
    return 2.0**depth * inverse_squares * n_actions * math.log(1.0 / delta)


def gap_to_within(epsilon: float, gap: float) -> float:
    """The gap that counts where a choice within `epsilon` of the best will do (Remark 2)."""
    check_number("epsilon", epsilon, 0.0, 1.0)
    return max(epsilon, gap)


def plays_until_elimination(
    *, gap: float, epsilon: float = 0.0, n_hypotheses: int, width: float = 2.0, delta: float = 0.05
) -> int:
    """The plays of each action after which gap + epsilon >= width * sqrt(log(4 * n_hypotheses * t^2 / delta) / (2 t)).

    `n_hypotheses` and `width` make it each of the paper's tests: K and 2 for equation (2), K M and 4 for (1),
    K L and 2 for (4), K M D L and 4 for (3).

    >>> plays_until_elimination(gap=0.1, n_hypotheses=10)
    4721
    """
    check_whole("n_hypotheses", n_hypotheses, 1)
    check_number("delta", delta, MIN_DELTA, 1.0)
    check_number("gap", gap, 0.0)
    check_number("epsilon", epsilon, 0.0)
    check_number("width", width, MIN_GAP)
    check_number("gap + epsilon", gap + epsilon, MIN_GAP)

    def eliminates(plays: int) -> bool:
        return gap + epsilon >= width * math.sqrt(math.log(4 * n_hypotheses * plays**2 / delta) / (2 * plays))

    high = 1
    while not eliminates(high):
        high *= 2
    low = high // 2  # does not eliminate, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if eliminates(middle) else (middle, high)
    return high


def _bound(name: str, gap: float, n_actions: int, delta: float, n_tests: int) -> float:
    check_whole("n_actions", n_actions, 2)
    check_number(name, gap, MIN_GAP, 1.0)
    check_number("delta", delta, MIN_DELTA, 1.0)
    return 64 * n_actions / gap**2 * math.log(4 * n_actions * n_tests / (delta * gap))
