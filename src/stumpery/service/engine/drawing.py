"""Drawing an action: probabilities within floors and ceilings, the control group, and draws that can be made again."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

TO_UNIT = 2.0**-53
MAX_ROUNDS = 100  # each fixes one action at its bound, or ends


def uniform(seed: int, number: int, purpose: str = "") -> float:
    """A draw from [0, 1) for the event of that number: the same each time it is drawn again."""
    word = blake2b(f"{seed} {number}{purpose}".encode(), digest_size=8).digest()
    return (int.from_bytes(word, "little") >> 11) * TO_UNIT


def chosen(probabilities: Sequence[float], draw: float) -> int:
    """The index that a draw from [0, 1) chooses."""
    remaining, last = draw * sum(probabilities), 0
    for index, probability in enumerate(probabilities):
        if probability > 0.0:
            last = index
            remaining -= probability
            if remaining < 0.0:
                return index
    return last  # by rounding


def explored(probabilities: Sequence[float], share: float) -> list[float]:
    """Probabilities mixed with a share of uniform choices."""
    total, floor = sum(probabilities), share / len(probabilities)
    return [(1.0 - share) * probability / total + floor for probability in probabilities]


def bounded(
    actions: Sequence[str], probabilities: list[float], floors: Mapping[str, float], ceilings: Mapping[str, float]
) -> list[float]:
    """Probabilities between each action's floor and ceiling; the others keep their proportions.

    Where the available actions leave no such probabilities, they stay as they are.

    >>> bounded(["a", "b", "c"], [0.75, 0.25, 0.0], {"c": 0.125}, {"a": 0.5})
    [0.5, 0.375, 0.125]
    """
    low = [floors.get(action, 0.0) for action in actions]
    high = [ceilings.get(action, 1.0) for action in actions]
    if sum(low) > 1.0 or sum(high) < 1.0:
        return probabilities
    fixed: dict[int, float] = {}
    for _ in range(MAX_ROUNDS):
        rest = 1.0 - sum(fixed.values())
        free = [index for index in range(len(actions)) if index not in fixed]
        total = sum(probabilities[index] for index in free)
        if not free:
            break
        scaled = {index: rest * (probabilities[index] / total if total > 0.0 else 1 / len(free)) for index in free}
        over = {index: high[index] for index in free if scaled[index] > high[index]}
        under = {index: low[index] for index in free if scaled[index] < low[index]}
        excess = sum(scaled[index] - bound for index, bound in over.items())
        lack = sum(bound - scaled[index] for index, bound in under.items())
        if not over and not under:
            fixed |= scaled
        else:
            fixed |= over if excess >= lack else under
    return [fixed[index] for index in range(len(actions))]


def with_control(probabilities: Sequence[float], baseline: int, share: float) -> list[float]:
    """Probabilities over the policy and its control group, which always takes the baseline."""
    mixed = [(1.0 - share) * probability for probability in probabilities]
    mixed[baseline] += share
    return mixed
