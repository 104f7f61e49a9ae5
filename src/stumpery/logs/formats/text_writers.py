"""Writers of logs as texts: our own JSON lines, dsjson, and Vowpal Wabbit's `--cb` text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any, BinaryIO

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.logs.chunk import UNKNOWN, LogChunk
from stumpery.logs.formats.own_json import FORMAT_NAME, FORMAT_VERSION
from stumpery.system.extras import need
from stumpery.types import Action

RESERVED = re.compile(r"[\s:|=]")  # characters that mean something in Vowpal Wabbit's text


def heading(actions: Sequence[Action], reward_range: tuple[float, float]) -> dict[str, Any]:
    """What the first line of our own log says."""
    texts = [str(action) for action in actions]
    if len(set(texts)) < len(texts):
        raise InvalidInput(f"actions {sorted(texts)} are not different as texts; they cannot be written")
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "actions": list(actions),
        "reward_range": list(reward_range),
    }


class JsonLogWriter:
    """Our own log as JSON lines.

    Args:
        stream: where to write.
        actions: the log's actions.
        reward_range: the least and the greatest reward.
    """

    def __init__(self, stream: BinaryIO, actions: Sequence[Action], reward_range: tuple[float, float]) -> None:
        self._stream = stream
        self._actions = list(actions)
        self._encode = need("msgspec", "logs").json.encode
        stream.write(self._encode(heading(actions, reward_range)) + b"\n")

    def write(self, chunk: LogChunk) -> int:
        """Write a line for each row."""
        lines = [self._encode(row) for row in self._rows(chunk)]
        self._stream.write(b"".join(line + b"\n" for line in lines))
        return len(lines)

    def _rows(self, chunk: LogChunk) -> Iterator[dict[str, Any]]:
        names = self._actions
        for place, (index, context) in enumerate(zip(chunk.actions.tolist(), chunk.contexts, strict=True)):
            row = {
                "event_id": None if chunk.event_ids is None else chunk.event_ids[place],
                "time": float(chunk.times[place]),
                "context": present(context),
                "action": None if index == UNKNOWN else names[index],
                "probability": float(chunk.probabilities[place]),
                "reward": float(chunk.rewards[place]),
                "weight": None if chunk.weights is None else float(chunk.weights[place]),
            }
            offered = None if chunk.available is None else np.flatnonzero(chunk.available[place]).tolist()
            if chunk.all_probabilities is not None and not np.isnan(chunk.all_probabilities[place]).any():
                values = chunk.all_probabilities[place].tolist()
                places = range(len(names)) if offered is None else offered
                row["probabilities"] = {str(names[each]): values[each] for each in places}
            elif offered is not None:
                row["available"] = [names[each] for each in offered]
            if chunk.action_features is not None:
                features = chunk.action_features[place]
                row["action_features"] = {str(name): dict(values) for name, values in features.items()}
            yield present(row)


class DsjsonWriter:
    """A log as dsjson, with the names of actions as tags and as a feature `action.id`.

    Args:
        stream: where to write.
        actions: the log's actions.
    """

    def __init__(self, stream: BinaryIO, actions: Sequence[Action]) -> None:
        self._stream = stream
        self._actions = list(actions)
        self._encode = need("msgspec", "logs").json.encode

    def write(self, chunk: LogChunk) -> int:
        """Write a line for each row that has an action."""
        rows = np.flatnonzero(chunk.actions != UNKNOWN)
        kept = chunk.where(chunk.actions != UNKNOWN)
        lines = [self._encode(self._event(kept, place, context)) for place, context in enumerate(kept.contexts)]
        self._stream.write(b"".join(line + b"\n" for line in lines))
        return len(rows)

    def _event(self, chunk: LogChunk, place: int, context: Mapping[str, Any]) -> dict[str, Any]:
        index = int(chunk.actions[place])
        everyone = range(len(self._actions))
        offered = list(everyone if chunk.available is None else np.flatnonzero(chunk.available[place]).tolist())
        if index not in offered:
            offered.append(index)
        order = [index, *(each for each in offered if each != index)]
        number = {each: position for position, each in enumerate(offered, 1)}
        reward, probability = float(chunk.rewards[place]), float(chunk.probabilities[place])
        event_id = None if chunk.event_ids is None else chunk.event_ids[place]
        observed = [] if isnan(reward) else [{"EventId": event_id or "", "v": reward}]
        features = {} if chunk.action_features is None else chunk.action_features[place]
        event = {
            "_label_cost": 0.0 - reward,
            "_label_probability": probability,
            "_label_Action": number[index],
            "_labelIndex": number[index] - 1,
            "o": observed,
            "Timestamp": _timestamp(float(chunk.times[place])),
            "Version": "1",
            "EventId": event_id,
            "a": [number[each] for each in order],
            "c": nested(present(context)) | {"_multi": [self._candidate(each, features) for each in offered]},
            "pdrop": None if chunk.weights is None else 1.0 - 1.0 / float(chunk.weights[place]),
        }
        if chunk.all_probabilities is not None and not np.isnan(chunk.all_probabilities[place]).any():
            event["p"] = [float(chunk.all_probabilities[place, each]) for each in order]
        return present(event)

    def _candidate(self, index: int, features: Mapping[Any, Mapping[str, Any]]) -> dict[str, Any]:
        name = self._actions[index]
        return {"_tag": str(name), "action": {"id": str(name)}} | nested(dict(features.get(name, {})))


class CbWriter:
    """A log as Vowpal Wabbit's `--cb` text: actions are numbered from 1.

    Args:
        stream: where to write.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, chunk: LogChunk) -> int:
        """Write a line for each row that has an action and a reward."""
        kept = chunk.where((chunk.actions != UNKNOWN) & ~np.isnan(chunk.rewards))
        numbers = (kept.actions + 1).tolist()
        columns = zip(numbers, kept.rewards.tolist(), kept.probabilities.tolist(), kept.contexts, strict=True)
        for number, reward, probability, context in columns:
            label = f"{number}:{0.0 - reward!r}" + ("" if isnan(probability) else f":{probability!r}")
            self._stream.write(f"{label}{_features(present(context))}\n".encode())
        return len(kept)


def present(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without what is missing."""
    return {
        name: value
        for name, value in row.items()
        if value is not None and value == value  # noqa: PLR0124 - NaN
    }


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as objects within objects, but for those that contradict each other."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        *path, last = name.split(".")
        inner = found
        for key in path:
            child = inner.setdefault(key, {})
            if not isinstance(child, dict):
                inner, last = found, name
                break
            inner = child
        if not name or not all((*path, last)) or isinstance(inner.get(last), dict):
            inner, last = found, name
        inner[last] = value
    return found


def _timestamp(time: float) -> str | None:
    return None if isnan(time) else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _features(context: Mapping[str, Any]) -> str:
    """Features by namespace: what comes before the first dot of a name."""
    namespaces: dict[str, list[str]] = {}
    for column, value in context.items():
        space, dot, name = column.partition(".")
        space, name = (space, name) if dot and name else ("", column)
        text = f"{_safe(name)}={_safe(value)}" if isinstance(value, str) else f"{_safe(name)}:{float(value)!r}"
        namespaces.setdefault(_safe(space), []).append(text)
    return "".join(f" |{space} {' '.join(features)}" for space, features in namespaces.items()) or " |"


def _safe(text: str) -> str:
    return RESERVED.sub("_", text)
