"""Structured logs: a line of JSON for each record, so that no text of a request begins a line of its own."""

import logging
from datetime import UTC, datetime

import msgspec


class JsonFormatter(logging.Formatter):
    """Log records as JSON lines with time, level, logger, message and, after an exception, its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def set_up_logging(log_format: str) -> None:
    """Write logs to the error stream, as JSON lines or as text."""
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if log_format == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn.access").disabled = True
