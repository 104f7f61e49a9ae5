"""Decision tree built by deep Q-learning (DQN)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.options import check_bool, check_number, check_one_of, check_whole
from stumpery.reinforcement.deep_tree import DeepTree
from stumpery.reinforcement.training.agent_state import AgentState, Chunk, ChunkResult, Spans
from stumpery.types import Floats

if TYPE_CHECKING:
    from stumpery.reinforcement.training.dqn import DQNOptions, DQNSettings

REPORTS = ("all", "one")  # allowed values of `reports`
FALLING = "falling"  # a value of `n_updates`
N_EARLY = 4  # updates per row at first, when they fall
TARGETS = ("legal", "all")  # allowed values of `targets`


@dataclass(kw_only=True, eq=False)
class DQNTree(DeepTree):
    """Decision tree built by deep Q-learning (DQN): the greedy policy over learned Q-values is the tree.

    A network estimates the Q-value of each query and report in every partly observed row. Source: algorithm 1 of
    Chaouki, Read and Bifet, "Online Decision Tree Construction with Deep Reinforcement Learning".

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
        memory: Rows in the replay memory, 1 to 10,000,000; 8 bytes per column and 8 more. 50,000 follow slow changes.
        schema: Columns of a row; None infers them from the first rows.
        seed: Seed of all random numbers, from 0 to 2**63 - 1.
        double: Whether to use Double DQN, which reduces the overestimation of Q-values.
        epsilon: Share of random queries in the exploring rollout, 0 to 1.
        batch_size: States per update, 2 to 65,536, rounded down to an even number: half for queries, half for reports.
        n_updates: Updates per row: "falling" is 4 until there were 8,000 updates, then 1, so that short streams learn
            enough; a number from 0 to 10,000; None is one per column, as in the paper, which costs more.
        target_every: Updates between two copies of the weights into the target network, from 1.
        reports: Reports whose reward is learned: "all", as the class is known, or "one" at random, as in the paper.
        targets: Actions whose largest Q-value in the next state is the target of a query: "legal", clipped to [0, 1],
            or "all", illegal ones too and unbounded, as the paper prints it; then some runs diverge.
        priority: Exponent of prioritised replay, 0 to 1. 0 samples uniformly; above 0, rows with large errors are
            sampled more often.
        drift: Whether a rise of the error rate shortens the replay memory to the latest 200 rows.

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
    n_updates: int | str | None = FALLING
    target_every: int = 1000
    reports: str = "all"
    targets: str = "legal"
    priority: float = 0.0
    drift: bool = False

    def __post_init__(self) -> None:
        check_bool("double", self.double)
        check_number("epsilon", self.epsilon, 0, 1)
        check_whole("batch_size", self.batch_size, 2, 65_536)
        if isinstance(self.n_updates, str):
            check_one_of("n_updates", self.n_updates, (FALLING,))
        elif self.n_updates is not None:
            check_whole("n_updates", self.n_updates, 0, 10_000)
        check_whole("target_every", self.target_every, 1, 1_000_000_000)
        check_one_of("reports", self.reports, REPORTS)
        check_one_of("targets", self.targets, TARGETS)
        check_number("priority", self.priority, 0, 1)
        check_bool("drift", self.drift)
        super().__post_init__()

    def _train_chunk(self, state: AgentState, spans: Spans, rows: Chunk, n: Any) -> tuple[AgentState, ChunkResult]:
        from stumpery.reinforcement.training import dqn

        options, settings = self._dqn_options(), self._dqn_settings()
        trained: tuple[AgentState, ChunkResult] = dqn.run(state, spans, options, rows, n, settings)
        return trained

    def _dqn_settings(self) -> "DQNSettings":
        from stumpery.reinforcement.training.dqn import DQNSettings

        return DQNSettings(
            batch=2 * (self.batch_size // 2),
            double=self.double,
            all_reports=self.reports == "all",
            legal_targets=self.targets == "legal",
            priority=float(self.priority),
            drift=self.drift,
        )

    def _dqn_options(self) -> "DQNOptions":
        from stumpery.reinforcement.training.dqn import DQNOptions

        n_early, n_updates = self._updates_per_row()
        return DQNOptions(
            depth_penalty=np.float32(self.depth_penalty),
            epsilon=np.float32(self.epsilon),
            learning_rate=np.float32(self.learning_rate),
            target_every=np.int32(self.target_every),
            n_updates=np.int32(n_updates),
            n_early_updates=np.int32(n_early),
        )

    def _updates_per_row(self) -> tuple[int, int]:
        """Updates of each row, at first and later; none during the warm-up."""
        if self._agent is None:
            return 0, 0
        if isinstance(self.n_updates, str):
            return N_EARLY, 1
        n_updates = len(self.schema or ()) if self.n_updates is None else self.n_updates
        return n_updates, n_updates

    def _class_probabilities(self, report_values: Floats) -> Floats:
        """The normalised Q-values of reports, which estimate class probabilities; one-hot where none is positive."""
        positive = np.maximum(report_values, 0.0)
        totals = positive.sum(axis=1, keepdims=True)
        one_hot = np.eye(report_values.shape[1])[report_values.argmax(axis=1)]
        probabilities: Floats = np.where(totals > 0.0, positive / np.where(totals > 0.0, totals, 1.0), one_hot)
        return probabilities
