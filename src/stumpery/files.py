"""Save a model and go on later, bit for bit as if it had never stopped.

A file is a safetensors file: the model's arrays, and in the header a versioned JSON text with its kind, its options
and a digest of it all. No pickle: nothing in a file is ever run.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from stumpery.models import Model
from stumpery.options import check_whole
from stumpery.reseeding import reseeded
from stumpery.types import Saveable, State

FORMAT = 1
_KEY = "stumpery"


def save(model: Saveable, path: str | os.PathLike[str]) -> None:
    """Write `model` to `path`, whole or not at all: a file that was there stays until the new one is complete."""
    from safetensors.numpy import save as serialise

    kind = type(model).__name__
    if class_named(kind) is not type(model):
        raise ValueError(f"save takes a model of Stumpery's own, not {kind!r}")
    options, arrays = model.snapshot() if isinstance(model, Model) else model.state()
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    try:
        header = {
            "format": FORMAT,
            "version": version("stumpery"),
            "kind": kind,
            "options": options,
            "digest": _digest(kind, options, arrays),
        }
        text = json.dumps(header, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ValueError(f"this {kind} cannot be saved: {error}") from None
    write_whole(Path(path), serialise(arrays, metadata={_KEY: text}))


def load(path: str | os.PathLike[str], *, seed: int | None = None) -> Any:
    """Read what `save` wrote; a ValueError says what is wrong with any other file.

    With a `seed` the model draws from random streams of its own, as each of several processes should.
    """
    if seed is not None:
        check_whole("seed", seed, 0, 2**63 - 1)
    try:
        return _load(Path(path), seed)
    except RecursionError:
        raise ValueError(f"{path} is damaged: its header is nested too deeply") from None


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all."""
    with whole_file(path) as part:
        part.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the name `path` once all is on the disk, and is deleted if that fails."""
    path = path.resolve()  # through a link, to what it stands for
    if not path.parent.is_dir() or not path.name:
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name or 'a file'} in")
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        yield part
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def restore(into: dict[str, NDArray[Any]], found: dict[str, NDArray[Any]]) -> None:
    """Copy saved arrays over a new model's own, in place, once every name, type and shape is seen to fit."""
    if into.keys() != found.keys():
        raise ValueError(f"its arrays are {sorted(found)}, not {sorted(into)}")
    for name, array in into.items():
        if found[name].dtype != array.dtype or found[name].shape != array.shape:
            what = f"{found[name].dtype}{found[name].shape}"
            raise ValueError(f"its array {name!r} is {what}, not {array.dtype}{array.shape}")
        if array.dtype == np.bool_ and (found[name].view(np.uint8) > 1).any():
            raise ValueError(f"its array {name!r} holds what is neither true nor false")
    for name, array in into.items():
        np.copyto(array, found[name])


def _load(path: Path, seed: int | None) -> Any:
    header, arrays = _read(path)
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
        state = State(options, arrays)
        return class_named(kind).from_state(state if seed is None else reseeded(state, seed))
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        raise ValueError(f"{path} does not hold a usable {kind}: {error}") from error


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
    except (SafetensorError, OSError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a Stumpery file, or it is cut short: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is damaged: its header is not a JSON object")
    return header, arrays


def class_named(kind: str) -> Any:
    """The public class of that name, whose models can be saved; a ValueError if there is none."""
    package = import_module("stumpery")
    found = getattr(package, kind) if kind in package.__all__ else None
    if not hasattr(found, "from_state"):
        raise ValueError(f"this version of Stumpery knows no model of the kind {kind!r}")
    return found


def is_ours(model: Any) -> bool:
    """Whether a model's class is one of the public ones that can be saved, and not only called like it."""
    try:
        return class_named(type(model).__name__) is type(model)
    except ValueError:
        return False


def _digest(kind: str, options: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps([kind, options], sort_keys=True, default=_plain).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """NumPy's numbers and other real ones as JSON knows them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{value!r} is no plain value")
