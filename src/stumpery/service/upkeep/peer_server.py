"""Vowpal Wabbit behind the same server: `python -m stumpery.service.upkeep.peer_server FOLDER`, for measurements.

The requests, the log and the answers are the service's own; only the model is another. Its state is in no snapshot, so
such a site is served once.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stumpery.service.engine.journal import Journal
from stumpery.service.server import serve
from stumpery.service.settings import PolicySettings, SiteSettings
from stumpery.system.extras import need
from stumpery.types import Decision, Floats

NEVER = 10**12
VW_OPTIONS = "--squarecb -q :: --quiet"  # as in the benchmarks of contextual policies


class VowpalWabbitModel:
    """What the service asks of a model, from Vowpal Wabbit: contexts become lines of its text format.

    Args:
        actions: Names of the actions.
    """

    n_bytes = 0

    def __init__(self, actions: Sequence[str]) -> None:
        self.actions = list(actions)
        workspace = need("vowpalwabbit", "bench").Workspace
        self._workspace = workspace(f"--cb_explore {len(self.actions)} {VW_OPTIONS}")

    def decide(self, context: Any) -> None:
        """Do nothing: its columns need no declaration."""

    def probabilities(self, context: Any, *, available: Iterable[str] | None = None) -> Floats:
        """The probabilities of all actions."""
        return np.array(self._workspace.predict(_line(context)))

    def position(self, action: str) -> int:
        """The index of an action."""
        return self.actions.index(action)

    def learn_many(self, decisions: Sequence[Decision], rewards: Sequence[float]) -> None:
        """Learn rewards of decisions."""
        for decision, reward in zip(decisions, rewards, strict=True):
            self.learn(decision, reward)

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn the reward of a decision, as its cost."""
        label = f"{self.position(str(decision.action)) + 1}:{1.0 - reward}:{decision.probability}"
        self._workspace.learn(f"{label} {_line(decision.context)}")


def _line(context: Any) -> str:
    return "| " + " ".join(
        f"{key}={value.replace(' ', '_')}" if isinstance(value, str) else f"{key}:{value}"
        for key, value in context.items()
    )


def serve_peer(folder: str, actions: tuple[str, ...]) -> None:
    """Serve a policy named default whose model is Vowpal Wabbit's."""
    policy = PolicySettings(actions=actions, kind="RandomPolicy", learn_at_once=True)
    settings = SiteSettings(
        folder=folder, port=0, policies={"default": policy}, snapshot_events=NEVER, snapshot_s=31_536_000.0
    )

    def replace_model(journal: Journal) -> None:
        journal.replica.policy("default").model = VowpalWabbitModel(actions)  # type: ignore[assignment]

    serve(settings, lambda address: print(f"serves {address}", flush=True), first=replace_model)  # noqa: T201


if __name__ == "__main__":
    serve_peer(sys.argv[1], tuple(sys.argv[2].split(",")))
