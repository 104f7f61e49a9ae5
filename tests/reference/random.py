"""The generator in whole numbers, after the C code of Blackman and Vigna."""

MASK = 2**64 - 1


def rotated(word, bits):
    return ((word << bits) & MASK) | (word >> (64 - bits))


def words(state, n):
    """The next n words of xoshiro256++ from four words of state, and the state after them."""
    s = [int(part) for part in state]
    drawn = []
    for _ in range(n):
        drawn.append((rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
    return drawn, s
