"""Many actions with and without features, in a simulated shop: reward forests, Vowpal Wabbit and the best item."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import trial_seeds
from stumpery.policies import RewardForest
from stumpery.streams.shop import Shop
from stumpery.studies.contextual.peers import VowpalWabbitActions
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, load_or_run, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need
from stumpery.types import Batch, Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOP_SIZES = (100, 1000)
MAX_PEER_ITEMS = 100  # Vowpal Wabbit needs milliseconds for a decision on 100 items
N_FIFTHS = 5
N_COMPILING = 20  # events that compile before the measurement
ENOUGH_STEPS, ENOUGH_TRIALS = 10_000, 3
MIN_SPEED_RATIO = 20.0
WITH, WITHOUT, PEER, SINGLE, BEST = (
    "RewardForest, with features",
    "RewardForest, without features",
    "Vowpal Wabbit adf squarecb -q",
    "best single item",
    "best item for each user",
)

Player = Callable[[Shop, Batch, int], Integers]


def forest_player(shop: Shop, batch: Batch, seed: int, *, has_features: bool) -> Integers:
    """The items that a reward forest shows."""
    features = shop.features if has_features else None
    policy = RewardForest(actions=shop.actions, features=features, seed=seed)
    return policy.play(batch.contexts, batch.rewards).actions


def peer_player(shop: Shop, batch: Batch, seed: int) -> Integers:
    """The items that Vowpal Wabbit shows."""
    return VowpalWabbitActions(features=shop.features, seed=seed).play(batch.contexts, batch.rewards)


def single_player(shop: Shop, batch: Batch, seed: int) -> Integers:
    """Always the item that is best on average, which no policy knows."""
    return np.full(len(batch.rewards), _expected(batch).mean(axis=0).argmax())


def best_player(shop: Shop, batch: Batch, seed: int) -> Integers:
    """The best item for each user, which no policy knows."""
    best: Integers = _expected(batch).argmax(axis=1)
    return best


def players_of(n_items: int) -> dict[str, Player]:
    """All policies for a shop of this size."""
    players: dict[str, Player] = {
        WITH: partial(forest_player, has_features=True),
        WITHOUT: partial(forest_player, has_features=False),
        SINGLE: single_player,
        BEST: best_player,
    }
    if n_items <= MAX_PEER_ITEMS and find_spec("vowpalwabbit") is not None:
        players[PEER] = peer_player
    return players


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy in every shop, one after the other so that each has the whole machine."""
    rows = []
    for n_items in SHOP_SIZES:
        for name, player in players_of(n_items).items():
            make = partial(measured, settings, n_items, player, progress)
            trials = load_or_run(parts, f"{name}, {n_items} items", settings.steps * settings.trials, progress, make)
            rows.append({"items": n_items, "policy": name, **summary(trials)})
    return Outcome(
        result=TableResult(rows),
        table=rows,
        findings=verdicts(claims(rows), enough=settings.steps >= ENOUGH_STEPS and settings.trials >= ENOUGH_TRIALS),
        draw=partial(draw, rows),
    )


def measured(settings: Settings, n_items: int, player: Player, progress: Progress) -> list[dict[str, Any]]:
    """Each trial's mean expected reward in every fifth of its users, and the events per second."""
    trials = []
    for trial in range(settings.trials):
        users_seed, policy_seed = trial_seeds(settings.seed, trial)
        shop = Shop(n_actions=n_items, items_seed=trial)
        batch = next(shop.batches(seed=users_seed, size=settings.steps))
        first = Batch(batch.contexts[:N_COMPILING], batch.rewards[:N_COMPILING], _expected(batch)[:N_COMPILING])
        player(shop, first, policy_seed)
        start = perf_counter()
        actions = player(shop, batch, policy_seed)
        speed = settings.steps / (perf_counter() - start)
        earned = _expected(batch)[np.arange(settings.steps), actions]
        fifths = [float(part.mean()) for part in np.array_split(earned, N_FIFTHS) if len(part)]
        trials.append({"fifths": fifths, "mean": float(earned.mean()), "events_per_s": speed})
        progress(settings.steps)
    return trials


def summary(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the trials."""
    return {
        "mean": float(np.mean([trial["mean"] for trial in trials])),
        "last fifth": float(np.mean([trial["fifths"][-1] for trial in trials])),
        "last fifths": ", ".join(f"{trial['fifths'][-1]:.3f}" for trial in trials),
        "events_per_s": float(np.median([trial["events_per_s"] for trial in trials])),
    }


def claims(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """The claims on rewards and speed."""
    of = {(row["items"], row["policy"]): row for row in rows}
    found = []
    for n_items in SHOP_SIZES:
        ours, single = of[n_items, WITH]["last fifth"], of[n_items, SINGLE]["last fifth"]
        found.append(
            finding(
                f"of {n_items} items with features, the last fifth earns more than the best single item",
                holds=ours > single,
                evidence=f"{ours:.3f} against {single:.3f}",
            )
        )
    if (MAX_PEER_ITEMS, PEER) in of:
        ours, peer = of[MAX_PEER_ITEMS, WITH], of[MAX_PEER_ITEMS, PEER]
        ratio = ours["events_per_s"] / peer["events_per_s"]
        found.append(
            finding(
                f"of {MAX_PEER_ITEMS} items it earns no less than Vowpal Wabbit, {MIN_SPEED_RATIO:g} times as fast",
                holds=ours["mean"] >= peer["mean"] and ratio >= MIN_SPEED_RATIO,
                evidence=f"{ours['mean']:.3f} against {peer['mean']:.3f}, {ratio:.0f} times as fast",
            )
        )
    return found


def draw(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """A bar for each policy, by the number of items."""
    figure: Figure
    figure, panels = need("matplotlib.pyplot", "study").subplots(
        1, len(SHOP_SIZES), figsize=(11, 3.2), layout="constrained", sharex=True
    )
    for panel, n_items in zip(panels, SHOP_SIZES, strict=True):
        shown = [row for row in rows if row["items"] == n_items]
        panel.barh([row["policy"] for row in shown], [row["last fifth"] for row in shown])
        panel.set(xlabel="mean reward in the last fifth", title=f"{n_items} items")
    return figure


def _expected(batch: Batch) -> Any:
    assert batch.expected is not None  # noqa: S101 - a shop has exact expected rewards
    return batch.expected


STUDY = Study(
    name="many-actions",
    title="Many actions with features: rewards in a simulated shop of 100 and 1,000 items",
    source="Stumpery's own",
    steps=10_000,
    trials=3,
    n_events=lambda settings: sum(len(players_of(n)) for n in SHOP_SIZES) * settings.steps * settings.trials,
    run=run,
    is_timed=True,
)
