"""Lines of text files: compressed or not, in any encoding, in blocks of bounded size."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.system.extras import need
from stumpery.system.writing import as_path, kind_of

BLOCK_BYTES = 2**18
MAX_LINE_BYTES = 2**26
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes of such files
MARKS = {  # byte order marks, the longer ones first
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Lines(NamedTuple):
    """Successive lines of a file as UTF-8.

    Args:
        first: the number of the first line, from 1.
        lines: the lines, without their ends.
        share: how much of the file has been read, from 0 to 1.
        is_open: whether the last line is the file's last one and has no end.
        is_damaged: whether the compressed file ends early here.
    """

    first: int
    lines: list[bytes]
    share: float
    is_open: bool = False
    is_damaged: bool = False


def checked_file(path: Any) -> Path:
    """The path of a regular file that is there."""
    file = as_path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}")
    if not file.is_file():
        raise IsADirectoryError(f"{file} is {kind_of(file)}; a log is a file, or a folder of .parquet files")
    return file


def checked_encoding(encoding: str | None) -> str | None:
    """The name of an encoding that Python knows; None stands for UTF-8 or a byte order mark."""
    try:
        return None if encoding is None else codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise InvalidInput(
            f"encoding is {shown(encoding)}; it must be one that Python knows, such as 'latin-1'"
        ) from None


def read_lines(path: Path, size: int, encoding: str | None = None) -> Iterator[Lines]:
    """Read the lines of a file, `size` at a time."""
    first, kept = 1, list[bytes]()
    pieces, n_open = list[bytes](), 0  # of the line that goes on in the next block
    with path.open("rb") as file:
        n_bytes = max(path.stat().st_size, 1)
        blocks = _Blocks(file, encoding)
        for block in blocks:
            head, *others = block.split(b"\n")
            pieces.append(head)
            n_open += len(head)
            if n_open > MAX_LINE_BYTES:
                raise InvalidInput(f"{path}, line {first + len(kept)}: it is longer than {MAX_LINE_BYTES:,} bytes")
            if others:
                *whole, last = others
                kept += (b"".join(pieces), *whole)
                pieces, n_open = [last], len(last)
            while len(kept) >= size:
                yield Lines(first, kept[:size], min(file.tell() / n_bytes, 1.0))
                first, kept = first + size, kept[size:]
        rest = b"".join(pieces)
        is_open = bool(rest.strip())
        if is_open:
            kept.append(rest)
        if kept or blocks.is_damaged:
            yield Lines(first, kept, 1.0, is_open, blocks.is_damaged)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading its bytes, decompressed."""
    with path.open("rb") as file:
        yield _decompressed(file)


def first_bytes(path: Path, n_bytes: int = 2**16) -> bytes:
    """The first bytes of a file, decompressed, as UTF-8."""
    with path.open("rb") as file:
        return next(iter(_Blocks(file, None)), b"")[:n_bytes]


class _Blocks:
    """Blocks of a file, decompressed, as UTF-8 without a byte order mark; iterated once.

    Args:
        file: the file.
        encoding: its encoding; None for what its byte order mark says, or else UTF-8.
    """

    def __init__(self, file: BinaryIO, encoding: str | None) -> None:
        self._file = file
        self._encoding = encoding
        self.is_damaged = False

    def __iter__(self) -> Iterator[bytes]:
        blocks = self._raw()
        first = next(blocks, b"")
        encoding = self._encoding
        if encoding is None:
            mark = next((mark for mark in MARKS if first.startswith(mark)), b"")
            encoding = MARKS.get(mark, "utf-8")
            first = first[len(mark) :] if encoding == "utf-8" else first
        if encoding == "utf-8":
            yield first
            yield from blocks
            return
        decoder = codecs.getincrementaldecoder(encoding)(
            errors="surrogateescape" if encoding != "utf-16" else "replace"
        )
        yield decoder.decode(first).encode("utf-8", "surrogateescape")
        for block in blocks:
            yield decoder.decode(block).encode("utf-8", "surrogateescape")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogateescape")

    def _raw(self) -> Iterator[bytes]:
        stream = _decompressed(self._file)
        read = getattr(stream, "read1", stream.read)  # what is there before damage is not lost
        errors = _damages(stream)
        while True:
            try:
                block = read(BLOCK_BYTES)
            except errors:
                self.is_damaged = True
                return
            if not block:
                return
            yield block


def _decompressed(file: BinaryIO) -> Any:
    start = file.read(4)
    file.seek(0)
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=file, mode="rb")
    if start.startswith(ZSTD):
        return need("zstandard", "logs").ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return file


def _damages(stream: Any) -> tuple[type[Exception], ...]:
    """The exceptions of a damaged compressed file."""
    found: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
    return found if isinstance(stream, gzip.GzipFile) else (*found, *_zstd_errors(stream))


def _zstd_errors(stream: Any) -> tuple[type[Exception], ...]:
    is_zstd = type(stream).__module__.startswith("zstandard")
    return (need("zstandard", "logs").ZstdError,) if is_zstd else ()
