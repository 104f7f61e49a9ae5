"""Print how often an internal function is compiled for constants of one type."""

from stumpery.jit import internal, kernel


@internal
def plus(one, other):
    return one + other


@kernel
def sums(n):
    return plus(n, 1) + plus(n, 2) + plus(3, n)


print(sums(10), len(plus.signatures))
