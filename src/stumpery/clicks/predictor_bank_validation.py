"""Validation of saved predictor banks."""

import numpy as np

from stumpery.clicks.tree_bank_kernels import NO_CHILD, NO_FEATURE, NO_SLOT, TreeBank
from stumpery.clicks.univariate_bank_kernels import UnivariateBank
from stumpery.saving.validation import check, check_all, check_within, corrupt
from stumpery.summaries import quantile_streams_validation


def validate_univariate_bank(bank: UnivariateBank) -> None:
    """Validate a bank of univariate predictors; a ValueError describes the inconsistency."""
    quantile_streams_validation.validate(bank.streams, bank.streams.buffers.shape[1] - 1)
    n_cuts, cuts = bank.partitions.n_cuts, bank.partitions.cuts
    check_within(n_cuts, 0, cuts.shape[1], "the number of cuts of a predictor")
    check(not np.isnan(cuts).any(), "a cut of a predictor is NaN")
    check(np.isfinite(bank.partitions.probabilities).all(), "a probability of a predictor is not finite")
    check((bank.missing >= 0).all(), "a predictor's count of missing values is negative")


def validate_tree_bank(bank: TreeBank) -> None:
    """Validate a tree bank: nodes are in one tree each, leaves have summaries."""
    n_trees, n_features = bank.features.shape
    n_nodes, n_slots = bank.used.tolist()
    check_within(np.array(n_nodes), n_trees, len(bank.splits), "the number of nodes")
    check_within(np.array(n_slots), 0, len(bank.streams.sizes) // n_features, "the number of summaries")
    quantile_streams_validation.validate(bank.streams, bank.streams.buffers.shape[1] - 1)
    inner = np.flatnonzero(bank.children[:n_nodes] != NO_CHILD)
    first = bank.children[inner]
    check((bank.children[n_nodes:] == NO_CHILD).all(), "a node that is not in use has children")
    check_within(first, n_trees, n_nodes - 3, "the child of a node")
    check_all(first > inner, "inner node {} has children before it")
    children = np.sort(np.concatenate([first, first + 1, first + 2]))
    if not np.array_equal(children, np.arange(n_trees, n_nodes)):
        again = children[1:][children[1:] == children[:-1]]
        raise corrupt(f"node {again[0]} has two parents" if len(again) else "a node is in no tree")
    check_within(bank.splits, NO_FEATURE, n_features - 1, "the column of a node")
    check((bank.splits[inner] != NO_FEATURE).all(), "a node with children has no column")
    check(not np.isnan(bank.thresholds[inner]).any(), "the threshold of a node is NaN")
    slots = bank.slots[bank.slots != NO_SLOT]
    check((bank.slots[inner] == NO_SLOT).all(), "a node with children has a summary")
    check_within(slots, 0, n_slots - 1, "the summary of a node")
    check(len(np.unique(slots)) == len(slots), "two nodes share a summary")
    check(np.isfinite(bank.probabilities).all(), "a probability of a node is not finite")
    for what, array in {"count": bank.counts, "depth": bank.depths, "weight": bank.since}.items():
        check_within(array, 0, 2**53, f"the {what} of a node")
