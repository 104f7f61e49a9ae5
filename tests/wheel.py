"""Try a wheel in empty environments with its core dependencies alone: the README's first example, cold.

    python tests/wheel.py dist/stumpery-0.1.0-py3-none-any.whl

It uses every Python that is on the path, from 3.11 on, and prints a line for each.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = [f"python3.{minor}" for minor in range(11, 16)]
LIMIT_S = 15.0


def first_example():
    """The first Python block of the README."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]


def seconds_to_answer(python, wheel):
    """The seconds that the example takes in a new environment, with an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run([python, "-m", "venv", place / "env"], check=True)
        own = place / "env" / "bin" / "python"
        constraints = ROOT / "constraints.txt"
        install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", constraints]
        subprocess.run([*install, wheel], check=True)
        environment = {**os.environ, "STUMPERY_CACHE": str(place / "cache")}
        start = time.perf_counter()
        subprocess.run([own, "-c", first_example()], check=True, cwd=place, env=environment, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start


def works(python):
    """Whether a Python can make environments; a launcher on the path may have none behind it."""
    return subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def main(wheel):
    """Try the wheel with each Python; whether all answered in time."""
    pythons = [found for found in map(shutil.which, VERSIONS) if found and works(found)]
    took = {python: seconds_to_answer(python, wheel) for python in pythons}
    for python, seconds in took.items():
        print(f"{python}: the README's first example took {seconds:.1f} s, cold")
    return bool(took) and max(took.values()) < LIMIT_S


if __name__ == "__main__":
    sys.exit(0 if main(Path(sys.argv[1]).resolve()) else 1)
