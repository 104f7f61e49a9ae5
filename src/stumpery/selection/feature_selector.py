"""Online feature selection: classify each event by a few features chosen beforehand."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.labels.known_classes import checked_known_class, checked_known_classes, class_type
from stumpery.models import Model
from stumpery.options import check_bool, check_whole, shown
from stumpery.random import new_generator
from stumpery.saving.saveable import Arrays, Options, Saveable, class_named
from stumpery.saving.validation import check_random_state
from stumpery.selection import additive_kernels as tables
from stumpery.selection import choosers, choosers_kernels, classifiers, selector_options
from stumpery.selection import feature_selector_kernels as kernels
from stumpery.selection.arguments import checked_names
from stumpery.selection.choosers import Chooser
from stumpery.selection.classifiers import Classifier, Learner
from stumpery.selection.feature_values import as_feature_matrix, selected_numbers, selected_values
from stumpery.selection.learner_adapter import LoadedLearner, SelectedLearner
from stumpery.selection.validation import validate
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Action, Explanation, Floats, Integers, State


class Rounds(NamedTuple):
    """The result of a run of rounds."""

    predictions: NDArray[Any]  # of classes
    mistakes: NDArray[np.bool_]  # see `feature_selector_kernels` on scores of 0
    spent: Floats  # the sum of prices, per event
    looks: Integers  # per feature

    def __repr__(self) -> str:
        spent = f"{float(self.spent.sum()):.4g}"
        return f"Rounds({len(self.mistakes)}: {int(self.mistakes.sum())} mistakes, {spent} spent)"


@dataclass(kw_only=True, eq=False)
class FeatureSelector(Model):
    """Online feature selection: a chooser of features, and a classifier that sees only those.

    A round is `ask()`, which returns the features to look at, then `tell(x, y)` with their values; until then `ask`
    returns the same features. `predict_one` and `learn_one` are river's verbs for rows that may hold all features, of
    which only the selected ones are read. A missing value (None or NaN) counts as its feature's mean and is not learned
    from. Source: Durand and Gagné 2014 (Algorithm 2); chooser and classifier of the defaults are ours.

    Args:
        features: Names of the features, or their number.
        n_features: Size of a set; leave it out with a `budget` or a chooser that has its own.
        chooser: How features are chosen; see `stumpery.selection.choosers`.
        classifier: One of `stumpery.selection.classifiers`, or any learner with river's verbs.
        classes: The negative and the positive class. None allows any label, for learners with more than two classes.
        standardise: Whether values are standardised by the mean and the deviation of the values read so far.
        prices: The price of every feature, above 0; needed for a `budget`.
        budget: Largest sum of prices of a set; features with the highest score for their price are taken first.
        seed: Seed of all random draws; the same seed gives the same decisions.

    >>> selector = FeatureSelector(features=["age", "hour", "price"], n_features=2, seed=1)
    >>> for event in range(200):
    ...     asked = selector.ask()
    ...     selector.tell({name: (event * len(name)) % 7 for name in asked}, event % 2)
    >>> len(selector.ask())
    2
    """

    features: Sequence[Action] | int
    n_features: int | None = None
    chooser: Chooser = field(default_factory=choosers.loss_reduction)
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
            raise InvalidInput(f"chooser is {shown(self.chooser)}; it must come from stumpery.selection.choosers")
        n = len(self._names)
        self._labels = selector_options.checked_classes(self.classes, self.classifier)
        self.classes = self._labels or None
        self._facts = selector_options.new_facts(self._names, self.prices, self.chooser)
        has_prices = self.prices is not None
        if has_prices:
            self.prices = dict(zip(self._names, self._facts[:, choosers_kernels.FEATURE_PRICE].tolist(), strict=True))
        self._rule = selector_options.new_rule(
            self.chooser, self._facts, self.n_features, self.budget, has_prices=has_prices
        )
        self._classifier_options = selector_options.new_options(
            self.chooser, self._rule, self.classifier, n, standardise=self.standardise
        )
        self._rng = new_generator(self.seed)
        self.seed = int(self.seed)
        self._sums, self._clock = np.zeros((n, choosers_kernels.N_ARM_FIELDS)), np.zeros(1)
        is_additive = isinstance(self.classifier, classifiers.AdditiveModel)
        own = self.classifier if isinstance(self.classifier, Classifier) else None
        self._weights = own.new_weights(n, self.seed) if own else np.zeros(n)
        self._squared_slopes = np.zeros(len(self._weights) if is_additive else 1)
        self._statistics = np.zeros((n if is_additive else 1, tables.N_FEATURE_STATS))
        self._columns = moments.new_moments(n)
        self._pending = np.full(n + 1, -1, dtype=np.int64)  # size of the open round, or -1, and its features
        self._learner = None
        if not isinstance(self.classifier, Classifier):
            self._learner = SelectedLearner(self.classifier, self._names, self._labels, is_loaded=is_loaded)

    def ask(self) -> tuple[Action, ...]:
        """The features selected for this round; the same until `tell`, `learn_one` or `skip` ends it."""
        return tuple(self._names[index] for index in self._asked().tolist())

    def tell(self, x: Any, y: Hashable, *, asked: Sequence[Action] | None = None) -> None:
        """Learn the class of an event from its selected features, and end the round.

        `asked` names the selected features, for labels of an earlier round: the open round ends only if they
        are its features.
        """
        label = checked_known_class(y, self._labels)
        late = None if asked is None else selector_options.late_indices(self._names, asked, self._max_size)
        if late is not None and self._is_open(late):
            late = None
        self._learn(*self._look(x, late), label)
        if late is None:
            self.skip()

    def skip(self) -> None:
        """End the round without a class."""
        self._pending[:] = -1

    def learn_one(self, x: Any, y: Hashable) -> None:
        """The same as `tell`, by river's verb; of `x` only the selected features are read."""
        self.tell(x, y)

    def predict_one(self, x: Any) -> Any:
        """Predict the class of an event from its selected features; others are not read."""
        return self._predict(*self._look(x))[0]

    def play(self, X: Any, y: Any, order: Integers | None = None) -> Rounds:  # noqa: N803 - as river and scikit-learn name it
        """Ask, predict and learn along all rows of `X`, or those of `order`; equals the loop.

        Invalid input changes nothing; an error of a learner that is not ours ends the run there.
        """
        table = as_feature_matrix(X, self._names)
        classes = checked_known_classes(y, len(table), self._labels)
        order = selector_options.checked_order(order, len(table))
        result = Rounds(
            np.empty(len(order), dtype=object if self._is_other else class_type(self._labels)),
            np.zeros(len(order), dtype=np.bool_),
            np.zeros(len(order)),
            np.zeros(len(self._names), dtype=np.int64),
        )
        start = min(1, len(order)) if self._pending[0] >= 0 else 0  # an open round is played first
        if self._is_other:
            start = len(order)
        for turn in range(start):
            self._play_one(table[order[turn]], classes[order[turn]], turn, result)
        if start < len(order):
            self._play_many(table, classes, order[start:], result, start)
        return result

    def explain(self) -> Explanation:
        """Every feature: its looks, the success of its sets and, by the additive model, the log-loss that it saves."""
        plays, reward = self._sums.T
        rates = reward / np.maximum(plays, 1.0)
        is_additive = isinstance(self.classifier, classifiers.AdditiveModel)
        values = kernels.log_loss_reductions(self._statistics) / 2.0 if is_additive else rates
        order = np.argsort(-values, kind="stable").tolist()
        rows = []
        for index in order:
            row = {"feature": self._names[index], "looks": int(plays[index])}
            row["success"] = float(rates[index]) if plays[index] else math.nan
            if is_additive:
                row["loss reduction"] = float(values[index])
            rows.append(row)
        rounds = int(self._clock[0])
        best = "saves most log-loss" if is_additive else "was in the most successful sets"
        return Explanation(f"After {rounds} rounds {rows[0]['feature']!r} {best}.", tuple(rows))

    def state(self) -> State:
        """The recipe and the arrays; a classifier that is not one of ours cannot be saved."""
        options, arrays = super().state()
        if self._is_other:
            options["classifier"] = {"kind": type(self.classifier).__name__, "options": options["classifier"]}
        return State(options, arrays)

    def _members(self) -> Mapping[str, Any]:
        return {"classifier": self.classifier} if self._is_other else {}

    @classmethod
    def _member_kinds(cls, options: Options) -> Mapping[str, type[Saveable]]:
        kind = options["classifier"]["kind"]
        if kind in classifiers.CLASSIFIERS:
            return {}
        options["classifier"] = options["classifier"]["options"]
        return {"classifier": class_named(kind)}

    def _options(self) -> Options:
        own = self.classifier.recipe() if isinstance(self.classifier, Classifier) else None
        return {
            "features": list(self._names),
            "n_features": self.n_features,
            "chooser": self.chooser.options(),
            "classifier": own,
            "classes": None if self.classes is None else list(self.classes),
            "standardise": self.standardise,
            "prices": None if self.prices is None else [list(pair) for pair in self.prices.items()],
            "budget": self.budget,
            "seed": self.seed,
        }

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        if not isinstance(options["features"], list):  # a number could ask for any amount of memory
            raise CorruptFile("its features are not a list of names")
        classifier = options["classifier"]
        loaded = classifiers.from_recipe(classifier) if isinstance(classifier, dict) else LoadedLearner(classifier)
        prices = None if options["prices"] is None else dict(options["prices"])
        return {
            **options,
            "classifier": loaded,
            "chooser": choosers.from_options(options["chooser"]),
            "prices": prices,
        }

    def _arrays(self) -> Arrays:
        return {
            "rng": self._rng,
            "sums": self._sums,
            "clock": self._clock,
            "weights": self._weights,
            "squared_slopes": self._squared_slopes,
            "statistics": self._statistics,
            "columns": self._columns,
            "pending": self._pending,
        }

    def _validate_state(self) -> None:
        check_random_state(self._rng)
        validate(self._arms, self._model, self._pending, self._max_size)

    @property
    def _max_size(self) -> int:
        """The largest size of a set, by which the kernels' buffers are allocated."""
        return int(self._rule[choosers_kernels.RULE_SIZE])

    @property
    def _is_other(self) -> bool:
        return self._learner is not None

    @property
    def _model(self) -> kernels.ClassifierState:
        return kernels.ClassifierState(
            self._classifier_options, self._weights, self._squared_slopes, self._statistics, self._columns
        )

    @property
    def _arms(self) -> choosers_kernels.FeatureArms:
        return choosers_kernels.FeatureArms(self._sums, self._facts, self._clock)

    def _asked(self) -> Integers:
        if self._pending[0] < 0:
            chosen = kernels.ask(self._rng, self._rule, self._arms, self._model)
            self._pending[0] = len(chosen)  # 0 for OFS before its first weight
            self._pending[1 : len(chosen) + 1] = chosen
        return self._pending[1 : self._pending[0] + 1].copy()

    def _is_open(self, asked: Integers) -> bool:
        """Whether these are the features of the open round."""
        return bool(self._pending[0] == len(asked)) and set(asked) == set(self._pending[1 : len(asked) + 1])

    def _look(self, x: Any, late: Integers | None = None) -> tuple[Integers, Any]:
        """The features of this round, or a late one, and their values; invalid values open no round."""
        rng, was_open = self._rng.copy(), self._pending[0] >= 0
        asked = self._asked() if late is None else late
        try:
            names = [self._names[index] for index in asked]
            return asked, selected_values(x, names) if self._is_other else selected_numbers(x, names)
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
        predicted = self._learner.predict_one(values)
        success = float(predicted == y)  # before learning: a prediction may not be a class
        self._learner.learn_one(values, y)
        kernels.reward(self._arms, asked, success)
        return predicted, not success

    def _play_one(self, row: Floats, y: Any, turn: int, result: Rounds) -> None:
        asked = self._asked()
        values = {self._names[index]: float(row[index]) for index in asked} if self._is_other else row[asked]
        result.predictions[turn], result.mistakes[turn] = self._learn(
            asked, values, checked_known_class(y, self._labels)
        )
        result.spent[turn] = self._facts[asked, choosers_kernels.FEATURE_PRICE].sum()
        result.looks[asked] += 1
        self.skip()

    def _play_many(self, table: Floats, classes: NDArray[Any], order: Integers, result: Rounds, start: int) -> None:
        signs = np.where(classes == self._labels[1], 1.0, -1.0)
        scores, mistakes, spent = np.empty(len(order)), result.mistakes[start:], result.spent[start:]
        chooser = (self._rng, self._rule, self._arms)
        kernels.play(*chooser, self._model, table, signs, order, scores, mistakes, spent, result.looks)
        result.predictions[start:] = np.array(self._labels, dtype=class_type(self._labels))[
            (scores >= 0.0).astype(np.int64)
        ]
