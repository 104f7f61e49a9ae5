"""A slow, obvious twin of the standardisation: all values kept, mean and spread by NumPy."""

import numpy as np


class Standardiser:
    """Columns are taken as bits until a learned value is neither 0 nor 1; from then on they are standardised."""

    def __init__(self, width):
        self.values = [[] for _ in range(width)]

    def transform(self, row):
        x = [self._value(values, value) for values, value in zip(self.values, row, strict=True)]
        return np.array([*x, 1.0])

    def learn(self, row):
        for values, value in zip(self.values, row, strict=True):
            if np.isfinite(value) and (values or value not in (0.0, 1.0)):
                values.append(value)

    def _value(self, values, value):
        if np.isnan(value):
            return 0.0
        if not values:
            return 1.0 if value == 1.0 else 0.0
        spread = np.std(values)
        return float(np.clip((value - np.mean(values)) / spread, -10.0, 10.0)) if spread > 0 else 0.0
