"""Storage of finished parts of a study, so that an interrupted run resumes."""

import hashlib
import json
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from stumpery.evaluation.result import json_text
from stumpery.system.writing import write_whole


class FolderParts(MutableMapping[str, Any]):
    """A mapping stored as JSON files, each written atomically; a damaged file counts as missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __getitem__(self, name: str) -> Any:
        content = _read(self._path(name))
        if content is None or content["name"] != name:
            raise KeyError(name)
        return content["part"]

    def __setitem__(self, name: str, part: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)  # another run of the same settings may have removed it
        write_whole(self._path(name), json_text({"name": name, "part": part}).encode())

    def __delitem__(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[str]:
        names = (content["name"] for content in map(_read, sorted(self.folder.glob("*.json"))) if content is not None)
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.keys() == {"name", "part"} else None
