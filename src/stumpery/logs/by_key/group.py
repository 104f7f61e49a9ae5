"""A group of keys: the policies of one file's keys, learned in order and saved with the position in the file.

A worker writes in a folder of its own, named with its start's number. So a worker that was thought dead and still runs
cannot harm what its successor writes: who reads takes the highest number that has a state. A state is one small file,
written whole after all that it names; policies that did not change keep their file of a former state or start.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stumpery.columns import Columns
from stumpery.errors import CorruptFile
from stumpery.logs.by_key.files import KEYED_CHUNK_ROWS
from stumpery.logs.by_key.keys import Key, hash_of, rows_by_key
from stumpery.logs.chunk import LogChunk
from stumpery.logs.log import Log
from stumpery.logs.report import LogReport
from stumpery.policies import Policy
from stumpery.saving.files import load, save
from stumpery.system.writing import write_whole
from stumpery.types import Action

STATE = "state.json"


class GroupState(NamedTuple):
    """What was learned and saved of a group.

    Args:
        position: Rows of the file that were read.
        files: The file of each key's policy, within the group's folder.
    """

    position: int = 0
    files: dict[Key, str] = {}  # noqa: RUF012 - never changed


class GroupProgress(NamedTuple):
    """What a worker has done in one call."""

    position: int
    new_keys: list[Key]
    is_done: bool


def last_state(folder: Path) -> GroupState:
    """The last state of a group; an empty one if there is none."""
    for start in sorted(starts(folder), reverse=True):
        path = folder / str(start) / STATE
        if path.exists():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                return GroupState(int(content["position"]), {key: str(file) for key, file in content["files"]})
            except (ValueError, KeyError, TypeError):
                raise CorruptFile(f"{path} is damaged: it is no state of policies by key") from None
    return GroupState()


def starts(folder: Path) -> list[int]:
    """The numbers of all starts of a group's workers."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.exists() else []


def new_start(folder: Path) -> int:
    """Make the folder of another start; its number is higher than all before."""
    number = max(starts(folder), default=0) + 1
    (folder / str(number)).mkdir(parents=True)
    return number


def loaded(path: Path) -> Policy:
    """A policy from its file."""
    kind: Any = Policy
    policy: Policy = load(path, kind=kind)
    return policy


class GroupLearner:
    """Actor that learns a policy for each key of a file, from where the group's last state ends.

    Args:
        part: the file.
        policy: a policy that has learned nothing, of which each key gets a clone with a seed of its own.
        key: the column of keys, which the policies do not see.
        folder: the group's folder.
        start: the number of this start.
        save_rows: rows after which the state is saved.
        max_bytes: memory of the policies that are held; others wait in their files.
    """

    def __init__(
        self, part: Log, policy: Policy, key: str, folder: Path, start: int, save_rows: int, max_bytes: int
    ) -> None:
        self._part, self._recipe, self._key = part, policy, key
        self._folder, self._start = folder, start
        self._save_rows, self._max_bytes = save_rows, max_bytes
        self._chunk_rows = min(KEYED_CHUNK_ROWS, save_rows)
        self._position, saved = last_state(folder)
        self._files = dict(saved)
        self._held: OrderedDict[Key, Policy] = OrderedDict()  # the one that was used longest ago first
        self._sizes: dict[Key, int] = {}
        self._changed: set[Key] = set()
        self._chunks = self._rest_of_chunks()

    def _rest_of_chunks(self) -> Iterator[LogChunk]:
        """The chunks of the rows that were not learned yet."""
        n_read = 0
        for chunk in self._part.chunks(self._chunk_rows):
            n_known = max(self._position - n_read, 0)
            n_read += len(chunk)
            if n_known < len(chunk):
                yield chunk.where(chunk.lines >= chunk.lines[n_known])

    def learn(self) -> GroupProgress:
        """Learn on until enough rows are learned, or all; then save the state."""
        end, known, is_done = self._position + self._save_rows, set(self._files) | set(self._held), True
        for chunk in self._chunks:
            for value, rows in rows_by_key(chunk, self._key).items():
                self._learn_rows(value, chunk, rows)
            self._position += len(chunk)
            if self._position >= end:
                is_done = False
                break
        new = [key for key in dict.fromkeys([*self._files, *self._held]) if key not in known]
        self._save_state()
        return GroupProgress(self._position, new, is_done)

    def _learn_rows(self, value: Key, chunk: LogChunk, rows: Any) -> None:
        policy = self._held.pop(value, None) or self._policy(value)
        mask = chunk.lines < 0
        mask[rows] = True
        policy.learn_log(KeyRows(self._part, _without(chunk.where(mask), self._key)))
        self._held[value] = policy
        self._changed.add(value)
        self._sizes[value] = policy.n_bytes
        while len(self._held) > 1 and sum(self._sizes.values()) > self._max_bytes:
            oldest = next(iter(self._held))
            self._save_policy(oldest)
            del self._held[oldest], self._sizes[oldest]

    def _policy(self, value: Key) -> Policy:
        """A key's policy: from its file, or a new one."""
        if value in self._files:
            return loaded(self._folder / self._files[value])
        return self._recipe.clone(seed=hash_of(value, self._recipe.seed))

    def _save_policy(self, value: Key) -> None:
        if value in self._changed:
            name = f"{self._start}/{hash_of(value):016x}-{hash_of(value, 1):016x}-{self._position}.safetensors"
            save(self._held[value], self._folder / name)
            self._files[value] = name
            self._changed.discard(value)

    def _save_state(self) -> None:
        for value in list(self._held):
            self._save_policy(value)
        own = self._folder / str(self._start)
        content = {"position": self._position, "files": list(self._files.items())}
        write_whole(own / STATE, json.dumps(content).encode())
        kept = {self._folder / name for name in self._files.values()}
        for path in own.glob("*.safetensors"):
            if path not in kept:
                path.unlink()


class KeyRows:
    """Some rows of a log as a log, which a policy learns.

    Args:
        part: the log.
        chunk: the rows.
    """

    def __init__(self, part: Log, chunk: LogChunk) -> None:
        self._part, self._chunk = part, chunk

    @property
    def actions(self) -> Sequence[Action]:
        """The log's actions."""
        return self._part.actions

    @property
    def report(self) -> LogReport:
        """The log's report."""
        return self._part.report

    def chunks(self) -> Iterator[LogChunk]:
        """The rows."""
        yield self._chunk

    def index_for(self, actions: Sequence[Action]) -> list[int]:
        """The place of each of the log's actions among others."""
        return self._part.index_for(actions)


def _without(chunk: LogChunk, key: str) -> LogChunk:
    """A chunk without the column of keys."""
    names = [name for name in chunk.contexts.names if name != key]
    contexts = Columns({name: chunk.contexts[name] for name in names}, len(chunk))
    return LogChunk(contexts, chunk.actions, chunk.probabilities, chunk.rewards, chunk.times, None, chunk.lines)
