"""Print a kernel's result, and whether it was loaded from the disk cache or compiled."""

from stumpery.jit import kernel


@kernel
def double(number):
    return number + number


print(double(21), sum(double.stats.cache_hits.values()), sum(double.stats.cache_misses.values()))
