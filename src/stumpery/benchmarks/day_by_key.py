"""A day of events by key: generate a log in files, inspect it, learn a policy for each key, evaluate on the next hours.

`python -m stumpery.benchmarks.day_by_key --rows 1000000 --jobs 2 --folder out/day` prints a JSON line for each step;
with `--rows 100000000` it is a day of 1,160 events a second. Every step is a process of its own, so that its peak
memory is its own: that of the largest of its processes. Processor microseconds of an event in each quarter of a file
show whether the time of an event stays the same.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stumpery import logs
from stumpery.benchmarks.large_log import measured
from stumpery.columns import Columns
from stumpery.encoding import Schema
from stumpery.jobs import Processes
from stumpery.jobs.executor import Actor, Advance, Executor, in_order
from stumpery.logs.by_key.group import GroupLearner, GroupProgress
from stumpery.logs.by_key.keys import hash_of, rows_by_key
from stumpery.logs.formats.own_parquet import ParquetLogWriter
from stumpery.policies import RewardForest
from stumpery.summaries.exact_sums import ExactSums
from stumpery.system.writing import whole_file

MARKET_COLUMN, N_DAY_COLUMNS, N_MARKET_ACTIONS = "market", 6, 4
BEST_MEAN, OTHER_MEAN = 0.8, 0.3
KEYED_CHUNK = 2**16
SAVES = 16  # of an actor, about
LATER_SHARE = 20  # the next hours have this part of the day's rows
STEPS = ("generate", "inspect", "learn", "evaluate")


def generate(path: Path, n_rows: int, markets: list[int], seed: int, advance: Advance) -> None:
    """Write a file of events of some markets, whose best actions depend on two columns each; actions are uniform."""
    rng = np.random.default_rng(seed)
    tables = [np.random.default_rng(market) for market in markets]
    columns = np.array([table.choice(N_DAY_COLUMNS, 2, replace=False) for table in tables])
    best = np.array([table.permutation(N_MARKET_ACTIONS) for table in tables])
    with whole_file(path) as part, ParquetLogWriter(part, tuple(range(N_MARKET_ACTIONS)), (0.0, 1.0)) as writer:
        for start in range(0, n_rows, KEYED_CHUNK):
            n = min(KEYED_CHUNK, n_rows - start)
            place, x = rng.integers(0, len(markets), n), rng.random((n, N_DAY_COLUMNS)).round(3)
            sides = x[np.arange(n)[:, None], columns[place]] > 0.5
            right = best[place, 2 * sides[:, 0] + sides[:, 1]]
            actions = rng.integers(0, N_MARKET_ACTIONS, n)
            means = np.where(actions == right, BEST_MEAN, OTHER_MEAN)
            contexts: dict[str, Any] = {f"x{column}": x[:, column] for column in range(N_DAY_COLUMNS)}
            contexts[MARKET_COLUMN] = np.array(markets, dtype=np.float64)[place]
            rewards = (rng.random(n) < means).astype(np.float64)
            lines, nothing = np.arange(start, start + n), np.full(n, np.nan)
            shares = np.full(n, 1.0 / N_MARKET_ACTIONS)
            writer.write(logs.LogChunk(Columns(contexts, n), actions, shares, rewards, nothing, None, lines))
            advance(n)


def generate_all(folder: Path, n_rows: int, n_keys: int, n_files: int, executor: Executor) -> None:
    """Write the day, and the next hours."""
    for name, rows, seed in (("day", n_rows, 0), ("later", n_rows // LATER_SHARE, 1)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        markets = [[key for key in range(n_keys) if hash_of(key) % n_files == number] for number in range(n_files)]
        numbers = [number for number in range(n_files) if markets[number]]
        sizes = [round(rows * len(markets[number]) / n_keys) for number in numbers]
        tasks = [
            (folder / name / f"{number:03d}.parquet", size, markets[number], seed * n_files + number)
            for number, size in zip(numbers, sizes, strict=True)
        ]
        list(executor.map(generated, tasks))


def generated(task: tuple[Path, int, list[int], int], advance: Advance) -> None:
    """Write one file."""
    generate(*task, advance)


def inspect(folder: Path, executor: Executor) -> dict[str, Any]:
    """Summarise the day by map and merge."""
    summary = logs.inspect(logs.read(folder / "day"), executor=executor)
    return {"mean reward": round(summary.figures[0]["mean"], 6), "problems": len(summary.report.counts)}


class TimedLearner(GroupLearner):
    """An actor that counts the processor time of its calls."""

    def timed_learn(self) -> tuple[GroupProgress, float]:
        """Learn on; what was done, and the processor seconds that it took."""
        start = time.process_time()
        return self.learn(), time.process_time() - start


class TimedActor:
    """An actor whose calls are noted.

    Args:
        inner: the actor.
        points: takes position and processor seconds after each call.
    """

    def __init__(self, inner: Actor, points: list[tuple[int, float]]) -> None:
        self._inner, self._points = inner, points

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method."""
        progress, spent = self._inner.call(f"timed_{method}", *arguments)
        self._points.append((progress.position, spent))
        return progress

    def stop(self) -> None:
        """End the actor."""
        self._inner.stop()


class TimedExecutor(Processes):
    """Processes whose actors learn files and note the processor time, by file."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.points: list[list[tuple[int, float]]] = []

    def actor(self, kind: Any, *arguments: Any) -> Any:
        """Start a timed learner."""
        points: list[tuple[int, float]] = []
        self.points.append(points)
        return TimedActor(super().actor(TimedLearner, *arguments), points)


def quarters(points: list[list[tuple[int, float]]]) -> list[float]:
    """Processor microseconds of an event in each quarter of the files, over all files."""
    spent, rows = np.zeros(4), np.zeros(4)
    for of_file in points:
        start, total = 0, of_file[-1][0]
        for position, seconds in of_file:
            quarter = min(4 * start // max(total, 1), 3)
            spent[quarter] += seconds
            rows[quarter] += position - start
            start = position
    return [round(float(each), 1) for each in 1e6 * spent / np.maximum(rows, 1)]


def learn(folder: Path, save_rows: int, max_bytes: int, executor: TimedExecutor) -> dict[str, Any]:
    """Learn a forest for each market; processor microseconds of an event by quarter."""
    schema = Schema.of({f"x{column}": "numerical" for column in range(N_DAY_COLUMNS)})
    forest = RewardForest(actions=range(N_MARKET_ACTIONS), schema=schema, max_bytes=max_bytes)
    day, out = logs.read(folder / "day"), folder / "policies"
    learned = logs.learn_by_key(day, forest, out, key=MARKET_COLUMN, executor=executor, save_rows=save_rows)
    return {"policies": len(learned), "rows": learned.n_rows, "us/event by quarter": quarters(executor.points)}


def evaluate(folder: Path, executor: Executor) -> dict[str, Any]:
    """What the policies would earn in the next hours, by inverse propensity scoring, merged exactly over the files."""
    later = logs.read(folder / "later")
    totals = ExactSums(3)
    for sums in in_order(executor.map(partial(evaluated, folder / "policies"), later.parts())):
        totals.merge(sums, [0, 1, 2])
    n, logged, value = totals.values()
    return {"logged reward": round(logged / n, 4), "learned policies": round(value / n, 4), "best possible": BEST_MEAN}


def evaluated(policies: Path, part: logs.Log, advance: Advance) -> ExactSums:
    """Sums over a file: rows, rewards, and rewards by inverse propensity of the policies' best actions."""
    known, sums = logs.KeyedPolicies(policies), ExactSums(3)
    held: dict[Any, Any] = {}
    for chunk in part.chunks(KEYED_CHUNK):
        for key, rows in rows_by_key(chunk, MARKET_COLUMN).items():
            if key not in held:
                held[key] = known[key]
            names = [name for name in chunk.contexts.names if name != MARKET_COLUMN]
            contexts = Columns({name: chunk.contexts[name][rows] for name in names}, len(rows))
            best = held[key].predict_rewards_many(contexts).argmax(axis=1)
            rewards, matches = chunk.rewards[rows], best == chunk.actions[rows]
            sums.add(np.ones(len(rows)))
            sums.add(rewards, np.ones(len(rows), dtype=np.int64))
            sums.add(rewards[matches] / chunk.probabilities[rows][matches], np.full(int(matches.sum()), 2))
        advance(len(chunk))
    return sums


def main() -> None:
    """Run one step, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=64)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-bytes", type=int, default=16_000_000, help="of a forest")
    parser.add_argument("--folder", type=Path, default=Path("out/day"))
    parser.add_argument("--step", choices=STEPS)
    given = parser.parse_args()
    if given.step is None:
        for step in STEPS:
            command = [sys.executable, "-m", "stumpery.benchmarks.day_by_key", *sys.argv[1:], "--step", step]
            n_rows = given.rows // LATER_SHARE if step == "evaluate" else given.rows
            print(measured(step, command, n_rows), flush=True)  # noqa: T201 - a program
        return
    with TimedExecutor(given.jobs) as executor:
        found: dict[str, Any] = {}
        if given.step == "generate":
            generate_all(given.folder, given.rows, given.keys, given.files, executor)
        elif given.step == "inspect":
            found = inspect(given.folder, executor)
        elif given.step == "learn":
            save_rows = max(given.rows // given.files // SAVES, 1)
            found = learn(given.folder, save_rows, given.max_bytes, executor)
        else:
            found = evaluate(given.folder, executor)
    print(json.dumps(found), file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
