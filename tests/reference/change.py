"""Whether the world has changed, from all errors so far: slow, and written from the words about it."""

import math

from stumpery.policies import change_kernels as change


class Twin:
    """All errors since the last change, and the latest mean over all that ever were."""

    def __init__(self):
        self.all, self.since, self.n_changes = [], [], 0

    def note(self, error):
        """Whether this error is one too many."""
        self.all.append(error)
        self.since.append(error)
        if len(self.since) < change.PATIENCE:
            return False
        lately = sum(change.SHORT * (1 - change.SHORT) ** age * error for age, error in enumerate(reversed(self.all)))
        mean, square = self.usually(1), self.usually(2)
        n = 2 / change.SHORT
        allowed = change.DEVIATIONS * math.sqrt((square - mean**2) / n) + change.DEVIATIONS**2 / (6 * n)
        if mean - lately <= allowed:
            return False
        self.since = []
        self.n_changes += 1
        return True

    def usually(self, power):
        """The mean of all since the last change; with very many, old ones fade."""
        mean = 0.0
        for n, error in enumerate(self.since, start=1):
            mean += max(1 / n, change.LONG) * (error**power - mean)
        return mean
