"""Numba's compiler for internal functions, which only kernels call.

Numba optimises every function by itself and again within each of its callers, and emits machine code and a wrapper
that are never used. An internal function stays LLVM code until the kernel that calls it is optimised as a whole. Numba
also counts references to an array at each view and each call, atomically. A function that neither allocates nor returns
an array needs no reference counts: its callers keep its arrays alive.
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
from stumpery.compiling.lowering import NO_REFERENCE_COUNTS, CheckedLower
from stumpery.compiling.pointers import POINTER, NamedTuplePointer, by_pointer


class InternalFunction(CPUDispatcher):  # type: ignore[misc]
    """Numba's dispatcher for an internal function."""

    def __init__(self, function: Any, **options: Any) -> None:
        super().__init__(function, targetoptions={"nopython": True, **options}, pipeline_class=InternalCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile the function for these argument types: NamedTuples by pointer, constants as ordinary numbers."""
        return super().get_call_template(tuple(map(by_pointer, args)), {name: by_pointer(kws[name]) for name in kws})

    def add_overload(self, cres: Any) -> None:
        """Register the compiled function for kernels only; Python cannot call it."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> NoReturn:
        raise TypeError(f"{self.py_func.__name__} can only be called by kernels")


class _InternalLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM module of an internal function; each is linked into a kernel once."""

    _linked_module: Any = None

    def finalize(self) -> None:
        """Finish without optimising or emitting machine code."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        if self._linked_module is None:
            self._linked_module = super()._get_module_for_linking().clone()
            for library in self._dependencies({}):
                is_internal = isinstance(library, _InternalLibrary)
                unlinked: Any = super(_InternalLibrary, library) if is_internal else library
                self._linked_module.link_in(unlinked._get_module_for_linking(), preserve=True)
        return self._linked_module

    def _dependencies(self, dependencies: dict[Any, None]) -> dict[Any, None]:
        """The libraries of all functions called, directly or indirectly; `dependencies` is filled in place."""
        for library in self._linking_libraries:
            if library not in dependencies and library is not self:
                dependencies[library] = None
                if isinstance(library, _InternalLibrary):
                    library._dependencies(dependencies)
        return dependencies


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """Numba's lowering pass, with our lowering of indices."""

    _name = "kernel_lowering"
    lowering_class = CheckedLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _InternalLowering(_KernelLowering):
    """Lowering pass of internal functions: into an `_InternalLibrary`, with a placeholder instead of an address."""

    _name = "internal_lowering"

    def run_pass(self, state: Any) -> bool:
        stores = state.func_ir.is_generator and any(isinstance(kind, NamedTuplePointer) for kind in state.args)
        if stores or POINTER in str(state.return_type):
            raise errors.TypingError(
                f"{state.func_id.func_name} stores or returns a NamedTuple that was passed by pointer"
            )
        state.metadata[NO_REFERENCE_COUNTS] = _needs_no_reference_counts(state)
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
        """Numba's pass pipeline, with our lowering and without the skipped passes."""
        replaced = {typed_passes.NativeLowering: self.lowering}
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(replaced.get(each, each), text) for each, text in manager.passes if each not in self.skipped]
        manager.finalize()
        return [manager]


class InternalCompiler(KernelCompiler):
    """The compiler of internal functions, without the passes for closures and array expressions."""

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


def _needs_no_reference_counts(state: Any) -> bool:
    """Whether a function neither allocates nor returns an array, so that its callers keep its arrays alive.

    Everything not known to be safe is counted: generators, and values that are neither arrays nor tuples of arrays.
    """

    @cache
    def is_counted(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    def is_safe(kind: Any) -> bool:
        fields = kind.types if isinstance(kind, types.BaseTuple) else ()
        return isinstance(kind, types.Array) or not is_counted(kind) or (bool(fields) and all(map(is_safe, fields)))

    kinds = set(state.typemap.values())
    if state.func_ir.is_generator or is_counted(state.return_type) or not all(map(is_safe, kinds)):
        return False
    arrays = {name for name, kind in state.typemap.items() if is_counted(kind)}
    statements = (statement for block in state.func_ir.blocks.values() for statement in block.body)
    return all(_allocates_nothing(statement, arrays, state.typemap) for statement in statements)


def _allocates_nothing(statement: Any, arrays: set[str], kinds: Any) -> bool:
    """Whether a statement makes no array and passes none to Numba's own functions; `arrays` names all arrays."""
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        return not arrays & {name.name for name in statement.list_vars() if name != statement.target}
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Expr):
        return True
    expression = statement.value
    gives_array = statement.target.name in arrays
    if expression.op == "call":
        function = kinds[expression.func.name]
        is_ours = isinstance(function, types.Dispatcher) or getattr(function, "typing_key", None) is prefetch_line
        return not gives_array and (is_ours or not _arrays_in(expression, arrays))
    if not gives_array or expression.op in ("cast", "phi", "exhaust_iter", "build_tuple"):
        return True
    if expression.op == "getattr":
        return isinstance(kinds[expression.value.name], types.BaseTuple | NamedTuplePointer)
    if expression.op in ("getitem", "static_getitem"):  # an array as index would allocate another
        return _arrays_in(expression, arrays) == {expression.value.name}
    return False


def _arrays_in(expression: Any, arrays: set[str]) -> set[str]:
    return arrays & {name.name for name in expression.list_vars()}
