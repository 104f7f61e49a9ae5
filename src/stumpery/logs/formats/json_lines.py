"""Events of JSON lines: decoded by a type, and line by line repaired where they do not fit it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from stumpery.logs.formats.json_columns import Namespace, Problems
from stumpery.logs.formats.lines import Lines, read_lines
from stumpery.logs.report import LogReport
from stumpery.system.extras import need

SAMPLE_ROWS = 1000  # whose keys become columns


class Events(NamedTuple):
    """Decoded events, and the number of the line of each."""

    events: list[Any]
    lines: list[int]
    share: float


class JsonEvents:
    """The events of a file of JSON lines.

    Args:
        path: the file.
        base: the type of an event but for its context, a msgspec Struct whose fields may all be absent.
        context: the key of the context.
        encoding: the file's encoding; None for UTF-8 or what its byte order mark says.
    """

    def __init__(self, path: Path, base: Any, context: str, encoding: str | None) -> None:
        self._msgspec = need("msgspec", "logs")
        self._path = path
        self._context = context
        self._encoding = encoding
        self.namespace = Namespace.infer([row[context] for row in self._sample() if isinstance(row.get(context), dict)])
        context_field = [("context", self.namespace.type | None, None)]
        self._type = self._msgspec.defstruct(
            "Event", context_field, bases=(base,), rename={"context": context}, gc=False
        )
        self._decoder = self._msgspec.json.Decoder(self._type)
        self._errors = (self._msgspec.DecodeError, UnicodeDecodeError, RecursionError)

    def _sample(self) -> list[dict[str, Any]]:
        """The first events as dicts."""
        rows: list[dict[str, Any]] = []
        for block in read_lines(self._path, SAMPLE_ROWS, self._encoding):
            rows += [row for row in map(_loaded, block.lines) if isinstance(row, dict)]
            if len(rows) >= SAMPLE_ROWS:
                break
        return rows

    def read(self, size: int, report: LogReport) -> Iterator[Events]:
        """Decode the file's lines, `size` at a time; blank lines are passed over."""
        decode, errors = self._decoder.decode, self._errors
        for block in read_lines(self._path, size, self._encoding):
            events: list[Any] = []
            lines: list[int] = []
            for number, line in enumerate(block.lines, block.first):
                try:
                    events.append(decode(line))
                except errors:
                    event = self._repaired(line, number, block, report)
                    if event is None:
                        continue
                    events.append(event)
                lines.append(number)
            if block.is_damaged:
                report.add("cut file", block.first + len(block.lines))
            yield Events(events, lines, block.share)

    def kept(
        self,
        choose: Callable[[Events, LogReport], Events],
        size: int,
        report: LogReport,
        advance: Callable[[float], None],
    ) -> Iterator[Events]:
        """The events that a format chooses, `size` lines at a time; `advance` takes the share that has been read."""
        for block in self.read(size, report):
            chosen = choose(block, report)
            advance(block.share)
            if chosen.events:
                yield chosen

    def labels(self, kind: Any) -> Iterator[Events]:
        """Decode a few keys of each line, by a type that has only these; other lines are passed over."""
        decode = self._msgspec.json.Decoder(kind).decode
        for block in read_lines(self._path, SAMPLE_ROWS, self._encoding):
            events: list[Any] = []
            lines: list[int] = []
            for number, line in enumerate(block.lines, block.first):
                try:
                    events.append(decode(line))
                except self._errors:
                    row = _loaded(line)
                    if not isinstance(row, dict):
                        continue
                    kept = {name: row[name] for name in self._fitting(row, kind)}
                    events.append(self._msgspec.convert(kept, kind))
                lines.append(number)
            yield Events(events, lines, block.share)

    def _fitting(self, row: dict[str, Any], kind: Any) -> Iterator[str]:
        """The keys of a row whose values fit a type."""
        for known in self._msgspec.structs.fields(kind):
            if known.encode_name in row:
                try:
                    self._msgspec.convert(row[known.encode_name], known.type)
                except (self._msgspec.ValidationError, OverflowError):
                    continue
                yield known.encode_name

    def _repaired(self, line: bytes, number: int, block: Lines, report: LogReport) -> Any:
        """The event of a line that does not fit the type; None if there is none in it."""
        if not line.strip():
            return None
        row = _loaded(line)
        if not isinstance(row, dict):
            is_cut = (block.is_open or block.is_damaged) and number == block.first + len(block.lines) - 1
            report.add("cut last line" if is_cut else "unreadable line", number)
            return None
        problems: Problems = []
        row[self._context] = self.namespace.repaired(row.get(self._context), problems)
        for known in self._msgspec.structs.fields(self._type):
            if known.encode_name != self._context and known.encode_name in row:
                try:
                    self._msgspec.json.decode(self._encoded(row[known.encode_name]), type=known.type)
                except self._errors:
                    problems.append(("value of another type", known.encode_name))
                    del row[known.encode_name]
        for kind, column in problems:
            report.add(kind, number, column)
        return self._decoder.decode(self._encoded(row))

    def _encoded(self, value: Any) -> bytes:
        """A value as JSON; integers beyond 64 bits as Python writes them, numbers that are not finite as null."""
        try:
            encoded: bytes = self._msgspec.json.encode(value)
        except (OverflowError, ValueError):
            encoded = json.dumps(value).encode()
        return encoded


def _loaded(line: bytes) -> Any:
    """A line as Python's more tolerant reader takes it; None if it does not."""
    try:
        row = json.loads(line)
        if b"\\ud" in line or b"\\uD" in line:
            json.dumps(row, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
    except (ValueError, RecursionError):
        return None
    return row
