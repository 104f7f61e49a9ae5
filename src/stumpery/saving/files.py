"""Save and load models: a loaded model resumes bit for bit.

A file is a safetensors file: the model's arrays, and in the header a versioned JSON text with its kind, its options
and a digest of it all. Arrays that are mostly zeros are packed. No pickle: nothing in a file is ever run.
"""

import hashlib
import json
import logging
import math
import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CapacityError, CorruptFile, InvalidInput
from stumpery.options import check_whole, shown
from stumpery.saving import former_names, packing
from stumpery.saving.reseeding import reseeded
from stumpery.saving.saveable import Saveable, class_named, is_ours, snapshot_of
from stumpery.system.allocation import limited, reserve
from stumpery.system.writing import as_path, kind_of, resolved, write_whole
from stumpery.types import State

logger = logging.getLogger(__name__)

FORMAT = 3
SECOND_FORMAT = 2  # with former names of arrays and options
FIRST_FORMAT = 1  # with former names; its digest covers kind, options and arrays, and no array is packed
MAX_HEADER_BYTES = 2**26
MAX_DEPTH = 100  # of lists and objects within each other
FREE_BYTES, MULTIPLE = 2**29, 32  # loading a file of n bytes may take FREE_BYTES + MULTIPLE * n bytes
FREE_UNPACKED, MAX_RATIO = 2**24, 8  # arrays may unpack to FREE_UNPACKED + MAX_RATIO * n bytes
PADDING = "padding"
_KEY = "stumpery"
Kind = TypeVar("Kind", bound=Saveable)
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)', re.DOTALL)


def save(model: Saveable, path: str | os.PathLike[str]) -> None:
    """Save a model to a file, whole or not at all: a file that was there stays until the new one is complete.

    A link is followed. Only a regular file is replaced. When this returns, the file is on the disk.

    Args:
        model: A model of Stumpery's own.
        path: The file.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save as serialise

    kind = type(model).__name__
    if not is_ours(model):
        raise InvalidInput(f"save takes a model of Stumpery's own, not {kind!r}")
    target = as_path(path)
    options, arrays = snapshot_of(model)
    tensors, packed = _packed(arrays)
    try:
        header = {
            "format": FORMAT,
            "version": version("stumpery"),
            "kind": kind,
            "options": options,
            "packed": packed,
        }
        header = json.loads(json.dumps(header, allow_nan=False, default=_plain))
        text = json.dumps({**header, "digest": _digest(header, tensors)})
        _check_nesting(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"this {kind} cannot be saved: {error}") from None
    if len(text) > MAX_HEADER_BYTES:
        raise InvalidInput(f"this {kind} cannot be saved: its options take {len(text):,} bytes of {MAX_HEADER_BYTES:,}")
    try:
        content = serialise(tensors, metadata={_KEY: text})
    except SafetensorError as error:
        raise InvalidInput(f"this {kind} cannot be saved: {error}") from None
    write_whole(target, content)


@overload
def load(
    path: str | os.PathLike[str], *, kind: type[Kind], seed: int | None = ..., max_bytes: int | None = ...
) -> Kind: ...


@overload
def load(path: str | os.PathLike[str], *, seed: int | None = ..., max_bytes: int | None = ...) -> Saveable: ...


def load(
    path: str | os.PathLike[str], *, kind: Any = None, seed: int | None = None, max_bytes: int | None = None
) -> Any:
    """Load the model that `save` wrote; a CorruptFile says what is wrong with any other file.

    Args:
        path: The file.
        kind: Class of the model, or a base class of it, such as `stumpery.RewardForest`. A model of another kind is
            refused, and type checkers know what is returned.
        seed: Seed of random streams of its own, as each of several processes that load one file should have.
        max_bytes: Memory that loading may take; by default 512 MB and 32 times the size of the file. A CapacityError
            says that the model needs more.
    """
    source = as_path(path)
    if kind is not None and not isinstance(kind, type):
        raise InvalidInput(f"kind is {shown(kind)}; it must be a class of models, such as stumpery.RewardForest")
    if seed is not None:
        check_whole("seed", seed, 0, 2**63 - 1)
    if max_bytes is not None:
        check_whole("max_bytes", max_bytes, 1)
    try:
        return _load(source, kind, seed, max_bytes)
    except RecursionError:
        raise CorruptFile(f"{path} is damaged: its header is nested too deeply") from None


def _load(path: Path, wanted: type | None, seed: int | None, max_bytes: int | None) -> Any:
    header, tensors, n_bytes = _read(path)
    format_, writer = header.get("format"), header.get("version")
    if type(format_) is not int or format_ not in (FIRST_FORMAT, SECOND_FORMAT, FORMAT):
        raise CorruptFile(
            f"{path} has format {format_!r} and was written by Stumpery {writer!r}: "
            f"this version reads formats {FIRST_FORMAT} to {FORMAT}, please upgrade"
        )
    kind, options = header.get("kind"), header.get("options")
    if not isinstance(kind, str) or not isinstance(options, dict) or not isinstance(writer, str):
        raise CorruptFile(f"{path} is damaged: its header has no kind of model")
    digest = header.pop("digest", None)
    is_first = format_ == FIRST_FORMAT
    computed = _first_digest(kind, options, tensors) if is_first else _digest(header, tensors)
    if digest != computed:
        raise CorruptFile(f"{path} is damaged: its content is not what was saved")
    if wanted is not None and not issubclass(class_named(kind), wanted):
        raise InvalidInput(f"{path} holds a model of the kind {kind}; kind is {wanted.__name__}")
    try:
        _check_finite(options)
        with limited(FREE_BYTES + MULTIPLE * n_bytes if max_bytes is None else max_bytes):
            state = State(options, _unpacked(tensors, {} if is_first else header.get("packed")))
            if format_ != FORMAT:
                logger.info("%s has format %d of Stumpery %s; its names are converted", path, format_, writer)
                state = former_names.renamed_state(kind, state)
            return class_named(kind).from_state(state if seed is None else reseeded(state, seed))
    except MemoryError as error:
        reason = error if isinstance(error, CapacityError) else "it needs more memory than there is"
        raise CapacityError(f"{path} holds a {kind} that cannot be loaded: {reason}") from None
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        sentence = " ".join(str(error).split())
        raise CorruptFile(f"{path} does not hold a usable {kind}: {sentence}") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], int]:
    """The header, all tensors and the size of a file."""
    from safetensors import SafetensorError, safe_open

    try:
        is_file = resolved(path).is_file()
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from None
    if not is_file:
        raise FileNotFoundError(f"there is no file {path}{f': it is {kind_of(path)}' if path.exists() else ''}")
    try:
        n_bytes = path.stat().st_size
        with path.open("rb") as start:
            if int.from_bytes(start.read(8), "little") > 2 * MAX_HEADER_BYTES:
                raise CorruptFile("its header is too long")
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        _check_nesting(metadata[_KEY])
        header = json.loads(metadata[_KEY], object_pairs_hook=_object)
    except KeyError:
        raise CorruptFile(f"{path} is a safetensors file, but not one of Stumpery's") from None
    except PermissionError as error:
        raise PermissionError(f"{path} cannot be read: {error.strerror}") from None
    except (SafetensorError, OSError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise CorruptFile(f"{path} is not a Stumpery file, or it is cut short: {error}") from None
    if not isinstance(header, dict):
        raise CorruptFile(f"{path} is damaged: its header is not a JSON object")
    return header, tensors, n_bytes


def _packed(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The tensors of a file, and the types and shapes of the arrays that are packed in it.

    Padding keeps the size of the file in proportion to the memory that loading it takes.
    """
    tensors: dict[str, NDArray[Any]] = {}
    forms: dict[str, Any] = {}
    for name, array in arrays.items():
        contiguous = np.ascontiguousarray(array)
        packed = packing.pack(contiguous)
        if packed is None:
            tensors[name] = contiguous
        else:
            forms[name] = [array.dtype.name, list(array.shape)]
            tensors |= {f"{name}|{part}": each for part, each in packed._asdict().items()}
    n_unpacked = sum(array.nbytes for array in arrays.values())
    n_bytes = sum(tensor.nbytes for tensor in tensors.values())
    missing = (n_unpacked - FREE_UNPACKED) // MAX_RATIO - n_bytes
    if missing > 0:
        tensors[PADDING] = np.zeros(missing, np.uint8)
    return tensors, forms


def _unpacked(tensors: dict[str, NDArray[Any]], forms: Any) -> dict[str, NDArray[Any]]:
    """The unpacked arrays of a file; the memory for all of them is counted before the first is unpacked."""
    if not isinstance(forms, dict):
        raise CorruptFile("corrupt file: its packed arrays have no types and shapes")
    reserve(sum(packing.size_of(form) for form in forms.values()))
    arrays = dict(tensors)
    arrays.pop(PADDING, None)
    for name, form in forms.items():
        parts = {part: arrays.pop(f"{name}|{part}", None) for part in packing.Packed._fields}
        if name in arrays or any(each is None for each in parts.values()):
            raise CorruptFile(f"corrupt file: the parts of its packed array {name!r} are not complete")
        arrays[name] = packing.unpack({part: each for part, each in parts.items() if each is not None}, form)
    return arrays


def _digest(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> str:
    """A digest of the whole header without the digest itself, and of all tensors as they are in the file."""
    return _hashed(header, tensors)


def _first_digest(kind: str, options: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """The digest of files of the first format, which covers no version."""
    return _hashed([kind, options], arrays)


def _hashed(content: Any, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=_plain).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Convert NumPy's and other real numbers for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{value!r} is no plain value")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a name that occurs twice is refused, as it could be read in two ways."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise CorruptFile("a name occurs twice in its header")
    return result


def _check_nesting(text: str) -> None:
    """Refuse lists and objects nested so deeply that reading them would need a deep stack."""
    brackets = np.frombuffer(_TEXTS.sub(b"", text.encode()), np.uint8)
    steps = np.isin(brackets, (ord("["), ord("{"))).astype(np.int8) - np.isin(brackets, (ord("]"), ord("}"))).astype(
        np.int8
    )
    if int(np.cumsum(steps, dtype=np.int32).max(initial=0)) > MAX_DEPTH:
        raise CorruptFile(f"lists and objects are nested more than {MAX_DEPTH} deep")


def _check_finite(options: Any) -> None:
    """Refuse numbers that are not finite, which strict JSON does not have."""
    waiting = [options]
    while waiting:
        value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise CorruptFile(f"corrupt file: its options hold {value}, which is no finite number")
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
