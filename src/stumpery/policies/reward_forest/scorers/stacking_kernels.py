"""Online stacking of scorers: weights on the simplex, learned by ridge regression with exponential forgetting.

On the played action, reward - first is regressed on other - first for every other scorer. Old events fade, a ridge
pulls towards the initial weights, and the solution is clipped to weights of 0 or more that sum to 1.
"""

from stumpery.jit import internal
from stumpery.types import Floats

STACKING_DECAY = 0.9995
STACKING_RIDGE = 1.0
STACKING_INTERVAL = 16  # events between two solutions


@internal
def update_moments(moments: Floats, predictions: Floats, action: int, reward: float) -> None:
    """Fold one event into the moments, in place; predictions have a row for each scorer."""
    n = moments.shape[0]
    first = predictions[0, action]
    for row in range(n):
        difference = predictions[row + 1, action] - first
        for column in range(row + 1):
            product = difference * (predictions[column + 1, action] - first)
            moments[row, column] = STACKING_DECAY * moments[row, column] + product
        moments[row, n] = STACKING_DECAY * moments[row, n] + difference * (reward - first)


@internal
def solve_weights(moments: Floats, system: Floats, initial: tuple[float, ...], weights: Floats) -> None:
    """Write the best weights on the simplex into `weights`, in place; `system` is scratch."""
    n = moments.shape[0]
    for row in range(n):
        for column in range(n):
            system[row, column] = moments[max(row, column), min(row, column)]
        system[row, row] += STACKING_RIDGE
        system[row, n] = moments[row, n] + STACKING_RIDGE * initial[row + 1]
    for pivot in range(n):  # positive definite: no pivoting is needed
        for row in range(pivot + 1, n):
            factor = system[row, pivot] / system[pivot, pivot]
            for column in range(pivot, n + 1):
                system[row, column] -= factor * system[pivot, column]
    rest = 1.0
    for row in range(n - 1, -1, -1):
        value = system[row, n]
        for column in range(row + 1, n):
            value -= system[row, column] * system[column, n]
        system[row, n] = value / system[row, row]
        rest -= system[row, n]
    weights[0] = max(rest, 0.0)
    total = weights[0]
    for row in range(n):
        weights[row + 1] = max(system[row, n], 0.0)
        total += weights[row + 1]
    for scorer in range(n + 1):
        weights[scorer] /= total


@internal
def stacked_score(predictions: Floats, weights: Floats, action: int) -> float:
    """The weighted mean of the scorers' predictions for an action."""
    total = 0.0
    for scorer in range(weights.shape[0]):
        total += weights[scorer] * predictions[scorer, action]
    return total


@internal
def fill_stacked_scores(predictions: Floats, weights: Floats, scores: Floats) -> None:
    """Write the weighted mean of the scorers into `scores`, in place."""
    for action in range(scores.shape[0]):
        scores[action] = stacked_score(predictions, weights, action)
