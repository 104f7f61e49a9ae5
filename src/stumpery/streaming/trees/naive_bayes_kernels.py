"""Naive Bayes in leaves: a table of log probabilities of a column's bins given each class.

A leaf that was checked and did not split writes its table from its stored events. Tables are few and of one size; a
leaf without one predicts without naive Bayes. Missing values are ignored.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import (
    DOUBLE,
    Doubles,
    Scratch,
    assign_bins,
    bin_doubles,
    choose_thresholds,
    gather_doubles,
)
from stumpery.array_forest.forest_kernels import MAX_CODES, MAX_THRESHOLDS, Float32s, Int32s
from stumpery.jit import internal
from stumpery.streaming.trees.split_search_kernels import CUT_SPACING, EVENT_LABEL, EVENT_WEIGHT
from stumpery.types import Floats

N_BINS = MAX_THRESHOLDS + 1  # of a numerical column; a categorical one has MAX_CODES


class NaiveBayesTables(NamedTuple):
    """The naive Bayes tables of all leaves."""

    cuts: Float32s  # (tables, columns, MAX_THRESHOLDS), infinite where there are fewer
    wide_cuts: Floats  # (tables, columns of 64 bits, MAX_THRESHOLDS), for these instead
    logs: Float32s  # (tables, bins of all columns, classes)
    starts: Int32s  # (columns + 1,): the first bin of each column
    free: Int32s  # (1 + tables,): the number of free tables, then their indices


def new_tables(n_tables: int, n_classes: int, is_categorical: NDArray[np.bool_], n_doubles: int) -> NaiveBayesTables:
    """Free tables."""
    starts = np.concatenate([[0], np.cumsum(np.where(is_categorical, MAX_CODES, N_BINS))]).astype(np.int32)
    return NaiveBayesTables(
        np.full((n_tables, len(is_categorical), MAX_THRESHOLDS), np.inf, np.float32),
        np.full((n_tables, n_doubles, MAX_THRESHOLDS), np.inf),
        np.zeros((n_tables, starts[-1], n_classes), np.float32),
        starts,
        np.concatenate([[n_tables], np.arange(n_tables)]).astype(np.int32),
    )


@internal
def fill_table(
    bayes: NaiveBayesTables, table: int, scratch: Scratch, n: int, kinds: NDArray[np.uint8], doubles: Doubles
) -> None:
    """Write a table from a leaf's copied events, with Laplace smoothing, in place."""
    logs = bayes.logs[table]
    n_classes = logs.shape[1]
    totals = np.zeros(n_classes)
    for index in range(n):
        totals[int(scratch.events[index, EVENT_LABEL])] += scratch.events[index, EVENT_WEIGHT]
    for column in range(kinds.shape[0]):
        start, end = bayes.starts[column], bayes.starts[column + 1]
        for index in range(start, end):
            for label in range(n_classes):
                logs[index, label] = 0.0
        n_bins = 1
        if kinds[column] == forests.CATEGORICAL:
            for index in range(n):
                scratch.bins[index] = np.int32(scratch.events[index, column])
                n_bins = max(n_bins, scratch.bins[index] + 1)
        elif doubles.widths[column] == DOUBLE:
            wide_thresholds = bayes.wide_cuts[table, doubles.value_index[column]]
            gather_doubles(doubles, scratch.event_numbers, n, column, scratch.double_values)
            n_bins = 1 + bin_doubles(scratch, n, CUT_SPACING, wide_thresholds)
        else:
            thresholds = bayes.cuts[table, column]
            for index in range(n):
                scratch.values[index] = scratch.events[index, column]
            n_cuts = choose_thresholds(scratch, n, CUT_SPACING, thresholds)
            for cut in range(n_cuts, MAX_THRESHOLDS):
                thresholds[cut] = np.inf
            assign_bins(scratch, n, thresholds, n_cuts)
            n_bins = n_cuts + 1
        for index in range(n):
            label = int(scratch.events[index, EVENT_LABEL])
            logs[start + scratch.bins[index], label] += scratch.events[index, EVENT_WEIGHT]
        for index in range(start, end):
            for label in range(n_classes):
                if totals[label] > 0.0:
                    count = np.float64(logs[index, label])
                    logs[index, label] = math.log((count + 1.0 / n_bins) / (totals[label] + 1.0))


@internal
def add_log_probabilities(
    bayes: NaiveBayesTables, table: int, row: Floats, kinds: NDArray[np.uint8], doubles: Doubles, scores: Floats
) -> None:
    """Add the log likelihoods of a row's columns to the scores of the classes, in place."""
    n_classes = scores.shape[0]
    for column in range(kinds.shape[0]):
        value = row[column]
        bin_index = int(bayes.starts[column])
        if kinds[column] == forests.CATEGORICAL:
            if value == 0.0:
                continue
            bin_index += int(value)
        else:
            if value == -np.inf:
                continue
            if doubles.widths[column] == DOUBLE:
                wide_thresholds = bayes.wide_cuts[table, doubles.value_index[column]]
                above = 0
                while above < MAX_THRESHOLDS and value > wide_thresholds[above]:
                    above += 1
                bin_index += above
            else:
                thresholds = bayes.cuts[table, column]
                for cut in range(MAX_THRESHOLDS):
                    bin_index += int(value > thresholds[cut])
        logs = bayes.logs[table, bin_index]
        for label in range(n_classes):
            scores[label] += logs[label]
