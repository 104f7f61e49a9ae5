"""Numba's own work, done once instead of again and again."""

import gc
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from llvmlite.binding import ffi  # type: ignore[import-untyped]
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.targetconfig import ConfigStack, TargetConfig

from stumpery.compiling import KNOWN


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
