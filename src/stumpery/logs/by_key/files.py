"""A log cut into Parquet files by a column, so that all rows of a key are in one file, in order."""

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path

import numpy as np

from stumpery.logs.by_key.keys import check_key, hash_of, rows_by_key
from stumpery.logs.formats.own_parquet import ParquetLogWriter
from stumpery.logs.log import Log
from stumpery.logs.writing import Written
from stumpery.options import check_whole
from stumpery.system.writing import as_path, whole_file

KEYED_CHUNK_ROWS = 2**16  # so that each file, and each key, gets many rows at once
MAX_FILES = 1000


def write_by_key(
    log: Log,
    folder: str | PathLike[str],
    *,
    key: str,
    n_files: int = 16,
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write a log as a folder of Parquet files, the rows of each key in one of them, in the log's order.

    Args:
        log: The log.
        folder: The folder, which is made; files of the same names are replaced.
        key: The column of keys: strings or whole numbers. Rows without a key are left out.
        n_files: The number of files; each is learned by one worker, so have several for each.
        progress: Called with the number of rows of each chunk.

    >>> import tempfile
    >>> import stumpery as st
    >>> frame = {"shop": ["paris", "rome", "paris"], "action": ["a", "b", "a"], "reward": [1.0, 0.0, 0.0]}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward")
    >>> write_by_key(log, tempfile.mkdtemp(), key="shop", n_files=2)
    Written(rows=3, left_out=0)
    """
    check_key(log, key)
    check_whole("n_files", n_files, 1, MAX_FILES)
    target = as_path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = [_path(target, number) for number in range(n_files)]
    n_written = n_left_out = 0
    with ExitStack() as stack:
        parts = [stack.enter_context(whole_file(path)) for path in paths]
        writers = [stack.enter_context(ParquetLogWriter(part, log.actions, log.reward_range)) for part in parts]
        for chunk in log.chunks(KEYED_CHUNK_ROWS):
            files = np.full(len(chunk), -1)
            for value, rows in rows_by_key(chunk, key).items():
                files[rows] = hash_of(value) % n_files
            for number in np.unique(files[files >= 0]).tolist():
                n_written += writers[number].write(chunk.where(files == number))
            n_left_out += int((files < 0).sum())
            if progress is not None:
                progress(len(chunk))
    return Written(n_written, n_left_out)


def _path(folder: Path, number: int) -> Path:
    return folder / f"keys-{number:03d}.parquet"
