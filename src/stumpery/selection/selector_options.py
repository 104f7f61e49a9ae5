"""Options of a feature selector: checks, and the arrays that the kernels take."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_whole, listed, shown
from stumpery.selection import choosers_kernels as choosing
from stumpery.selection import classifiers_kernels as kinds
from stumpery.selection.arguments import checked_names
from stumpery.selection.choosers import Chooser
from stumpery.selection.classifiers import Classifier
from stumpery.selection.feature_values import MAX_FEATURE_VALUE
from stumpery.types import Action, Floats, Integers

WITH_WEIGHTS = (kinds.PERCEPTRON, kinds.SPARSE, kinds.NETWORK)


def indices_of(names: Sequence[Action], wanted: Sequence[Action]) -> Integers:
    """The indices of some features."""
    index_of = {name: index for index, name in enumerate(names)}
    absent = [name for name in wanted if name not in index_of]
    if absent:
        raise InvalidInput(f"asked holds {listed(absent)}; features are {listed(names)}")
    return np.array([index_of[name] for name in wanted], dtype=np.int64)


def late_indices(names: Sequence[Action], asked: Any, max_size: int) -> Integers:
    """The indices of the features of an earlier round, at most as many as a round may have."""
    wanted = checked_names("asked", asked, may_be_empty=True)
    if len(wanted) > max_size:
        raise InvalidInput(f"asked holds {len(wanted)} features; a round of this selector has {max_size} at most")
    return indices_of(names, wanted)


def new_facts(names: Sequence[Action], prices: Any, chooser: Chooser) -> Floats:
    """Each feature's price, 1 without prices, and whether it is in a fixed set."""
    facts = np.column_stack([np.ones(len(names)), np.zeros(len(names))])
    if prices is not None:
        if not isinstance(prices, Mapping) or set(prices) != set(names):
            raise InvalidInput(f"prices is {shown(prices)}; it must be a dict with a price for each feature")
        for name, price in prices.items():
            check_number(f"the price of {shown(name)}", price, 0.0, MAX_FEATURE_VALUE, above=True)
        facts[:, choosing.FEATURE_PRICE] = [prices[name] for name in names]
    if chooser.features is not None:
        facts[indices_of(names, chooser.features), choosing.FEATURE_IS_FIXED] = 1.0
    return facts


def new_rule(chooser: Chooser, facts: Floats, n_features: Any, budget: Any, *, has_prices: bool) -> Floats:
    """The chooser's rule with the size of a set or the budget."""
    rule, prices = chooser.rule(), facts[:, choosing.FEATURE_PRICE]
    if budget is not None:
        if not has_prices or n_features is not None or chooser.kind in ("fixed", "everything"):
            raise InvalidInput("budget goes with prices, without n_features, and with a chooser that chooses")
        check_number("budget", budget, 0.0, MAX_FEATURE_VALUE, above=True)
        if prices.min() > budget:
            raise InvalidInput(f"budget is {budget:g}; it is below the price of every feature")
        affordable = np.cumsum(np.sort(prices)) <= budget * (1.0 + 1e-12)
        rule[choosing.RULE_BUDGET], rule[choosing.RULE_SIZE] = budget, affordable.sum()
    elif chooser.kind == "everything":
        rule[choosing.RULE_SIZE] = len(facts)
    elif chooser.features is not None:
        rule[choosing.RULE_SIZE] = len(chooser.features)
    else:
        check_whole("n_features", n_features, 1, len(facts))
        rule[choosing.RULE_SIZE] = n_features
    if n_features is not None and n_features != rule[choosing.RULE_SIZE]:
        size = int(rule[choosing.RULE_SIZE])
        raise InvalidInput(f"n_features is {shown(n_features)}; this chooser selects {size}: leave n_features out")
    return rule


def new_options(chooser: Chooser, rule: Floats, classifier: Any, n_features: int, *, standardise: bool) -> Floats:
    """The classifier's options; for OFS the rule is set, in place, to choose by weights that are not 0."""
    options = np.zeros(kinds.N_OPTIONS)
    options[kinds.OPTION_KIND] = kinds.OTHER
    options[kinds.OPTION_N_FEATURES], options[kinds.OPTION_SIZE] = n_features, rule[choosing.RULE_SIZE]
    options[kinds.OPTION_STANDARDISE] = standardise
    if isinstance(classifier, Classifier):
        classifier.fill(options)
    if chooser.kind == "loss_reduction" and options[kinds.OPTION_KIND] != kinds.ADDITIVE:
        raise InvalidInput(
            "the chooser loss_reduction needs the classifier AdditiveModel, which estimates the reductions of log-loss"
        )
    if chooser.kind == "epsilon_greedy":
        if options[kinds.OPTION_KIND] not in WITH_WEIGHTS:
            raise InvalidInput("the chooser epsilon_greedy needs a classifier with weights: a perceptron or a network")
        if options[kinds.OPTION_KIND] == kinds.SPARSE:
            options[kinds.OPTION_EPSILON], rule[choosing.RULE_NON_ZERO] = chooser.epsilon, 1.0
    return options


def checked_classes(classes: Any, classifier: Any) -> tuple[Any, ...]:
    """The names of the classes; none if any label is allowed."""
    is_own = isinstance(classifier, Classifier)
    if not is_own and not (hasattr(classifier, "predict_one") and hasattr(classifier, "learn_one")):
        raise InvalidInput(
            f"classifier is {shown(classifier)}; it must come from stumpery.selection.classifiers or have "
            "the verbs predict_one and learn_one"
        )
    labels = () if classes is None else checked_names("classes", classes)
    if is_own and len(labels) != 2:
        raise InvalidInput(
            f"classes is {shown(classes)}; this classifier is for two classes, for more give a learner with "
            "the verbs predict_one and learn_one"
        )
    return labels


def checked_order(order: Any, n: int) -> Integers:
    """Row numbers; by default all in order."""
    row_numbers = np.arange(n) if order is None else np.asarray(order)
    is_integer = row_numbers.dtype.kind in "iu"
    is_valid = row_numbers.size == 0 or (is_integer and row_numbers.min() >= 0 and row_numbers.max() < n)
    if row_numbers.ndim != 1 or not is_valid:
        raise InvalidInput(f"order is {shown(order)}; it must be a list of row numbers from 0 to {n - 1}")
    return row_numbers.astype(np.int64)
