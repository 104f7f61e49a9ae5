"""How Numba compiles our kernels: in less time, and parts of them not on their own.

Numba would optimise each function fully, again wherever it is called, and make machine code that nobody runs. A part is
only tidied up; the kernel that holds it is optimised as a whole (`parts.py`). Parts are lent arrays in bundles, instead
of hundreds of words (`lending.py`), and come to LLVM in a few steps where Numba takes dozens (`lowering.py`). The rest
is Numba's own work, done once instead of again and again (`once.py`). A forest compiles in a quarter of the time.
"""

import numba

KNOWN = tuple(numba.version_info[:2]) == (0, 68)  # Numba's version, whose insides this was written for
