"""The compiler's settings: when machine code is made, and that it changes no result."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stumpery as st
from stumpery import jit
from stumpery.compiling import EXTENDED, kernel_cache
from stumpery.policies.bandit_forest import trees_kernels as bandit_forest_kernels
from stumpery.policies.context_free import means_kernels, successive_elimination_kernels
from stumpery.policies.linear import banditron_kernels
from stumpery.policies.linear import linear_policy_kernels as linear_kernels
from stumpery.policies.neural import neural_bandit_kernels as neural_kernels
from stumpery.policies.reward_forest import policy_kernels as reward_forest_kernels
from stumpery.system.folders import cache_root

PACKAGE = Path(jit.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
ACTIONS = ["a", "b", "c"]
TINY_KERNEL = """
import numpy as np
from stumpery.jit import kernel

@kernel
def read(array, place):
    return array[place]

try:
    read(np.zeros(3), 3)
    print("read past the end")
except IndexError:
    print("refused")
"""
COUNT_CACHE_USE = """
import stumpery as st
from stumpery.policies.context_free import means_kernels
policy = st.UCB(actions=["a", "b"])
policy.learn(policy.decide(), 1.0)
used = [means_kernels.decide, means_kernels.learn]
print(sum(sum(k.stats.cache_hits.values()) for k in used), sum(sum(k.stats.cache_misses.values()) for k in used))
"""
PLAY = """
import hashlib
import numpy as np
import stumpery as st
digest = hashlib.sha256()
rewards = (np.arange(900).reshape(300, 3) * 7919 % 101 / 100.0).copy()
for kind in (st.UCB, st.EpsilonGreedy, st.ThompsonSampling, st.SuccessiveElimination, st.RandomPolicy):
    policy = kind(actions=["a", "b", "c"], seed=7)
    result = st.play(policy, rewards=rewards)
    digest.update("".join(result.actions).encode() + result.probabilities.tobytes())
    for name, array in sorted(policy.state().arrays.items()):
        digest.update(name.encode() + array.tobytes())
print(digest.hexdigest())
"""
PLAY_FOREST = """
import hashlib
import numpy as np
import stumpery as st
digest = hashlib.sha256()
rows = [{"x": n * 7919 % 101 / 7.0, "y": n * 31 % 17, "bit": n % 2, "name": "abcde"[n * 13 % 5]} for n in range(200)]
rewards = np.array([[row["x"] > 7.0, row["bit"] + row["y"] > 9.0, row["name"] == "c"] for row in rows]) * 0.7
policy = st.RewardForest(actions=["a", "b", "c"], n_trees=4, seed=7)
result = st.play(policy, contexts=rows, rewards=rewards)
digest.update("".join(result.actions).encode() + result.probabilities.tobytes())
for name, array in sorted(policy.state().arrays.items()):
    digest.update(name.encode() + array.tobytes())
assert policy.n_leaves > 4
print(digest.hexdigest())
"""
PLAY_SMALL_FOREST = """
import hashlib
import numpy as np
import stumpery as st
digest = hashlib.sha256()
rng = np.random.default_rng(1)
rows = rng.random((40, 3))[rng.integers(0, 40, 1500)]
rows[::2] = rng.random((750, 3))
rewards = (rng.random((1500, 4)) < 0.2 + 0.6 * ((rows[:, :1] * 4).astype(int) == np.arange(4))).astype(float)
policy = st.RewardForest(actions=range(4), n_trees=6, seed=7, max_bytes=300_000)
played = policy.play(rows, rewards)
digest.update(played.actions.tobytes() + played.probabilities.tobytes())
for name, array in sorted(policy.state().arrays.items()):
    digest.update(name.encode() + array.tobytes())
assert policy._models.forest.counters[0] > 2 * policy.n_leaves - 6  # more nodes than its trees have: some were undone
print(digest.hexdigest())
"""
PLAY_FEATURES = """
import hashlib
import numpy as np
import stumpery as st
rows = [{"x": n * 7919 % 101 / 7.0, "name": "abcde"[n * 13 % 5]} for n in range(150)]
features = {n: {"kind": "xyz"[n % 3], "size": n * 37 % 12 / 7.0} for n in range(12)}
rewards = np.array([[0.2 + 0.6 * (ord(row["name"]) % 3 == n % 3) for n in features] for row in rows])
policy = st.RewardForest(actions=list(features), n_trees=3, seed=3, features=features)
played = policy.play(rows, rewards)
print(hashlib.sha256(played.actions.tobytes() + played.probabilities.tobytes()).hexdigest())
"""


def run(code, cache, **switches):
    """What a new process prints; it has the cache folder `cache` and the environment's switches, and no others."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("STUMPERY_", "NUMBA_"))}
    environment = {**plain, "STUMPERY_CACHE": str(cache), **switches}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def tree_of(source):
    return ast.parse(source.read_text(encoding="utf-8"))


def makes_kernels(source):
    functions = (node for node in ast.walk(tree_of(source)) if isinstance(node, ast.FunctionDef))
    names = {ast.unparse(each).rpartition(".")[2] for node in functions for each in node.decorator_list}
    return bool(names & {"kernel", "internal"})


def imported_by(source):
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_kernels_stand_only_in_the_files_whose_changes_are_noticed():
    kernel_files = {source for source in SOURCES if makes_kernels(source)}
    assert kernel_files
    assert kernel_files <= set(kernel_cache.kernel_files())


def test_every_kernel_file_with_the_right_name_holds_kernels():
    named = [source for source in kernel_cache.kernel_files() if source.name.endswith("_kernels.py")]
    assert named
    assert [source for source in named if not makes_kernels(source)] == []


def test_only_the_compilers_files_know_the_compiler():
    knows = [source for source in SOURCES if any(name.partition(".")[0] == "numba" for name in imported_by(source))]
    assert {source.relative_to(PACKAGE).parts[0] for source in knows} == {"compiling", "jit.py"}
    assert set(knows) <= set(kernel_cache.kernel_files())


def test_kernels_take_logarithms_and_exponentials_from_math_whose_bits_are_the_same_interpreted():
    numpys = {f"np.{name}" for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "power", "tanh", "sin", "cos")}
    for source in kernel_cache.kernel_files():
        if source.name == "jit.py":  # its `log2_of` takes the C library's where it is interpreted
            continue
        calls = {ast.unparse(node.func) for node in ast.walk(tree_of(source)) if isinstance(node, ast.Call)}
        assert not calls & numpys, f"{source.name} calls {calls & numpys}"


def test_kernel_files_import_only_what_is_hashed_or_holds_no_kernels():
    names = (".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in kernel_cache.kernel_files())
    hashed = {name.removesuffix(".__init__") for name in names}
    modules = ("system.allocation", "system.folders", "system.interruption", "options", "types", "validation")
    plain = {f"stumpery.{module}" for module in modules}
    for source in kernel_cache.kernel_files():
        for node in ast.walk(tree_of(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stumpery"):
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                assert node.module in hashed | plain or full <= hashed, f"{source.name} imports {full}"


def test_the_callers_own_numba_cache_folder_is_untouched(tmp_path):
    code = "import numba, stumpery.policies; print(numba.config.CACHE_DIR)"
    own = tmp_path / "own"
    assert run(code, tmp_path / "ours", NUMBA_CACHE_DIR=str(own)) == str(own)
    assert not own.exists()


def test_bounds_are_checked_when_asked_for_and_only_then(tmp_path):
    script = tmp_path / "tiny.py"
    script.write_text(TINY_KERNEL)
    code = f"import runpy; runpy.run_path({str(script)!r})"
    assert run(code, tmp_path / "cache", STUMPERY_BOUNDS_CHECK="1") == "refused"
    assert run(code, tmp_path / "cache") == "read past the end"
    assert run(code, tmp_path / "cache", NUMBA_DISABLE_JIT="1") == "refused"


def test_a_second_process_compiles_nothing(tmp_path):
    hits, misses = map(int, run(COUNT_CACHE_USE, tmp_path).split())
    assert (hits, misses) == (0, 2)
    hits, misses = map(int, run(COUNT_CACHE_USE, tmp_path).split())
    assert (hits, misses) == (2, 0)


def n_compiled():
    """How many versions there are of each kernel that a policy calls."""
    modules = (means_kernels, successive_elimination_kernels)
    kernels = [each for module in modules for each in vars(module).values() if hasattr(each, "signatures")]
    return {f"{each.__module__}.{each.__name__}": len(each.signatures) for each in kernels}


@pytest.mark.parametrize("kind", [st.UCB, st.ThompsonSampling, st.MeansPolicy, st.SuccessiveElimination])
def test_rewards_of_every_type_use_the_same_machine_code(kind):
    policy = kind(actions=ACTIONS)
    policy.learn(policy.decide(), 1.0)
    policy.learn_many(policy.decide_many(2), [1.0, 0.0])
    policy.play(None, np.ones((2, 3)))
    before = n_compiled()
    for reward in (0, 1, True, np.float64(0.5), np.float32(0.5), np.int64(1), np.bool_(True), np.array(0.25)):
        policy.learn(policy.decide(), reward)
        policy.learn(policy.decide({"hour": 3}, available=["a", "c"]), reward)
    decision = policy.decide()
    policy.learn(decision._replace(probability=1), 1.0)
    policy.learn(decision._replace(probability=np.float32(0.5)), 1.0)
    policy.learn_many(policy.decide_many(3), [True, 0, 0.5])
    policy.learn_many(policy.decide_many(3), np.array([1, 0, 1]))
    policy.play(None, np.ones((2, 3), dtype=np.int64))
    assert n_compiled() == before


@pytest.mark.parametrize("kind", [st.UCB, st.SuccessiveElimination])
def test_rewards_of_every_memory_layout_use_the_same_machine_code(kind):
    policy = kind(actions=ACTIONS)
    policy.learn_many(policy.decide_many(2), [1.0, 0.0])
    policy.play(None, np.ones((2, 3)))
    before = n_compiled()
    for rewards in (np.ones((3, 2)).T, np.ones((4, 6))[::2, ::2]):
        policy.play(None, rewards)
        policy.learn_many(policy.decide_many(2), rewards[:, 0])
    assert n_compiled() == before


def test_rewards_that_may_not_be_written_use_the_same_machine_code():
    policy = st.UCB(actions=ACTIONS)
    policy.play(None, np.ones((2, 3)))
    before = n_compiled()
    frozen = np.ones((2, 3))
    frozen.flags.writeable = False
    policy.play(None, frozen)
    assert n_compiled() == before


@pytest.mark.parametrize("kind", [st.RewardForest, st.BanditTree, st.LinUCB, st.Banditron, st.NeuralBandit])
def test_contexts_of_every_layout_use_the_same_machine_code(kind):
    policy = kind(actions=ACTIONS)
    modules = (reward_forest_kernels, bandit_forest_kernels, linear_kernels, banditron_kernels, neural_kernels)
    bits = np.random.default_rng(1).integers(0, 2, size=(8, 6)).astype(np.uint8)
    frozen = bits.copy()
    frozen.flags.writeable = False
    policy.play(bits, np.ones((8, 3)))
    before = [len(getattr(module.run, "signatures", ())) for module in modules]
    for contexts in (
        frozen,
        np.asfortranarray(bits),
        np.repeat(bits, 2, axis=1)[:, ::2],
        bits.astype(bool),
        bits * 1.0,
    ):
        policy.play(contexts, np.ones((8, 3)))
        policy.learn(policy.decide(contexts[0]), 1)
        policy.learn_many(policy.decide_many(contexts), [True] * 8)
    assert [len(getattr(module.run, "signatures", ())) for module in modules] == before


PARTS = """
import numpy as np
from stumpery.jit import internal, kernel

@internal
def read(array, place):
    if place < 0:
        raise ValueError("there is no such place")
    return array[place]

@internal
def total(array):
    found = 0.0
    for place in range(array.shape[0]):
        found += read(array, place)
    return found

@kernel
def both(array, place):
    return total(array), read(array, place)

print(*both(np.arange(4.0), 2))
for place in (-1, 9):
    try:
        both(np.arange(4.0), place)
    except (ValueError, IndexError) as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize("switches", [{}, {"NUMBA_DISABLE_JIT": "1"}])
def test_parts_work_inside_kernels_and_raise_through_them(tmp_path, switches):
    (tmp_path / "parted.py").write_text(PARTS, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import parted"
    for _ in range(2):  # compiled, then from the cache
        said = run(code, tmp_path, STUMPERY_BOUNDS_CHECK="1", **switches).splitlines()
        assert said == ["6.0 2.0", "ValueError", "IndexError"]


NESTED = """
import numpy as np
from stumpery.compiling import internal
from stumpery.jit import kernel

lower, seen = internal._InternalLowering.run_pass, []

def noted(step, state):
    seen.append(state.func_id.func_name)
    return lower(step, state)

internal._InternalLowering.run_pass = noted

@kernel
def inner(array):
    return array[0]

@kernel
def outer(array):
    return inner(array) + 1.0

print(outer(np.ones(3)), inner(np.ones(3)), seen)
"""


KNOWN = """
from stumpery.jit import internal, kernel

@internal
def plus(one, other):
    return one + other

@kernel
def sums(n):
    return plus(n, 1) + plus(n, 2) + plus(3, n)

print(sums(10), len(plus.signatures))
"""


def test_a_part_is_compiled_once_for_all_numbers_that_are_known(tmp_path):
    (tmp_path / "known.py").write_text(KNOWN, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import known"
    assert run(code, tmp_path).split() == ["36", "1"]


@pytest.mark.skipif(not EXTENDED, reason="kernels are ordinary functions here")
def test_a_kernel_inside_another_is_an_internal_function(tmp_path):
    (tmp_path / "nested.py").write_text(NESTED, encoding="utf-8")
    said = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import nested", tmp_path)
    assert said == "2.0 1.0 ['inner']"


BORROWERS = """
import numpy as np
from numba.core.runtime import rtsys
from stumpery.compiling import internal
from stumpery.jit import internal, kernel, prefetch

borrows, decide = [], internal._only_borrows
internal._only_borrows = lambda state: borrows.append((state.func_id.func_name, decide(state))) or borrows[-1][1]

@internal
def middle(table):  # gives an array back
    return table[1]

@internal
def doubled(row):  # makes an array
    return row * 2.0

@internal
def squares(row):  # makes one and keeps it to itself
    made = np.empty(row.shape[0])
    for place in range(row.shape[0]):
        made[place] = row[place] ** 2
    return made.sum()

@internal
def fill(row, source):  # an array laid over another
    row[:] = source

@internal
def add(table, row):  # only borrows
    prefetch(table, 2)
    line = table[2]
    for place in range(line.shape[0]):
        line[place] += row[place]
    return line[0]

@internal
def all_of_them(table):
    row = doubled(middle(table))
    fill(table[0], row)
    return add(table, row) + squares(row)

@kernel
def run(table, n):
    found = 0.0
    for _ in range(n):
        found = all_of_them(table)
    return found

table = np.ones((3, 4))
run(table, 1)
before = rtsys.get_allocation_stats()
print(run(table, 1000))
after = rtsys.get_allocation_stats()
print(*(now - then for then, now in zip(before, after)))
print(sorted(borrows))
"""


@pytest.mark.skipif(not EXTENDED or jit.INTERPRETED, reason="parts are plain functions here")
def test_parts_that_only_borrow_arrays_do_not_count_them_and_the_others_leak_nothing(tmp_path):
    (tmp_path / "borrowers.py").write_text(BORROWERS, encoding="utf-8")
    said = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import borrowers", tmp_path, NUMBA_NRT_STATS="1")
    said = said.splitlines()
    assert said[0] == "2019.0"  # 2 more each time, on 1 and a first one, then 4 squares of 2
    allocated, freed, held, let_go = map(int, said[1].split())
    assert allocated == freed >= 2000
    assert held == let_go >= 2000
    assert said[2] == str(
        [
            ("add", True),
            ("all_of_them", False),
            ("doubled", False),
            ("fill", False),
            ("middle", False),
            ("prefetch", True),
            ("squares", False),
        ]
    )


@jit.kernel
def ask(array, row):
    """Ask for a row."""
    jit.prefetch(array, row)
    jit.prefetch_byte(array, row)


@pytest.mark.parametrize("shape", [(5, 3), (0, 3), (5, 0), (7,), (2, 50, 3)])
def test_asking_for_memory_changes_nothing_wherever_it_is(shape):
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    for each in (array, array[::-1], array[1:4:2], array.T):
        before = each.copy()
        for row in (0, 4, -1, 10**9, -(10**12)):
            ask(each, row)
        assert np.array_equal(each, before)


OWNERS = """
import numpy as np
from numba.core.runtime import rtsys
from stumpery.jit import internal, kernel

@internal
def each(row):  # outlives the call, and its array with it
    for place in range(row.shape[0]):
        yield row[place]

@kernel
def generated(n):
    values = each(np.ones(n))
    others = np.full(n, 7.0)
    found = 0.0
    for value in values:
        found += value
    return found + 0.0 * others[0]

@internal
def some_of(row, places):  # an array as the index makes a copy
    picked = row[places]
    return picked[0]

@internal
def mirrored(row):  # so do some attributes
    return row.imag[0]

@internal
def named(rows, name):  # what a dict gives is held by who asked
    return rows[name][0]

@internal
def letter(text, place):
    return text[place] == "b"

@internal
def perhaps(row, there):
    found = row[1:] if there else None
    return 0.0 if found is None else found[0]

@kernel
def owned(n):
    row = np.ones(n)
    rows = {1: row}
    read = some_of(row, np.arange(2)) + mirrored(row) + named(rows, 1)
    return read + letter("a" * n + "b", n) + perhaps(row, n > 2)

print(generated(5))
owned(5)
before = rtsys.get_allocation_stats()
print(owned(5))
after = rtsys.get_allocation_stats()
print(after.alloc - before.alloc == after.free - before.free > 0)
"""


def test_parts_that_own_what_they_touch_neither_lose_it_nor_leak(tmp_path):
    (tmp_path / "owners.py").write_text(OWNERS, encoding="utf-8")
    said = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import owners", tmp_path, NUMBA_NRT_STATS="1")
    assert said.split() == ["5.0", "4.0", "True"]


@pytest.mark.parametrize(
    "code",
    [PLAY, PLAY_FOREST, PLAY_SMALL_FOREST, PLAY_FEATURES],
    ids=["no context", "reward forest", "a forest that makes way", "features"],
)
def test_the_same_seed_gives_the_same_bits_in_every_process_compiled_or_not(code, tmp_path, capsys):
    exec(code, {})  # noqa: S102 - the same text as in the other processes
    here = capsys.readouterr().out.strip()
    cache = os.environ.get("STUMPERY_CACHE") or cache_root()
    assert len(here) == 64
    assert run(code, cache) == here
    assert run(code, tmp_path, NUMBA_DISABLE_JIT="1") == here
    if code is PLAY_FOREST:
        assert run(code, tmp_path, STUMPERY_PLAIN="1") == here


def test_interpreted_kernels_are_quiet_and_keep_their_name():
    code = """
import numpy as np
from stumpery.jit import kernel

@kernel
def divide(top, bottom):
    "Divide."
    return top / bottom

print(divide.__name__, divide(np.float64(1.0), np.float64(0.0)), np.uint64(2**63).dtype)
"""
    assert run(code, "unused", NUMBA_DISABLE_JIT="1") == "divide inf uint64"
