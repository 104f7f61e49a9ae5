"""NeuralBandit: a committee of small neural networks (Allesiardo, Féraud and Bouneffouf 2014)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import VectorEncoder
from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_whole
from stumpery.policies.filling import RewardPredictor
from stumpery.policies.neural import network_kernels as networks
from stumpery.policies.neural import neural_bandit_kernels as neural_kernels
from stumpery.policies.vector_policy import VectorKernels, VectorPolicy
from stumpery.saving.validation import check, check_learned
from stumpery.system.allocation import reserve
from stumpery.types import Floats

MAX_UNITS = 10_000


@dataclass(kw_only=True, eq=False)
class NeuralBandit(RewardPredictor[VectorEncoder], VectorPolicy[networks.Networks]):
    """Neural contextual bandit: the best action by a committee of networks; with probability `gamma` any action.

    Every network learns from every reward, and Exp3 learns the network to follow (Allesiardo, Féraud and Bouneffouf
    2014, Algorithm 3). Memory is 8 * actions * (columns + 2) bytes for each hidden unit.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        gamma: Probability of a uniform choice of the action, above 0 and at most 1. Updates divide by the probability
            of the decision, so that smaller ones have more variance.
        committee: The networks: pairs of hidden units (1 to 10,000) and learning rate (above 0). By default four, since
            no rate is best for all problems.
        explore: Probability of a uniform choice of the network in Exp3, above 0 and at most 1.

    >>> policy = NeuralBandit(actions=["a", "b"], committee=[(4, 0.1), (8, 0.1)], gamma=0.1, seed=1)
    >>> for step in range(200):
    ...     decision = policy.decide(np.array([step % 2, 1 - step % 2]))
    ...     policy.learn(decision, reward=1.0 if decision.action == "ab"[step % 2] else 0.0)
    >>> policy.decide(np.array([1, 0])).action
    'b'
    """

    gamma: float = 0.02
    committee: Sequence[tuple[int, float]] = ((16, 0.03), (16, 0.1), (32, 0.01), (32, 0.03))
    explore: float = 0.1

    _kernels: ClassVar[VectorKernels] = neural_kernels

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, 0.0, 1.0, above=True)
        check_number("explore", self.explore, 0.0, 1.0, above=True)
        self.gamma, self.explore = float(self.gamma), float(self.explore)
        members = _checked(self.committee)
        self.committee = tuple(members)
        self._committee = networks.new_committee(members)
        super().__post_init__()

    def _new_rule(self) -> Floats:
        return np.array([self.gamma, self.explore])

    def _new_model(self, n_actions: int, size: int) -> networks.Networks:
        n_units = sum(n for n, _ in self.committee)
        reserve(8 * n_actions * n_units * (size + 2))
        return networks.new_networks(self._rng, self._committee, n_actions, size)

    def _model_arrays(self) -> tuple[Floats, ...]:
        return (self._committee, *self._model)

    def _reasons(self, row: Floats, action: int) -> str:
        probabilities = neural_kernels.member_probabilities(self._rule, self._committee)
        n_units, rate = self.committee[int(probabilities.argmax())]
        return (
            f"; the network of {n_units} units and rate {rate:g} has the highest probability, {probabilities.max():.4g}"
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._arrays(), "credits": self._committee[:, networks.MEMBER_LOG_WEIGHT]}

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "committee": [list(member) for member in self.committee]}

    def _validate_state(self) -> None:
        super()._validate_state()
        log_weights = self._committee[:, networks.MEMBER_LOG_WEIGHT]
        check_learned(log_weights, "the log-weight of a network")
        check(log_weights.max() == 0.0, "no network has the highest log-weight, which is 0")


def _checked(committee: Any) -> list[tuple[int, float]]:
    try:
        members = [(n_units, rate) for n_units, rate in committee] if isinstance(committee, Iterable) else []
    except (TypeError, ValueError):
        members = []
    if not members:
        raise InvalidInput(f"committee is {committee!r}; it must be a list of pairs of hidden units and learning rate")
    for n_units, rate in members:
        check_whole("a number of hidden units in committee", n_units, 1, MAX_UNITS)
        check_number("a learning rate in committee", rate, 0.0, above=True)
    return [(int(n_units), float(rate)) for n_units, rate in members]
