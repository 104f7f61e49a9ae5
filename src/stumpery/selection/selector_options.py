"""A selector's recipe in the form of the kernels, and what is wrong with one that makes no sense."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import files
from stumpery.models import snapshot_of
from stumpery.options import check_number, check_whole, listed, shown
from stumpery.selection import choosers_kernels as choosing
from stumpery.selection import classifiers
from stumpery.selection import classifiers_kernels as kinds
from stumpery.selection.arguments import checked_names
from stumpery.selection.choosers import Chooser
from stumpery.selection.classifiers import Classifier
from stumpery.selection.feature_values import LARGEST
from stumpery.types import Action, Floats, Integers, State

INNER = "classifier."  # before the names of a classifier's own arrays
WITH_WEIGHTS = (kinds.PERCEPTRON, kinds.SPARSE, kinds.NETWORK)


def indices(names: Sequence[Action], wanted: Sequence[Action]) -> Integers:
    """The places of some features among all."""
    known = {name: index for index, name in enumerate(names)}
    absent = [name for name in wanted if name not in known]
    if absent:
        raise ValueError(f"asked holds {listed(absent)}; features are {listed(names)}")
    return np.array([known[name] for name in wanted], dtype=np.int64)


def late_round(names: Sequence[Action], asked: Any, most: int) -> Integers:
    """The places of what an earlier round asked: perhaps nothing, and never more than a round may."""
    wanted = checked_names("asked", asked, may_be_empty=True)
    if len(wanted) > most:
        raise ValueError(f"asked holds {len(wanted)} features; a round of this selector looks at {most} at most")
    return indices(names, wanted)


def new_facts(names: Sequence[Action], prices: Any, chooser: Chooser) -> Floats:
    """Each feature's price, 1 where nothing is said, and whether it is one of the fixed."""
    facts = np.column_stack([np.ones(len(names)), np.zeros(len(names))])
    if prices is not None:
        if not isinstance(prices, Mapping) or set(prices) != set(names):
            raise ValueError(f"prices is {shown(prices)}; it must be a dict with a price for each feature")
        for name, price in prices.items():
            check_number(f"the price of {shown(name)}", price, 0.0, LARGEST, above=True)
        facts[:, choosing.PRICE] = [prices[name] for name in names]
    if chooser.features is not None:
        facts[indices(names, chooser.features), choosing.MARK] = 1.0
    return facts


def new_rule(chooser: Chooser, facts: Floats, n_features: Any, budget: Any, *, has_prices: bool) -> Floats:
    """The chooser's rule, with how many features it takes or what it may spend."""
    rule, prices = chooser.rule(), facts[:, choosing.PRICE]
    if budget is not None:
        if not has_prices or n_features is not None or chooser.kind in ("fixed", "everything"):
            raise ValueError("budget goes with prices, without n_features, and with a chooser that chooses")
        check_number("budget", budget, 0.0, LARGEST, above=True)
        if prices.min() > budget:
            raise ValueError(f"budget is {budget:g}; it does not pay for any feature")
        affordable = np.cumsum(np.sort(prices)) <= budget * (1.0 + 1e-12)
        rule[choosing.BUDGET], rule[choosing.SIZE] = budget, affordable.sum()
    elif chooser.kind == "everything":
        rule[choosing.SIZE] = len(facts)
    elif chooser.features is not None:
        rule[choosing.SIZE] = len(chooser.features)
    else:
        check_whole("n_features", n_features, 1, len(facts))
        rule[choosing.SIZE] = n_features
    if n_features is not None and n_features != rule[choosing.SIZE]:
        size = int(rule[choosing.SIZE])
        raise ValueError(f"n_features is {shown(n_features)}; this chooser looks at {size}, leave n_features out")
    return rule


def new_options(chooser: Chooser, rule: Floats, classifier: Any, n_features: int, *, standardise: bool) -> Floats:
    """The classifier's options; the rule learns, in place, to go by weights that are not 0 where OFS does."""
    options = np.zeros(kinds.N_OPTIONS)
    options[kinds.KIND] = kinds.OTHER
    options[kinds.N_FEATURES], options[kinds.SIZE] = n_features, rule[choosing.SIZE]
    options[kinds.STANDARDISE] = standardise
    if isinstance(classifier, Classifier):
        classifier.fill(options)
    if chooser.kind == "worth" and options[kinds.KIND] != kinds.ADDITIVE:
        raise ValueError("the chooser worth goes with AdditiveModel, which knows what features are worth")
    if chooser.kind == "epsilon_greedy":
        if options[kinds.KIND] not in WITH_WEIGHTS:
            raise ValueError("the chooser epsilon_greedy goes by the weights of a perceptron or a network")
        if options[kinds.KIND] == kinds.SPARSE:
            options[kinds.EPSILON], rule[choosing.NON_ZERO] = chooser.epsilon, 1.0
    return options


def checked_classes(classes: Any, classifier: Any) -> tuple[Any, ...]:
    """The names of the classes, none where any label will do."""
    is_own = isinstance(classifier, Classifier)
    if not is_own and not (hasattr(classifier, "predict_one") and hasattr(classifier, "learn_one")):
        raise ValueError(
            f"classifier is {shown(classifier)}; it must come from stumpery.selection.classifiers or have "
            "the verbs predict_one and learn_one"
        )
    labels = () if classes is None else checked_names("classes", classes)
    if is_own and len(labels) != 2:
        raise ValueError(
            f"classes is {shown(classes)}; this classifier is for two classes, for more give a learner with "
            "the verbs predict_one and learn_one"
        )
    return labels


def saved_classifier(classifier: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A classifier's recipe, and the arrays of one that is a model of ours by itself."""
    if isinstance(classifier, Classifier):
        return classifier.recipe(), {}
    kind = type(classifier).__name__
    if not files.is_ours(classifier):
        raise ValueError(f"a selector over {kind!r} cannot be saved, only over models of ours")
    model: Any = classifier
    options, arrays = snapshot_of(model)
    return {"kind": kind, "options": options}, {INNER + name: array for name, array in arrays.items()}


def loaded_classifier(recipe: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[Any, set[str]]:
    """The classifier again, and the names of the arrays that were its own."""
    kind = recipe["kind"]
    if kind in classifiers.KINDS:
        return classifiers.KINDS[kind](**{key: value for key, value in recipe.items() if key != "kind"}), set()
    own = {name for name in arrays if name.startswith(INNER)}
    state = State(recipe["options"], {name.removeprefix(INNER): arrays[name] for name in own})
    return files.class_named(kind).from_state(state), own


def checked_order(order: Any, n: int) -> Integers:
    """Numbers of rows; all of them, in their order, where nothing is said."""
    turns = np.arange(n) if order is None else np.asarray(order)
    known = turns.size == 0 or (turns.dtype.kind in "iu" and turns.min() >= 0 and turns.max() < n)
    if turns.ndim != 1 or not known:
        raise ValueError(f"order is {shown(order)}; it must be a list of row numbers from 0 to {n - 1}")
    return turns.astype(np.int64)
