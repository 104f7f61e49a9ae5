from .by_key.files import write_by_key
from .by_key.learning import KeyedPolicies, learn_by_key
from .chunk import LogChunk
from .frame_source import from_frame
from .learning import learn
from .log import Log
from .reading import read
from .report import LogReport
from .summary import LogSummary, inspect
from .writing import Written, write

__all__ = [
    "KeyedPolicies",
    "Log",
    "LogChunk",
    "LogReport",
    "LogSummary",
    "Written",
    "from_frame",
    "inspect",
    "learn",
    "learn_by_key",
    "read",
    "write",
    "write_by_key",
]
