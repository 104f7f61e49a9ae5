"""Events of the reward forest: decide with all scorers, learn with all, or both for rows with known rewards.

Six scorers score a row: the forest's mean, three linear scorers (codes; hashed pairs of codes; codes with a fast rate),
the residual scorer, the forest's mean plus learned corrections, and the ridge scorer. Online stacking makes one score
of the six; the uncertainty is the forest's, mixed with that of the ridge scorer for actions with few plays. Frequent
categories without a code have weights of their own in the linear and residual scorers
(`frequent_categories_kernels.py`). The context memory adds what a context that came before earned beyond its score;
where actions have features, scores are shrunk towards those of similar actions. When rewards fall short of the stacked
scores, a drift detector makes the forest forget its events.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.binning_kernels import MAX_SPLIT_EVENTS, Scratch, round_row
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCKS,
    COUNTER_NODES,
    COUNTER_TIME,
    GAPS_PER_BLOCK,
    Float32s,
    ForestMemory,
    ForestState,
    Int32s,
    descend,
)
from stumpery.drift import reward_drop_kernels as reward_drop
from stumpery.hashing_kernels import Hashes, splitmix64
from stumpery.jit import internal, kernel
from stumpery.policies.exploration.explorer_kernels import choose, fill_probabilities
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY
from stumpery.policies.mode_kernels import DECIDES, FILLS, LEARNS, reward_of, write_probabilities_and_scores
from stumpery.policies.reward_forest.scorers import context_memory_kernels as context_memory
from stumpery.policies.reward_forest.scorers import frequent_categories_kernels as categories
from stumpery.policies.reward_forest.scorers import relearning_kernels as relearning
from stumpery.policies.reward_forest.scorers import ridge_kernels as ridges
from stumpery.policies.reward_forest.scorers import scorers_kernels as scorers
from stumpery.policies.reward_forest.scorers import similar_actions_kernels as similar_actions
from stumpery.policies.reward_forest.scorers.context_memory_kernels import ContextMemory
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedRow, CrossedScorer
from stumpery.policies.reward_forest.scorers.frequent_categories_kernels import CategoryTable
from stumpery.policies.reward_forest.scorers.ridge_kernels import RidgeRow, RidgeScorer
from stumpery.policies.reward_forest.scorers.scorers_kernels import FAST_LINEAR_RATE, LINEAR_RATE, QUADRATIC_RATE
from stumpery.policies.reward_forest.scorers.shared_model_kernels import FeatureSums, SharedModel
from stumpery.policies.reward_forest.trees import learning_kernels as learning
from stumpery.policies.reward_forest.trees import ring_kernels as rings
from stumpery.policies.reward_forest.trees.criterion_kernels import average_leaves
from stumpery.policies.reward_forest.trees.ring_kernels import Ring, fits_widths
from stumpery.types import Floats, Integers, RandomState

SCORER_FOREST, SCORER_LINEAR, SCORER_QUADRATIC, SCORER_FAST_LINEAR, SCORER_RESIDUAL, SCORER_RIDGE = range(6)
INITIAL_WEIGHTS = (
    0.05,
    0.05,
    0.05,
    0.0,
    0.05,
    0.8,
)  # the fast linear scorer is needed only where the stream drifts
SCORER_CROSSED = 6  # where actions have features
INITIAL_WEIGHTS_WITH_FEATURES = (0.02, 0.02, 0.02, 0.0, 0.02, 0.12, 0.8)
# Of the clock: CLOCK_EVENTS counts all events, while the forest renumbers its own at times; CLOCK_FIRST_STORED is the
# number of events before the first that the ring may hold.
CLOCK_EVENTS, CLOCK_MEAN_CODES, CLOCK_NEXT_BINNING, CLOCK_NEXT_REBALANCING, CLOCK_FIRST_STORED = range(5)
N_CLOCK_FIELDS = 5
MAX_THINNING = 4  # of events of the action that seems best, one in so many is stored at the least
MAY_GROW = 4  # flag of a run beside DECIDES and LEARNS: stop where memory should grow


class RewardForestState(NamedTuple):
    """The state of a reward forest, a NamedTuple of arrays."""

    forest: ForestState
    ring: Ring
    linear: Float32s  # the linear scorers: (slots, SLOT_WEIGHT and SLOT_HISTORY, actions)
    quadratic: Float32s
    fast_linear: Float32s
    residual: Float32s
    ridge: RidgeScorer
    edges: Floats  # (columns, N_BINS - 1), of the bins of numerical columns
    moments: Floats  # (scorers - 1, scorers), of the stacking
    weights: Floats  # (scorers,), of the stacking
    clock: Floats  # (N_CLOCK_FIELDS,)
    shared_model: SharedModel
    crossed: CrossedScorer
    context_memory: ContextMemory
    drift: Floats  # (N_DROP_FIELDS,)
    categories: CategoryTable


class RewardForestWorkspace(NamedTuple):
    """Scratch buffers of one call."""

    values: Floats  # (columns,), as encoded, without hashes
    hashes: Hashes  # (columns,), of categories without a code
    row: Floats  # (columns,), as the ring stores it
    reached: Int32s  # (trees,), leaves
    moving: Int32s  # (trees,)
    leaf_sums: Int32s  # (N_STATS, actions)
    codes: Int32s  # (1 + twice the columns,)
    pair_codes: Int32s  # (the same,)
    slots: Int32s  # (codes and their pairs,)
    rates: Floats  # (the same, or trees and codes,)
    predictions: Floats  # (scorers, actions)
    system: Floats  # (scorers - 1, scorers)
    sample: Floats  # (BINNING_SAMPLE + N_BINS - 1,)
    sums: FeatureSums
    crossed: CrossedRow
    ridge: RidgeRow
    scratch: Scratch


class RowCodes(NamedTuple):
    """Codes and indices of a row, from scoring it for learning it."""

    n_plain: int  # codes without those of frequent categories
    n_codes: int
    n_plain_pairs: int  # pairs of plain codes
    n_pairs: int
    n_uncoded: int  # categories without a code
    n_features: int  # of the ridge scorer
    context: np.uint64  # the context's hash


@internal
def n_coded(row: Floats) -> int:
    """The number of codes of columns; those of frequent categories come after them."""
    return int(row.shape[0] + 1) * scorers.CODES_PER_COLUMN


@internal
def score_row(
    state: RewardForestState, work: RewardForestWorkspace, row: Floats, n_uncoded: int, statistics: Floats
) -> RowCodes:
    """Write every action's score, 0 or more, and its uncertainty into the action statistics, in place."""
    predictions = work.predictions
    context = context_memory.hash_and_prefetch(state.context_memory, row, state.forest.kinds)
    descend(state.forest, row, work.reached, work.moving)
    average_leaves(state.forest, work.reached, work.leaf_sums, statistics, predictions[SCORER_RESIDUAL])
    for action in range(statistics.shape[1]):
        predictions[SCORER_FOREST, action] = statistics[ACTION_SCORE, action]
        predictions[SCORER_LINEAR, action] = 0.0
        predictions[SCORER_QUADRATIC, action] = 0.0
        predictions[SCORER_FAST_LINEAR, action] = 0.0
        predictions[SCORER_RESIDUAL, action] += statistics[ACTION_SCORE, action]
        predictions[SCORER_RIDGE, action] = 0.0
    n_plain = n = scorers.fill_codes(row, state.forest.kinds, state.edges, work.codes)
    n_plain_pairs = n_pairs = scorers.fill_pairs(state.quadratic, work.codes, n, work.slots)
    if n_uncoded > 0:
        context = categories.extended_context(context, work.hashes)
        n = categories.add_codes(state.categories, work.hashes, work.codes, work.pair_codes, n, n_coded(row))
        n_pairs = categories.add_pairs(state.quadratic, work.pair_codes, n_plain, n, work.slots, n_pairs)
    scorers.add_scores(state.linear, work.codes, n, predictions[SCORER_LINEAR])
    scorers.add_scores(state.quadratic, work.slots, n_pairs, predictions[SCORER_QUADRATIC])
    scorers.add_scores(state.fast_linear, work.codes, n, predictions[SCORER_FAST_LINEAR])
    scorers.add_scores(state.residual, work.codes, n, predictions[SCORER_RESIDUAL])
    n_features = ridges.fill_features(state.ridge, row, state.forest.kinds, work.ridge)
    ridges.add_scores(state.ridge, work.ridge, n_features, predictions[SCORER_RIDGE])
    shared = state.shared_model
    if shared.features.ndim == 2:  # the compiler leaves it out where no action has features
        similar_actions.fill_scores(
            state.crossed,
            shared,
            state.ridge,
            row,
            state.forest.kinds,
            work.codes,
            n_plain,
            work.sums,
            work.crossed,
            predictions[SCORER_FOREST],
            predictions[SCORER_CROSSED],
        )
    scorers.fill_stacked_scores(predictions, state.weights, statistics[ACTION_SCORE])
    context_memory.add_residuals(state.context_memory, context, statistics[ACTION_SCORE])
    if shared.features.ndim == 2:
        means, scores = predictions[SCORER_FOREST], predictions[SCORER_CROSSED]
        similar_actions.shrink_scores(state.crossed, shared.strength, work.crossed, means, scores, statistics)
    else:  # similar actions tell more
        weight = state.weights[SCORER_RIDGE]
        ridges.mix_uncertainties(state.ridge, work.ridge, n_features, weight, statistics[ACTION_UNCERTAINTY])
    for action in range(statistics.shape[1]):  # an action far below 0 would hardly be tried again after a drift
        statistics[ACTION_SCORE, action] = max(statistics[ACTION_SCORE, action], 0.0)
    return RowCodes(n_plain, n, n_plain_pairs, n_pairs, n_uncoded, n_features, context)


@internal
def is_stored(state: RewardForestState, statistics: Floats, action: int, concept_start: int, key: np.uint64) -> bool:
    """Whether an event is stored: all are, until all nodes have been in use and the ring has gone round twice.

    From then on, of the action that seems best only one of as many events as the ring has gone round since the concept
    began, at most MAX_THINNING, so that the ring holds those of other actions for longer.
    """
    forest = state.forest
    laps = min((forest.counters[COUNTER_TIME] - max(concept_start, 0)) // state.ring.bytes.shape[0], MAX_THINNING)
    if laps < 2 or forest.counters[COUNTER_NODES] + 2 <= forest.nodes.shape[0]:
        return True
    for other in range(statistics.shape[1]):
        if statistics[ACTION_SCORE, other] > statistics[ACTION_SCORE, action]:
            return True
    return bool((key >> np.uint64(20)) % np.uint64(laps) == np.uint64(0))


@internal
def learn_linear(
    state: RewardForestState,
    work: RewardForestWorkspace,
    row_codes: RowCodes,
    action: int,
    reward: float,
    key: np.uint64,
) -> None:
    """Let the linear scorers and the residual scorer learn one event, each from its own error, in place."""
    predictions, clock, n = work.predictions, state.clock, row_codes.n_codes
    clock[CLOCK_MEAN_CODES] += (n - clock[CLOCK_MEAN_CODES]) / clock[CLOCK_EVENTS]
    error = reward - predictions[SCORER_LINEAR, action]
    scorers.averaging_step(state.linear, work.codes, n, work.rates, action, error, LINEAR_RATE)
    error = reward - predictions[SCORER_QUADRATIC, action]
    n_plain, n_pairs = row_codes.n_plain_pairs, row_codes.n_pairs
    categories.averaging_step(state.quadratic, work.slots, n_plain, n_pairs, work.rates, action, error, QUADRATIC_RATE)
    error = reward - predictions[SCORER_FAST_LINEAR, action]
    scale = 1.0 / np.sqrt(clock[CLOCK_MEAN_CODES])
    scorers.adagrad_step(state.fast_linear, work.codes, n, work.rates, action, error, FAST_LINEAR_RATE, scale)
    error = reward - predictions[SCORER_RESIDUAL, action]
    scale = 1.0 / np.sqrt(clock[CLOCK_MEAN_CODES] + work.reached.shape[0])
    weights = state.residual
    scorers.residual_step(state.forest, work.reached, weights, work.codes, n, work.rates, action, error, scale, key)


@internal
def update_bins(
    state: RewardForestState, work: RewardForestWorkspace, time: float, first_stored: int, n_pairs: int
) -> None:
    """Check the bins of numbers, in place; at the start the events so far are learned anew."""
    forest, ring, clock = state.forest, state.ring, state.clock
    end = int(forest.counters[COUNTER_TIME])
    first = max(end - ring.bytes.shape[0], first_stored, 0)
    is_relearned = relearning.is_relearned(state, time, first, end, n_pairs)
    if is_relearned:
        relearning.reset_linear(state, work, end)
    rings.update_bin_edges(state.edges, ring, forest.kinds, first, end, work.sample)
    if is_relearned:
        relearning.relearn(state, work, end, clock[CLOCK_MEAN_CODES])
    clock[CLOCK_NEXT_BINNING] = 2.0 * time


@internal
def learn_event(
    state: RewardForestState,
    work: RewardForestWorkspace,
    row: Floats,
    row_codes: RowCodes,
    statistics: Floats,
    action: int,
    reward: float,
    seed: np.uint64,
) -> None:
    """Let every scorer learn one event for which `score_row` has just filled the `statistics`, in place."""
    predictions, clock = work.predictions, state.clock
    time = clock[CLOCK_EVENTS] + 1.0
    clock[CLOCK_EVENTS] = time
    error = reward - scorers.stacked_score(predictions, state.weights, action)
    key = splitmix64(seed + np.uint64(time))  # the event's own random bits: rounding, aging, storing
    context_memory.learn(state.context_memory, row_codes.context, action, error, key)
    number = state.forest.counters[COUNTER_TIME]
    first_stored = number - int(time - 1.0 - clock[CLOCK_FIRST_STORED])  # before the ring once it has gone round
    n_before = state.drift[reward_drop.DROP_N_EVENTS]
    reward_drop.update(state.drift, error, number)
    decay = scorers.stacking_decay(n_before, state.drift[reward_drop.DROP_N_EVENTS])
    concept_start = max(int(state.drift[reward_drop.DROP_CONCEPT_START]), first_stored)
    scorers.update_moments(state.moments, predictions, action, reward, decay)
    if time % scorers.STACKING_INTERVAL == 0.0:
        if state.shared_model.features.ndim == 1:
            scorers.solve_weights(state.moments, work.system, INITIAL_WEIGHTS, state.weights)
        else:
            scorers.solve_weights(state.moments, work.system, INITIAL_WEIGHTS_WITH_FEATURES, state.weights)
    learn_linear(state, work, row_codes, action, reward, key)
    kinds, n_features = state.forest.kinds, row_codes.n_features
    ridges.learn(state.ridge, row, kinds, work.ridge, n_features, action, reward, key)
    if state.shared_model.features.ndim == 2:
        n_plain = row_codes.n_plain
        similar_actions.learn(
            state.crossed,
            state.shared_model,
            state.ridge,
            row,
            kinds,
            work.codes,
            n_plain,
            work.crossed,
            action,
            reward,
            key,
        )
    if row_codes.n_uncoded > 0:
        linear, fast_linear, residual = state.linear, state.fast_linear, state.residual
        categories.learn(state.categories, work.hashes, linear, fast_linear, residual, n_coded(row), key)
    stored = is_stored(state, statistics, action, concept_start, key)
    forest, ring = state.forest, state.ring
    learning.learn(forest, ring, work.scratch, work.reached, row, action, reward, concept_start, seed, key, stored)
    if time == clock[CLOCK_NEXT_BINNING]:
        update_bins(state, work, time, first_stored, row_codes.n_pairs)


@internal
def has_capacity(state: RewardForestState, n_trees: int, may_grow: bool) -> bool:
    """Whether one more event fits, whatever it makes of the trees; no event fits when memory is due to be rebalanced.

    A forest that may not grow evicts.
    """
    forest, clock = state.forest, state.clock
    if 0.0 < clock[CLOCK_NEXT_REBALANCING] <= clock[CLOCK_EVENTS]:
        return False
    if not may_grow:
        return True
    nodes_left = forest.nodes.shape[0] - forest.counters[COUNTER_NODES]
    blocks_left = forest.counters[COUNTER_FREE_BLOCKS]
    enough = nodes_left >= 2 * n_trees and blocks_left >= 2 * n_trees + MAX_SPLIT_EVENTS // GAPS_PER_BLOCK
    return bool(enough and forest.counters[COUNTER_TIME] < state.ring.bytes.shape[0])


@kernel
def run(
    memory: ForestMemory[RewardForestState, RewardForestWorkspace],
    seed: np.uint64,
    rng: RandomState,
    rule: Floats,
    statistics: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: NDArray[np.bool_],
    mode: int,
) -> int:
    """Process rows, in place: score them, decide, learn given actions, fill probabilities, as `mode` says.

    It is the only entry point, since each would compile the whole forest. It stops where memory must grow, a column
    become wider, or frequent categories get their table, and returns the number of rows processed. `rewards` has a
    column per action to play, else one.
    """
    state, work = memory.state, memory.workspace
    n_trees, row = work.reached.shape[0], work.row
    for index in range(rows.shape[0]):
        n_uncoded = categories.take_hashes(rows[index], state.forest.kinds, work.values, work.hashes)
        fits = round_row(work.values, state.ring.widths, row)
        if mode & LEARNS and not (
            fits and fits_widths(state.ring, row) and has_capacity(state, n_trees, bool(mode & MAY_GROW))
        ):
            return index
        if mode & LEARNS and n_uncoded > 0 and state.categories.hashes.shape[0] == 0:
            return index
        row_codes = score_row(state, work, row, n_uncoded, statistics)
        if mode & DECIDES:
            time = state.clock[CLOCK_EVENTS] + 1.0
            actions[index], probabilities[index] = choose(rng, rule, statistics, available, time)
        action = actions[index]
        reward = reward_of(rewards, index, action, mode) if mode & LEARNS else 0.0
        if mode & FILLS:
            fill_probabilities(rule, statistics, available, state.clock[CLOCK_EVENTS] + 1.0)
            write_probabilities_and_scores(statistics, rewards, index)
        if mode & LEARNS:
            learn_event(state, work, row, row_codes, statistics, action, reward, seed)
    return len(rows)
