"""Records and protocols that all layers share: decisions, batches, streams, states, explanations.

Records are plain data: a decision can be written to a log today and learned from next week.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.display import as_html, as_text
from stumpery.options import listed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bits = NDArray[np.uint8]
RandomState = NDArray[np.uint64]

Action = str | int | float | bool
Context = Any  # a mapping from column to value, one encoded row, or None


class Decision(NamedTuple):
    """Decision of a policy: the action, the probability with which it was chosen, and the context.

    Args:
        action: The action.
        probability: Probability with which the policy chose it, in (0, 1]; the propensity of off-policy estimators.
        context: A copy of the context as it was given; None where there is none.

    >>> Decision("news", probability=0.5)
    Decision(action='news', probability=0.5, context=None)
    """

    action: Action
    probability: float
    context: Context = None


class RankedDecision(NamedTuple):
    """Ranking of actions by a policy: the decision, whose action comes first, and those that follow.

    Args:
        decision: The action that was drawn, with its probability; its reward can be learned.
        actions: All ranked actions, that of the decision first, the others by descending score.

    >>> RankedDecision(Decision("news", probability=0.5), ("news", "film")).actions
    ('news', 'film')
    """

    decision: Decision
    actions: tuple[Action, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """Decisions as columns; iterating gives each as a `Decision`.

    Args:
        actions: The actions.
        probabilities: Probability of each action, in (0, 1].
        contexts: The contexts as a sequence of rows or a frame; None where there are none.

    >>> list(Decisions(["news", "film"], np.array([0.5, 0.25])))[1]
    Decision(action='film', probability=0.25, context=None)
    """

    actions: Sequence[Action]
    probabilities: Floats
    contexts: Any = None

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return f"Decisions({len(self)}: {listed(self.actions)})"

    def __iter__(self) -> Iterator[Decision]:
        contexts = frames.rows(self.contexts) if self.contexts is not None else iter([None] * len(self))
        probabilities = np.asarray(self.probabilities).tolist()
        for action, probability, context in zip(self.actions, probabilities, contexts, strict=True):
            yield Decision(action, probability, context)


class Batch(NamedTuple):
    """Batch of simulated events, with the rewards of all actions, which the policy does not see.

    Args:
        contexts: A frame or an array of n rows; None where there is no context.
        rewards: What each action would have paid, (n, actions).
        expected: The mean behind each reward, (n, actions); None where it is not known.

    >>> from stumpery.streams import BernoulliArms
    >>> batch = next(BernoulliArms(means=[0.25, 0.75]).batches(seed=7, size=1000))
    >>> batch.rewards.shape, batch.expected[0].tolist()
    ((1000, 2), [0.25, 0.75])
    """

    contexts: Any
    rewards: Floats
    expected: Floats | None = None


class Stream(Protocol):
    """Source of simulated events: the same seed gives the same events.

    >>> from stumpery.streams import BernoulliArms
    >>> stream: Stream = BernoulliArms(n_actions=3)
    >>> list(stream.actions), stream.reward_range
    ([0, 1, 2], (0.0, 1.0))
    """

    @property
    def actions(self) -> Sequence[Action]:
        """The actions, in the order of the columns of `Batch.rewards`."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward."""

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Batches of at most `size` events, without end unless the stream says otherwise."""


class State(NamedTuple):
    """State of a model: its options as plain JSON values, and its arrays.

    Args:
        options: The options by name.
        arrays: The arrays by name, live: they change as the model goes on.

    >>> from stumpery.summaries import Moments
    >>> Moments().state().arrays.keys()
    dict_keys(['row'])
    """

    options: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True, repr=False)
class Explanation:
    """Explanation of a decision or a prediction: one sentence, and a table.

    Args:
        summary: The sentence.
        rows: The table, such as a row per action, each a mapping from column to value.

    >>> print(Explanation("'news' has the highest score", ({"action": "news", "n": 3}, {"action": "film", "n": 14})))
    'news' has the highest score
      action   n
        news   3
        film  14
    """

    summary: str
    rows: tuple[Mapping[str, Any], ...]

    def __str__(self) -> str:
        return "\n".join([self.summary, *as_text(self.rows)])

    def __repr__(self) -> str:
        return f"Explanation({self.summary!r}, {len(self.rows)} rows)"

    def _repr_html_(self) -> str:
        return as_html(self.summary, self.rows)
