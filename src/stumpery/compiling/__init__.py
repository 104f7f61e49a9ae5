"""Compiler extensions for Numba: kernels compile in a third of the time and run up to five times faster.

`internal.py` compiles functions that only kernels call (`@internal`): they are optimised as a part of the kernel, and
without reference counts where these are not needed. They receive NamedTuples of arrays by pointer (`pointers.py`).
Negative indices raise an error instead of wrapping around (`lowering.py`). Nothing in Numba is patched.
docs/compiler.md describes each extension, what it saves, and how to support a new version of Numba.
"""

import os
import warnings

import numba

TESTED = (0, 66), (0, 68)  # the first and last version of Numba that `make numba-versions` tests
PLAIN = os.environ.get("STUMPERY_PLAIN", "0") not in ("", "0")
EXTENDED = TESTED[0] <= tuple(numba.version_info[:2]) <= TESTED[1] and not PLAIN
COST = "kernels run about 5 times slower and take 3 times as long to compile"

if not (EXTENDED or PLAIN or numba.config.DISABLE_JIT):
    FIRST, LAST = (".".join(map(str, version)) for version in TESTED)
    warnings.warn(
        f"Numba {numba.__version__} is outside the range {FIRST} to {LAST} that Stumpery's compiler extensions are "
        f"tested with: {COST}. STUMPERY_PLAIN=1 chooses this without a warning",
        RuntimeWarning,
        stacklevel=2,
    )
