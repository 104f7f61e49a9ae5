from .chunk import LogChunk
from .frame_source import from_frame
from .log import Log
from .reading import read
from .report import LogReport

__all__ = ["Log", "LogChunk", "LogReport", "from_frame", "read"]
