"""Stopping times of successive elimination on problems with known gaps.

One bit decides: where it is set the first action is best, elsewhere the second. Its gap to the other bits is `gap`
(Delta_1 of the paper). Where the bit is known, the best action pays `2 gap` more than the others, and each value comes
half of the time: the gap that Theorem 1 counts, of means and values together, is `gap` again (Delta_2). A stump tests
actions while it looks for the variable (Algorithm 4), so that both may be known at once.

For a forest two bits decide. They agree or differ, and so the first or the second action pays most; it does so by twice
as much where the second bit is set. Hence the first bit alone is worth something, the second alone nothing, and every
tree of depth 2 is to ask for the first and then, on both sides, for the second. With a lead of `spread` over a half
where the second bit is set and of half of that elsewhere, all gaps that Theorem 3 counts are a quarter of `spread`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from stumpery.evaluation.regret import trial_seeds
from stumpery.policies import BanditForest, BanditStump, Policy, SuccessiveElimination
from stumpery.policies.bandit_forest import sample_complexity as needs
from stumpery.policies.bandit_forest.sample_complexity import plays_until_elimination
from stumpery.types import Bits, Floats

DELTA = 0.05
DEPTH, N_SIMULATED_TREES = 2, 10  # of the forest
SPREAD = 1.25  # of the forest's problem, for a gap of 1 of the others'
N_CHECKS = 100  # of a policy, within its expected stopping time
Events = Iterator[tuple[Bits, Floats]]
Known = Mapping[str, Callable[[], bool]]
Measured = dict[str, list[Any]]  # by target: stopping time, and whether the answer was correct


class Point(NamedTuple):
    """A problem, and the name of the varied parameter."""

    varied: str
    n_variables: int = 16
    n_actions: int = 2
    gap: float = 0.3


def bounds(point: Point) -> dict[str, float]:
    """The paper's bounds: Lemma 3, Lemma 1, Theorem 1 and Theorem 3."""
    n_actions, n_variables, gap = point.n_actions, point.n_variables, point.gap
    return {
        "best action": needs.action_selection(n_actions=n_actions, action_gap=2 * gap, delta=DELTA),
        "best variable": needs.variable_selection(
            n_actions=n_actions, n_variables=n_variables, variable_gap=gap, delta=DELTA
        ),
        "best stump": needs.decision_stump(
            n_actions=n_actions, n_variables=n_variables, variable_gap=gap, action_gap=gap, delta=DELTA
        ),
        "best forest": needs.bandit_forest(
            n_actions=n_actions,
            n_variables=n_variables,
            variable_gap=SPREAD * gap / 4,
            action_gap=SPREAD * gap / 4,
            depth=DEPTH,
            n_trees=N_SIMULATED_TREES,
            delta=DELTA,
        ),
    }


def measure(point: Point, seed: int, trial: int, max_events: int) -> Measured:
    """The stopping times of successive elimination, a stump and a forest, with at most `max_events` events each."""
    events_seed, policy_seed = trial_seeds(seed, trial)
    lone = SuccessiveElimination(actions=range(point.n_actions), delta=DELTA, seed=policy_seed)
    paper: Any = {"epsilon": 0, "delta": DELTA, "explore": "in turn", "weights": "none", "seed": policy_seed}
    stump = BanditStump(actions=lone.actions, **paper)
    forest = BanditForest(
        actions=lone.actions, n_trees=N_SIMULATED_TREES, max_depth=DEPTH, variables=1, vote="all", **paper
    )
    is_one = {"best action": lambda: len(lone.remaining) == 1}
    is_split = {
        "best variable": lambda: "?\n" in stump.to_text(),
        "best stump": lambda: is_complete(stump.to_text()),
    }
    is_grown = {"best forest": lambda: all(is_complete(forest.to_text(tree)) for tree in range(N_SIMULATED_TREES))}
    times = {
        **stopping_times(lone, _events(point, events_seed, blind=True), is_one, max_events),
        **stopping_times(stump, _events(point, events_seed), is_split, max_events),
        **stopping_times(forest, _forest_events(point, events_seed), is_grown, max_events),
    }
    rows = np.eye(2, point.n_variables, dtype=np.uint8)  # the first bit is set in the first row only
    corners = np.zeros((4, point.n_variables), dtype=np.uint8)
    corners[:, :2] = [[0, 0], [0, 1], [1, 0], [1, 1]]
    right = {
        "best action": lone.remaining == (0,),
        "best variable": stump.to_text().startswith("x0?"),
        "best stump": [stump.decide(row).action for row in rows] == [0, 1],
        "best forest": all(is_as_made(forest.to_text(tree)) for tree in range(N_SIMULATED_TREES))
        and [forest.decide(row).action for row in corners] == [0, 1, 1, 0],
    }
    return {what: [times[what], right[what]] for what in times}


def is_complete(tree: str) -> bool:
    """Whether every leaf of a tree, given as text, has identified its action."""
    return " remain after " not in tree


def is_as_made(tree: str) -> bool:
    """Whether a tree splits by the first bit, and then by the second."""
    return tree.startswith("x0?\n  no: x1?\n") and "\n  yes: x1?\n" in tree


def stopping_times(policy: Policy, events: Events, known: Known, max_events: int) -> dict[str, int | None]:
    """The number of events after which each target was identified; None if `max_events` were not enough."""
    times: dict[str, int | None] = dict.fromkeys(known)
    n_played = 0
    while n_played < max_events and None in times.values():
        contexts, rewards = next(events)
        remaining = max_events - n_played
        policy.play(contexts[:remaining], rewards[:remaining])
        n_played += min(remaining, len(rewards))
        times |= {what: n_played for what, is_known in known.items() if times[what] is None and is_known()}
    return times


def _events(point: Point, seed: int, *, blind: bool = False) -> Events:
    """Endless batches of events, one per check; with `blind` the first bit of all contexts is set."""
    rng = np.random.default_rng(seed)
    n_hypotheses, gap = point.n_actions * point.n_variables, point.gap
    plays = plays_until_elimination(gap=2 * gap, n_hypotheses=point.n_actions, width=2.0, delta=DELTA)
    if not blind:
        plays = plays_until_elimination(gap=gap, n_hypotheses=n_hypotheses, width=4.0, delta=DELTA)
    size = max(1, plays * point.n_actions // N_CHECKS)
    while True:
        contexts = rng.integers(0, 2, size=(size, point.n_variables), dtype=np.uint8)
        contexts[:, 0] |= blind
        means = np.full((size, point.n_actions), 0.5 - gap)
        means[np.arange(size), 1 - contexts[:, 0]] = 0.5 + gap
        yield contexts, (rng.random(means.shape) < means).astype(np.float64)


def _forest_events(point: Point, seed: int) -> Events:
    """Endless batches of events of the problem with two deciding bits."""
    rng = np.random.default_rng(seed)
    spread, n_hypotheses = SPREAD * point.gap, point.n_actions * point.n_variables * DEPTH * N_SIMULATED_TREES
    plays = plays_until_elimination(gap=spread / 4, n_hypotheses=n_hypotheses, width=4.0, delta=DELTA)
    size = max(1, plays * point.n_actions // N_CHECKS)
    while True:
        contexts = rng.integers(0, 2, size=(size, point.n_variables), dtype=np.uint8)
        lead = np.where(contexts[:, 1], spread, spread / 2)
        lead[contexts[:, 0] != contexts[:, 1]] *= -1
        means = np.full((size, point.n_actions), 0.5 - spread)
        means[:, 0], means[:, 1] = 0.5 + lead, 0.5 - lead
        yield contexts, (rng.random(means.shape) < means).astype(np.float64)
