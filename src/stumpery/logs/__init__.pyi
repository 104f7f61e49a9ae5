from .chunk import LogChunk
from .frame_source import from_frame
from .log import Log
from .reading import read
from .report import LogReport
from .writing import Written, write

__all__ = ["Log", "LogChunk", "LogReport", "Written", "from_frame", "read", "write"]
