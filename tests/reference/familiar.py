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
    """Which contexts and actions a bucket of eight knows, in their order, with the means and plays of their errors."""

    def __init__(self):
        self.known = []

    def learn(self, context, action, error, is_aging):
        """What is known comes first; so does what is new, where there is a place or it tells more than another."""
        found = [each for each in self.known if each[:2] == (context, action)]
        *_, mean, plays = found[0] if found else (0.0, 0)
        if found:
            self.known.remove(found[0])
        elif len(self.known) == 8:
            if is_aging:
                *which, last_mean, last_plays = self.known.pop()
                half = last_mean if last_plays else round(last_mean / 2 * STEPS) / STEPS
                self.known.insert(0, (*which, half, last_plays // 2))
            worths = [abs(each_mean) * (each_plays + 1) for *_, each_mean, each_plays in self.known]
            if min(worths) > abs(error):
                return
            self.known.pop(7 - worths[::-1].index(min(worths)))
        steps = round((mean + (error - mean) / (plays + 2)) * STEPS)
        mean = min(max(steps, -2 * STEPS), 2 * STEPS - 1) / STEPS
        self.known.insert(0, (context, action, mean, min(plays + 1, MOST_PLAYS)))
