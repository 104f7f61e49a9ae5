from .chunk import LogChunk
from .frame_source import from_frame
from .log import Log
from .reading import read
from .report import LogReport
from .summary import LogSummary, inspect
from .writing import Written, write

__all__ = ["Log", "LogChunk", "LogReport", "LogSummary", "Written", "from_frame", "inspect", "read", "write"]
