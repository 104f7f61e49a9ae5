"""Finished parts of a long run, kept in a folder so that an interrupted run goes on."""

import hashlib
import json
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from stumpery.evaluation.result import json_text
from stumpery.files import write_whole


class FolderParts(MutableMapping[str, Any]):
    """A mapping whose values are JSON files, each written whole or not at all; a damaged one counts as not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __getitem__(self, name: str) -> Any:
        try:
            found = json.loads(self._path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise KeyError(name) from None
        if not isinstance(found, dict) or found.get("name") != name:
            raise KeyError(name)
        return found["part"]

    def __setitem__(self, name: str, part: Any) -> None:
        write_whole(self._path(name), json_text({"name": name, "part": part}).encode())

    def __delitem__(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[str]:
        for path in sorted(self.folder.glob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))["name"]

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob("*.json"))

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.json"
