"""How Numba compiles our kernels: in less time, and parts of them not on their own.

Numba would optimise each function fully, again wherever it is called, and make machine code that nobody runs. A part is
only tidied up; the kernel that holds it is optimised as a whole (`PartCompiler`). Constants among a part's arguments do
not compile it again. Numba also counts who holds an array, by an atomic step at each end of every view and every call.
A part that makes no array and gives none back only borrows: it goes without, which made the forests half as fast again.

Numba passes a bundle of arrays as hundreds of words, each to be taken out and put in again at every call. Parts get it
lent (`Lent`): they are told where it lies, and read what they need.

The rest is Numba's own work, done once instead of again and again. All of it halves the time to compile a forest.
"""

import gc
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numba
import numpy as np
from llvmlite import ir as llvm  # type: ignore[import-untyped]
from llvmlite.binding import ffi  # type: ignore[import-untyped]
from numba import _dynfunc, config, types
from numba.core import cgutils, errors, ir, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, PassManager
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.core.typing.typeof import typeof
from numba.extending import NativeValue, intrinsic, register_model, unbox

KNOWN = tuple(numba.version_info[:2]) == (0, 68)  # Numba's version, whose insides this was written for
LENT = "lent "  # how the names of lent bundles begin


# Bundles that are lent.


class Lent(types.Type):  # type: ignore[misc]
    """A bundle with arrays, as parts get it: where it lies."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(name=f"{LENT}{bundle}")

    @property
    def key(self) -> Any:
        """What tells it from others; its name does not say which class of bundles it is."""
        return self.bundle


def lent(kind: Any) -> Any:
    """The type by which a part gets an argument, or a member of one: bundles lent, and no number known."""
    is_bundle = isinstance(kind, types.BaseNamedTuple) and any(map(_has_arrays, kind.types))
    return Lent(kind) if is_bundle and KNOWN else types.unliteral(kind)


def _has_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_has_arrays, kind.types)))


def with_lent_arguments(find: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's search for a function that takes such arguments, for one that gets them as parts do."""

    def found(arguments: Any, named: Any) -> Any:
        return find(tuple(map(lent, arguments)), {name: lent(kind) for name, kind in named.items()})

    return found


@register_model(Lent)
class _LentModel(models.PrimitiveModel):  # type: ignore[misc]
    """An address. What lies there changes only after the call for which it was lent: what was read stays true."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.bundle).get_value_type().as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        value.add_attribute("noalias")
        return value


@lower_cast(types.BaseNamedTuple, Lent)  # type: ignore[untyped-decorator]
def _lend(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    """Where a bundle lies: its variable, if it was read from there for this call, or else a place of its own."""
    if isinstance(value, llvm.LoadInstr) and builder.block.instructions[-1] is value:
        return value.operands[0]
    return cgutils.alloca_once_value(builder, value)


@infer_getattr
class _Members(AttributeTemplate):  # type: ignore[misc]
    key = Lent

    def generic_resolve(self, owner: Any, name: str) -> Any:
        bundle = owner.bundle
        return lent(bundle.types[bundle.fields.index(name)]) if name in bundle.fields else None


@lower_getattr_generic(Lent)  # type: ignore[untyped-decorator]
def _member(context: Any, builder: Any, owner: Any, value: Any, name: str) -> Any:
    """A member of a lent bundle, read from memory, or again lent."""
    place = owner.bundle.fields.index(name)
    kind = owner.bundle.types[place]
    address = cgutils.gep_inbounds(builder, value, 0, place)
    if lent(kind) != kind:
        return address
    return impl_ret_borrowed(context, builder, kind, builder.load(address))


class Held:
    """A bundle whose words Python has laid out once, so that kernels need not take apart each of its arrays."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        self._words = np.array(_words_of(bundle), np.int64)
        self.address = self._words.ctypes.data
        self._numba_type_ = Lent(typeof(bundle))


def held(bundle: Any) -> Any:
    """A bundle of arrays as kernels get it soonest; it must be held anew when an array is replaced by another."""
    return Held(bundle) if KNOWN and not config.DISABLE_JIT else bundle


def _words_of(part: Any) -> list[int]:
    """What lies in memory of a bundle, an array or a number, word by word; nobody counts who holds these arrays."""
    if isinstance(part, tuple):
        return [word for each in part for word in _words_of(each)]
    if isinstance(part, np.ndarray):
        return [0, 0, part.size, part.itemsize, part.ctypes.data, *part.shape, *part.strides]
    if isinstance(part, bool) or not isinstance(part, float | int):
        raise TypeError(f"{part!r} cannot be held: it is neither an array nor a float nor an int, nor a bundle of such")
    return [int(np.array(part).view(np.int64))]


@unbox(Lent)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, obj: Any, c: Any) -> Any:
    """Where a held bundle lies."""
    number = c.pyapi.object_getattr_string(obj, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, c.context.get_value_type(kind)))


# Steps of their own.


@intrinsic  # type: ignore[untyped-decorator]
def touch(context: Any, array: Any, place: Any) -> Any:
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
def same_bits(context: Any, number: Any) -> Any:
    """A 32-bit number's bits, as a whole one."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], llvm.IntType(32))

    return types.uint32(types.float32), generate


# Parts.


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
class _PartLegalization(typed_passes.IRLegalization):  # type: ignore[misc]
    """Numba's step that says where each variable ends, for parts that have something to let go of there."""

    _name = "part_legalization"

    def run_pass(self, state: Any) -> bool:
        keeps = state.func_ir.is_generator and any(isinstance(kind, Lent) for kind in state.args)
        if keeps or LENT in str(state.return_type):
            raise errors.TypingError(f"{state.func_id.func_name} keeps or gives back a bundle that it was only lent")
        state.only_borrows = _only_borrows(state)
        return False if state.only_borrows else bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """Numba's last step for a part: its code goes into a `_PartLibrary`, and its Python function leads nowhere."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.library = _PartLibrary(context.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        context.get_executable = _nowhere  # Numba's compiler lock is held
        counts, context.enable_nrt = context.enable_nrt, context.enable_nrt and not state.only_borrows
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
        lends = isinstance(called, types.Dispatcher) or getattr(called, "typing_key", None) is touch
        return not gives and (lends or not _held_in(expression, held))
    if not gives or expression.op in ("cast", "phi", "exhaust_iter", "build_tuple"):
        return True
    if expression.op == "getattr":
        return isinstance(kinds[expression.value.name], types.BaseTuple | Lent)
    if expression.op in ("getitem", "static_getitem"):  # an array as the index would make another
        return _held_in(expression, held) == {expression.value.name}
    return False


def _held_in(expression: Any, held: set[str]) -> set[str]:
    return held & {name.name for name in expression.list_vars()}


def _nowhere(library: Any, descriptor: Any, environment: Any) -> Any:
    """What Numba registers a part under."""
    name = descriptor.qualname.rpartition(".")[2]
    return _dynfunc.make_function(descriptor.lookup_module(), name, "a part", 0, environment, (library,))


class PartCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler without the steps that parts have no use for, and with two of their own.

    Left out are those for functions within functions, whole arrays and literal arguments, and those that only describe
    or check what the ones before them have made.
    """

    def define_pipelines(self) -> list[Any]:
        """The steps, in their order."""
        manager = PassManager("part")
        for step in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.RewriteSemanticConstants,
            untyped_passes.DeadBranchPrune,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            _PartLegalization,
            _PartLowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(step, step._name)
        manager.finalize()
        return [manager]


# Less time.


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


def _once(find: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's search for the way in which an operator or one of its own functions takes such arguments.

    It tries tens of ways, and words why each does not fit, again at every use. Here what was found is kept; it depends
    on the compiler's options, too.
    """
    known: dict[Any, Any] = {}

    @wraps(find)
    def found(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        if named:
            return find(function, context, arguments, named)
        key = context, function, tuple(arguments), ConfigStack.top_or_none()
        if key not in known:
            way = find(function, context, arguments, named)
            known[key] = way, function._impl_keys[way.args]
        way, impl = known[key]
        function._impl_keys[way.args] = impl
        return way

    return found


def undisturbed(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Compile first, and look for garbage afterwards; nor is each call of LLVM told to those who measure their time.

    Compiling makes hundreds of thousands of Python objects at a time.
    """

    @wraps(compile_)
    def compiled(*arguments: Any) -> Any:
        with global_compiler_lock:  # one at a time
            rests, told, lock = not gc.isenabled(), [], ffi.lib._lock
            try:
                gc.disable()
                told, lock._cblist = lock._cblist, []
                return compile_(*arguments)
            finally:
                lock._cblist = told + lock._cblist
                if not rests:
                    gc.enable()
                    gc.collect(0)  # now, not in the midst of the first events

    return compiled


if KNOWN:
    TargetConfig.__hash__ = lambda options: _hash_of(options.__class__)
    TargetConfig.__eq__ = _equal
    types.BaseFunction.get_call_type = _once(types.BaseFunction.get_call_type)
