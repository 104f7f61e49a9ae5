"""What is remembered of contexts that come again, in a dict, written from the words about it."""


class Twin:
    """Any number of contexts, one action each time."""

    def __init__(self):
        self.errors, self.tests = {}, []

    def trust(self):
        """The factor that would have made the means the best forecast of the errors after them; old ones fade."""
        products = sum(0.9995**age * mean * error for age, (mean, error) in enumerate(reversed(self.tests)))
        squares = sum(0.9995**age * mean**2 for age, (mean, _) in enumerate(reversed(self.tests)))
        return min(max(products / (squares + 1.0), 0.0), 1.0)

    def mean(self, context, action):
        """Of the errors in a context, as if one more had been 0."""
        found = self.errors.get((context, action), [])
        return sum(found) / (len(found) + 1)

    def learn(self, context, action, error):
        """Test the mean that there is, then take the error into it."""
        found = self.errors.setdefault((context, action), [])
        if found:
            self.tests.append((self.mean(context, action), error))
        found.append(error)
