"""Memory of the residuals in repeated contexts, as dicts and lists."""

STEPS, MAX_PLAYS = 2**16, 63  # steps of 1 in a mean; plays that are counted
FADING = 0.9995  # from one event to the next
WAYS = 8  # entries of a bucket


class ContextMemory:
    """Mean residuals of any number of contexts and actions, and how far they are to be believed."""

    def __init__(self):
        self.means, self.plays, self.tests = {}, {}, []

    def shrinkage(self):
        """The factor of the means that predicts the next residuals best: least squares with exponential forgetting."""
        products = sum(FADING**age * mean * residual for age, (mean, residual) in enumerate(reversed(self.tests)))
        squares = sum(FADING**age * mean**2 for age, (mean, _) in enumerate(reversed(self.tests)))
        return min(max(products / (squares + 1.0), 0.0), 1.0)

    def mean(self, context, action):
        """The mean residual in a context, with one more of 0."""
        return self.means.get((context, action), 0.0)

    def learn(self, context, action, residual):
        """Test the mean, then update it; it is rounded to steps and clipped to two rewards."""
        mean, plays = self.mean(context, action), self.plays.get((context, action), 0)
        if plays:
            self.tests.append((mean, residual))
        steps = round((mean * (plays + 1) + residual) / (plays + 2) * STEPS)
        self.means[context, action] = min(max(steps, -2 * STEPS), 2 * STEPS - 1) / STEPS
        self.plays[context, action] = min(plays + 1, MAX_PLAYS)


class ContextBucket:
    """The entries of a bucket, latest first: context, action, mean residual and plays."""

    def __init__(self):
        self.entries = []

    def learn(self, context, action, residual, is_aging):
        """Update an entry and move it to the front; a new one evicts the lowest score unless its own is lower."""
        found = [each for each in self.entries if each[:2] == (context, action)]
        *_, mean, plays = found[0] if found else (0.0, 0)
        if found:
            self.entries.remove(found[0])
        elif len(self.entries) == WAYS:
            if is_aging:
                *which, last_mean, last_plays = self.entries.pop()
                half = last_mean if last_plays else round(last_mean / 2 * STEPS) / STEPS
                self.entries.insert(0, (*which, half, last_plays // 2))
            scores = [abs(each_mean) * (each_plays + 1) for *_, each_mean, each_plays in self.entries]
            if min(scores) > abs(residual):
                return
            self.entries.pop(7 - scores[::-1].index(min(scores)))
        steps = round((mean + (residual - mean) / (plays + 2)) * STEPS)
        mean = min(max(steps, -2 * STEPS), 2 * STEPS - 1) / STEPS
        self.entries.insert(0, (context, action, mean, min(plays + 1, MAX_PLAYS)))
