"""ADWIN, the adaptive window of Bifet and Gavaldà 2007, as a list of buckets."""

import math

MAX_BUCKETS = 5  # of a size
MIN_WINDOW = 32  # mistakes in each of the two parts that are compared
STEADY, WARNING, DRIFT = "steady", "warning", "drift"


class AdaptiveWindow:
    """Buckets of (how many values, their sum), the oldest first."""

    def __init__(self):
        self.buckets = []

    def add(self, mistake):
        """Append a value; of too many buckets of a size the two oldest are merged."""
        self.buckets.append((1, mistake))
        size = 1
        while sum(each == size for each, _ in self.buckets) > MAX_BUCKETS:
            first = next(place for place, (each, _) in enumerate(self.buckets) if each == size)
            (_, one), (_, other) = self.buckets[first : first + 2]
            self.buckets[first : first + 2] = [(2 * size, one + other)]
            size *= 2

    def test(self, warning, threshold):
        """Steady, a warning or a drift, at two levels of confidence; of parts that differ the older is dropped."""
        n, total = (sum(each[part] for each in self.buckets) for part in range(2))
        if n < 2 * MIN_WINDOW:
            return STEADY
        found = STEADY
        for place in range(1, len(self.buckets)):
            (n_old, old) = (sum(each[part] for each in self.buckets[:place]) for part in range(2))
            n_new, new = n - n_old, total - old
            if n_old < MIN_WINDOW or n_new < MIN_WINDOW:
                continue
            more = new / n_new - old / n_old
            if more > self.cut_threshold(warning, n_old, n_new, total / n):
                found = WARNING
            if abs(more) > self.cut_threshold(threshold, n_old, n_new, total / n):
                self.buckets = self.buckets[place:]
                return DRIFT if more > 0.0 else STEADY
        return found

    @staticmethod
    def cut_threshold(delta, n_old, n_new, mean):
        """By how much two means differ by chance (Bifet and Gavaldà 2007, section 4: the bound of ADWIN2)."""
        log_ratio = math.log(2.0 * math.log(n_old + n_new) / delta)
        harmonic = 1.0 / (1.0 / n_old + 1.0 / n_new)
        return math.sqrt(2.0 / harmonic * mean * (1.0 - mean) * log_ratio) + 2.0 / (3.0 * harmonic) * log_ratio
