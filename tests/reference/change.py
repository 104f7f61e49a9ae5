"""Whether the world has changed, from all errors so far: slow, and written from the words about it."""

import math

import numpy as np

from stumpery.drift import reward_drop_kernels as reward_drop


class Twin:
    """All errors since the last change, and the latest mean over all that ever were."""

    def __init__(self):
        self.all, self.since, self.n_changes = [], [], 0

    def note(self, error):
        """Whether this error is one too many."""
        self.all.append(error)
        self.since.append(error)
        if len(self.since) < reward_drop.MIN_CONCEPT_EVENTS:
            return False
        latest = np.array(self.all[: -20 * int(1 / reward_drop.RECENT_RATE) : -1])
        lately = reward_drop.RECENT_RATE * (latest * (1 - reward_drop.RECENT_RATE) ** np.arange(len(latest))).sum()
        mean, square = self.usually(1), self.usually(2)
        n = 2 / reward_drop.RECENT_RATE
        allowed = reward_drop.DROP_DEVIATIONS * math.sqrt((square - mean**2) / n) + reward_drop.DROP_DEVIATIONS**2 / (
            6 * n
        )
        if min(mean, 0.0) - lately <= allowed:
            return False
        self.since = []
        self.n_changes += 1
        return True

    def usually(self, power):
        """The mean of all since the last change; with very many, old ones fade."""
        rates = np.maximum(1 / np.arange(1, len(self.since) + 1), reward_drop.REFERENCE_RATE)
        stays = np.append(np.cumprod(1 - rates[:0:-1])[::-1], 1.0)  # of an error, after all that came later
        return float((rates * stays * np.array(self.since) ** power).sum())
