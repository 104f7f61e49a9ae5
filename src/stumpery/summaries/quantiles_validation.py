"""Validation of saved lists of quantiles."""

import numpy as np

from stumpery.summaries.quantiles_kernels import Quantiles
from stumpery.validation import check, check_all, check_within


def validate(streams: Quantiles, most_waiting: int) -> None:
    """A ValueError says what no stream could have left; `most_waiting` values may wait in each list."""
    check_within(streams.sizes, 0, streams.values.shape[1], "the number of tuples of a summary")
    check_within(streams.fills, 0, most_waiting, "the number of values that wait in a summary")
    check_within(streams.marks, 0, np.iinfo(np.int16).max, "the weight of a value that waits in a summary")
    check(not np.isnan(streams.values).any() and not np.isnan(streams.waiting).any(), "a value of a summary is NaN")
    check_within(streams.shares, 0.0, 2.0, "the share of a summary")  # others keep `shorten` busy for ever
    check((streams.counts >= 0).all(), "a tuple of a summary has a negative count")
    check((streams.deltas >= 0).all(), "a tuple of a summary has a negative range")
    used = np.arange(streams.values.shape[1]) < streams.sizes[:, np.newaxis]
    descends = (streams.values[:, 1:] < streams.values[:, :-1]) & used[:, 1:]
    check_all(np.count_nonzero(descends, axis=1) == 0, "the values of summary {} do not ascend")
    most = np.iinfo(streams.counts.dtype).max
    totals = np.where(used[:, :, np.newaxis], streams.counts, 0).sum(axis=(1, 2), dtype=np.float64)
    check_within(totals, 0, most, "the count of a summary")
    ranges = np.where(used, streams.deltas, 0).max(axis=1, initial=0)
    check_all(ranges <= totals, "the range of a tuple of summary {} is beyond its count")
