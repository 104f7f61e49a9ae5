"""A large log in bounded memory: generate dsjson, inspect, learn and evaluate it; speed and peak memory of each.

`python -m stumpery.benchmarks.large_log --rows 10000000 --folder /tmp` prints a JSON line for each step. Every step is
a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from stumpery.system.writing import whole_file

N_ACTIONS = 5
DEVICES = ("phone", "tablet", "desk", "watch")
TOWNS = tuple(f"town{number}" for number in range(40))
BLOCK_ROWS = 10_000


def generate(path: Path, n_rows: int, seed: int = 0) -> None:
    """Write a log of dsjson with 12 features, logged by a policy that prefers one action of five."""
    rng = np.random.default_rng(seed)
    with whole_file(path) as part, part.open("w") as file:
        for start in range(0, n_rows, BLOCK_ROWS):
            n = min(BLOCK_ROWS, n_rows - start)
            numbers = rng.random((n, 10)).round(4)
            devices, towns = rng.integers(0, len(DEVICES), n), rng.integers(0, len(TOWNS), n)
            likely = devices % N_ACTIONS
            chosen = np.where(rng.random(n) < 0.75, likely, rng.integers(0, N_ACTIONS, n))
            value = 0.1 + 0.3 * (numbers[:, 0] > 0.5) * (chosen == likely) + 0.2 * (towns % N_ACTIONS == chosen)
            columns = (numbers.tolist(), devices.tolist(), towns.tolist(), likely.tolist(), chosen.tolist())
            rewards = (rng.random(n) < value).astype(int).tolist()
            rows = zip(range(start, start + n), *columns, rewards, strict=True)
            file.write("".join(_line(*row) for row in rows))


def _line(number: int, values: list[float], device: int, town: int, likely: int, chosen: int, reward: int) -> str:
    order = [chosen, *(each for each in range(N_ACTIONS) if each != chosen)]
    shares = [0.8 if each == likely else 0.05 for each in order]
    features = ",".join(f'"n{place}":{value}' for place, value in enumerate(values))
    return (
        f'{{"_label_cost":{-reward},"_label_probability":{shares[0]},"_label_Action":{chosen + 1},'
        f'"_labelIndex":{chosen},"Timestamp":"2026-01-{number // 400_000 % 28 + 1:02}T00:00:00Z","Version":"1",'
        f'"EventId":"{number:x}","a":{[each + 1 for each in order]},"c":{{"user":{{{features},'
        f'"device":"{DEVICES[device]}","town":"{TOWNS[town]}"}}}},"p":{shares}}}\n'
    )


def measured(name: str, command: list[str], n_rows: int) -> str:
    """Run a command; a JSON line with its rows a second and its peak memory in megabytes."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)  # not on Windows
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    processor = used.ru_utime + used.ru_stime
    figures = {
        "step": name,
        "rows": n_rows,
        "seconds": round(time.perf_counter() - start, 1),
        "processor seconds": round(processor, 1),
        "rows per processor second": round(n_rows / processor),
        "peak MB": round(used.ru_maxrss / 1024, 1),
    }
    return json.dumps(figures)


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path("out"))
    parser.add_argument("--max-bytes", type=int, default=64_000_000)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    log, policy = given.folder / f"large-{given.rows}.dsjson", given.folder / "policy.safetensors"
    if not log.exists():
        generate(log, given.rows)
    stumpery = [sys.executable, "-m", "stumpery", "logs"]
    steps = {
        "inspect": [*stumpery, "inspect", str(log)],
        "learn": [*stumpery, "learn", str(log), "--out", str(policy), "--max-bytes", str(given.max_bytes)],
        "evaluate": [*stumpery, "evaluate", str(log), "--policy", str(policy), "--always", "1", "--uniform"],
    }
    for name, command in steps.items():
        print(measured(name, command, given.rows), flush=True)  # noqa: T201 - a program


if __name__ == "__main__":
    main()
