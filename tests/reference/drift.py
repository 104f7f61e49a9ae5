"""The adaptive window as a list of buckets: slow, and written from the words about it."""

import math

from stumpery.drift import adaptive_window_kernels as drift


class WindowTwin:
    """Buckets of (how many mistakes, their sum), the oldest first."""

    def __init__(self):
        self.buckets = []

    def add(self, mistake):
        """Add a mistake; where there are too many buckets of a size, the two oldest become one."""
        self.buckets.append((1, mistake))
        size = 1
        while sum(each == size for each, _ in self.buckets) > drift.MAX_BUCKETS:
            first = next(place for place, (each, _) in enumerate(self.buckets) if each == size)
            (_, one), (_, other) = self.buckets[first : first + 2]
            self.buckets[first : first + 2] = [(2 * size, one + other)]
            size *= 2

    def look(self, warning, threshold):
        """Steady, a warning or a drift; where the parts differ too much, the older one is dropped."""
        n, total = (sum(each[part] for each in self.buckets) for part in range(2))
        if n < 2 * drift.CHECK_INTERVAL:
            return drift.NO_DRIFT
        found = drift.NO_DRIFT
        for place in range(1, len(self.buckets)):
            (n_old, old) = (sum(each[part] for each in self.buckets[:place]) for part in range(2))
            n_new, new = n - n_old, total - old
            if n_old < drift.CHECK_INTERVAL or n_new < drift.CHECK_INTERVAL:
                continue
            more = new / n_new - old / n_old
            if more > self.bound(warning, n_old, n_new, total / n):
                found = drift.WARNING
            if abs(more) > self.bound(threshold, n_old, n_new, total / n):
                self.buckets = self.buckets[place:]
                return drift.DRIFT if more > 0.0 else drift.NO_DRIFT
        return found

    @staticmethod
    def bound(delta, n_old, n_new, mean):
        """How far two means differ by chance (Bifet and Gavaldà 2007, equation of ADWIN2)."""
        much = math.log(2.0 * math.log(n_old + n_new) / delta)
        harmonic = 1.0 / (1.0 / n_old + 1.0 / n_new)
        return math.sqrt(2.0 / harmonic * mean * (1.0 - mean) * much) + 2.0 / (3.0 * harmonic) * much
