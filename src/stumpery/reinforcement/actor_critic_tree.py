"""Decision trees built by an actor and a critic."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.options import check_number, check_whole
from stumpery.reinforcement.deep_tree import DeepTree
from stumpery.reinforcement.training.learner import AgentState, Chunk, Found, Spans
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class ActorCriticTree(DeepTree):
    """A network learns by playing: its actor draws queries and reports, its critic says what to expect.

    Algorithm 2 of Chaouki, Read and Bifet. The network moves every `n_step` steps of an episode and at its end;
    `entropy` is the weight of the loss that keeps the actor from settling too soon. It learns from what it does itself
    and so explores poorly, as the paper found; `DQNTree` is poor on none of its problems.
    The `memory` of rows only serves to count them in the extracted tree.

    >>> model = ActorCriticTree(warm_up=100)
    >>> rows = [{"hour": event % 24, "device": ("phone", "watch")[event % 2]} for event in range(2000)]
    >>> model.learn_many(rows, ["day" if row["device"] == "phone" else "night" for row in rows])
    >>> model.predict_one({"hour": 12, "device": "phone"})
    'day'
    """

    entropy: float = 0.01
    n_step: int = 5
    memory: int = 10_000

    def __post_init__(self) -> None:
        check_number("entropy", self.entropy, 0, 1)
        check_whole("n_step", self.n_step, 1, 1000)
        super().__post_init__()

    def _loop(self, learner: AgentState, spans: Spans, rows: Chunk, n: Any) -> tuple[AgentState, Found]:
        from stumpery.reinforcement.training import actor_critic

        rule = actor_critic.Rule(
            depth_penalty=np.float32(self.depth_penalty),
            entropy=np.float32(self.entropy),
            learning_rate=np.float32(self.learning_rate),
            learns=np.int32(self._trainee is not None),
        )
        done: tuple[AgentState, Found] = actor_critic.run(learner, spans, rule, rows, n, self.n_step)
        return done

    def _probabilities(self, worths: Floats) -> Floats:
        """The actor's probabilities among the reports; before any class came there are none."""
        highest = worths.max(axis=1, keepdims=True)
        weights = np.exp(worths - np.where(np.isfinite(highest), highest, 0.0))
        found: Floats = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        return found
