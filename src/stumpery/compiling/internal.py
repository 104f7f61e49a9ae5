"""Numba's compiler for internal functions: those that only kernels call.

Numba optimises a function fully, and again in each of its callers, and makes machine code and a wrapper that nobody
uses. An internal function stays LLVM code until the kernel that calls it is optimised as a whole. Numba also counts
references to an array at each view and each call, by atomic steps. A function that neither makes an array nor returns
one only borrows its arrays: it is compiled without.
"""

from functools import cache
from typing import Any, NoReturn

from numba import types
from numba.core import errors, ir, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher

from stumpery.compiling.intrinsics import prefetch_line
from stumpery.compiling.lowering import BORROWS, CheckedLower
from stumpery.compiling.pointers import POINTER, NamedTuplePointer, by_pointer


class InternalFunction(CPUDispatcher):  # type: ignore[misc]
    """Numba's dispatcher for an internal function."""

    def __init__(self, function: Any, **options: Any) -> None:
        super().__init__(function, targetoptions={"nopython": True, **options}, pipeline_class=InternalCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile the function for arguments of these types: NamedTuples by pointer, constants as any other number."""
        return super().get_call_template(tuple(map(by_pointer, args)), {name: by_pointer(kws[name]) for name in kws})

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled for kernels, not for Python."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> NoReturn:
        raise TypeError(f"{self.py_func.__name__} can only be called by kernels")


class _InternalLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of an internal function, to be linked into kernels, each function once."""

    _whole: Any = None

    def finalize(self) -> None:
        """Nothing is optimised, and no machine code made."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        if self._whole is None:
            self._whole = super()._get_module_for_linking().clone()
            for library in self._called({}):
                is_internal = isinstance(library, _InternalLibrary)
                inner: Any = super(_InternalLibrary, library) if is_internal else library
                self._whole.link_in(inner._get_module_for_linking(), preserve=True)
        return self._whole

    def _called(self, known: dict[Any, None]) -> dict[Any, None]:
        """All that it calls, and what they call, but itself; `known` is filled in place."""
        for library in self._linking_libraries:
            if library not in known and library is not self:
                known[library] = None
                if isinstance(library, _InternalLibrary):
                    library._called(known)
        return known


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """Lowering of kernels."""

    _name = "kernel_lowering"
    lowering_class = CheckedLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _InternalLowering(_KernelLowering):
    """Lowering of internal functions: into an `_InternalLibrary`, with an object of no use in place of an address."""

    _name = "internal_lowering"

    def run_pass(self, state: Any) -> bool:
        keeps = state.func_ir.is_generator and any(isinstance(kind, NamedTuplePointer) for kind in state.args)
        if keeps or POINTER in str(state.return_type):
            raise errors.TypingError(f"{state.func_id.func_name} keeps or returns a NamedTuple that it got by pointer")
        state.metadata[BORROWS] = _only_borrows(state)
        state.library = _InternalLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.cr = state.cr._replace(cfunc=object())
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        return True


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with our lowering."""

    lowering: Any = _KernelLowering
    skipped: tuple[Any, ...] = ()

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, in their order."""
        ours = {typed_passes.NativeLowering: self.lowering}
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(ours.get(step, step), text) for step, text in manager.passes if step not in self.skipped]
        manager.finalize()
        return [manager]


class InternalCompiler(KernelCompiler):
    """The same for internal functions, without the passes for functions within functions and array expressions."""

    lowering = _InternalLowering
    skipped = (
        untyped_passes.WithLifting,
        untyped_passes.InlineClosureLikes,
        untyped_passes.RewriteDynamicRaises,
        untyped_passes.MakeFunctionToJitFunction,
        untyped_passes.InlineInlinables,
        untyped_passes.FindLiterallyCalls,
        untyped_passes.LiteralUnroll,
        untyped_passes.LiteralPropagationSubPipelinePass,
        typed_passes.InlineOverloads,
        typed_passes.NopythonRewrites,
        typed_passes.NoPythonSupportedFeatureValidation,
        typed_passes.AnnotateTypes,
        typed_passes.DumpParforDiagnostics,
    )


def _only_borrows(state: Any) -> bool:
    """Whether a function makes no array and returns none: then all arrays outlive its call and need no counts.

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
    """Whether one statement makes no array and passes none to Numba's own functions; `held` names all arrays."""
    if isinstance(step, ir.SetItem | ir.StaticSetItem):
        return not held & {name.name for name in step.list_vars() if name != step.target}
    if not isinstance(step, ir.Assign) or not isinstance(step.value, ir.Expr):
        return True
    expression = step.value
    gives = step.target.name in held
    if expression.op == "call":
        called = kinds[expression.func.name]
        lends = isinstance(called, types.Dispatcher) or getattr(called, "typing_key", None) is prefetch_line
        return not gives and (lends or not _held_in(expression, held))
    if not gives or expression.op in ("cast", "phi", "exhaust_iter", "build_tuple"):
        return True
    if expression.op == "getattr":
        return isinstance(kinds[expression.value.name], types.BaseTuple | NamedTuplePointer)
    if expression.op in ("getitem", "static_getitem"):  # an array as the index would make another
        return _held_in(expression, held) == {expression.value.name}
    return False


def _held_in(expression: Any, held: set[str]) -> set[str]:
    return held & {name.name for name in expression.list_vars()}
