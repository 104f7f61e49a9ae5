"""Learn a policy for each key of a partitioned log, an actor for each of its files."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from threading import Event, Lock
from typing import Any

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.jobs.executor import N_STARTS, Actor, Executor, WorkerLost, check_executor
from stumpery.jobs.threads import Threads
from stumpery.logs.by_key.group import GroupLearner, last_state, loaded, new_start
from stumpery.logs.by_key.keys import Key, check_key
from stumpery.logs.log import Log
from stumpery.options import check_callable, check_whole, shown
from stumpery.policies import Policy
from stumpery.system.writing import as_path, write_whole

RECIPE = "by_key.json"


class KeyedPolicies(Mapping[Key, Policy]):
    """The policies that `learn_by_key` saved, by key; each is loaded when it is asked for.

    Args:
        folder: The folder.

    >>> import tempfile
    >>> KeyedPolicies(tempfile.mkdtemp())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: there are no policies by key in ...
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._folder = as_path(folder)
        if not (self._folder / RECIPE).is_file():
            raise FileNotFoundError(f"there are no policies by key in {self._folder}")
        self._paths: dict[Key, Path] = {}
        self.n_rows = 0
        for group in _folders(self._folder):
            state = last_state(group)
            self.n_rows += state.position
            self._paths |= {key: group / name for key, name in state.files.items()}

    def __getitem__(self, key: Key) -> Policy:
        return loaded(self._paths[key])

    def __iter__(self) -> Iterator[Key]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"KeyedPolicies({len(self):,} keys, {self.n_rows:,} rows)"


def learn_by_key(
    log: Log,
    policy: Policy,
    out: str | PathLike[str],
    *,
    key: str,
    executor: Executor | None = None,
    save_rows: int = 200_000,
    max_bytes: int = 2**30,
    progress: Callable[[int], None] | None = None,
) -> KeyedPolicies:
    """Learn a policy for each key of a log in several files, one actor per file, and save all in a folder.

    An actor learns its file in order and saves its policies with the position. If its process or machine is lost,
    another one goes on from there, and the bits are those of a run without loss; so does a later call with the same
    arguments. All rows of a key are in one file, as `write_by_key` makes them.

    Args:
        log: The log, such as a folder of Parquet files.
        policy: A policy that has learned nothing; each key gets a clone of it, with a seed of its own. One that needs
            several rows to infer its columns is best given a schema: a key's first rows may come alone.
        out: The folder for the policies, which all workers see under this path.
        key: The column of keys, strings or whole numbers; policies do not see it. Rows without a key are left out.
        executor: Where actors run, such as `stumpery.jobs.Processes(4)`; by default here, two at a time.
        save_rows: Rows after which an actor saves its policies; a loss costs at most that many, learned again.
        max_bytes: Memory of the policies that an actor holds; the others wait in their files, which takes longer.
        progress: Called with numbers of rows, each counted once.

    >>> import tempfile
    >>> import stumpery as st
    >>> frame = {"shop": ["paris", "rome"] * 50, "action": ["a", "b"] * 50, "reward": [1.0, 0.0] * 50}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward")
    >>> learn_by_key(log, st.UCB(actions=["a", "b"]), tempfile.mkdtemp(), key="shop")
    KeyedPolicies(2 keys, 100 rows)
    """
    check_key(log, key)
    if not isinstance(policy, Policy):
        raise InvalidInput(f"policy is {shown(policy)}; it must be one that has learned nothing")
    check_whole("save_rows", save_rows, 1)
    check_whole("max_bytes", max_bytes, 1)
    check_callable("progress", progress)
    executor = Threads() if executor is None else executor
    check_executor(executor)
    folder = as_path(out)
    parts = log.scan().parts()
    _check_recipe(folder, {"policy": repr(policy), "key": key, "files": [part.name for part in parts]})
    groups = _Groups(parts, folder, executor, progress, (policy.clone(), key, save_rows, max_bytes))
    with ThreadPoolExecutor(min(executor.n_workers, len(parts))) as pool:
        runs = [pool.submit(groups.learn, number) for number in range(len(parts))]
        try:
            for run in runs:
                run.result()
        except BaseException:
            groups.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return KeyedPolicies(folder)


class _Groups:
    """The actors of all files, each driven by a thread.

    Args:
        parts: the files.
        folder: for the policies.
        executor: where actors run.
        progress: what takes numbers of rows.
        options: of the actors: policy, key, save_rows, max_bytes.
    """

    def __init__(
        self,
        parts: list[Log],
        folder: Path,
        executor: Executor,
        progress: Callable[[int], None] | None,
        options: tuple[Policy, str, int, int],
    ) -> None:
        self._parts, self._folders = parts, [folder / f"group-{number:04d}" for number in range(len(parts))]
        self._executor, self._progress, self._options = executor, progress, options
        self._lock, self._stopped = Lock(), Event()
        self._actors: dict[int, Actor] = {}
        self._group_of: dict[Key, int] = {}
        for number, group in enumerate(self._folders):
            self._note(number, list(last_state(group).files))

    def learn(self, number: int) -> None:
        """Learn one file to its end, with another actor where one is lost."""
        policy, key, save_rows, max_bytes = self._options
        group, n_losses = self._folders[number], 0
        position = last_state(group).position
        self._advance(position)
        while not self._stopped.is_set():
            arguments = (self._parts[number], policy, key, group, new_start(group), save_rows, max_bytes)
            try:
                actor = self._actors[number] = self._executor.actor(GroupLearner, *arguments)
                is_done = False
                while not is_done and not self._stopped.is_set():
                    reached, new_keys, is_done = actor.call("learn")
                    self._note(number, new_keys)
                    self._advance(reached - position)
                    position, n_losses = reached, 0
                return
            except WorkerLost:
                n_losses += 1
                if n_losses == N_STARTS and not self._stopped.is_set():
                    raise
            finally:
                if number in self._actors:
                    self._actors.pop(number).stop()

    def stop(self) -> None:
        """End all actors."""
        self._stopped.set()
        for actor in list(self._actors.values()):
            actor.stop()

    def _note(self, number: int, keys: list[Key]) -> None:
        with self._lock:
            for key in keys:
                other = self._group_of.setdefault(key, number)
                if other != number:
                    names = " and ".join(self._parts[each].name for each in sorted((other, number)))
                    raise InvalidInput(f"the key {key!r} is in {names}; write_by_key writes each key to one file")

    def _advance(self, n_rows: int) -> None:
        with self._lock:
            if self._progress is not None and n_rows > 0:
                self._progress(n_rows)


def _check_recipe(folder: Path, recipe: dict[str, Any]) -> None:
    """Note what a folder holds; refuse one of another policy or log."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RECIPE
    if not path.exists():
        write_whole(path, json.dumps(recipe).encode())
        return
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise CorruptFile(f"{path} is damaged: it does not say what the policies are") from None
    for name, value in recipe.items():
        if not isinstance(found, dict) or found.get(name) != value:
            raise InvalidInput(f"{folder} has policies of another {name}; out must be a folder of these, or a new one")


def _folders(folder: Path) -> list[Path]:
    return sorted(folder.glob("group-*"))
