"""The compiler's settings: when machine code is made, and that it changes no result."""

import ast
import os
from pathlib import Path

import numpy as np
import pytest
from tests.programs import play_digest
from tests.support import run, run_code

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


def test_every_kernel_file_with_the_right_name_holds_kernels_or_constants_of_kernels():
    named = [source for source in kernel_cache.kernel_files() if source.name.endswith("_kernels.py")]
    without = [source for source in named if not makes_kernels(source)]
    assert len(without) < len(named)
    for source in without:  # its numbers become part of machine code
        module = ".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts)
        assert any(module in imported_by(other) for other in named if other not in without), (
            f"{source.name} serves none"
        )


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
    modules = ("options", "saving.validation", "system.allocation", "system.folders", "system.interruption", "types")
    plain = {f"stumpery.{module}" for module in modules}
    for source in kernel_cache.kernel_files():
        for node in ast.walk(tree_of(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stumpery"):
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                assert node.module in hashed | plain or full <= hashed, f"{source.name} imports {full}"


def test_the_callers_own_numba_cache_folder_is_untouched(tmp_path):
    code = "import numba, stumpery.policies; print(numba.config.CACHE_DIR)"
    own = tmp_path / "own"
    assert run_code(code, tmp_path / "ours", NUMBA_CACHE_DIR=str(own)) == str(own)
    assert not own.exists()


def test_bounds_are_checked_when_asked_for_and_only_then(tmp_path):
    assert run("read_past_the_end.py", cache=tmp_path, STUMPERY_BOUNDS_CHECK="1") == "refused"
    assert run("read_past_the_end.py", cache=tmp_path) == "read past the end"
    assert run("read_past_the_end.py", cache=tmp_path, NUMBA_DISABLE_JIT="1") == "refused"


def test_a_second_process_compiles_nothing(tmp_path):
    assert run("cache_use.py", cache=tmp_path) == "0 2"
    assert run("cache_use.py", cache=tmp_path) == "2 0"


def n_compiled():
    """How many versions there are of each kernel that a policy calls."""
    modules = (means_kernels, successive_elimination_kernels)
    kernels = [each for module in modules for each in vars(module).values() if hasattr(each, "signatures")]
    return {f"{each.__module__}.{each.__name__}": len(each.signatures) for each in kernels}


@pytest.mark.parametrize("kind", [st.UCB, st.ThompsonSampling, st.policies.MeansPolicy, st.SuccessiveElimination])
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


@pytest.mark.parametrize(
    "kind", [st.RewardForest, st.policies.BanditTree, st.LinUCB, st.policies.Banditron, st.NeuralBandit]
)
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


@pytest.mark.parametrize("switches", [{}, {"NUMBA_DISABLE_JIT": "1"}])
def test_parts_work_inside_kernels_and_raise_through_them(tmp_path, switches):
    for _ in range(2):  # compiled, then from the cache
        said = run("internal_functions.py", cache=tmp_path, STUMPERY_BOUNDS_CHECK="1", **switches).splitlines()
        assert said == ["6.0 2.0", "ValueError", "IndexError"]


def test_a_part_is_compiled_once_for_all_numbers_that_are_known(tmp_path):
    assert run("known_integers.py", cache=tmp_path) == "36 1"


@pytest.mark.skipif(not EXTENDED, reason="kernels are ordinary functions here")
def test_a_kernel_inside_another_is_an_internal_function(tmp_path):
    assert run("nested_kernel.py", cache=tmp_path) == "2.0 1.0 ['inner']"


@pytest.mark.skipif(not EXTENDED or jit.INTERPRETED, reason="parts are plain functions here")
def test_parts_that_only_borrow_arrays_do_not_count_them_and_the_others_leak_nothing(tmp_path):
    said = run("borrowed_arrays.py", cache=tmp_path, NUMBA_NRT_STATS="1").splitlines()
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


def test_parts_that_own_what_they_touch_neither_lose_it_nor_leak(tmp_path):
    assert run("owned_arrays.py", cache=tmp_path, NUMBA_NRT_STATS="1").split() == ["5.0", "4.0", "True"]


@pytest.mark.parametrize("problem", play_digest.PROBLEMS)
def test_the_same_seed_gives_the_same_bits_in_every_process_compiled_or_not(problem, tmp_path):
    here = play_digest.digest_of(problem)
    cache = os.environ.get("STUMPERY_CACHE") or cache_root()
    assert run("play_digest.py", problem, cache=cache) == here
    assert run("play_digest.py", problem, cache=tmp_path, NUMBA_DISABLE_JIT="1") == here
    if problem == "reward forest":
        assert run("play_digest.py", problem, cache=tmp_path, STUMPERY_PLAIN="1") == here


def test_interpreted_kernels_are_quiet_and_keep_their_name(tmp_path):
    assert run("interpreted_kernel.py", cache=tmp_path, NUMBA_DISABLE_JIT="1") == "divide inf uint64"
