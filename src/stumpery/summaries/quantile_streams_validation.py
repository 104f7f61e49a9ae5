"""Validation of saved quantile summaries."""

import numpy as np

from stumpery.saving.validation import check, check_all, check_within
from stumpery.summaries.quantile_streams_kernels import QuantileStreams


def validate(streams: QuantileStreams, max_buffered: int) -> None:
    """A ValueError says what no stream could have led to; a buffer holds at most `max_buffered` values."""
    check_within(streams.sizes, 0, streams.values.shape[1], "the number of tuples of a summary")
    check_within(streams.n_buffered, 0, max_buffered, "the number of buffered values of a summary")
    check_within(streams.buffer_labels, 0, np.iinfo(np.int16).max, "the weight of a buffered value of a summary")
    check(not np.isnan(streams.values).any() and not np.isnan(streams.buffers).any(), "a value of a summary is NaN")
    check_within(streams.gap_fractions, 0.0, 2.0, "the gap fraction of a summary")  # others keep `compress_to` busy
    check((streams.counts >= 0).all(), "a tuple of a summary has a negative count")
    check((streams.deltas >= 0).all(), "a tuple of a summary has a negative delta")
    used = np.arange(streams.values.shape[1]) < streams.sizes[:, np.newaxis]
    descends = (streams.values[:, 1:] < streams.values[:, :-1]) & used[:, 1:]
    check_all(np.count_nonzero(descends, axis=1) == 0, "the values of summary {} do not ascend")
    max_count = np.iinfo(streams.counts.dtype).max
    totals = np.where(used[:, :, np.newaxis], streams.counts, 0).sum(axis=(1, 2), dtype=np.float64)
    check_within(totals, 0, max_count, "the count of a summary")
    deltas = np.where(used, streams.deltas, 0).max(axis=1, initial=0)
    check_all(deltas <= totals, "the delta of a tuple of summary {} is above its count")
