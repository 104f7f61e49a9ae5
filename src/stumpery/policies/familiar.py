"""The memory of contexts that may come again: how it grows, follows the actions, and is known to be sound."""

from collections.abc import Sequence

import numpy as np

from stumpery.policies.familiar_kernels import (
    ACTIONS,
    EMPTY,
    N_ERRORS,
    N_TRUST,
    PLAYS,
    PRINT_STARTS,
    SHARE,
    SQUARES,
    USED,
    WAYS,
    Familiar,
)
from stumpery.trees.forest_kernels import lined
from stumpery.types import Integers, Words

BUCKET_BYTES = WAYS * (8 + 4 * N_ERRORS)


def new_familiar(n_buckets: int) -> Familiar:
    """No context known yet."""
    prints, errors = lined((n_buckets, WAYS), np.uint64), lined((n_buckets, WAYS, N_ERRORS), np.float32)
    return Familiar(prints, errors, np.zeros(N_TRUST))


def roomier(familiar: Familiar, n_buckets: int) -> Familiar:
    """The same contexts among so many buckets."""
    return familiar if n_buckets == len(familiar.prints) else _housed(familiar, familiar.prints, n_buckets)


def followed(familiar: Familiar, keep: Sequence[int | None]) -> Familiar:
    """The same contexts with other actions: those of `keep`, by their old places."""
    prints = np.zeros_like(familiar.prints)
    actions, used = _actions(familiar.prints), familiar.prints != EMPTY
    places = np.full(int(actions.max(initial=0)) + 1, -1)
    for place, old in enumerate(keep):
        if old is not None and old < len(places):
            places[old] = place
    kept = used & (places[actions] >= 0)
    prints[kept] = (familiar.prints[kept] & ~ACTIONS) | places[actions[kept]].astype(np.uint64)
    return _housed(familiar, prints, len(prints))


def is_sound(familiar: Familiar, n_actions: int) -> bool:
    """Whether every print is one, in its bucket, and every number is one."""
    prints, errors, trust = familiar
    used = prints != EMPTY
    return bool(
        (prints[used] >= USED).all()
        and (_actions(prints)[used] < n_actions).all()
        and (_buckets(prints, len(prints)) == np.arange(len(prints))[:, None])[used].all()
        and np.isfinite(errors).all()
        and (errors[..., PLAYS] >= 0.0).all()
        and np.isfinite(trust).all()
        and 0.0 <= trust[SHARE] <= 1.0
        and trust[SQUARES] >= 0.0
    )


def _housed(familiar: Familiar, prints: Words, n_buckets: int) -> Familiar:
    """The errors of a table under other prints, each where it would be among so many buckets; EMPTY ones are left out.

    Of those that come to one bucket the foremost stay: they were played last.
    """
    housed = new_familiar(n_buckets)
    ways, rows = np.nonzero(prints.T != EMPTY)  # the foremost of all buckets first
    buckets = _buckets(prints[rows, ways], n_buckets)
    order = np.argsort(buckets, kind="stable")
    ways, rows, buckets = ways[order], rows[order], buckets[order]
    place = np.arange(len(buckets)) - np.searchsorted(buckets, buckets)
    fits = place < WAYS
    housed.prints[buckets[fits], place[fits]] = prints[rows[fits], ways[fits]]
    housed.errors[buckets[fits], place[fits]] = familiar.errors[rows[fits], ways[fits]]
    return housed._replace(trust=familiar.trust)


def _actions(prints: Words) -> Integers:
    return (prints & ACTIONS).astype(np.int64)


def _buckets(prints: Words, n_buckets: int) -> Integers:
    """Where prints are among so many buckets, as `bucket_of` has it."""
    return ((prints >> PRINT_STARTS).astype(np.int64) + _actions(prints) // WAYS) & (n_buckets - 1)
