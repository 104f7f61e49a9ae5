"""A seeded stream of mixed columns, and how each kind of model is played along it: through public verbs alone.

Rows have missing values, and a category that comes late. Each model is saved and loaded half-way. Policies also have
late rewards and actions that come and go.
"""

import tempfile
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stumpery as st

ACTIONS = ("a", "b", "c")
FEATURES = {"a": {"kind": "x", "size": 1.3}, "b": {"kind": "y", "size": None}, "c": {"kind": "x", "size": 2.7}}
LATE_ACTION, LATE_FEATURES = "d", {"kind": "y", "size": 0.4}
DELAY = 7  # decisions that wait for their rewards
PREDICTORS = [st.clicks.Stump(), st.clicks.HashedStump(), (st.clicks.RandomHoeffdingTree(grace_period=25, tau=0.2), 2)]


class Said(NamedTuple):
    """What came of a play."""

    models: list[Any]  # the one that was played, and those that it made
    decisions: list[Any]  # actions, predictions, estimates
    probabilities: list[Any]
    explained: tuple[Any, ...] = ()


def make_rows(n):
    """Dicts of two numbers, a category and a bit, with gaps; one category is missing in the first half."""
    rng = np.random.default_rng(4)
    rows = []
    for place in range(n):
        device = ("phone", "desk", "watch", "tv", "car")[rng.integers(4 if place < n // 2 else 5)]
        age, member = float(rng.integers(18, 80)) / 7.0, int(rng.integers(2))
        row = {"x": rng.normal(3.0, 2.0), "age": age, "device": device, "member": member}
        gaps = rng.random(4) < 0.1
        columns = zip(row.items(), gaps, strict=True)
        rows.append({name: None if gap and rows else value for (name, value), gap in columns})
    return rows


def signal(row):
    return 0.7 * (row["device"] == "watch") + 0.1 * (row["age"] or 5.0) + 0.3 * ((row["x"] or 0.0) > 3.0)


ROWS = make_rows(400)
SCHEMA = st.Schema.infer(ROWS[: len(ROWS) // 2], max_categories=10)
NUMBERS = [signal(row) + 0.2 * ((7919 * place) % 101 / 101.0 - 0.5) for place, row in enumerate(ROWS)]
CLASSES = ["low" if number < 0.6 else "high" if number > 1.1 else "middle" for number in NUMBERS]
CLICKS = [number > 1.0 for number in NUMBERS]
NO_CONTEXTS = [None] * len(ROWS)
WEIGHTS = [0.7 + place % 5 / 3.0 for place in range(len(ROWS))]
REWARDS = np.array([[each % 1.0, abs(each - 0.5) % 1.0, (3.0 * each) % 1.0, (2.0 * each) % 1.0] for each in NUMBERS])


def reloaded(model):
    """The model as a file gives it back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        st.save(model, path)
        return st.load(path)


def learned(model, labels, weights=None):
    """Predict rows and learn them, some at a time, and predict again."""
    predictions, probabilities = [], []

    def predict(rows):
        predictions.append(model.predict_many(rows))
        if not isinstance(labels[0], float):
            probabilities.append(model.predict_proba_many(rows))

    for start in range(0, len(ROWS), 40):
        rows = ROWS[start : start + 40]
        if start:
            predict(rows)
        more = () if weights is None else (weights[start : start + 40],)
        model.learn_many(rows, labels[start : start + 40], *more)
        if start == len(ROWS) // 2:
            model = reloaded(model)
    predict(ROWS[:60])
    return Said([model], predictions, probabilities)


def fitted(model, labels):
    """Fit a model to a table and predict its rows."""
    model.fit(ROWS[:160], labels[:160])
    model = reloaded(model)
    return Said([model], [model.predict(ROWS[100:])], [model.predict_proba(ROWS[100:])])


def played(policy, contexts):
    """Decide and learn in the compiled loop, one by one with late rewards and other actions, and many at once."""
    seen = contexts[0] is not None
    decisions, probabilities = [], []

    def note(actions, their_probabilities):
        decisions.append(actions)
        probabilities.append(their_probabilities)

    def play(start, end):
        rewards = REWARDS[start:end, [column_of(action) for action in policy.actions]]
        note(*policy.play(contexts[start:end] if seen else None, rewards))

    def learn(place, decision):
        if decision.action in policy.actions:  # what was removed since is not learned
            policy.learn(decision, REWARDS[place, column_of(decision.action)])

    play(0, 250)
    waiting = deque()
    for place in range(250, 310):
        if place == 270:
            policy.add_action(LATE_ACTION, **({"features": LATE_FEATURES} if hasattr(policy, "shrinkage") else {}))
        elif place == 280:
            policy = reloaded(policy)
        elif place == 295:
            policy.remove_action(ACTIONS[0])
        decision = policy.decide(contexts[place], available=policy.actions[::2] if place % 3 == 0 else None)
        note(decision.action, decision.probability)
        waiting.append((place, decision))
        if len(waiting) > DELAY:
            learn(*waiting.popleft())
    play(310, 370)
    for place, decision in reversed(waiting):
        learn(place, decision)
    many = policy.decide_many(contexts[370:] if seen else 30)
    policy.learn_many(many, REWARDS[370:, 1])
    note(list(many.actions), many.probabilities)
    return Said([policy], decisions, probabilities, (policy.explain(next(iter(many))).rows,))


def column_of(action):
    return (*ACTIONS, LATE_ACTION).index(action)


def picked(selector):
    """Pick one of four candidates and learn from its click."""
    decisions, probabilities = [], []
    for place in range(150):
        if place == 75:
            selector = reloaded(selector)
        decision = selector.decide(ROWS[place : place + 4])
        found = ROWS.index(decision.context)
        selector.learn(decision, CLICKS[found])
        decisions.append(found)
        probabilities.append(decision.probability)
    return Said([selector], decisions, probabilities)


def selected(selector):
    """Look at a few features of each event."""
    rows = [{name: row[name] for name in ("x", "age", "member")} for row in ROWS]
    matrix = np.array([list(row.values()) for row in rows], dtype=float)
    rounds = selector.play(matrix[:150], CLICKS[:150])
    asked = selector.ask()
    selector = reloaded(selector)  # with an open set
    for row, click in zip(rows[150:180], CLICKS[150:180], strict=True):
        selector.tell(row, click)
    predictions = [selector.predict_one(row) for row in rows[:30]]
    return Said([selector], [rounds.predictions, rounds.looks, asked, selector.ask(), predictions], [])


def chosen(policy):
    """Draw sets and learn from their rewards, some of them late, while actions come and go."""
    decisions, waiting = [], deque()
    for place in range(120):
        if place == 40:
            policy.add_action("e")
        elif place == 60:
            policy = reloaded(policy)
        elif place == 80:
            policy.remove_action("a")
        decision = policy.decide()
        decisions.append(decision.actions)
        waiting.append((decision, REWARDS[place, 0]))
        if len(waiting) > DELAY:
            late, reward = waiting.popleft()
            if set(late.actions) <= set(policy.actions):
                policy.learn(late, reward)
    return Said([policy], decisions, [])


def summarised(summary, *more):
    """Count a column, some of it after a loading."""
    values, half = [row["x"] or 0.5 for row in ROWS], len(ROWS) // 2
    summary.add_many(values[:half], *(column[:half] for column in more))
    summary = reloaded(summary)
    summary.add_many(values[half:], *(column[half:] for column in more))
    asked = [summary.quantile(0.3), summary.histogram(5)] if isinstance(summary, st.summaries.QuantileSummary) else []
    return Said([summary], asked, [])


def counted(sketch):
    """Count categories and their classes."""
    for start in (0, 200):
        sketch.add_many([str(row["device"]) for row in ROWS[start : start + 200]], CLICKS[start : start + 200])
        sketch = reloaded(sketch)
    return Said([sketch], [sketch.class_counts("watch")], [])


def encoded(encoder):
    """Turn rows into numbers."""
    return Said([reloaded(encoder)], [encoder.encode_many(ROWS)], [])


def exact(model):
    """Rows of categories alone, for an exact tree; what it finds is a tree of arrays."""
    rows = [{"device": row["device"], "member": str(row["member"])} for row in ROWS]
    model.learn_many(rows[:200], CLASSES[:200])
    model = reloaded(model)
    model.learn_many(rows[200:], CLASSES[200:])
    tree = reloaded(model.tree())
    predicted = [model.value, tree.predict_many(rows[:20])]
    return Said([model, tree], predicted, [model.predict_proba_many(rows[:20])])


def trained(model):
    """A network in jax, and kernels that ask it."""
    model.learn_many(ROWS[:200], CLASSES[:200])
    model = reloaded(model)
    model.learn_many(ROWS[200:], CLASSES[200:])
    tree = model.tree()
    return Said([model, tree], [model.predict_many(ROWS[:60])], [model.predict_proba_many(ROWS[:60])])
