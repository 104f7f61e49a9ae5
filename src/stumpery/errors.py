"""Exceptions of the library: each is a `StumperyError` and the built-in exception that it refines."""

from collections.abc import Iterator
from contextlib import contextmanager


class StumperyError(Exception):
    """Base of all exceptions that the library itself raises.

    >>> issubclass(InvalidInput, StumperyError) and issubclass(InvalidInput, ValueError)
    True
    """


class InvalidInput(StumperyError, ValueError):  # noqa: N818 - the name says what happened
    """An option, a row, a label or a reward that is not allowed; nothing has changed.

    >>> import stumpery as st
    >>> policy = st.UCB(actions=["news", "film"])
    >>> policy.seed = 7
    Traceback (most recent call last):
    stumpery.errors.InvalidInput: seed is an option of UCB and stays as it is; make a new one, for example with clone
    """


class CorruptFile(StumperyError, ValueError):  # noqa: N818
    """A model's file, or a saved state, that cannot be loaded: damaged, foreign, inconsistent or of a newer format.

    >>> import stumpery as st
    >>> options, arrays = st.summaries.Moments().state()
    >>> st.summaries.Moments.from_state(st.types.State(options, {}))
    Traceback (most recent call last):
    stumpery.errors.CorruptFile: its arrays are [], not ['row']
    """


class CapacityError(StumperyError, MemoryError):
    """More memory is needed than `max_bytes` allows, or than there is; the model stays as it was.

    It is raised while a model is used or loaded. Options that cannot work from the start are `InvalidInput`.

    >>> issubclass(CapacityError, MemoryError)
    True
    """


@contextmanager
def capacity_errors() -> Iterator[None]:
    """Turn refusals within this block into CapacityErrors: the options were valid, but the model cannot grow."""
    try:
        yield
    except ValueError as error:
        raise CapacityError(str(error)) from None
