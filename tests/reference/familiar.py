"""What is remembered of contexts that come again, in a dict, written from the words about it."""

STEPS, MOST_PLAYS = 2**16, 63


class Twin:
    """Any number of contexts, one action each time."""

    def __init__(self):
        self.means, self.plays, self.tests = {}, {}, []

    def trust(self):
        """The factor that would have made the means the best forecast of the errors after them; old ones fade."""
        products = sum(0.9995**age * mean * error for age, (mean, error) in enumerate(reversed(self.tests)))
        squares = sum(0.9995**age * mean**2 for age, (mean, _) in enumerate(reversed(self.tests)))
        return min(max(products / (squares + 1.0), 0.0), 1.0)

    def mean(self, context, action):
        """Of the errors in a context, as if one more had been 0."""
        return self.means.get((context, action), 0.0)

    def learn(self, context, action, error):
        """Test the mean that there is, then take the error into it; it is kept in steps, within two rewards of 0."""
        mean, plays = self.mean(context, action), self.plays.get((context, action), 0)
        if plays:
            self.tests.append((mean, error))
        steps = round((mean * (plays + 1) + error) / (plays + 2) * STEPS)
        self.means[context, action] = min(max(steps, -2 * STEPS), 2 * STEPS - 1) / STEPS
        self.plays[context, action] = min(plays + 1, MOST_PLAYS)


class Bucket:
    """Which contexts and actions a bucket of eight knows, in their order."""

    def __init__(self):
        self.known = []

    def learn(self, context, action, is_chosen):
        """What is known comes first; so does what is new, if there is a place, if it is chosen or its context known."""
        each = context, action
        is_first = each in self.known or len(self.known) < 8 or is_chosen or context in dict(self.known)
        rest = [other for other in self.known if other != each][:7]
        self.known = [each, *rest] if is_first else [*rest, each]
