"""Count-min sketches against counts of everything."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stumpery as st
from stumpery.hashing import hash_items, unit_hash
from stumpery.jit import INTERPRETED
from stumpery.summaries import CountMin
from stumpery.types import State

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

seeded = settings(deadline=None, derandomize=True, max_examples=10 if INTERPRETED else 60)
names = some.lists(some.one_of(some.text(max_size=6), some.integers(-3, 3)), max_size=60)
U = 2**64


def mixed(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % U
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % U
    return x ^ (x >> 31)


def slow_hash(name):
    """FNV-1a and SplitMix64 in Python's own whole numbers."""
    if isinstance(name, int):
        return mixed((name + 0x9E3779B97F4A7C15) % U)
    x = 14695981039346656037
    for letter in name.encode("utf-8", "surrogatepass"):
        x = (x ^ letter) * 1099511628211 % U
    return mixed(x)


def slow_table(listed, width, depth):
    table = np.zeros((depth, width), int)
    for name in listed:
        for row in range(depth):
            bits = mixed((slow_hash(name) + row * 0x9E3779B97F4A7C15) % U)
            table[row, ((bits >> 32) * width) >> 32] += 1
    return table


@seeded
@given(names)
def test_the_hash_is_the_documented_one(listed):
    assert hash_items(listed).tolist() == [slow_hash(name) for name in listed]


def test_the_hash_never_changes():
    assert unit_hash("phone") == pytest.approx(slow_hash("phone") / U, abs=2**-52)
    assert hash_items(["", "a\0b", "ü", "phone"]).tolist() == [slow_hash(name) for name in ("", "a\0b", "ü", "phone")]
    assert hash_items(np.array([5, -1])).tolist() == [slow_hash(5), slow_hash(-1)]


@seeded
@given(names, some.integers(1, 9), some.integers(1, 4))
def test_the_table_is_that_of_the_slow_twin(listed, width, depth):
    sketch = CountMin(width=width, depth=depth)
    sketch.add_many(listed)
    assert sketch.state().arrays["counts"][:, :, 0].tolist() == slow_table(listed, width, depth).tolist()


@seeded
@given(names)
def test_bulk_equals_one_by_one(listed):
    labels = [place % 2 for place in range(len(listed))]
    bulk, single = CountMin(width=16, n_classes=2), CountMin(width=16, n_classes=2)
    bulk.add_many(listed, labels)
    for name, label in zip(listed, labels, strict=True):
        single.add(name, label)
    assert (bulk.state().arrays["counts"] == single.state().arrays["counts"]).all()


def test_counts_are_never_too_low_and_seldom_too_high():
    rng = np.random.default_rng(2)
    listed = [f"name{place}" for place in rng.zipf(1.5, 3000) % 500]
    sketch = CountMin(width=64, depth=5)
    sketch.add_many(listed)
    true = Counter(listed)
    over = [sketch.count(name) - n for name, n in true.items()]
    assert min(over) >= 0
    assert sum(excess > sketch.overcount for excess in over) <= 3 * sketch.risk * len(true)
    assert sketch.overcount == pytest.approx(math.e * 3000 / 64)


def test_merging_is_exact_addition():
    both, first, second = (CountMin(width=8, depth=2) for _ in range(3))
    first.add_many(["a", "b", "c"])
    second.add("b", weight=5)
    both.add_many(["a", "b", "c", *["b"] * 5])
    first.merge(second)
    assert (first.state().arrays["counts"] == both.state().arrays["counts"]).all()
    assert first.total == 8


def test_sketches_of_different_options_do_not_merge():
    sketch = CountMin(width=8)
    for other in (CountMin(width=9), CountMin(width=8, depth=1), CountMin(width=8, n_classes=2)):
        with pytest.raises(ValueError, match="different options do not merge"):
            sketch.merge(other)
    with pytest.raises(ValueError, match="not with 'dict'"):
        sketch.merge({})
    assert sketch.total == 0


@pytest.mark.parametrize("wrong", ["abc", 5, None, {"a": 1}, [None], [1.5], [math.nan], ["a", b"b"], [2**70]])
def test_what_is_no_list_of_categories_changes_nothing(wrong):
    sketch = CountMin(width=8)
    with pytest.raises(ValueError, match="item"):
        sketch.add_many(wrong)
    assert sketch.total == 0


def test_wrong_labels_weights_and_options_are_refused():
    sketch = CountMin(n_classes=2)
    for label in (2, -1, math.nan, "0"):
        with pytest.raises(ValueError, match="label"):
            sketch.add("a", label)
    with pytest.raises(ValueError, match=r"^weight is 0"):
        sketch.add("a", 0, 0)
    for wrong in ({"width": 0}, {"depth": 0}, {"n_classes": 0}, {"width": 1.5}):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
            CountMin(**wrong)
    with pytest.raises(ValueError, match="fewer cells"):
        CountMin(width=2**24, depth=64)
    assert sketch.total == 0


def test_a_saved_sketch_goes_on(tmp_path):
    sketch = CountMin(width=8, n_classes=2)
    sketch.add_many(["a", "b"], [0, 1])
    st.save(sketch, tmp_path / "sketch")
    loaded = st.load(tmp_path / "sketch")
    assert loaded.class_counts("b").tolist() == sketch.class_counts("b").tolist()
    assert loaded.n_bytes == sketch.n_bytes == 4 * 8 * 2 * 8


def test_a_table_that_no_stream_leaves_is_refused():
    options, arrays = CountMin(width=4, depth=2).state()
    for place, change in ((0, -1), (0, 3)):
        damaged = arrays["counts"].copy()
        damaged.flat[place] = change
        with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
            CountMin.from_state(State(options, {"counts": damaged}))


def test_categories_of_pyarrow_are_those_of_python():
    assert hash_items(pa.array(["a", "b"])).tolist() == hash_items(["a", "b"]).tolist()
    assert hash_items(pa.array([3, 5])).tolist() == hash_items([3, 5]).tolist()


def test_a_sketch_that_merges_with_itself_for_ever_is_stopped_before_its_counts_overflow():
    sketch = st.summaries.CountMin(width=8, depth=2)
    sketch.add("phone")
    with pytest.raises(ValueError, match="a summary counts up to"):
        for _ in range(70):
            sketch.merge(sketch)
    assert sketch.count("phone") == sketch.total == 2**62
