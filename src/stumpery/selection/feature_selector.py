"""Online feature selection: look at a few features of each event, predict from those alone, learn its class."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import files
from stumpery.labels.known_classes import checked_known_class, checked_known_classes, class_type
from stumpery.options import check_bool, check_whole, shown
from stumpery.random import new_generator
from stumpery.reseeding import SeededClone
from stumpery.selection import additive_kernels as tables
from stumpery.selection import choosers, choosing_kernels, classifiers, recipes
from stumpery.selection import selector_kernels as kernels
from stumpery.selection.arguments import checked_names
from stumpery.selection.choosers import Chooser
from stumpery.selection.classifiers import Classifier, Learner
from stumpery.selection.learning import LoadedLearner, SelectedLearner
from stumpery.selection.rows import LARGEST, checked_rows, looked_at, numbers_looked_at
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Action, Explanation, Floats, Integers, State
from stumpery.validation import MAX_EVENT_COUNT, check, check_learned, check_random_state, check_within
from stumpery.validation import MAX_MAGNITUDE as LEARNED


class Rounds(NamedTuple):
    """What became of a run of events."""

    predictions: NDArray[Any]  # a class for each
    mistakes: NDArray[np.bool_]  # by the classifier's own reading, see `selector_kernels`
    spent: Floats  # the prices of what was looked at
    looks: Integers  # for each feature, how often


@dataclass(kw_only=True, eq=False)
class FeatureSelector(SeededClone):
    """A chooser of features and a classifier that sees only those.

    A round is `ask()`, which says what to look at, then `tell(x, y)`, for which `x` need hold nothing else; `ask` gives
    the same answer until then. `predict_one` and `learn_one` are river's verbs for rows that hold everything, of which
    only the asked features are touched. The size of a set is `n_features`, or what the `budget` affords at the
    `prices`: what pays most for its price first.

    `classes` are the negative and the positive one, as in (-1, 1) or ("no", "yes"). Any learner with river's verbs may
    be the classifier; one of ours knows all features as its columns from the first round.

    A missing value (None or NaN) counts as its feature's mean and teaches nothing; a feature that is constant so far
    is 0. With `standardise` the mean and the deviation are those of the values seen so far, and nothing else.

    >>> selector = FeatureSelector(features=["age", "hour", "price"], n_features=2, seed=1)
    >>> for event in range(200):
    ...     asked = selector.ask()
    ...     selector.tell({name: (event * len(name)) % 7 for name in asked}, event % 2)
    >>> len(selector.ask())
    2
    """

    features: Sequence[Action] | int
    n_features: int | None = None
    chooser: Chooser = field(default_factory=choosers.worth)
    classifier: Classifier | Learner = field(default_factory=classifiers.AdditiveModel)
    classes: Sequence[Hashable] | None = (0, 1)
    standardise: bool = True
    prices: Mapping[Action, float] | None = None
    budget: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.features, int | np.integer) and not isinstance(self.features, bool):
            check_whole("features", self.features, 1)
            self.features = tuple(range(int(self.features)))
        self.features = self._names = checked_names("features", self.features)
        given: Any = self.classifier
        is_loaded = isinstance(given, LoadedLearner)
        self.classifier = given.learner if is_loaded else given
        check_bool("standardise", self.standardise)
        if not isinstance(self.chooser, Chooser):
            raise ValueError(f"chooser is {shown(self.chooser)}; it must come from stumpery.selection.choosers")
        n = len(self._names)
        self._labels = recipes.checked_classes(self.classes, self.classifier)
        self.classes = self._labels or None
        self._facts = recipes.new_facts(self._names, self.prices, self.chooser)
        has_prices = self.prices is not None
        if has_prices:
            self.prices = dict(zip(self._names, self._facts[:, choosing_kernels.PRICE].tolist(), strict=True))
        self._rule = recipes.new_rule(self.chooser, self._facts, self.n_features, self.budget, has_prices=has_prices)
        self._options = recipes.new_options(self.chooser, self._rule, self.classifier, n, standardise=self.standardise)
        self._rng = new_generator(self.seed)
        self.seed = int(self.seed)
        self._sums, self._clock = np.zeros((n, choosing_kernels.N_SUMS)), np.zeros(1)
        is_additive = isinstance(self.classifier, classifiers.AdditiveModel)
        own = self.classifier if isinstance(self.classifier, Classifier) else None
        self._weights = own.new_weights(n, self.seed) if own else np.zeros(n)
        self._paces = np.zeros(len(self._weights) if is_additive else 1)
        self._grounds = np.zeros((n if is_additive else 1, tables.N_GROUNDS))
        self._columns = moments.new_moments(n)
        self._pending = np.full(n + 1, -1, dtype=np.int64)  # how many an open round asked, or -1, and which
        self._learner = None
        if not isinstance(self.classifier, Classifier):
            self._learner = SelectedLearner(self.classifier, self._names, self._labels, is_loaded=is_loaded)
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dataclass_fields__ and "_sealed" in self.__dict__:
            raise ValueError(f"{name} is part of a selector's recipe and stays as it is; make a new selector instead")
        super().__setattr__(name, value)

    def ask(self) -> tuple[Action, ...]:
        """The features to look at in this round: the same until `tell`, `learn_one` or `skip` ends it."""
        return tuple(self._names[index] for index in self._asked().tolist())

    def tell(self, x: Any, y: Hashable, *, asked: Sequence[Action] | None = None) -> None:
        """Learn the class of an event from what was asked, and end the round.

        `asked` names the features that were looked at. Where these are the open round's, that round ends; else another
        round's class comes late, and the open round stays open.
        """
        label = checked_known_class(y, self._labels)
        late = None if asked is None else recipes.late_round(self._names, asked, self._most)
        if late is not None and self._is_open(late):
            late = None
        self._learn(*self._look(x, late), label)
        if late is None:
            self.skip()

    def skip(self) -> None:
        """End the round without a class; the next `ask` chooses anew."""
        self._pending[:] = -1

    def learn_one(self, x: Any, y: Hashable) -> None:
        """River's verb for `tell`: of `x` only the asked features are touched."""
        self.tell(x, y)

    def predict_one(self, x: Any) -> Any:
        """The class of an event, from the asked features of `x` alone."""
        return self._predict(*self._look(x))[0]

    def play(self, rows: Any, labels: Any, order: Integers | None = None) -> Rounds:
        """Ask, predict and learn along all `rows`, or those that `order` names: equals the loop.

        Bad input leaves all as it was; a learner of another kind that fails ends the run there.
        """
        table = checked_rows(rows, self._names)
        classes = checked_known_classes(labels, len(table), self._labels)
        turns = recipes.checked_order(order, len(table))
        played = Rounds(
            np.empty(len(turns), dtype=object if self._is_other else class_type(self._labels)),
            np.zeros(len(turns), dtype=np.bool_),
            np.zeros(len(turns)),
            np.zeros(len(self._names), dtype=np.int64),
        )
        start = (
            0 if not self._is_other and self._pending[0] < 0 else len(turns) if self._is_other else min(1, len(turns))
        )
        for turn in range(start):
            self._play_one(table[turns[turn]], classes[turns[turn]], turn, played)
        if start < len(turns):
            self._play_many(table, classes, turns[start:], played, start)
        return played

    def explain(self) -> Explanation:
        """Every feature: how often it was looked at, the success of its sets, and what it is worth if that is known."""
        plays, reward = self._sums.T
        rates = reward / np.maximum(plays, 1.0)
        additive = isinstance(self.classifier, classifiers.AdditiveModel)
        shown_by = kernels.worths(self._grounds) / 2.0 if additive else rates
        order = np.argsort(-shown_by, kind="stable").tolist()
        rows = []
        for index in order:
            row = {"feature": self._names[index], "looks": int(plays[index])}
            row["success"] = float(rates[index]) if plays[index] else math.nan
            if additive:
                row["worth"] = float(shown_by[index])
            rows.append(row)
        rounds = int(self._clock[0])
        lead = "saves most log-loss" if additive else "was in the most successful sets"
        return Explanation(f"After {rounds} rounds {rows[0]['feature']!r} {lead}.", tuple(rows))

    @property
    def n_bytes(self) -> int:
        """The memory that the arrays hold; it never grows."""
        return sum(array.nbytes for array in self._arrays().values())

    def state(self) -> State:
        """The recipe and the arrays; a classifier that is not one of ours cannot be saved."""
        model, arrays = recipes.saved_classifier(self.classifier)
        recipe = {
            "features": list(self._names),
            "n_features": self.n_features,
            "chooser": self.chooser.options(),
            "classifier": model,
            "classes": None if self.classes is None else list(self.classes),
            "standardise": self.standardise,
            "prices": None if self.prices is None else [list(pair) for pair in self.prices.items()],
            "budget": self.budget,
            "seed": self.seed,
        }
        return State(recipe, {**self._arrays(), **arrays})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        recipe = dict(state.options)
        if not isinstance(recipe["features"], list):  # a number could ask for any amount of memory
            raise ValueError("its features are not a list of names")
        classifier, others = recipes.loaded_classifier(recipe["classifier"], state.arrays)
        recipe["classifier"] = classifier if isinstance(classifier, Classifier) else LoadedLearner(classifier)
        recipe["chooser"] = choosers.from_options(recipe["chooser"])
        recipe["prices"] = None if recipe["prices"] is None else dict(recipe["prices"])
        selector = cls(**recipe)
        files.restore(selector._arrays(), {name: array for name, array in state.arrays.items() if name not in others})
        selector._check_restored()
        return selector

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "rng": self._rng,
            "sums": self._sums,
            "clock": self._clock,
            "weights": self._weights,
            "paces": self._paces,
            "grounds": self._grounds,
            "columns": self._columns,
            "pending": self._pending,
        }

    def _check_restored(self) -> None:
        """Refuse a state that no stream could have led to."""
        plays, reward = self._sums.T
        count, mean, squares = self._columns.T
        check_random_state(self._rng)
        check_within(self._clock, 0.0, MAX_EVENT_COUNT, "the number of rounds")
        check_within(plays, 0.0, self._clock[0], "the number of rounds with a feature")
        check(((reward >= 0.0) & (reward <= plays)).all(), "a feature has more successes than rounds, or negative ones")
        check_learned(self._weights, "a weight")
        check_within(self._paces, 0.0, LEARNED, "the sum of squared slopes")
        check_learned(self._grounds, "a number of the additive model")
        check((self._grounds[:, tables.CURVES : tables.LEVEL] >= 0.0).all(), "a curvature is negative")
        moments.validate(self._columns)
        check((abs(mean) <= LARGEST * (1.0 + 1e-9)).all(), "the mean of a feature is too large")
        check((squares / LARGEST**2 <= count * (1.0 + 1e-9)).all(), "the variance of a feature is too large")
        n_open = int(self._pending[0])
        check(-1 <= n_open <= self._most, f"the open round has {n_open} features, of {self._most} at most")
        opened = self._pending[1 : n_open + 1]
        check_within(opened, 0, len(self._names) - 1, "a feature of the open round")
        check(len(np.unique(opened)) == len(opened), "the open round has a feature twice")

    @property
    def _most(self) -> int:
        """How many features a round may look at; the kernels have room for no more."""
        return int(self._rule[choosing_kernels.SIZE])

    @property
    def _is_other(self) -> bool:
        return self._learner is not None

    @property
    def _model(self) -> kernels.Model:
        return kernels.Model(self._options, self._weights, self._paces, self._grounds, self._columns)

    @property
    def _arms(self) -> choosing_kernels.Arms:
        return choosing_kernels.Arms(self._sums, self._facts, self._clock)

    def _asked(self) -> Integers:
        if self._pending[0] < 0:
            chosen = kernels.ask(self._rng, self._rule, self._arms, self._model)
            self._pending[0] = len(chosen)  # perhaps 0: OFS before its first weight looks at nothing
            self._pending[1 : len(chosen) + 1] = chosen
        return self._pending[1 : self._pending[0] + 1].copy()

    def _is_open(self, asked: Integers) -> bool:
        """Whether these features are those of the open round."""
        return bool(self._pending[0] == len(asked)) and set(asked) == set(self._pending[1 : len(asked) + 1])

    def _look(self, x: Any, late: Integers | None = None) -> tuple[Integers, Any]:
        """What this round, or a late one, asked, and its values; where they are bad no round was opened."""
        rng, was_open = self._rng.copy(), self._pending[0] >= 0
        asked = self._asked() if late is None else late
        try:
            names = [self._names[index] for index in asked]
            return asked, looked_at(x, names) if self._is_other else numbers_looked_at(x, names)
        except ValueError:
            if not was_open:
                self._rng[:] = rng
                self.skip()
            raise

    def _predict(self, asked: Integers, values: Any) -> tuple[Any, float]:
        if self._learner is not None:
            return self._learner.predict_one(values), 0.0
        score = kernels.predict(self._model, asked, values)
        return self._labels[1 if score >= 0.0 else 0], score

    def _learn(self, asked: Integers, values: Any, y: Any) -> tuple[Any, bool]:
        if self._learner is None:
            sign = 1.0 if y == self._labels[1] else -1.0
            score, mistake = kernels.tell(self._arms, self._model, asked, values, sign)
            return self._labels[1 if score >= 0.0 else 0], mistake
        guess = self._learner.predict_one(values)
        success = float(guess == y)  # before anything is learned: a guess may be no class at all
        self._learner.learn_one(values, y)
        kernels.reward(self._arms, asked, success)
        return guess, not success

    def _play_one(self, row: Floats, y: Any, turn: int, played: Rounds) -> None:
        asked = self._asked()
        values = {self._names[index]: float(row[index]) for index in asked} if self._is_other else row[asked]
        played.predictions[turn], played.mistakes[turn] = self._learn(
            asked, values, checked_known_class(y, self._labels)
        )
        played.spent[turn] = self._facts[asked, choosing_kernels.PRICE].sum()
        played.looks[asked] += 1
        self.skip()

    def _play_many(self, table: Floats, classes: NDArray[Any], turns: Integers, played: Rounds, start: int) -> None:
        signs = np.where(classes == self._labels[1], 1.0, -1.0)
        scores, mistakes, spent = np.empty(len(turns)), played.mistakes[start:], played.spent[start:]
        chooser = (self._rng, self._rule, self._arms)
        kernels.play(*chooser, self._model, table, signs, turns, scores, mistakes, spent, played.looks)
        played.predictions[start:] = np.array(self._labels, dtype=class_type(self._labels))[
            (scores >= 0.0).astype(np.int64)
        ]
