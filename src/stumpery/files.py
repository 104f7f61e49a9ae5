"""Save a model and go on later, bit for bit as if it had never stopped.

A file is a safetensors file: the model's arrays, and in the header a versioned JSON text with its kind, its options
and a digest of it all. No pickle: nothing in a file is ever run.
"""

import hashlib
import json
import os
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.types import Saveable, State

FORMAT = 1
_KEY = "stumpery"


def save(model: Saveable, path: str | os.PathLike[str]) -> None:
    """Write `model` to `path`, whole or not at all: a file that was there stays until the new one is complete."""
    from safetensors.numpy import save as serialise

    if not callable(getattr(model, "state", None)):
        raise ValueError(f"save takes a model of Stumpery's, not {type(model).__name__!r}")
    kind = type(model).__name__
    options, arrays = model.state()
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {
        "format": FORMAT,
        "version": version("stumpery"),
        "kind": kind,
        "options": options,
        "digest": _digest(kind, options, arrays),
    }
    write_whole(Path(path), serialise(arrays, metadata={_KEY: json.dumps(header, allow_nan=False)}))


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote; a ValueError says what is wrong with any other file."""
    header, arrays = _read(Path(path))
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format {header.get('format')!r} and was written by Stumpery {header.get('version')!r}: "
            f"this version reads format {FORMAT}, please upgrade"
        )
    kind, options = header.get("kind"), header.get("options")
    if not isinstance(kind, str) or not isinstance(options, dict):
        raise ValueError(f"{path} is damaged: its header names no model")
    if header.get("digest") != _digest(kind, options, arrays):
        raise ValueError(f"{path} is damaged: its content is not what was saved")
    try:
        return _class_named(kind).from_state(State(options, arrays))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} does not hold a usable {kind}: {error}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Write beside `path`, make sure that it reached the disk, then rename."""
    folder = path.parent
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def restore(into: dict[str, NDArray[Any]], found: dict[str, NDArray[Any]]) -> None:
    """Copy saved arrays over a new model's own, in place, once every name, type and shape is seen to fit."""
    if into.keys() != found.keys():
        raise ValueError(f"its arrays are {sorted(found)}, not {sorted(into)}")
    for name, array in into.items():
        if found[name].dtype != array.dtype or found[name].shape != array.shape:
            what = f"{found[name].dtype}{found[name].shape}"
            raise ValueError(f"its array {name!r} is {what}, not {array.dtype}{array.shape}")
    for name, array in into.items():
        np.copyto(array, found[name])


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(metadata[_KEY])
    except KeyError:
        raise ValueError(f"{path} is a safetensors file, but not one of Stumpery's") from None
    except (SafetensorError, OSError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a Stumpery file, or it is cut short: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is damaged: its header is not a JSON object")
    return header, arrays


def _class_named(kind: str) -> Any:
    public = import_module("stumpery.public")
    if kind not in public.__all__ or not callable(getattr(getattr(public, kind), "from_state", None)):
        raise ValueError(f"this version of Stumpery knows no model of that kind {kind!r}")
    return getattr(public, kind)


def _digest(kind: str, options: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps([kind, options], sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
