"""Numba's compiler for parts: functions that only kernels call.

Constants among a part's arguments do not compile it again. Numba also counts who holds an array, by an atomic step at
each end of every view and every call. A part that makes no array and gives none back only borrows: it goes without,
which made the forests half as fast again.
"""

from functools import cache
from typing import Any

from numba import _dynfunc, types
from numba.core import errors, ir, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, PassManager
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import get_definition, guard

from stumpery.compiling.intrinsics import INLINE, touch
from stumpery.compiling.lending import LENT, Lent
from stumpery.compiling.lowering import PartLower

_SIZES: dict[str, int] = {}


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A part's code, to be linked into kernels: tidied up, but neither optimised in full nor made into machine code.

    A kernel gets the parts that it calls, and those that they call, each once.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.never_fails: Any = None  # how to call the part, if no call of it ever fails
        self._whole: Any = None

    def finalize(self) -> None:
        """Nothing is left to be done."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _get_module_for_linking(self) -> Any:
        if self._whole is None:
            self._whole = self._own_module().clone()
            for library in self._called({}):
                is_part = isinstance(library, _PartLibrary)
                module = library._own_module() if is_part else library._get_module_for_linking()
                self._whole.link_in(module, preserve=True)
        return self._whole

    def _own_module(self) -> Any:
        """The part alone."""
        return super()._get_module_for_linking()

    def _called(self, known: dict[Any, None]) -> dict[Any, None]:
        """All that it calls, and what they call, but itself; `known` is filled in place."""
        for library in self._linking_libraries:
            if library not in known and library is not self:
                known[library] = None
                if isinstance(library, _PartLibrary):
                    library._called(known)
        return known


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartProcessing(untyped_passes.IRProcessing):  # type: ignore[misc]
    """Numba's step that looks through the code, and then `int`, `max` and `min` are set to their short forms.

    Numba would compile a function for each kind of numbers that they are asked for.
    """

    _name = "part_processing"

    def run_pass(self, state: Any) -> bool:
        done = super().run_pass(state)
        uses: dict[int, tuple[Any, set[Any]]] = {}  # of each global that is called, in which ways
        for block in state.func_ir.blocks.values():
            for call in block.find_exprs("call"):
                called = guard(get_definition, state.func_ir, call.func)
                if isinstance(called, ir.Global):
                    _, ways = uses.setdefault(id(called), (called, set()))
                    ways.add((len(call.args), bool(call.kws or call.vararg)))
        for called, ways in uses.values():
            for builtin, n, short in INLINE:
                if called.value is builtin and ways == {(n, False)}:
                    called.value = short
        return bool(done)


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
    lowering_class = PartLower

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.library = _PartLibrary(context.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        context.get_executable = _nowhere  # Numba's compiler lock is held
        context.get_abi_sizeof = lambda kind: _size_of(context, kind)
        counts, context.enable_nrt = context.enable_nrt, context.enable_nrt and not state.only_borrows
        try:
            return bool(super().run_pass(state))
        finally:
            context.enable_nrt = counts
            del context.get_executable, context.get_abi_sizeof


def _size_of(context: Any, kind: Any) -> int:
    """How many bytes a type of LLVM's takes; LLVM is asked once, by a module of its own."""
    name = str(kind)
    if name not in _SIZES:
        _SIZES[name] = kind.get_abi_size(context.target_data)
    return _SIZES[name]


def _only_borrows(state: Any) -> bool:
    """Whether a part makes no array and gives none back: then all it touches outlives it, and need not be counted.

    What is not known to be safe is counted: generators, and whatever is neither an array nor a tuple of arrays.
    """

    @cache
    def holds(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    def plain(kind: Any) -> bool:
        parts = kind.types if isinstance(kind, types.BaseTuple) else ()
        return isinstance(kind, types.Array) or not holds(kind) or (bool(parts) and all(map(plain, parts)))

    if state.func_ir.is_generator or holds(state.return_type) or not all(map(plain, set(state.typemap.values()))):
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
            _PartProcessing,
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
