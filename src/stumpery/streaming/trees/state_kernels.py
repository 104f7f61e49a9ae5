"""The state of Hoeffding trees on a stream: arrays of leaves, events and drift detectors, and indices into them.

For classes a leaf keeps the weight of each, for numbers their weight, mean and squared deviations: once over all its
events, once over the recent ones, and once what it inherited from its parent.
"""

from typing import NamedTuple

from stumpery.array_forest.binning_kernels import Doubles, Scratch
from stumpery.array_forest.forest_kernels import Float32s, ForestState, Int32s
from stumpery.drift.adaptive_window_kernels import AdaptiveWindows
from stumpery.streaming.trees.naive_bayes_kernels import NaiveBayesTables
from stumpery.types import Floats

ROW_ALL, ROW_INHERITED, ROW_RECENT = range(3)  # of a leaf's statistics
N_STAT_ROWS = 3
MOMENT_WEIGHT, MOMENT_MEAN, MOMENT_SQUARES = range(3)  # of such a row, where numbers are predicted
N_MOMENTS = 3
MAJORITY, RECENT, NAIVE_BAYES = range(3)  # leaf predictors
N_LEAF_PREDICTORS = 3
ADAPTIVE = 3  # in a rule: the leaf predictor with the best score
FLAG_DEPTH, FLAG_TABLE, FLAG_DEACTIVATED = range(3)  # of a leaf
N_FLAGS = 3
VOTE_CORRECT, VOTE_EVENTS = range(2)  # of a tree's votes
(
    RULE_GRACE_PERIOD,
    RULE_DELTA,
    RULE_TAU,
    RULE_CRITERION,
    RULE_LEAF_PREDICTOR,
    RULE_MAX_DEPTH,
    RULE_N_DRAWN,  # columns that a split may use
    RULE_TIMES,  # mean of the Poisson draws; 0 where each event counts once
    RULE_WARNING_DELTA,
    RULE_DRIFT_DELTA,
    RULE_MULTIWAY,
) = range(11)  # options in the form of an array, for kernels
N_RULE_FIELDS = 11


class StreamState(NamedTuple):
    """All arrays that change as trees learn.

    The roots of a forest are its trees and, behind them, a background tree for each.
    """

    forest: ForestState  # with statistics of the shape (leaves, N_STAT_ROWS, classes or moments)
    events: Float32s  # (events, columns + 2): a ring buffer; label and weight last
    flags: Int32s  # (leaves, N_FLAGS)
    predictor_scores: Float32s  # (leaves, N_LEAF_PREDICTORS): decayed sums of correct predictions
    bayes: NaiveBayesTables
    windows: AdaptiveWindows
    votes: Floats  # (trees, 2): decayed sums of correct predictions and of events
    standby: Int32s  # (trees,): 1 where a background tree grows
    importances: Floats  # (columns,): sums of gains
    label_moments: Floats  # (N_MOMENTS,): of all numbers to predict
    doubles: Doubles  # columns of 64 bits


class StreamWorkspace(NamedTuple):
    """Scratch buffers of a run."""

    row: Floats  # (columns,): the current one, rounded as the state holds it
    reached: Int32s  # (trees,): leaves; of a forest also those of the background trees
    foreground: Int32s  # (trees,): the same memory without them
    descending: Int32s  # (trees,)
    tree_output: Floats  # (classes,), or one number
    scratch: Scratch
