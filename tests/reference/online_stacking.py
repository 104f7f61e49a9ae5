"""Online stacking, solved anew from all events: every event with its weight, ridge regression, then the simplex."""

import numpy as np


class OnlineStacking:
    """Events as (differences of predictions, target, number), and what each weighs."""

    def __init__(self):
        self.differences, self.targets, self.event_weights = [], [], np.zeros(0)
        self.n_events = 0  # since the last drift

    def memory(self):
        """Events that count: all since the last drift, at least 2,000 and at most 50,000."""
        return min(max(self.n_events, 2_000), 50_000)

    def learn(self, predictions, reward, has_drifted):
        """One event of the played action; at a drift the old ones count together as 2,000 do."""
        if has_drifted:
            self.event_weights = self.event_weights * 2_000 / self.memory()
            self.n_events = 0
        else:
            self.n_events += 1
            self.event_weights = self.event_weights * (1 - 1 / self.memory())
        self.event_weights = np.append(self.event_weights, 1.0)
        self.differences.append([each - predictions[0] for each in predictions[1:]])
        self.targets.append(reward - predictions[0])

    def weights(self, initial):
        """Shares: the ridge solution pulled towards the initial ones, without those below 0, summing to 1."""
        rows, start = np.array(self.differences), np.array(initial[1:])
        weighted = rows * self.event_weights[:, None]
        gram = weighted.T @ rows + np.eye(len(start))
        free = np.linalg.solve(gram, weighted.T @ np.array(self.targets) + start)
        shares = np.maximum(np.append(1 - free.sum(), free), 0.0)
        return shares / shares.sum()
