"""Former names of arrays, options and their values, by which files of formats 1 and 2 still load.

An entry of `ARRAYS` holds for every kind of model, wherever the array stands in an ensemble or a selector, unless the
entry begins with the kind of the file: "QuantileSummary/marks".
"""

import re
from typing import Any

from numpy.typing import NDArray

from stumpery.types import State

ARRAYS = {
    "chances": "probabilities",
    "partitions.chances": "partitions.probabilities",
    "streams.waiting": "streams.buffers",
    "streams.marks": "streams.buffer_labels",
    "streams.fills": "streams.n_buffered",
    "streams.shares": "streams.gap_fractions",
    "QuantileSummary/waiting": "buffers",
    "QuantileSummary/marks": "buffer_labels",
    "QuantileSummary/fills": "n_buffered",
    "QuantileSummary/shares": "gap_fractions",
    "room": "capacity",
    "paces": "squared_slopes",
    "grounds": "statistics",
    "RewardForest/plain": "linear",
    "RewardForest/pairs": "quadratic",
    "RewardForest/recent": "fast_linear",
    "RewardForest/corrected": "residual",
    "RewardForest/shared.features": "shared_model.features",
    "RewardForest/shared.linear": "shared_model.linear",
    "RewardForest/familiar.buckets": "context_memory.buckets",
    "RewardForest/familiar.trust": "context_memory.shrinkage",
    "RewardForest/watch": "drift",
}
OPTIONS = {
    "borrowing": "shrinkage",
    "belief": "posterior",
    "marks": "indicators",
    "max_names": "max_categories",
    "names": "categories",
    "numbered": "takes_numbers",
    "unfold": "min_samples_split",
}
VALUES = {
    "number": "numerical",
    "name": "categorical",
    "numbered name": "categorical number",
    "doubt_thompson": "uncertainty_thompson",
}
USER_DATA = frozenset({"name", "column", "features"})  # options that hold what users named

_PREFIX = re.compile(r"(?:.*:)?(?:classifier\.|model\.)?(?:\d+\.)?")  # of a member's array


def renamed_state(kind: str, state: State) -> State:
    """A former version's state under the present names."""
    return State(renamed_options(state.options), renamed_arrays(kind, state.arrays))


def renamed_arrays(kind: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Arrays under their present names."""
    renamed = {}
    for name, array in arrays.items():
        base_name = _PREFIX.sub("", name, count=1)
        renamed[name.removesuffix(base_name) + ARRAYS.get(f"{kind}/{base_name}", ARRAYS.get(base_name, base_name))] = (
            array
        )
    return renamed


def renamed_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options, and those of members and columns in them, under their present names and with their present values."""
    return {
        OPTIONS.get(key, key): value if key in USER_DATA else _renamed(key, value) for key, value in options.items()
    }


def _renamed(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        if key == "schema" and not isinstance(value.get("columns"), list):  # of a click model: columns and their kinds
            return {column: _renamed(column, kind) for column, kind in value.items()}
        return renamed_options(value)
    if isinstance(value, list):  # whose strings are actions, classes or columns
        return [_renamed(key, each) if isinstance(each, dict | list) else each for each in value]
    return VALUES.get(value, value) if isinstance(value, str) else value
