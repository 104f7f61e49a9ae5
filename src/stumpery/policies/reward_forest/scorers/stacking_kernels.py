"""Several scorers as one: weights on a simplex, learned online by forgetting least squares.

On the played action, reward - first is regressed on (other - first) for every other scorer. Old events fade, a ridge
pulls towards the weights at the start, and the solution is clipped to weights of 0 or more that sum to 1.
"""

from stumpery.jit import internal
from stumpery.types import Floats

FADING = 0.9995
RIDGE = 1.0
EVERY = 16  # events between two solutions


@internal
def note(moments: Floats, predictions: Floats, action: int, reward: float) -> None:
    """Fold one event into the moments, in place; predictions have a row for each scorer."""
    n = moments.shape[0]
    first = predictions[0, action]
    for row in range(n):
        ahead = predictions[row + 1, action] - first
        for column in range(row + 1):
            moments[row, column] = FADING * moments[row, column] + ahead * (predictions[column + 1, action] - first)
        moments[row, n] = FADING * moments[row, n] + ahead * (reward - first)


@internal
def solve(moments: Floats, system: Floats, start: tuple[float, ...], weights: Floats) -> None:
    """Write the best weights on the simplex into `weights`, in place; `system` is scratch."""
    n = moments.shape[0]
    for row in range(n):
        for column in range(n):
            system[row, column] = moments[max(row, column), min(row, column)]
        system[row, row] += RIDGE
        system[row, n] = moments[row, n] + RIDGE * start[row + 1]
    for pivot in range(n):  # positive definite: no exchange of rows is needed
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
def combined(predictions: Floats, weights: Floats, action: int) -> float:
    """The weighted mean of what the scorers expect of an action."""
    total = 0.0
    for scorer in range(weights.shape[0]):
        total += weights[scorer] * predictions[scorer, action]
    return total


@internal
def combine(predictions: Floats, weights: Floats, scores: Floats) -> None:
    """Write the weighted mean of the scorers into `scores`, in place."""
    for action in range(scores.shape[0]):
        scores[action] = combined(predictions, weights, action)
