"""Die in the middle of a save: argv is the path."""

import os
import signal
import sys
from pathlib import Path

from stumpery.system.writing import whole_file

with whole_file(Path(sys.argv[1])) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
