"""Loading a small file takes little memory, whatever its header says."""

import json
import time
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save as serialise
from tests.test_files import BUILDERS, KINDS

import stumpery as st
from stumpery.saving import files
from stumpery.system import allocation

SIZES = (2**20, 2**62)
SECONDS = 10.0  # far more than any takes


def numbers_within(thing, path=()):
    """The paths of all numbers within options."""
    for key, value in thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, key)
        yield from numbers_within(value, (*path, key))


def replaced(thing, path, value):
    """A copy of options with another value at a path."""
    copy = json.loads(json.dumps(thing))
    inside = copy
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return copy


def wider(options):
    """Options with very many actions, columns, classes or members."""
    found = []
    many = [f"a{number}" for number in range(3000)]
    if "actions" in options:
        found.append({**options, "actions": many})
    if "features" in options:
        found.append({**options, "features": many})
    names = [
        {"kind": "categorical", "name": name, "categories": [], "max_categories": 65534, "takes_numbers": False}
        for name in many
    ]
    schema = {"columns": names}
    if isinstance(options.get("schema"), dict) and "columns" in options["schema"]:
        found += [{**each, "schema": schema} for each in (options, *found)]
    elif isinstance(options.get("schema"), dict):
        found.append({**options, "schema": dict.fromkeys(many, "numerical")})
    if "columns" in options:
        found.append(schema)
    if "_classes" in options:
        found.append({**options, "_classes": many})
    if "_members" in options:
        found.append({**options, "_members": options["_members"] * 3000})
    if "predictors" in options:
        found += [{**options, "predictors": [[kind, own, 100_000] for kind, own, _ in options["predictors"] * 300]}]
    return found


def peak_of_loading(folder, kind, options, arrays):
    """The most memory that loading took, and the size of the file."""
    content = {"format": files.FORMAT, "version": "0", "kind": kind, "options": options, "packed": {}}
    content["digest"] = files._digest(content, arrays)
    path = folder / "bomb"
    path.write_bytes(serialise(arrays, metadata={"stumpery": json.dumps(content)}))
    tracemalloc.start()
    try:
        st.load(path)
    except st.StumperyError as error:
        assert "\n" not in str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak, path.stat().st_size


@pytest.mark.parametrize("kind", KINDS)
def test_no_header_makes_load_take_more_than_its_share_of_memory(kind, tmp_path):
    state = BUILDERS[kind]().state()
    options = json.loads(json.dumps(state.options))
    arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
    changed = [replaced(options, path, size) for path in numbers_within(options) for size in SIZES]
    for each in (*changed, *wider(options)):
        begin = time.process_time()
        peak, n_bytes = peak_of_loading(tmp_path, kind, each, arrays)
        assert peak < files.FREE_BYTES + (files.MULTIPLE + 30) * n_bytes, each
        assert time.process_time() - begin < SECONDS, each


def test_columns_of_very_many_codes_are_counted_before_they_are_listed(tmp_path):
    n = 3000
    column = {"kind": "categorical", "categories": [], "max_categories": 10, "takes_numbers": False}
    options, arrays = BUILDERS["PolicyTree"]().state()
    options = {**options, "schema": {"columns": [{**column, "name": f"a{place}"} for place in range(n)]}}
    cells = {
        "is_number": np.zeros(n, np.bool_),
        "n_codes": np.full(n, 16_384),
        "n_cuts": np.zeros(n, np.int64),
        "cuts": np.zeros(0, np.float32),
        "centres": np.zeros(0, np.float32),
        "spans": np.zeros((1, 3)),
    }
    arrays = {**arrays, "schema.points": np.zeros(0), **{f"cells.{name}": array for name, array in cells.items()}}
    peak, _ = peak_of_loading(tmp_path, "PolicyTree", options, arrays)
    assert peak < 50_000_000
    with pytest.raises(ValueError, match=r"corrupt file: [^\n]+$"):
        st.load(tmp_path / "bomb")


def test_more_memory_is_taken_where_the_caller_allows_it(tmp_path):
    path = tmp_path / "model"
    st.save(st.summaries.CountMin(width=1000, depth=2), path)
    with pytest.raises(st.CapacityError, match=r"ask for [0-9,]+ bytes more, [^\n]+ allows more$"):
        st.load(path, max_bytes=1000)
    assert st.load(path, max_bytes=10**6).total == 0


@pytest.mark.parametrize("value", ["1", 0, -5, 1.5, True])
def test_a_limit_that_is_no_number_of_bytes_is_refused(value, tmp_path):
    st.save(st.summaries.Moments(), tmp_path / "model")
    with pytest.raises(ValueError, match=r"^max_bytes is [^\n]+; it must be a whole number of 1 or more$"):
        st.load(tmp_path / "model", max_bytes=value)


def test_what_is_made_without_a_file_is_not_limited():
    allocation.reserve(2**60)
    with allocation.limited(100):
        allocation.reserve(60)
        with pytest.raises(st.CapacityError, match="ask for 60 bytes more"):
            allocation.reserve(60)
    allocation.reserve(2**60)


def test_a_state_that_needs_more_memory_than_there_is_gives_a_sentence(tmp_path, monkeypatch):
    def greedy(_):
        raise MemoryError

    path = tmp_path / "model"
    st.save(st.summaries.Moments(), path)
    monkeypatch.setattr(st.summaries.Moments, "from_state", greedy)
    with pytest.raises(st.CapacityError, match=r"holds a Moments that cannot be loaded: it needs more memory [^\n]+$"):
        st.load(path)


def test_many_members_are_told_apart_in_one_go():
    from stumpery.saving.saveable import restored

    listed = [["Moments", {}]] * 3000
    arrays = {f"{place}:row": np.zeros((1, 3)) for place in range(3000)}
    begin = time.process_time()
    assert len(restored(listed, arrays)) == 3000
    assert time.process_time() - begin < SECONDS
    assert not arrays
    with pytest.raises(ValueError, match="its arrays are"):
        restored(listed[:1], {"1:row": np.zeros((1, 3))})
