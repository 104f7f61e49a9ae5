"""Naive Bayes in a leaf: a table of how often each class has a column's value between two cuts, as logarithms.

A leaf that was asked and did not split writes its table from its remembered events. Tables are few and of one size; a
leaf without one predicts without. Missing values say nothing.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.forest_kernels import MAX_CODES, MAX_CUTS, Float32s, Int32s
from stumpery.array_forest.precision_kernels import DOUBLE, Doubles, gather_doubles
from stumpery.array_forest.scratch_kernels import Scratch, assign_bins, bin_doubles, choose_thresholds
from stumpery.jit import internal
from stumpery.streaming.trees.criterion_kernels import CUT_SPACING, EVENT_LABEL, EVENT_WEIGHT
from stumpery.types import Floats

N_BINS = MAX_CUTS + 1  # of a number; a name has N_CODES


class NaiveBayesTables(NamedTuple):
    """All tables."""

    cuts: Float32s  # (tables, columns, MAX_CUTS), infinite where there are fewer
    wide_cuts: Floats  # (tables, columns of 64 bits, MAX_CUTS), for these instead
    logs: Float32s  # (tables, places of all columns, classes)
    starts: Int32s  # (columns + 1,): where a column's places begin
    free: Int32s  # (1 + tables,): how many tables are free, then their numbers


def new_tables(n_tables: int, n_classes: int, is_categorical: NDArray[np.bool_], n_doubles: int) -> NaiveBayesTables:
    """So many free tables."""
    starts = np.concatenate([[0], np.cumsum(np.where(is_categorical, MAX_CODES, N_BINS))]).astype(np.int32)
    return NaiveBayesTables(
        np.full((n_tables, len(is_categorical), MAX_CUTS), np.inf, np.float32),
        np.full((n_tables, n_doubles, MAX_CUTS), np.inf),
        np.zeros((n_tables, starts[-1], n_classes), np.float32),
        starts,
        np.concatenate([[n_tables], np.arange(n_tables)]).astype(np.int32),
    )


@internal
def fill_table(
    bayes: NaiveBayesTables, table: int, scratch: Scratch, n: int, kinds: NDArray[np.uint8], doubles: Doubles
) -> None:
    """Write a table from a leaf's copied events, in place."""
    logs = bayes.logs[table]
    n_classes = logs.shape[1]
    totals = np.zeros(n_classes)
    for index in range(n):
        totals[int(scratch.events[index, EVENT_LABEL])] += scratch.events[index, EVENT_WEIGHT]
    for column in range(kinds.shape[0]):
        start, end = bayes.starts[column], bayes.starts[column + 1]
        for place in range(start, end):
            for each in range(n_classes):
                logs[place, each] = 0.0
        n_places = 1
        if kinds[column] == forests.CATEGORICAL:
            for index in range(n):
                scratch.places[index] = np.int32(scratch.events[index, column])
                n_places = max(n_places, scratch.places[index] + 1)
        elif doubles.widths[column] == DOUBLE:
            wide_points = bayes.wide_cuts[table, doubles.places[column]]
            gather_doubles(doubles, scratch.found, n, column, scratch.wide_values)
            n_places = 1 + bin_doubles(scratch, n, CUT_SPACING, wide_points)
        else:
            points = bayes.cuts[table, column]
            for index in range(n):
                scratch.values[index] = scratch.events[index, column]
            n_cuts = choose_thresholds(scratch, n, CUT_SPACING, points)
            for place in range(n_cuts, MAX_CUTS):
                points[place] = np.inf
            assign_bins(scratch, n, points, n_cuts)
            n_places = n_cuts + 1
        for index in range(n):
            each = int(scratch.events[index, EVENT_LABEL])
            logs[start + scratch.places[index], each] += scratch.events[index, EVENT_WEIGHT]
        for place in range(start, end):
            for each in range(n_classes):
                if totals[each] > 0.0:  # a class that never came says nothing
                    count = np.float64(logs[place, each])
                    logs[place, each] = math.log((count + 1.0 / n_places) / (totals[each] + 1.0))


@internal
def add_log_probabilities(
    bayes: NaiveBayesTables, table: int, row: Floats, kinds: NDArray[np.uint8], doubles: Doubles, scores: Floats
) -> None:
    """Add what every column of a row says to the logarithms of the classes' probabilities, in place."""
    n_classes = scores.shape[0]
    for column in range(kinds.shape[0]):
        value = row[column]
        place = int(bayes.starts[column])
        if kinds[column] == forests.CATEGORICAL:
            if value == 0.0:
                continue
            place += int(value)
        else:
            if value == -np.inf:
                continue
            if doubles.widths[column] == DOUBLE:
                wide_points = bayes.wide_cuts[table, doubles.places[column]]
                above = 0
                while above < MAX_CUTS and value > wide_points[above]:
                    above += 1
                place += above
            else:
                points = bayes.cuts[table, column]
                for each in range(MAX_CUTS):
                    place += int(value > points[each])
        logs = bayes.logs[table, place]
        for each in range(n_classes):
            scores[each] += logs[each]
