"""The compiler's settings, named here and nowhere else.

`@kernel` compiles a function with Numba, keeps the machine code on disk and releases the interpreter lock while it
runs. Three switches, read once from the environment:

- `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for debuggers and coverage;
- `STUMPERY_BOUNDS_CHECK=1` makes a kernel raise where it would read past an array's end;
- `STUMPERY_CACHE` names the folder for compiled kernels instead of the user's cache folder (see `folders.py`).

Numba's own cache looks only at the file in which a kernel stands, not at the files of the kernels that it calls, nor
at the bounds-check switch. So the cache folder's name is a hash of all kernel sources and of the mode: a change
anywhere compiles anew, and nothing stale is ever run.

Compiling makes hundreds of thousands of Python objects at a time: looking for garbage among them again and again took a
sixth of the time, so the collector rests meanwhile. Numba also looks up every call under all compiler options, by a
hash and a comparison that read each of them: a twentieth of the time, so both are answered at once here.

`@part` is for functions that only kernels call; a kernel that another one calls is a part there, too. Numba would
optimise each of them fully, again wherever it is called, and make machine code that nobody runs. A part is only tidied
up; the kernel that holds it is optimised as a whole. Constants among its arguments do not compile it again.
Numba also counts who holds an array, by an atomic step at each end of every view and every call. A part that makes no
array and gives none back only borrows: it goes without, which made the forests half as fast again.

`prefetch` asks for memory that will be needed soon: trees jump about in more of it than the processor's caches hold.
"""

import gc
import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import _dynfunc, config, types
from numba.core import cgutils, ir
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from numba.extending import intrinsic

from stumpery.folders import cache_root

Function = TypeVar("Function", bound=Callable[..., Any])

INTERPRETED = bool(config.DISABLE_JIT)
BOUNDS_CHECK = os.environ.get("STUMPERY_BOUNDS_CHECK", "0") not in ("", "0")
KNOWS_PARTS = tuple(numba.version_info[:2]) == (0, 68)  # whose insides `_PartCompiler` was written for
SETTINGS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": BOUNDS_CHECK,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
N_CACHES_KEPT = 6
LINE = 64  # bytes that the processor fetches at once


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or take its machine code from the disk."""
    if INTERPRETED:
        return _quiet(function)
    compiled = numba.njit(**SETTINGS)(function)
    folder = kernel_cache()
    if folder is not None:
        # The setting is read when the cache is made; put back at once, the caller's own Numba code is untouched.
        before, config.CACHE_DIR = config.CACHE_DIR, folder
        try:
            compiled._cache = _ForgivingCache(function)
        finally:
            config.CACHE_DIR = before
    inner: Any = part(function)  # what kernels get that call this one
    compiled.get_call_template, compiled.get_overload = inner.get_call_template, inner.get_overload
    compiled.compile = _uncollected(compiled.compile)
    return compiled  # type: ignore[no-any-return]


def part(function: Function) -> Function:
    """Compile `function` only as a part of the kernels that call it: Python cannot, and they compile much faster."""
    if INTERPRETED:
        return _quiet(function)
    options: dict[str, Any] = {"pipeline_class": _PartCompiler} if KNOWS_PARTS else {}
    compiled = numba.njit(no_cpython_wrapper=True, **SETTINGS, **options)(function)
    compiled.get_call_template = _of_any_number(compiled.get_call_template)
    return compiled  # type: ignore[no-any-return]


def _of_any_number(find: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's search for a function that takes such arguments, as if no number among them were known."""

    def found(arguments: Any, named: Any) -> Any:
        return find(
            tuple(map(types.unliteral, arguments)), {name: types.unliteral(kind) for name, kind in named.items()}
        )

    return found


@intrinsic  # type: ignore[untyped-decorator]
def _touch(context: Any, array: Any, place: Any) -> Any:
    """Ask for the line of memory that holds a byte of a C-contiguous array, counted from its start."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory = target.make_array(signature.args[0])(target, builder, arguments[0]).data
        start = builder.bitcast(memory, llvm.IntType(8).as_pointer())
        word = llvm.IntType(32)
        kind = llvm.FunctionType(llvm.VoidType(), (start.type, word, word, word))
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(ask, (builder.gep(start, [arguments[1]]), word(0), word(3), word(1)))  # to read, and to keep
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _same_bits(context: Any, number: Any) -> Any:
    """A 32-bit number's bits, as a whole one."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], llvm.IntType(32))

    return types.uint32(types.float32), generate


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A part's code, to be linked into kernels: tidied up, but neither optimised in full nor made into machine code."""

    def _optimize_final_module(self) -> None:
        level = self._codegen._opt_level
        tidy = {"loop_vectorize": False, "slp_vectorize": False, "opt": level, "cost": "cheap"}
        passes, builder = self._codegen._module_pass_manager(**tidy)
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):  # type: ignore[misc]
    """Numba's last step for a part: its code goes into a `_PartLibrary`, and its Python function leads nowhere."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.library = _PartLibrary(context.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        context.get_executable = _nowhere  # Numba's compiler lock is held
        counts, context.enable_nrt = context.enable_nrt, context.enable_nrt and not _only_borrows(state)
        try:
            return bool(super().run_pass(state))
        finally:
            context.enable_nrt = counts
            del context.get_executable


def _only_borrows(state: Any) -> bool:
    """Whether a part makes no array and gives none back: then all it touches outlives it, and need not be counted.

    What is not known to be safe is counted: generators, and whatever is neither an array nor a tuple of arrays.
    """

    def holds(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    def plain(kind: Any) -> bool:
        parts = kind.types if isinstance(kind, types.BaseTuple) else ()
        return isinstance(kind, types.Array) or not holds(kind) or (bool(parts) and all(map(plain, parts)))

    if state.func_ir.is_generator or holds(state.return_type) or not all(map(plain, state.typemap.values())):
        return False
    held = {name for name, kind in state.typemap.items() if holds(kind)}
    steps = (step for block in state.func_ir.blocks.values() for step in block.body)
    return all(_borrows(step, held, state.typemap) for step in steps)


def _borrows(step: Any, held: set[str], kinds: Any) -> bool:
    """Whether one step of a part makes no array and hands none to Numba's own functions; `held` names all arrays."""
    if isinstance(step, ir.SetItem | ir.StaticSetItem):
        return not held & {name.name for name in step.list_vars() if name != step.target}
    if not isinstance(step, ir.Assign) or not isinstance(step.value, ir.Expr):
        return True
    expression = step.value
    gives = step.target.name in held
    if expression.op == "call":
        called = kinds[expression.func.name]
        lends = isinstance(called, types.Dispatcher) or getattr(called, "typing_key", None) is _touch
        return not gives and (lends or not _held_in(expression, held))
    if not gives or expression.op in ("cast", "phi", "exhaust_iter", "build_tuple"):
        return True
    if expression.op == "getattr":
        return isinstance(kinds[expression.value.name], types.BaseTuple)
    if expression.op in ("getitem", "static_getitem"):  # an array as the index would make another
        return _held_in(expression, held) == {expression.value.name}
    return False


def _held_in(expression: Any, held: set[str]) -> set[str]:
    return held & {name.name for name in expression.list_vars()}


def _nowhere(library: Any, descriptor: Any, environment: Any) -> Any:
    """What Numba registers a part under."""
    name = descriptor.qualname.rpartition(".")[2]
    return _dynfunc.make_function(descriptor.lookup_module(), name, "a part", 0, environment, (library,))


class _PartCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with `_PartLowering` as its last step, and without those that parts have no use for.

    These look for functions within functions and for sums of whole arrays.
    """

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes[:] = [
            (_PartLowering if step is NativeLowering else step, description)
            for step, description in manager.passes
            if step not in (InlineClosureLikes, NopythonRewrites)
        ]
        manager.finalize()
        return [manager]


class _ForgivingCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but what is damaged on the disk is made again, and a full disk only costs the next start."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # whatever a damaged file makes of the loader
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(signature, data)


@cache
def kernel_cache() -> str | None:
    """The folder for this version's machine code; None, and no caching, where nothing can be written."""
    try:
        folder = cache_root() / "kernels" / fingerprint()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _forget_old_caches(folder.parent)
    except (OSError, RuntimeError):  # the second: a user without a home
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def kernel_files() -> list[Path]:
    """Every file of the package in which kernels may stand."""
    package = Path(__file__).parent
    return [package / "jit.py", package / "random.py", *sorted(package.rglob("*_kernels.py"))]


def fingerprint() -> str:
    """A hash of all kernel sources and of the mode."""
    digest = hashlib.sha256(b"checked" if BOUNDS_CHECK else b"fast")
    for path in kernel_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _forget_old_caches(root: Path) -> None:
    with suppress(OSError):  # another process may be doing the same
        folders = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for stale in folders[N_CACHES_KEPT:]:
            shutil.rmtree(stale, ignore_errors=True)


@cache
def _hash_of(kind: Any) -> int:
    """What Numba takes for the hash of compiler options: of their names alone."""
    return hash(tuple(sorted(kind.options)))


def _equal(options: Any, others: Any) -> Any:
    """Numba's own answer, but at once where the same ones are set."""
    if not isinstance(others, TargetConfig):
        return NotImplemented
    if type(options) is type(others) and options._values == others._values:
        return True
    return options.values() == others.values()


if KNOWS_PARTS:
    TargetConfig.__hash__ = lambda options: _hash_of(options.__class__)
    TargetConfig.__eq__ = _equal


def _uncollected(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Compile first, and look for garbage afterwards."""

    @wraps(compile_)
    def compiled(*arguments: Any) -> Any:
        if not gc.isenabled():  # it rests already, perhaps for another thread, which ends that whenever it is ready
            return compile_(*arguments)
        gc.disable()
        try:
            return compile_(*arguments)
        finally:
            gc.enable()
            gc.collect(0)  # now, not in the midst of the first events

    return compiled


def _quiet(function: Function) -> Function:
    """Run as plain Python; integers wrap around and 1/0 is infinite there as they are in machine code."""

    @wraps(function)
    def interpreted(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return interpreted  # type: ignore[return-value]


@part
def prefetch(array: np.ndarray, row: int) -> None:
    """Ask for a row of a C-contiguous array that will be needed soon; nothing else changes."""
    if INTERPRETED:
        return
    size = array.strides[0]
    start = np.int64(row) * size
    for place in range(0, size, LINE):
        _touch(array, start + place)
    _touch(array, start + size - 1)


@part
def prefetch_byte(array: np.ndarray, byte: int) -> None:
    """Ask for the line of memory that holds one byte of an array, counted from its start."""
    if INTERPRETED:
        return
    _touch(array, byte)


@part
def bits_of(number: np.float32) -> np.uint32:
    """The bits of a number, as a whole one; a view of an array takes long to compile."""
    if INTERPRETED:
        return np.float32(number).view(np.uint32)
    return _same_bits(number)  # type: ignore[no-any-return]
