"""Decision trees built by deep Q-learning."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.options import check_bool, check_number, check_one_of, check_whole
from stumpery.reinforcement.deep_tree import DeepTree
from stumpery.reinforcement.training.learner import AgentState, Chunk, Found, Spans
from stumpery.types import Floats

REPORTS = ("all", "one")


@dataclass(kw_only=True, eq=False)
class DQNTree(DeepTree):
    """A network learns what each query and each report is worth; the best action in every state is a decision tree.

    Algorithm 1 of Chaouki, Read and Bifet, "Online Decision Tree Construction with Deep Reinforcement Learning", and
    with `double` its Double DQN. `depth_penalty` is the price of looking at a column, in shares of accuracy: .001 where
    only accuracy counts, .01 to .03 for readable trees. Every row is walked by queries, a share `epsilon` of them at
    random, and joins the `memory` of rows; then `n_updates` batches are sampled from it, or as many as the row has
    columns if that is None, as in the paper. As the class is known, so is the reward of all `reports`; "one" uses a
    random one, as the paper does. With a `priority` above 0, rows that the network is wrong about are sampled more
    often. With `drift`, a rise of its mistakes makes it forget all but the latest rows.

    >>> model = DQNTree(depth_penalty=0.02, warm_up=100)
    >>> rows = [{"hour": event % 24, "device": ("phone", "watch")[event % 2]} for event in range(1200)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12, "device": "phone"})
    'work'
    >>> print(model.tree().to_text())
    100.0% of rows, ask hour
      hour <= 8 or hour > 17: 62.5% of rows, report 'home'
      8 < hour <= 17: 37.5% of rows, report 'work'
    """

    double: bool = False
    epsilon: float = 0.5
    batch_size: int = 512
    n_updates: int | None = 1
    target_every: int = 1000
    reports: str = "all"
    priority: float = 0.0
    drift: bool = False

    def __post_init__(self) -> None:
        check_bool("double", self.double)
        check_number("epsilon", self.epsilon, 0, 1)
        check_whole("batch_size", self.batch_size, 2, 65_536)
        if self.n_updates is not None:
            check_whole("n_updates", self.n_updates, 0, 10_000)
        check_whole("target_every", self.target_every, 1, 1_000_000_000)
        check_one_of("reports", self.reports, REPORTS)
        check_number("priority", self.priority, 0, 1)
        check_bool("drift", self.drift)
        super().__post_init__()

    def _loop(self, learner: AgentState, spans: Spans, rows: Chunk, n: Any) -> tuple[AgentState, Found]:
        from stumpery.reinforcement.training import dqn

        done: tuple[AgentState, Found] = dqn.run(learner, spans, self._rule(), rows, n, self._kind())
        return done

    def _kind(self) -> Any:
        from stumpery.reinforcement.training.dqn import Kind

        return Kind(2 * (self.batch_size // 2), self.double, self.reports == "all", float(self.priority), self.drift)

    def _rule(self) -> Any:
        from stumpery.reinforcement.training.dqn import Rule

        n_columns = 0 if self.schema is None else len(self.schema)
        n_updates = n_columns if self.n_updates is None else self.n_updates
        return Rule(
            depth_penalty=np.float32(self.depth_penalty),
            epsilon=np.float32(self.epsilon),
            learning_rate=np.float32(self.learning_rate),
            target_every=np.int32(self.target_every),
            n_updates=np.int32(0 if self._trainee is None else n_updates),
        )

    def _probabilities(self, worths: Floats) -> Floats:
        """A report is worth the probability that it is right; where none seems worth anything, the best one is certain."""
        shares = np.maximum(worths, 0.0)
        totals = shares.sum(axis=1, keepdims=True)
        best = np.eye(worths.shape[1])[worths.argmax(axis=1)]
        found: Floats = np.where(totals > 0.0, shares / np.where(totals > 0.0, totals, 1.0), best)
        return found
