"""The reward forest's events: decide with all scorers, learn with all, or both along rows with known rewards.

Five scorers look at a row: the forest's mean, three linear ones (columns alone, all pairs of them, and columns alone
with weights that only know the latest events), and the forest corrected by learned weights. A mixture weighs them; the
forest alone says how much uncertainty there is. A context that came before is scored by what it earned then, too. Where
actions have features, each borrows from those like it. Where rewards fall short of the mixture, the forest begins anew.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import (
    COUNTER_NODES,
    COUNTER_TIME,
    GAPS_PER_BLOCK,
    Float32s,
    ForestState,
    Int32s,
)
from stumpery.array_forest.precision_kernels import round_row
from stumpery.array_forest.scratch_kernels import MAX_SPLIT_EVENTS, Scratch, splitmix64
from stumpery.drift import reward_drop_kernels as change
from stumpery.jit import internal, kernel
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE
from stumpery.policies.mode_kernels import DECIDES, LEARNS
from stumpery.policies.reward_forest.scorers import context_memory_kernels as contexts
from stumpery.policies.reward_forest.scorers import hashed_linear_kernels as hashed
from stumpery.policies.reward_forest.scorers import residual_kernels as correction
from stumpery.policies.reward_forest.scorers import shrinkage_kernels as shared
from stumpery.policies.reward_forest.scorers import stacking_kernels as mixture
from stumpery.policies.reward_forest.scorers.context_memory_kernels import ContextMemory
from stumpery.policies.reward_forest.scorers.shrinkage_kernels import SharedModel, Sums
from stumpery.policies.reward_forest.trees import leaf_statistics_kernels as stats
from stumpery.policies.reward_forest.trees import splitting_kernels as splitting
from stumpery.policies.reward_forest.trees.ring_kernels import Ring, fits
from stumpery.types import Floats, Integers, RandomState

FOREST, PLAIN, PAIRS, RECENT, CORRECTED = range(5)
N_SCORERS = 5
FIRST_WEIGHTS = (0.25, 0.25, 0.25, 0.0, 0.25)  # the latest events are needed only where the stream changes
CALM, HASTY = 1.0, 2.0  # the haste of linear scorers
# Of the clock; EVENTS counts all, the forest numbers them anew at times; FIRST_KEPT were before the first in the ring.
EVENTS, MEAN_CODES, NEXT_EDGES, NEXT_SHARES, FIRST_KEPT = range(5)
MOST_LAPS = 4  # of the ring, that thin out what it holds
GROWS = 4  # what a run may do, besides deciding and learning: ask for more memory


class RewardForestState(NamedTuple):
    """What the reward forest has learned."""

    forest: ForestState
    ring: Ring
    plain: Float32s  # the linear scorers: (slots, WEIGHT and PAST, actions)
    pairs: Float32s
    recent: Float32s
    corrected: Float32s
    edges: Floats  # (columns, N_BINS - 1)
    moments: Floats  # (N_SCORERS - 1, N_SCORERS)
    weights: Floats  # (N_SCORERS,)
    clock: Floats  # (5,)
    shared: SharedModel
    familiar: ContextMemory
    watch: Floats  # (N_WATCH,)


class RewardForestWorkspace(NamedTuple):
    """Room to think."""

    row: Floats  # (columns,): the one at hand, as the ring holds it
    reached: Int32s  # (trees,)
    moving: Int32s  # (trees,)
    known: Int32s  # (N_STATS, actions)
    codes: Int32s  # (1 + columns,)
    slots: Int32s  # (features and their pairs,)
    rates: Floats  # (the same, or trees and columns,)
    predictions: Floats  # (N_SCORERS, actions)
    system: Floats
    sample: Floats
    sums: Sums
    scratch: Scratch


class Scored(NamedTuple):
    """What scoring a row leaves behind for learning it."""

    n: int  # codes in play
    n_pairs: int
    found: np.uint64  # the context's print


@internal
def score(models: RewardForestState, work: RewardForestWorkspace, row: Floats, statistics: Floats) -> Scored:
    """Ask every scorer; write their mixture, no less than the least reward, and the uncertainty into the action statistics, in place."""
    predictions = work.predictions
    found = contexts.look_up(models.familiar, row, models.forest.kinds)
    trees.descend(models.forest, row, work.reached, work.moving)
    stats.score(models.forest, work.reached, work.known, statistics, predictions[CORRECTED])
    for action in range(statistics.shape[1]):
        predictions[FOREST, action] = statistics[ACTION_SCORE, action]
        predictions[PLAIN, action] = 0.0
        predictions[PAIRS, action] = 0.0
        predictions[RECENT, action] = 0.0
        predictions[CORRECTED, action] += statistics[ACTION_SCORE, action]
    n = hashed.fill_codes(row, models.forest.kinds, models.edges, work.codes)
    n_pairs = hashed.fill_pairs(models.pairs, work.codes, n, work.slots)
    hashed.predict(models.plain, work.codes, n, predictions[PLAIN])
    hashed.predict(models.pairs, work.slots, n_pairs, predictions[PAIRS])
    hashed.predict(models.recent, work.codes, n, predictions[RECENT])
    hashed.predict(models.corrected, work.codes, n, predictions[CORRECTED])
    mixture.combine(predictions, models.weights, statistics[ACTION_SCORE])
    contexts.recall(models.familiar, found, statistics[ACTION_SCORE])
    shared.lend(models.shared, models.shared.features, work.codes, n, predictions[FOREST], work.sums, statistics)
    for action in range(statistics.shape[1]):  # an action said to earn less than nothing would hardly be tried again
        statistics[ACTION_SCORE, action] = max(statistics[ACTION_SCORE, action], 0.0)
    return Scored(n, n_pairs, found)


@internal
def is_kept(models: RewardForestState, statistics: Floats, action: int, epoch: int, key: np.uint64) -> bool:
    """Whether an event is remembered: all are, until all nodes of the trees have been in use and the ring has lapped.

    From then on, of the action that seemed best only one of as many as the ring has gone round since the epoch began,
    at most four: there are more than enough of these, and the ring holds the others for longer.
    """
    forest = models.forest
    laps = min((forest.counters[COUNTER_TIME] - max(epoch, 0)) // models.ring.bytes.shape[0], MOST_LAPS)
    if laps < 2 or forest.counters[COUNTER_NODES] + 2 <= forest.nodes.shape[0]:
        return True
    for other in range(statistics.shape[1]):
        if statistics[ACTION_SCORE, other] > statistics[ACTION_SCORE, action]:
            return True
    return bool((key >> np.uint64(20)) % np.uint64(laps) == np.uint64(0))


@internal
def learn_scored(
    models: RewardForestState,
    work: RewardForestWorkspace,
    row: Floats,
    scored: Scored,
    statistics: Floats,
    action: int,
    reward: float,
    seed: np.uint64,
) -> None:
    """Let every scorer learn one event for which `score` has just filled the `statistics`, in place."""
    predictions, clock = work.predictions, models.clock
    n, n_pairs, found = scored
    time = clock[EVENTS] + 1.0
    clock[EVENTS] = time
    error = reward - mixture.combined(predictions, models.weights, action)
    key = splitmix64(
        seed + np.uint64(time)
    )  # the event's own probability: how numbers are rounded, what ages, what is kept
    contexts.learn(models.familiar, found, action, error, key)
    number = models.forest.counters[COUNTER_TIME]
    begin = number - int(time - 1.0 - clock[FIRST_KEPT])  # of the ring, or before it once it has gone round
    change.note(models.watch, error, number)
    epoch = max(int(models.watch[change.EPOCH]), begin)
    mixture.note(models.moments, predictions, action, reward)
    if time % mixture.EVERY == 0.0:
        mixture.solve(models.moments, work.system, FIRST_WEIGHTS, models.weights)
    clock[MEAN_CODES] += (n - clock[MEAN_CODES]) / time
    scale = 1.0 / np.sqrt(clock[MEAN_CODES])
    error = reward - predictions[PLAIN, action]
    hashed.settle(models.plain, work.codes, n, work.rates, action, error, CALM)
    error = reward - predictions[PAIRS, action]
    hashed.settle(models.pairs, work.slots, n_pairs, work.rates, action, error, HASTY)
    error = reward - predictions[RECENT, action]
    hashed.follow(models.recent, work.codes, n, work.rates, action, error, HASTY, scale)
    error = reward - predictions[CORRECTED, action]
    scale = 1.0 / np.sqrt(clock[MEAN_CODES] + work.reached.shape[0])
    linear = models.corrected
    correction.learn(models.forest, work.reached, linear, work.codes, n, work.rates, action, error, scale, key)
    shared.learn(models.shared, models.shared.features, work.codes, n, action, reward)
    kept = is_kept(models, statistics, action, epoch, key)
    splitting.learn(models.forest, models.ring, work.scratch, work.reached, row, action, reward, epoch, seed, key, kept)
    if time == clock[NEXT_EDGES]:
        end = models.forest.counters[COUNTER_TIME]
        first = max(end - models.ring.bytes.shape[0], begin, 0)
        hashed.renew_edges(models.edges, models.ring, models.forest.kinds, first, end, work.sample)
        clock[NEXT_EDGES] = 2.0 * time


@internal
def has_room(models: RewardForestState, n_trees: int, may_grow: bool) -> bool:
    """Whether one more event fits whatever it makes of the trees; a forest that may not grow makes do.

    None does when memory is due to be shared anew.
    """
    forest, clock = models.forest, models.clock
    if 0.0 < clock[NEXT_SHARES] <= clock[EVENTS]:
        return False
    if not may_grow:
        return True
    nodes_left = forest.nodes.shape[0] - forest.counters[COUNTER_NODES]
    blocks_left = forest.counters[trees.COUNTER_FREE_BLOCKS]
    enough = nodes_left >= 2 * n_trees and blocks_left >= 2 * n_trees + MAX_SPLIT_EVENTS // GAPS_PER_BLOCK
    return bool(enough and forest.counters[COUNTER_TIME] < models.ring.bytes.shape[0])


@kernel
def run(
    models: RewardForestState,
    work: RewardForestWorkspace,
    seed: np.uint64,
    rng: RandomState,
    rule: Floats,
    statistics: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: NDArray[np.bool_],
    does: int,
) -> int:
    """Go along rows, in place: only score them, decide too, learn given actions too, or decide and learn.

    One entry for all, since each would compile the whole forest anew. Where memory must grow, or a column be wider, it
    stops early; it gives how many rows it went along. `rewards` has a column per action to play, else one.
    """
    n_trees, row = work.reached.shape[0], work.row
    for place in range(rows.shape[0]):
        is_held = round_row(rows[place], models.ring.widths, row)
        if does & LEARNS and not (is_held and fits(models.ring, row) and has_room(models, n_trees, bool(does & GROWS))):
            return place
        scored = score(models, work, row, statistics)
        if does & DECIDES:
            time = models.clock[EVENTS] + 1.0
            actions[place], probabilities[place] = explorers.choose(rng, rule, statistics, available, time)
        if does & LEARNS:
            action = actions[place]
            reward = rewards[place, action if does & DECIDES else 0]
            learn_scored(models, work, row, scored, statistics, action, reward, seed)
    return len(rows)
