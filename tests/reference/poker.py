"""The rules of poker, one hand at a time, in the words of a rule book."""

from collections import Counter


def poker_class(hand):
    """The class of one hand given as S1, C1, ..., S5, C5."""
    suits, ranks = hand[0::2], sorted(hand[1::2])
    copies = sorted(Counter(ranks).values(), reverse=True)
    flush = len(set(suits)) == 1
    royal = ranks == [1, 10, 11, 12, 13]
    straight = royal or ranks == list(range(ranks[0], ranks[0] + 5))
    if flush and royal:
        return 9
    if flush and straight:
        return 8
    if copies == [4, 1]:
        return 7
    if copies == [3, 2]:
        return 6
    if flush:
        return 5
    if straight:
        return 4
    return {(3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1, (1, 1, 1, 1, 1): 0}[tuple(copies)]
