"""One row of DQN in plain NumPy: rollout, replay append, sampling and one step of Adam, as in the paper.

Random numbers are drawn as the compiled loop draws them; everything else is loops and sums written out.
"""

import jax
import numpy as np

MISSING = 32767


class DQN:
    def __init__(
        self, learner, spans, *, price, epsilon, rate, target_every, batch, double, all_reports, legal_targets=True
    ):
        self.weights = {name: np.array(value, np.float64) for name, value in learner.weights._asdict().items()}
        self.target = {name: value.copy() for name, value in self.weights.items()}
        self.means = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.squares = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.spans = [tuple(float(part[place]) for part in spans[:3]) for place in range(len(spans.low))]
        self.price, self.epsilon, self.rate, self.target_every = price, epsilon, rate, target_every
        self.batch, self.double, self.all_reports, self.legal_targets = batch, double, all_reports, legal_targets
        self.key = learner.key
        self.n_columns = len(learner.moments.count)
        self.rows, self.n_steps, self.n_classes = [], 0, 0
        self.numbers = [[] for _ in range(self.n_columns)]

    def features(self, codes, numbers, seen):
        bits = [float(seen[int(c)] and low <= codes[int(c)] <= high) for c, low, high in self.spans]
        standard = []
        for column, known in enumerate(self.numbers):
            deviation = np.std(known) if known else 0.0
            z = (numbers[column] - np.mean(known)) / deviation if deviation > 0 else 0.0
            standard.append(z if seen[column] else 0.0)
        return np.array(bits), np.array([*(0.0 if each else 1.0 for each in seen), *standard])

    def forward(self, weights, state):
        bits, rest = self.features(*state)
        one = bits @ weights["into"] + rest @ weights["flags"] + weights["first"]
        two = np.maximum(one, 0) @ weights["across"] + weights["second"]
        out = np.maximum(two, 0)
        queries = out @ weights["queries"] + weights["query_bias"]
        return queries, out @ weights["reports"] + weights["report_bias"], (bits, rest, one, two)

    def q_values(self, weights, state):
        codes, _, seen = state
        queries, reports, _ = self.forward(weights, state)
        if not self.legal_targets:
            return np.concatenate([queries, reports[: self.n_classes]])
        legal = [codes[column] >= 0 and not seen[column] for column in range(self.n_columns)]
        return np.concatenate([np.where(legal, queries, -1e9), reports[: self.n_classes]])

    def rollout(self, codes, numbers, key):
        draws = np.asarray(jax.random.uniform(key, (self.n_columns + 1, self.n_columns + 1)))
        seen, ranks = [False] * self.n_columns, [MISSING] * self.n_columns
        for step in range(sum(code >= 0 for code in codes)):
            queries, _, _ = self.forward(self.weights, (codes, numbers, seen))
            wanted = draws[step, :-1] if draws[step, -1] < self.epsilon else queries
            chosen = max((c for c in range(self.n_columns) if codes[c] >= 0 and not seen[c]), key=lambda c: wanted[c])
            seen[chosen], ranks[chosen] = True, step
        return ranks

    def learn(self, codes, numbers, label, *, updates):
        self.key, walk, draws = jax.random.split(self.key, 3)
        self.rows.append((codes, numbers, self.rollout(codes, numbers, walk), label))
        for column, code in enumerate(codes):
            if code >= 0:
                self.numbers[column].append(numbers[column])
        self.n_classes = max(self.n_classes, label + 1)
        if updates:
            self.update(jax.random.fold_in(draws, 0))

    def update(self, key):
        pick, at, report = np.asarray(jax.random.uniform(key, (3, self.batch)))
        gradient = {name: np.zeros_like(value) for name, value in self.weights.items()}
        half = self.batch // 2
        for place in range(self.batch):
            back = int(np.float32(pick[place]) * np.float32(len(self.rows)))
            codes, numbers, ranks, label = self.rows[-1 - back]
            n_known = sum(rank < MISSING for rank in ranks)
            step = int(np.float32(at[place]) * np.float32(n_known + (place >= half)))
            state = (codes, numbers, [rank < step for rank in ranks])
            queries, reports, layers = self.forward(self.weights, state)
            by_queries, by_reports = np.zeros_like(queries), np.zeros_like(reports)
            if place < half and n_known:
                after = (codes, numbers, [rank <= step for rank in ranks])
                judge = self.weights if self.double else self.target
                action = int(np.argmax(self.q_values(judge, after)))
                value = self.q_values(self.target, after)[action]
                target = (np.clip(value, 0, 1) if self.legal_targets else value) - self.price
                column = ranks.index(step)
                by_queries[column] = 2 * (queries[column] - target) / half
            elif place >= half:
                reported = (
                    range(self.n_classes) if self.all_reports else [int(report[place] * np.float32(self.n_classes))]
                )
                for each in reported:
                    by_reports[each] = 2 * (reports[each] - (each == label)) / len(reported) / half
            self.backpropagate(gradient, layers, by_queries, by_reports)
        self.adam_step(gradient)

    def backpropagate(self, gradient, layers, by_queries, by_reports):
        bits, rest, one, two = layers
        out, w = np.maximum(two, 0), self.weights
        gradient["queries"] += np.outer(out, by_queries)
        gradient["query_bias"] += by_queries
        gradient["reports"] += np.outer(out, by_reports)
        gradient["report_bias"] += by_reports
        by_two = (w["queries"] @ by_queries + w["reports"] @ by_reports) * (two > 0)
        gradient["across"] += np.outer(np.maximum(one, 0), by_two)
        gradient["second"] += by_two
        by_one = (w["across"] @ by_two) * (one > 0)
        gradient["into"] += np.outer(bits, by_one)
        gradient["flags"] += np.outer(rest, by_one)
        gradient["first"] += by_one

    def adam_step(self, gradient):
        self.n_steps += 1
        for name, slope in gradient.items():
            self.means[name] += 0.1 * (slope - self.means[name])
            self.squares[name] += 0.001 * (slope**2 - self.squares[name])
            mean = self.means[name] / (1 - 0.9**self.n_steps)
            square = self.squares[name] / (1 - 0.999**self.n_steps)
            self.weights[name] -= self.rate * mean / (np.sqrt(square) + 1e-8 / np.sqrt(1 - 0.999**self.n_steps))
        if self.n_steps % self.target_every == 0:
            self.target = {name: value.copy() for name, value in self.weights.items()}
