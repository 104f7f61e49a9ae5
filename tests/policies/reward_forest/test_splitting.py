"""The array forest against its slow twin: the same trees, leaf for leaf, on numbers, categories and bits."""

import numpy as np
import pytest
from tests.reference.reward_forest import RewardForestTrees

from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.binning_kernels import MAX_SPLIT_EVENTS, new_scratch
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import INTERPRETED, LINE, kernel
from stumpery.policies.reward_forest.trees import criterion_kernels as stats
from stumpery.policies.reward_forest.trees import learning_kernels as learning
from stumpery.policies.reward_forest.trees.ring import new_event_copies, new_ring, widths_of

pytestmark = pytest.mark.kernels

N_ROWS = 250 if INTERPRETED else 1500
N_TREES, N_ACTIONS = 3, 3
KINDS = {
    "numbers": [False] * 4,
    "timestamps": [False] * 4,
    "names": [True] * 4,
    "bits": [False] * 4,
    "mixed": [False, True, False, True, False],
    "one number": [False],
    "one name": [True],
}


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (1,), (5, 3), (2, 3, 4)])
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.float64])
def test_aligned_arrays_begin_with_a_cache_line(shape, kind):
    array = trees.aligned_zeros(shape, kind)
    assert array.shape == shape
    assert array.dtype == kind
    assert array.ctypes.data % LINE == 0 or not array.size
    assert array.flags.c_contiguous and array.flags.aligned and not array.any()


@kernel
def learn_rows(forest, ring, scratch, rows, played, begins, seed):
    """Let the trees learn row after row and keep some, in place; with each of `begins` a concept begins."""
    concept_start = 0
    reached, moving = np.zeros(N_TREES, np.int32), np.zeros(N_TREES, np.int32)
    for place in range(rows.shape[0]):
        trees.descend(forest, rows[place], reached, moving)
        if place in begins:
            concept_start = place
        action, reward = int(played[place, 0]), played[place, 1]
        key = splitmix64(seed + np.uint64(place))
        is_kept = played[place, 2] > 0.0
        learning.learn(forest, ring, scratch, reached, rows[place], action, reward, concept_start, seed, key, is_kept)


def learn_all(forest, events, rows, actions, rewards, begins, seed, *, every=1):
    """The same, with a workspace."""
    scratch = new_scratch(forest.stats.shape[2], rows.shape[1], new_event_copies(events), len(events.bytes))
    learn_rows(
        forest,
        events,
        scratch,
        rows,
        np.stack([actions, rewards, np.arange(len(rows)) % every == 0], axis=1),
        begins,
        seed,
    )


@kernel
def find_leaves(forest, reached, rows, found):
    """Write every row's leaf in every tree into `found`, in place."""
    moving = np.zeros_like(reached)
    for place in range(rows.shape[0]):
        trees.descend(forest, rows[place], reached, moving)
        found[place] = reached


@kernel
def note_all(forest, leaf, numbers):
    """Note events in a leaf, in place."""
    for number in numbers:
        event_lists.append_event(forest, leaf, number)


@kernel
def found_from(forest, leaf, oldest, found):
    """Write a leaf's numbers from `oldest` on into `found`, in place; give how many."""
    return event_lists.fill_event_numbers(forest, leaf, oldest, found)


@kernel
def trimmed(forest, leaf, oldest):
    """Give back a leaf's blocks whose events are all older than `oldest`, in place; give how many were in them."""
    return event_lists.release_old_blocks(forest, leaf, oldest)


def stream(name, seed, n_rows=N_ROWS):
    """Rows with gaps, actions, and rewards in quarters, whose sums are exact: two columns say what pays."""
    rng = np.random.default_rng(seed)
    is_categorical = KINDS[name]
    rows = np.empty((n_rows, len(is_categorical)), np.float32)
    for column, names in enumerate(is_categorical):
        if names:
            rows[:, column] = rng.integers(0, 8, n_rows)
        elif name == "bits" or column == 4:
            rows[:, column] = rng.integers(0, 2, n_rows)
        else:
            rows[:, column] = np.where(rng.random(n_rows) < 0.1, -np.inf, rng.normal(0.5, 0.5, n_rows))
    actions = rng.integers(0, N_ACTIONS, n_rows)
    first, last = rows[:, 0] > (3 if is_categorical[0] else 0.5), rows[:, -1] > (5 if is_categorical[-1] else 0.6)
    right = first.astype(int) + (first & last)
    rewards = (rng.integers(0, 3, n_rows) + 2 * (right == actions)) / 4
    if name == "timestamps":  # milliseconds, of which 32-bit floats have one in a hundred thousand
        rows = np.floor(rows.astype(np.float64) * 10_000.0) + 1_700_000_000_000.0
    return rows, actions, rewards


def grown(name, seed, n_kept, n_blocks=4000, n_nodes=600, n_rows=N_ROWS, begins=(), *, every=1):
    """The compiled trees after a stream; with each of `begins` other actions are the best ones."""
    rows, actions, rewards = stream(name, seed, n_rows)
    for begin in begins:
        rewards[begin:] = 1.0 - rewards[begin:]
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array(KINDS[name]), n_nodes, n_blocks)
    events = new_ring(n_kept, widths_of(rows))
    starts = np.array([0, *begins])
    learn_all(forest, events, rows, actions, rewards, starts, np.uint64(seed), every=every)
    return forest, rows, actions, rewards


def events_of(forest, leaf):
    """The numbers in a leaf and in its blocks, oldest first."""
    block, fill = forest.leaves[leaf, [trees.LEAF_BLOCK, trees.LEAF_N_GAPS]].tolist()
    found = unfolded(forest.leaves[leaf, trees.LEAF_NEWEST :]) if fill else []
    while block != trees.NO_INDEX:
        found = unfolded(forest.blocks[block, trees.BLOCK_NEWEST :]) + found
        block = forest.blocks[block, trees.BLOCK_PREVIOUS]
    return found


def unfolded(words):
    """The numbers, oldest first, of which the newest stands first in `words` and the gaps behind it."""
    found, number = [], int(words[0])
    for gap in [gap for word in words[1:].tolist() for gap in (word % 2**16, word // 2**16)][::-1]:
        if 0 < gap < trees.LONG_GAP:
            found.append(number)
        number -= max(gap - 1, 0)
    return found[::-1]


def live_leaves(forest):
    """The leaves that are in a tree: the others were given back."""
    return np.flatnonzero(forest.leaves[: forest.counters[trees.COUNTER_LEAVES], trees.LEAF_NODE] != trees.NO_INDEX)


def assert_same_node(forest, node, twin):
    """Compare all below a node."""
    assert node == twin.number
    child, column = forest.nodes[node, [trees.NODE_CHILD, trees.NODE_COLUMN]].tolist()
    if twin.children is None:
        leaf = forest.nodes[node, trees.NODE_LEAF]
        assert child == node
        assert forest.leaves[leaf, trees.LEAF_NODE] == node
        assert events_of(forest, leaf) == twin.events
        assert forest.leaves[leaf, trees.LEAF_N_EVENTS] == len(twin.events)
        assert forest.leaves[leaf, trees.LEAF_NEXT_CHECK] == twin.next_check
        assert forest.stats[leaf, trees.STAT_MEAN].tolist() == twin.steps.tolist()
        uncertainties = forest.stats[leaf, trees.STAT_UNCERTAINTY]
        assert uncertainties / trees.STAT_UNIT == pytest.approx(1.0 / np.sqrt(twin.counts + 1.0), abs=2e-5)
        assert stats.plays_of_many(uncertainties).tolist() == twin.counts.tolist()
        return
    if twin.threshold is None:
        assert column == ~twin.column
        assert forest.masks[2 * node + trees.NODE_PAYLOAD] == sum(1 << code for code in twin.left_codes)
    else:
        assert column == twin.column
        assert forest.thresholds[2 * node + trees.NODE_PAYLOAD] == pytest.approx(twin.threshold)
    assert_same_node(forest, child, twin.children[0])
    assert_same_node(forest, child + 1, twin.children[1])


@pytest.mark.parametrize("n_kept", [N_ROWS, N_ROWS // 5], ids=["all kept", "ring"])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", KINDS)
def test_the_trees_equal_the_slow_twin(name, seed, n_kept):
    forest, *columns = grown(name, seed, n_kept)
    twin = RewardForestTrees(N_TREES, N_ACTIONS, KINDS[name], n_kept, seed)
    for row, action, reward in zip(*(column.tolist() for column in columns), strict=True):
        twin.learn(row, action, reward)
    assert forest.counters[trees.COUNTER_NODES] == twin.n_nodes > N_TREES
    assert INTERPRETED or twin.n_pruned or name in ("one number", "one name", "bits")
    for tree, root in enumerate(twin.roots):
        assert_same_node(forest, tree, root)


@pytest.mark.parametrize("n_kept", [N_ROWS, N_ROWS // 8], ids=["no ring", "ring"])
@pytest.mark.parametrize("every", [2, 3])
@pytest.mark.parametrize("name", ["mixed", "names", "bits"])
def test_events_that_are_not_kept_update_leaf_statistics_as_in_the_slow_twin(name, every, n_kept):
    forest, *columns = grown(name, 4, n_kept, every=every)
    twin = RewardForestTrees(N_TREES, N_ACTIONS, KINDS[name], n_kept, 4)
    for number, event in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        twin.learn(*event, is_kept=number % every == 0)
    assert forest.counters[trees.COUNTER_TIME] == len(twin.history) < N_ROWS
    assert forest.counters[trees.COUNTER_NODES] == twin.n_nodes
    assert INTERPRETED or twin.n_nodes > N_TREES
    for tree, root in enumerate(twin.roots):
        assert_same_node(forest, tree, root)


@pytest.mark.parametrize("n_kept", [N_ROWS, N_ROWS // 5], ids=["all kept", "ring"])
@pytest.mark.parametrize("n_nodes", [N_TREES + 4, N_TREES + 7, N_TREES + 12])
@pytest.mark.parametrize("name", ["mixed", "names", "one name"])
def test_at_maximum_nodes_the_split_that_explains_least_is_pruned_as_in_the_slow_twin(name, n_nodes, n_kept):
    forest, *columns = grown(name, 9, n_kept, n_nodes=n_nodes)
    twin = RewardForestTrees(N_TREES, N_ACTIONS, KINDS[name], n_kept, 9, n_nodes)
    for row, action, reward in zip(*(column.tolist() for column in columns), strict=True):
        twin.learn(row, action, reward)
    assert INTERPRETED or twin.n_recycled > 3
    assert forest.counters[trees.COUNTER_NODES] == twin.n_nodes <= n_nodes
    for tree, root in enumerate(twin.roots):
        assert_same_node(forest, tree, root)


@pytest.mark.parametrize("n_nodes", [600, N_TREES + 8], ids=["all nodes", "few nodes"])
@pytest.mark.parametrize("n_kept", [N_ROWS, N_ROWS // 5], ids=["all kept", "ring"])
@pytest.mark.parametrize("name", KINDS)
def test_after_a_drift_leaves_forget_as_in_the_slow_twin(name, n_kept, n_nodes):
    begins = (N_ROWS // 3, N_ROWS // 2, N_ROWS - 30)
    forest, *columns = grown(name, 6, n_kept, n_nodes=n_nodes, begins=begins)
    twin = RewardForestTrees(N_TREES, N_ACTIONS, KINDS[name], n_kept, 6, n_nodes)
    for number, (row, action, reward) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        twin.learn(row, action, reward, max((begin for begin in begins if begin <= number), default=0))
    assert twin.n_forgets >= len(begins) * N_TREES
    assert INTERPRETED or name == "names" or twin.n_resets > 0
    for tree, root in enumerate(twin.roots):
        assert_same_node(forest, tree, root)


@pytest.mark.parametrize("n_nodes", [600, N_TREES + 12], ids=["all nodes", "few nodes"])
@pytest.mark.parametrize("name", KINDS)
def test_every_event_is_in_the_leaf_that_it_reaches(name, n_nodes):
    forest, rows, *_ = grown(name, seed=3, n_kept=N_ROWS, n_nodes=n_nodes)
    found = np.zeros((N_ROWS, N_TREES), np.int32)
    find_leaves(forest, np.zeros(N_TREES, np.int32), rows, found)
    assert len(live_leaves(forest)) > N_TREES
    for leaf in live_leaves(forest):
        assert sorted(events_of(forest, leaf)) == np.flatnonzero((found == leaf).any(axis=1)).tolist()


@pytest.mark.parametrize("n_nodes", [600, N_TREES + 12])
def test_blocks_are_free_or_in_one_leaf_each(n_nodes):
    forest, *_ = grown("mixed", seed=4, n_kept=N_ROWS, n_blocks=400, n_nodes=n_nodes)
    owned = []
    starts = [*forest.leaves[live_leaves(forest), trees.LEAF_BLOCK], forest.counters[trees.COUNTER_FREE_BLOCK]]
    for block in starts:
        while block != trees.NO_INDEX:
            owned.append(int(block))
            block = forest.blocks[block, trees.BLOCK_PREVIOUS]  # noqa: PLW2901
    assert sorted(owned) == list(range(400))


REACH = trees.LONG_GAP - 1
GAPS = [0, 1, 2, 300, REACH - 1, REACH, REACH + 1, 2 * REACH, 10 * REACH, 19 * REACH - 1, 19 * REACH, 50 * REACH]


@pytest.mark.parametrize("gaps", [[0, 1], [1], [REACH - 1], [REACH], [3 * REACH + 7], [19 * REACH], GAPS])
@pytest.mark.parametrize("n", [1, 2, trees.GAPS_PER_BLOCK, trees.GAPS_PER_BLOCK + 1, 5 * trees.GAPS_PER_BLOCK - 1])
def test_a_leaf_knows_its_events_however_far_apart_they_are(gaps, n):
    numbers = 7 + np.cumsum(np.random.default_rng(n).choice(gaps, n))
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array([False]), 10, 200)
    note_all(forest, 1, numbers)
    assert events_of(forest, 1) == numbers.tolist()
    assert forest.leaves[1, trees.LEAF_N_EVENTS] == n
    found = np.zeros(MAX_SPLIT_EVENTS, np.int32)
    for oldest in (0, int(numbers[n // 2]), int(numbers[-1]) + 1):
        n_found = found_from(forest, 1, oldest, found)
        assert found[:n_found].tolist() == [number for number in numbers[::-1].tolist() if number >= oldest]
    n_trimmed = trimmed(forest, 1, int(numbers[n // 2]))
    assert events_of(forest, 1) == numbers[n_trimmed:].tolist()
    assert n_trimmed <= np.searchsorted(numbers, numbers[n // 2])
    assert forest.counters[trees.COUNTER_FREE_BLOCKS] + n_blocks_of(forest, 1) == 200


@pytest.mark.parametrize(("gap", "places"), [(1, 1), (REACH - 1, 1), (REACH, 2), (5 * REACH, 6)])
def test_a_long_gap_takes_few_blocks(gap, places):
    n = 300
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array([False]), 10, 200)
    note_all(forest, 1, gap * np.arange(n))
    assert n_blocks_of(forest, 1) <= n / (trees.GAPS_PER_BLOCK // places)


@pytest.mark.parametrize("gap", [1, REACH, 7 * REACH, 30 * REACH])
def test_without_a_free_block_a_leaf_counts_what_it_still_has(gap):
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array([False]), 10, 2)
    for number in range(100):
        note_all(forest, 1, np.array([gap * number]))
        assert forest.leaves[1, trees.LEAF_N_EVENTS] == len(events_of(forest, 1)) > 0
    assert forest.counters[trees.COUNTER_FREE_BLOCKS] == 0


@kernel
def merge(forest, scratch, leaf, other):
    """Give a leaf the events of another, in place."""
    learning.merge_events(forest, scratch, leaf, other, 0)


@pytest.mark.parametrize("gap", [1, REACH - 1, REACH, 4 * REACH])
@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (7, 90), (45, 45)])
def test_merged_leaves_have_the_events_of_both_in_the_order_of_time(gap, n, m):
    numbers = gap * np.arange(1, n + m + 1)
    is_own = np.random.default_rng(n).permutation(n + m) < n
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array([False]), 10, 200)
    note_all(forest, 0, numbers[is_own])
    note_all(forest, 2, numbers[~is_own])
    merge(forest, new_scratch(N_ACTIONS, 3, np.empty(0), MAX_SPLIT_EVENTS), 0, 2)
    assert events_of(forest, 0) == numbers.tolist()
    assert events_of(forest, 2) == []
    assert forest.leaves[[0, 2], trees.LEAF_N_EVENTS].tolist() == [n + m, 0]


def n_blocks_of(forest, leaf):
    """How many blocks a leaf has."""
    n, block = 0, forest.leaves[leaf, trees.LEAF_BLOCK]
    while block != trees.NO_INDEX:
        n, block = n + 1, forest.blocks[block, trees.BLOCK_PREVIOUS]
    return n


@pytest.mark.parametrize("n_blocks", [N_TREES + 1, 12, 40])
def test_without_free_blocks_a_leaf_keeps_what_fits(n_blocks):
    forest, *_ = grown("mixed", seed=5, n_kept=N_ROWS, n_blocks=n_blocks)
    leaves = live_leaves(forest)
    noted = [events_of(forest, leaf) for leaf in leaves]
    assert sum(map(len, noted)) <= (n_blocks + len(leaves)) * trees.GAPS_PER_BLOCK
    assert [len(each) for each in noted] == forest.leaves[leaves, trees.LEAF_N_EVENTS].tolist()
    assert all(0 <= number < N_ROWS for each in noted for number in each)


def test_a_column_of_zeros_and_ones_is_one_of_bits_until_another_value_comes():
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array([False, False, True]), 50, 50)
    assert forest.kinds.tolist() == [trees.BINARY, trees.BINARY, trees.CATEGORICAL]
    rows = np.array([[0, 1, 3], [1, 0.5, 1]], np.float32)
    events = new_ring(10, widths_of(rows))
    learn_all(
        forest,
        events,
        rows,
        np.array([0, 1]),
        np.array([0.5, 1.0]),
        np.array([0]),
        np.uint64(1),
    )
    assert forest.kinds.tolist() == [trees.BINARY, trees.NUMERICAL, trees.CATEGORICAL]


@pytest.mark.skipif(INTERPRETED, reason="it takes many events")
@pytest.mark.parametrize(
    "probability", [lambda rng, n: rng.integers(0, 2, n), lambda rng, n: rng.random(n)], ids=["coin", "any"]
)
def test_a_forest_stays_small_where_rewards_are_chance(probability):
    n_rows = 40_000
    rows, actions, _ = stream("mixed", seed=8, n_rows=n_rows)
    rewards = probability(np.random.default_rng(8), n_rows).astype(float)
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array(KINDS["mixed"]), 5000, 20_000)
    events = new_ring(n_rows, widths_of(rows))
    learn_all(forest, events, rows, actions, rewards, np.array([0]), np.uint64(8))
    assert len(live_leaves(forest)) < 20 * N_TREES


def test_equal_rewards_never_split():
    rows, actions, _ = stream("mixed", seed=6)
    forest = trees.new_forest(N_TREES, N_ACTIONS, np.array(KINDS["mixed"]), 50, 400)
    events = new_ring(N_ROWS, widths_of(rows))
    learn_all(forest, events, rows, actions, np.full(N_ROWS, 0.75), np.array([0]), np.uint64(1))
    assert forest.counters[trees.COUNTER_NODES] == N_TREES
    assert stats.plays_of_many(forest.stats[:N_TREES, trees.STAT_UNCERTAINTY]).sum() == N_ROWS * N_TREES
