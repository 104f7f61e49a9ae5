"""Saved arrays of the reward forest: by name, and how they become a state again."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import NODE_VIEWS
from stumpery.errors import CorruptFile
from stumpery.policies.reward_forest.capacity import RewardForestCapacity
from stumpery.policies.reward_forest.policy_kernels import RewardForestState
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedScorer
from stumpery.policies.reward_forest.scorers.frequent_categories import new_category_table
from stumpery.policies.reward_forest.scorers.ridge import MAX_FEATURES, MIN_FEATURES, new_ridge
from stumpery.policies.reward_forest.scorers.shared_model_kernels import SharedModel
from stumpery.policies.reward_forest.state import capacity_of, new_state, stacking_of
from stumpery.policies.reward_forest.trees.ring import check_widths, new_ring
from stumpery.saving.validation import check_within

# Views of other arrays, and what follows from the options.
DERIVED = {
    *(f"forest.{name}" for name in NODE_VIEWS),
    *(f"ring.{name}" for name in ("shorts", "floats", "words", "doubles", "starts", "span")),
    "shared_model.strength",
}


def arrays_of(state: RewardForestState) -> dict[str, NDArray[Any]]:
    """All arrays by name, live, and the capacity."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in state._asdict().items():
        fields = {name: part} if isinstance(part, np.ndarray) else {f"{name}.{k}": v for k, v in part._asdict().items()}
        if name != "crossed" or len(state.crossed.centres):  # only where actions have features
            arrays |= {key: array for key, array in fields.items() if key not in DERIVED}
    return {**arrays, "sizes": _sizes(capacity_of(state))}


def _sizes(capacity: RewardForestCapacity) -> NDArray[np.int64]:
    """The capacity as it is saved, without that for frequent categories."""
    return np.array(capacity[:-1])


def add_missing(arrays: dict[str, NDArray[Any]]) -> None:
    """Turn arrays as former versions saved them into those of this one, in place."""
    if "edges" in arrays and arrays["edges"].dtype == np.float32:  # before columns could have 64 bits
        arrays["edges"] = arrays["edges"].astype(np.float64)
    if not any(
        name.startswith("categories.") for name in arrays
    ):  # before categories without a code had weights of their own
        table = new_category_table(0)
        arrays |= {"categories.hashes": table.hashes, "categories.counts": table.counts}


def with_ridge(state: RewardForestState, saved: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What an older file lacks: the ridge scorer of a new state, which the stacking hardly weighs at first."""
    ridge = {f"ridge.{name}": array for name, array in state.ridge._asdict().items()}
    try:
        moments, weights = stacking_of(saved["moments"], saved["weights"], len(saved["weights"]) + 1)
        sizes = np.append(saved["sizes"], len(state.ridge.weights))
    except (KeyError, ValueError, IndexError) as error:
        raise CorruptFile("its stacking does not match its other arrays") from error
    return {**ridge, "moments": moments, "weights": weights, "sizes": sizes}


def with_crossed(state: RewardForestState, saved: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What an older file of a forest with features lacks: the crossed scorer, or nothing where features are ignored."""
    new = arrays_of(state)
    shared = {name: array for name, array in new.items() if name.startswith("shared_model.")}
    if not len(state.crossed.centres):
        return shared
    crossed = {name: array for name, array in new.items() if name.startswith("crossed.")}
    try:
        moments, weights = stacking_of(saved["moments"], saved["weights"], len(state.weights))
    except (KeyError, ValueError, IndexError) as error:
        raise CorruptFile("its stacking does not match its other arrays") from error
    return {**crossed, "moments": moments, "weights": weights}


def check_arrays(
    state: RewardForestState, saved: Mapping[str, NDArray[Any]], is_categorical: NDArray[np.bool_]
) -> None:
    """Refuse saved arrays that differ from those of a new state in more than their length."""
    check_widths(saved.get("ring.widths"), is_categorical)
    weights = saved.get("ridge.weights", np.zeros(0))
    size = len(weights) if weights.ndim else 0
    check_within(np.array(size), MIN_FEATURES, MAX_FEATURES, "the number of features of the ridge scorer")
    made_ridge = new_ridge(size, len(state.ridge.columns), len(state.ridge.inverses))
    made = arrays_of(state._replace(ring=new_ring(1, saved["ring.widths"]), ridge=made_ridge))
    for name, array in saved.items():
        if name in made and (array.shape[1:] != made[name].shape[1:] or array.dtype != made[name].dtype):
            raise CorruptFile(
                f"its array {name!r} is {array.shape} of {array.dtype}, which does not match its other arrays"
            )


def state_for(
    saved: Mapping[str, NDArray[Any]],
    n_trees: int,
    n_actions: int,
    is_categorical: NDArray[np.bool_],
    shared_model: SharedModel,
    crossed: CrossedScorer,
    max_bytes: int,
) -> RewardForestState:
    """A new state with the capacity of saved arrays."""
    capacity = RewardForestCapacity.of_arrays(saved, max_bytes)
    if saved.get("sizes", np.zeros(0)).tolist() != _sizes(capacity).tolist():
        raise CorruptFile(f"its arrays have the capacity {tuple(capacity)}, which does not match the saved one")
    return new_state(n_trees, n_actions, is_categorical, saved["ring.widths"].copy(), capacity, shared_model, crossed)
