"""Compile a user's own Numba code, "with" or "without" kernels of ours before it; print what came out."""

import gc
import re
import sys
import warnings
from collections import Counter

import numba
import numpy as np
from llvmlite.binding import ffi
from numba import njit, types
from numba.core import config, event
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig


def settings():
    return {name: value for name, value in vars(config).items() if name.isupper()}


def innards():
    kinds = [
        TargetConfig,
        types.BaseFunction,
        types.Function,
        types.Dispatcher,
        numba.core.dispatcher.Dispatcher,
        numba.core.lowering.Lower,
        numba.core.codegen.CPUCodeLibrary,
        numba.core.caching.FunctionCache,
    ]
    members = [
        (kind.__name__, name, id(value)) for kind in kinds for name, value in vars(kind).items() if callable(value)
    ]
    contexts = cpu_target.typing_context, cpu_target.target_context
    return members, [(type(each), sorted(vars(each))) for each in contexts], list(ffi.lib._lock._cblist)


locked = Counter()
acquired, released = lambda: locked.update(a=1), lambda: locked.update(r=1)
ffi.register_lock_callback(acquired, released)
before, inner, rules = settings(), innards(), list(warnings.filters)
threshold = gc.get_threshold()


class Watch(event.Listener):
    def on_start(self, happened):
        assert gc.isenabled()

    on_end = on_start


if sys.argv[1] == "with":
    from stumpery.jit import internal, kernel

    @internal
    def double(values, place):
        return values[place] * 2.0

    @kernel
    def total(values):
        found = 0.0
        for place in range(values.shape[0]):
            found += double(values, place)
        return found

    with event.install_listener("numba:compile", Watch()):
        assert total(np.ones(3)) == 6.0
    assert settings() == before and innards() == inner and warnings.filters == rules
    assert locked["a"] == locked["r"] > 0 and gc.isenabled() and gc.get_threshold() == threshold
locked.clear()


def own(values, place):
    found = 0.0
    for each in range(len(values)):
        found += max(values[each], 1) / 3 - int(values[place])
    return found, values[place] // 2


said = []
for options in {}, {"fastmath": True}, {"boundscheck": True}, {"error_model": "numpy"}, {"nogil": True}:
    compiled = njit(**options)(own)
    said.append([compiled(np.arange(4.0), -1), compiled.targetoptions])
    code = compiled.inspect_llvm(compiled.signatures[0])
    said.append(sorted(Counter(re.findall("= ([a-z]+) ", code)).items()))
    try:
        compiled(np.arange(4.0), 9) if "boundscheck" in options else compiled(np.arange(4.0), "text")
    except Exception as error:
        said.append(type(error).__name__)
try:
    njit(lambda one, other: one // other)(1, 0)
except ZeroDivisionError:
    said.append("refused")
said.append(njit(parallel=True)(lambda array: (array + 1).sum())(np.arange(4.0)))
assert locked["a"] == locked["r"] > 0
print(said)
