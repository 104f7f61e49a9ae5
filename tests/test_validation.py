"""Validation and restoring of saved states, against what they do element by element."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stumpery.errors import CorruptFile
from stumpery.saving import saveable
from stumpery.saving.validation import chain

END = -1


def walked(first, links):
    """The indices of a linked list, one by one; None where it leaves the links or comes back."""
    indices, at = [], first
    while at != END:
        if not 0 <= at < len(links) or at in indices:
            return None
        indices.append(at)
        at = links[at]
    return indices


@given(st.data())
def test_a_linked_list_is_walked_as_one_by_one(data):
    n = data.draw(st.integers(1, 12))
    fresh = [*range(1, n), END]
    targets = st.integers(END - 1, n)
    links = [data.draw(st.just(link) | targets) for link in fresh]
    first = data.draw(targets)
    expected = walked(first, links)
    if expected is None:
        with pytest.raises(CorruptFile, match=r"does not exist|cycle"):
            chain(first, np.array(links, np.int32), END, "the list")
    else:
        assert chain(first, np.array(links, np.int32), END, "the list").tolist() == expected


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=8), st.integers(0, 8))
def test_large_arrays_are_restored_whole_wherever_they_are_zeros(pieces, n_more):
    size, rng = saveable.PIECE_BYTES, np.random.default_rng(len(pieces))
    n_bytes = saveable.MIN_PIECES * size + n_more
    ours, theirs = np.zeros(n_bytes, np.uint8), np.zeros(n_bytes, np.uint8)
    for index, (is_ours, is_theirs) in enumerate(pieces):
        part = slice((index + 1) * size - 5, (index + 1) * size + 5)
        ours[part], theirs[part] = is_ours * rng.integers(256, size=10), is_theirs * rng.integers(256, size=10)
    theirs[n_bytes - n_more :] = 7
    saveable.restore({"a": ours}, {"a": theirs})
    assert np.array_equal(ours, theirs)
