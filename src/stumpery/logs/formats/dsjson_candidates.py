"""The candidates of a line of dsjson: their names and their features, from `_multi` in the context."""

from collections.abc import Mapping, Sequence
from typing import Any

from stumpery.system.extras import need
from stumpery.types import Action

MAX_CACHED = 4096  # candidates' names, by the text of `_multi`


class CandidateReader:
    """Reads the candidates of rows.

    Args:
        attribute: the attribute of contexts that holds the text of `_multi`; None where there is none.
        action: the feature that names the actions, such as "action.id"; None takes positions from 1.
    """

    def __init__(self, attribute: str | None, action: str | None) -> None:
        self._multi, self._path = attribute, None if action is None else action.split(".")
        self._json = need("msgspec", "logs").json.Decoder()
        self._named: dict[bytes, tuple[Action, ...]] = {}
        self._numbered: dict[int, tuple[Action, ...]] = {}

    def names(self, contexts: Sequence[Any], events: Sequence[Any]) -> list[tuple[Action, ...]]:
        """The names of the candidates of each row: of those that `_multi` names, else positions from 1."""
        numbered, attribute = self._numbered, self._multi
        names = []
        for context, event in zip(contexts, events, strict=True):
            named = None
            if attribute is not None and self._path is not None and context is not None:
                named = self._names_in(getattr(context, attribute))
            if named is None:
                n_candidates = len(event.order) if event.order else 0
                named = numbered.get(n_candidates)
                if named is None:
                    named = numbered[n_candidates] = tuple(range(1, n_candidates + 1))
            names.append(named)
        return names

    def _names_in(self, raw: Any) -> tuple[Action, ...] | None:
        """The names of the candidates in the text of `_multi`; None if it does not name each, once."""
        if raw is None:
            return None
        text = bytes(raw)
        found = self._named.get(text)
        if found is None:
            values = [_at(each, self._path or ()) for each in self._objects(text)]
            is_named = all(isinstance(value, str | int | float) for value in values) and len(set(values)) == len(values)
            if len(self._named) >= MAX_CACHED:
                self._named.clear()
            found = self._named[text] = tuple(values) if is_named else ()
        return found or None

    def _objects(self, text: bytes) -> list[Any]:
        """The candidates in the text of `_multi`; none where it is no list."""
        found = self._json.decode(text)
        return found if isinstance(found, list) else []

    def features(self, contexts: Sequence[Any], names: Sequence[tuple[Action, ...]]) -> list[Mapping[Any, Any]]:
        """The features of each row's candidates."""
        found: list[Mapping[Any, Any]] = []
        for context, offered in zip(contexts, names, strict=True):
            raw = None if context is None or self._multi is None else getattr(context, self._multi)
            flat = [] if raw is None else [_flat(each) for each in self._objects(bytes(raw))]
            found.append(dict(zip(offered or range(1, len(flat) + 1), flat, strict=False)))
        return found


def _at(value: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """An object's numbers and texts, by dotted keys."""
    found: dict[str, Any] = {}
    for key, each in value.items() if isinstance(value, dict) else ():
        if isinstance(each, dict):
            found |= _flat(each, f"{prefix}{key}.")
        elif isinstance(each, str | int | float) and not key.startswith("_"):
            found[f"{prefix}{key}"] = each
    return found
