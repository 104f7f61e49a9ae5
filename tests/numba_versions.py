"""Every supported version of Numba compiles the same decisions: `make numba-versions`.

Each version gets a virtual environment of its own in a temporary folder. In those of the range the compiler's tests and
the quick kernel twins run (marker `plain`), as they do with `STUMPERY_PLAIN=1`. The version outside must say so once,
and compile plainly. What a forest decides and learns must be the same bits everywhere.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIGEST = Path(__file__).parent / "programs" / "numba_digest.py"
INSIDE, OUTSIDE = ("0.66.0", "0.67.0", "0.68.1"), "0.65.1"


def main() -> None:
    """Test every version; the first failure ends it."""
    digests = {version: tested(version) for version in sys.argv[1:] or (*INSIDE, OUTSIDE)}
    for version, digest in digests.items():
        print(f"Numba {version}: {digest}")
    if len(set(digests.values())) > 1:
        sys.exit("the versions decide differently")


def tested(version: str) -> str:
    """The digest of a version, once its tests have passed."""
    with tempfile.TemporaryDirectory(prefix=f"numba-{version}-") as folder:
        python = installed(version, Path(folder))
        is_inside = version != OUTSIDE
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("STUMPERY_", "NUMBA"))}
        environment |= {"STUMPERY_CACHE": f"{folder}/cache", "PYTHONDONTWRITEBYTECODE": "1"}
        plain = environment if is_inside else {**environment, "STUMPERY_PLAIN": "1"}
        tests = [python, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", "-m", "plain", "tests"]
        subprocess.run(tests, cwd=ROOT, env=plain, check=True)
        done = subprocess.run([python, DIGEST], env=environment, capture_output=True, text=True, check=False)
        if done.returncode or done.stderr.count("RuntimeWarning: Numba") != (not is_inside):
            sys.exit(f"Numba {version}: {done.stderr or 'no warning'}")
        return done.stdout.strip()


def installed(version: str, folder: Path) -> str:
    """The Python of a new environment with this version of Numba, and all else as in ours."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["study"], *extras["deep"], *extras["dev"]]
    others = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(line for line in others if not line.startswith(("numba=", "llvmlite="))))
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = str(folder / "venv/bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(constraints)]
    packages = [each for each in needed if not each.startswith("numba")]
    subprocess.run([*pip, f"numba=={version}", *packages], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    return python


if __name__ == "__main__":
    main()
