"""Adapters of other libraries' contextual bandits, if installed.

All receive the same rows: numbers standardised by the first thousand rows, categories one-hot, missing values as 0.
Their speed is that of calls from Python row by row, including the conversion of the row.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from random import Random
from typing import Any

import numpy as np

from stumpery.encoding import Schema, VectorEncoder
from stumpery.frames import rows as frame_rows
from stumpery.options import is_number
from stumpery.policies.records import ChosenActions
from stumpery.studies.contextual.refitted_trees import N_FIRST_ROWS, RefittedTrees
from stumpery.types import Action, Floats, Integers

MAX_DEVIATION = 10.0  # spreads from the mean
N_BINS = 16  # of a number, where a peer has bins
N_ACTION_BINS = 8  # the same, where actions have features
VW_BITS = 20  # of the table of weights, each 4 floats
ALPHA = 0.25  # of every LinUCB, as of ours

REGCB = "--regcbopt --mellowness .001 --cb_min_cost -1 --cb_max_cost 0"  # its defaults expect costs of 0 to 1


class Vectors:
    """Encoder of rows as vectors, standardised by the first rows."""

    def __init__(self, contexts: Any) -> None:
        first = contexts[:N_FIRST_ROWS]
        self._encoder = VectorEncoder(schema=Schema.infer(first), one_hot=True)
        values = np.nan_to_num(self._encoder.encode_many(first))
        is_binary = ((values == 0) | (values == 1)).all(axis=0) | (values.std(axis=0) == 0)
        self._mean = np.where(is_binary, 0.0, values.mean(axis=0))
        self._spread = np.where(is_binary, 1.0, values.std(axis=0))
        self._quantiles = np.quantile(self(first)[:, :-1], np.arange(1, N_BINS) / N_BINS, axis=0).T
        self._has_bins = ~is_binary

    def __call__(self, contexts: Any) -> Floats:
        """Standardised columns, and a constant."""
        values = np.nan_to_num((self._encoder.encode_many(contexts) - self._mean) / self._spread)
        return np.column_stack([values.clip(-MAX_DEVIATION, MAX_DEVIATION), np.ones(len(values))])

    def binned(self, vector: Floats) -> list[str]:
        """The names of a vector's features, without the constant: of set bits, and of the bins of numbers."""
        return [
            f"x{column}b{np.searchsorted(self._quantiles[column], value)}" if has_bins else f"x{column}"
            for column, (value, has_bins) in enumerate(zip(vector[:-1].tolist(), self._has_bins.tolist(), strict=True))
            if has_bins or value
        ]


class Peer(ABC):
    """A policy of another library, which decides and learns one row at a time."""

    def __init__(self, *, actions: Sequence[Action], seed: int) -> None:
        self._n_actions = len(actions)
        self._seed = seed % 2**31
        self._draws = Random(seed)  # noqa: S311 - nothing secret
        self._vectors: Vectors | None = None
        self._model = self._new_model()

    @abstractmethod
    def _new_model(self) -> Any:
        """The library's object; raises an ImportError if it is not installed."""

    @abstractmethod
    def decide(self, row: Any) -> tuple[int, float]:
        """An action's index and its probability."""

    @abstractmethod
    def learn(self, row: Any, action: int, reward: float, probability: float) -> None:
        """Take one reward."""

    def form(self, vector: Floats) -> Any:
        """A vector as the library wants it."""
        return vector[None]

    @property
    def n_bytes(self) -> int:
        """The size of the library's object in a file."""
        return len(pickle.dumps(self._model))

    def play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        """Decide and learn row by row; the rewards of all actions are known."""
        self._vectors = self._vectors or Vectors(contexts)
        played = ChosenActions.empty(len(rewards))
        for index, vector in enumerate(self._vectors(contexts)):
            row = self.form(vector)
            action, probability = self.decide(row)
            self.learn(row, action, float(rewards[index, action]), probability)
            played.actions[index], played.probabilities[index] = action, probability
        return played


class VowpalWabbitActions:
    """Vowpal Wabbit's `--cb_explore_adf --squarecb` with pairs of columns and features of actions.

    Numbers come in bins, and gamma is 100: in shops that earned more than numbers as they are, than gammas of 10, 30,
    300, 1,000 and 10,000, other learning rates, names of items, more pairs, and epsilon-greedy or bags.
    """

    def __init__(self, *, features: Mapping[Any, Mapping[str, Any]], seed: int, options: str = "") -> None:
        fixed = f"--cb_explore_adf --squarecb --gamma_scale 100 -q UI --quiet -b {VW_BITS} --random_seed {seed % 2**31}"
        self._model = import_module("vowpalwabbit").Workspace(f"{fixed} {options}")
        self._draws = Random(seed)  # noqa: S311 - nothing secret
        rows = list(features.values())
        edges = _edges(rows)
        self._items = [_namespace("I", each, edges) for each in rows]

    def play(self, contexts: Any, rewards: Floats) -> Integers:
        """The chosen actions; decides and learns row by row."""
        rows = list(frame_rows(contexts))
        edges = _edges(rows[:N_FIRST_ROWS])
        chosen = np.empty(len(rewards), dtype=np.int64)
        for index, row in enumerate(rows):
            lines = [f"shared {_namespace('U', row, edges)}", *self._items]
            probabilities = self._model.predict(lines)
            (action,) = self._draws.choices(range(len(probabilities)), probabilities)
            label = f"0:{-rewards[index, action]:g}:{probabilities[action]:.6g} "
            lines[action + 1] = label + lines[action + 1]
            self._model.learn(lines)
            chosen[index] = action
        return chosen


def _edges(rows: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """The edges of the bins of each number: quantiles over rows."""
    numbers: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if is_number(value):
                numbers.setdefault(name, []).append(value)
    levels = np.arange(1, N_ACTION_BINS) / N_ACTION_BINS
    return {name: np.unique(np.quantile(values, levels)) for name, values in numbers.items()}


def _namespace(name: str, values: Mapping[str, Any], edges: Mapping[str, Floats]) -> str:
    """A namespace of its text format, after a bar: names, and the bins of numbers."""
    words = [
        f"{key}={np.searchsorted(edges[key], value) if key in edges else str(value).replace(' ', '_')}"
        for key, value in values.items()
    ]
    return f"|{name} {' '.join(words)}"


class VowpalWabbit(Peer):
    """Vowpal Wabbit with an exploration, numbers as they are or in bins, and whatever other options."""

    def __init__(
        self,
        *,
        actions: Sequence[Action],
        seed: int,
        exploration: str = "--squarecb",
        options: str = "",
        is_binned: bool = False,
    ) -> None:
        self._exploration, self._options, self._is_binned = exploration, options, is_binned
        super().__init__(actions=actions, seed=seed)

    def _new_model(self) -> Any:
        fixed = f"--cb_explore {self._n_actions} {self._exploration} --quiet -b {VW_BITS} --random_seed {self._seed}"
        return import_module("vowpalwabbit").Workspace(f"{fixed} {self._options}")

    @property
    def n_bytes(self) -> int:
        """The table of weights."""
        return (1 << VW_BITS) * 16

    def form(self, vector: Floats) -> str:
        """A line of its text format, without the constant, which it adds; bare numbers as names would collide."""
        if self._is_binned and self._vectors is not None:
            return "| " + " ".join(self._vectors.binned(vector))
        return "| " + " ".join(f"x{index}:{vector[index]:.6g}" for index in np.flatnonzero(vector[:-1]).tolist())

    def decide(self, row: str) -> tuple[int, float]:
        """Draw from the distribution that it gives."""
        probabilities: list[float] = self._model.predict(row)
        (action,) = self._draws.choices(range(self._n_actions), probabilities)
        return action, probabilities[action]

    def learn(self, row: str, action: int, reward: float, probability: float) -> None:
        """A reward is a negative cost."""
        self._model.learn(f"{action + 1}:{-reward:g}:{probability:.6g} {row}")


class MABWiserLinUCB(Peer):
    """MABWiser's LinUCB."""

    def _new_model(self) -> Any:
        mab = import_module("mabwiser.mab")
        policy = mab.LearningPolicy.LinUCB(alpha=ALPHA, l2_lambda=1.0)
        self._has_learned = False
        return mab.MAB(list(range(self._n_actions)), policy, seed=self._seed)

    def decide(self, row: Floats) -> tuple[int, float]:
        """Its prediction; before the first reward any action."""
        return int(self._model.predict(row) if self._has_learned else self._draws.randrange(self._n_actions)), 1.0

    def learn(self, row: Floats, action: int, reward: float, probability: float) -> None:
        """One more row."""
        (self._model.partial_fit if self._has_learned else self._model.fit)([action], [reward], row)
        self._has_learned = True


class ContextualBanditsLinUCB(Peer):
    """The LinUCB of contextualbandits."""

    def _new_model(self) -> Any:
        online = import_module("contextualbandits.online")
        self._has_learned = False
        return online.LinUCB(self._n_actions, alpha=ALPHA, fit_intercept=False, random_state=self._seed)

    def decide(self, row: Floats) -> tuple[int, float]:
        """Its prediction; before the first reward any action."""
        return int(self._model.predict(row)[0] if self._has_learned else self._draws.randrange(self._n_actions)), 1.0

    def learn(self, row: Floats, action: int, reward: float, probability: float) -> None:
        """One more row."""
        self._model.partial_fit(row, np.array([action]), np.array([reward]))
        self._has_learned = True


class RiverLinUCB(Peer):
    """River's disjoint LinUCB."""

    def _new_model(self) -> Any:
        self._arms = list(range(self._n_actions))
        return import_module("river.bandit").LinUCBDisjoint(alpha=ALPHA, seed=self._seed)

    def form(self, vector: Floats) -> dict[int, float]:
        """All features, zeros included."""
        return dict(enumerate(vector.tolist()))

    def decide(self, row: dict[int, float]) -> tuple[int, float]:
        """The arm that it pulls."""
        return int(self._model.pull(self._arms, context=row)), 1.0

    def learn(self, row: dict[int, float], action: int, reward: float, probability: float) -> None:
        """One more row."""
        self._model.update(action, row, reward)


PEERS: dict[str, tuple[str, Callable[..., Peer]]] = {  # the module that each needs, and how it is made
    "VW squarecb": ("vowpalwabbit", VowpalWabbit),
    "VW squarecb -q": ("vowpalwabbit", partial(VowpalWabbit, options="-q ::")),
    "VW squarecb -q, gamma 1000": ("vowpalwabbit", partial(VowpalWabbit, options="-q :: --gamma_scale 1000")),
    "MABWiser LinUCB": ("mabwiser.mab", MABWiserLinUCB),
    "contextualbandits LinUCB": ("contextualbandits.online", ContextualBanditsLinUCB),
    "river LinUCB": ("river.bandit", RiverLinUCB),
}
ONE_PASS_PEERS: dict[str, tuple[str, Callable[..., Any]]] = {  # those of the contest of one pass
    "VW squarecb": ("vowpalwabbit", VowpalWabbit),
    "VW squarecb, bins": ("vowpalwabbit", partial(VowpalWabbit, is_binned=True)),
    "VW squarecb -q": ("vowpalwabbit", partial(VowpalWabbit, options="-q ::")),
    "VW squarecb -q, bins": ("vowpalwabbit", partial(VowpalWabbit, options="-q ::", is_binned=True)),
    "VW bag": ("vowpalwabbit", partial(VowpalWabbit, exploration="--bag 5")),
    "VW cover": ("vowpalwabbit", partial(VowpalWabbit, exploration="--cover 3 --psi .01 --nounif")),
    "VW regcb": ("vowpalwabbit", partial(VowpalWabbit, exploration=REGCB)),
    "LightGBM": ("lightgbm", RefittedTrees),
}


def installed(known: Mapping[str, tuple[str, Callable[..., Any]]] | None = None) -> dict[str, Callable[..., Any]]:
    """The peers whose libraries can be imported."""
    return {name: maker for name, (module, maker) in (PEERS if known is None else known).items() if _imports(module)}


def _imports(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True
