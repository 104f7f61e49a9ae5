"""Description of the machine: what figures of speed depend on."""

import os
import platform
from contextlib import suppress
from pathlib import Path


def machine_description() -> str:
    """System, architecture, number of cores and model of the processor; no name of a host."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {_processor()}"


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "processor unknown"
