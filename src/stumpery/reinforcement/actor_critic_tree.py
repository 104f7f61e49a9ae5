"""Decision tree built by advantage actor-critic (A2C)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.options import check_number, check_whole
from stumpery.reinforcement.deep_tree import DeepTree
from stumpery.reinforcement.training.agent_state import AgentState, Chunk, ChunkResult, Spans
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class ActorCriticTree(DeepTree):
    """Decision tree built by advantage actor-critic (A2C), an on-policy alternative to `DQNTree`.

    The actor draws queries and reports, the critic estimates the return. It explores poorly, as the paper found; prefer
    `DQNTree`. Source: algorithm 2 of Chaouki, Read and Bifet, "Online Decision Tree Construction with Deep
    Reinforcement Learning".

    Args:
        depth_penalty: Price of one query, in units of accuracy, 0 to 1. The default .001 counts accuracy almost alone;
            .01 to .03 give shallow, readable trees.
        learning_rate: Learning rate of Adam, above 0 and at most 1; .001 is Adam's usual one.
        width: Units of each of the two hidden layers, 1 to 4096. 32 suffice for tables of a few dozen columns.
        warm_up: Number of first rows, 1 to 1,000,000, whose quantiles discretise the numbers. Training begins after
            them; 200 rows place the cuts well enough.
        n_cells: Cells per numerical column, 1 to 240, cut at quantiles. With None the network receives the numbers
            themselves, as in the paper, and `tree` refuses. 32 cells lose little accuracy.
        max_categories: Categories per categorical column, 1 to 30,000; later ones count as missing. It bounds the
            memory.
        memory: Number of latest rows, 1 to 10,000,000, that are counted in the extracted tree; they are not replayed.
        schema: Columns of a row; None infers them from the first rows.
        seed: Seed of all random numbers, from 0 to 2**63 - 1.
        entropy: Weight of the entropy loss, 0 to 1, which keeps the policy from becoming deterministic too early.
        n_step: Steps of an episode between two updates, 1 to 1000; the end of an episode updates, too.

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

    def _train_chunk(self, state: AgentState, spans: Spans, rows: Chunk, n: Any) -> tuple[AgentState, ChunkResult]:
        from stumpery.reinforcement.training import actor_critic

        options = actor_critic.ActorCriticOptions(
            depth_penalty=np.float32(self.depth_penalty),
            entropy=np.float32(self.entropy),
            learning_rate=np.float32(self.learning_rate),
            learns=np.int32(self._agent is not None),
        )
        trained: tuple[AgentState, ChunkResult] = actor_critic.run(state, spans, options, rows, n, self.n_step)
        return trained

    def _class_probabilities(self, report_values: Floats) -> Floats:
        """The softmax over the logits of reports; all zeros before the first class."""
        highest = report_values.max(axis=1, keepdims=True)
        weights = np.exp(report_values - np.where(np.isfinite(highest), highest, 0.0))
        probabilities: Floats = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        return probabilities
