"""Checks of options: what passes, and the one sentence that what does not pass gets."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stumpery.options import (
    check_bool,
    check_known,
    check_number,
    check_one_of,
    check_range,
    check_whole,
    is_number,
    listed,
    shown,
)

seeded = settings(deadline=None, derandomize=True)
anything = st.none() | st.booleans() | st.text(max_size=3) | st.binary(max_size=3) | st.complex_numbers()
NO_NUMBERS = [math.nan, math.inf, -math.inf, True, np.True_, "1", None, 1j, Decimal(1), [1], np.ones(1), 10**400]


@seeded
@given(st.integers(), st.integers(), st.integers(0, 10**6))
def test_whole_numbers_pass_within_their_ends_and_only_there(value, least, size):
    if least <= value <= least + size:
        check_whole("n", value, least, least + size)
    else:
        with pytest.raises(ValueError, match=r"^n is -?\d+; it must be a whole number from -?\d+ to -?\d+$"):
            check_whole("n", value, least, least + size)


@seeded
@given(anything | st.floats())
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(ValueError, match=r"it must be a whole number of 0 or more$"):
        check_whole("n", value, 0)


def test_numpys_whole_numbers_pass():
    for value in (np.int64(3), np.uint8(3), 3):
        check_whole("n", value, 0, 3)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_finite_number_is_refused(value):
    assert not is_number(value)
    with pytest.raises(ValueError, match=r"it must be a number of 0 or more$"):
        check_number("share", value, 0.0)


@pytest.mark.parametrize("value", [0, 1, 0.5, -2.5, np.float32(1), np.float64(1), np.int8(1), Fraction(1, 3), 10**300])
def test_every_kind_of_real_number_is_one(value):
    assert is_number(value)


def test_ends_are_allowed_unless_they_are_set_apart():
    check_number("share", 0.0, 0.0, 1.0)
    check_number("share", 1.0, 0.0, 1.0)
    check_number("share", 0.5, 0.0, 1.0, above=True, below=True)
    with pytest.raises(ValueError, match=r"^share is 0.0; it must be a number above 0 and at most 1$"):
        check_number("share", 0.0, 0.0, 1.0, above=True)
    with pytest.raises(ValueError, match=r"^share is 1.0; it must be a number of 0 or more and below 1$"):
        check_number("share", 1.0, 0.0, 1.0, below=True)
    with pytest.raises(ValueError, match=r"^share is 1.5; it must be a number from 0 to 1$"):
        check_number("share", 1.5, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"^rate is 0; it must be a number above 0$"):
        check_number("rate", 0, 0.0, above=True)


def test_one_of_a_few_values_passes_and_others_are_told_which():
    check_one_of("kind", "b", ["a", "b"])
    for value in ("c", None, ["a"], {}, np.array(["a", "b"])):
        with pytest.raises(ValueError, match=r"^kind is .*; it must be one of 'a', 'b'$"):
            check_one_of("kind", value, (each for each in "ab"))


def test_only_true_and_false_are_booleans():
    check_bool("flag", True)
    check_bool("flag", False)
    for value in (1, 0, "no", None, np.True_):
        with pytest.raises(ValueError, match=r"^flag is .*; it must be True or False$"):
            check_bool("flag", value)


def test_a_range_is_two_finite_numbers_the_lower_one_first():
    assert check_range("ends", [0, np.float32(1)]) == (0.0, 1.0)
    wrong = [5, None, "01", (0,), (0, 1, 2), (1, 0), (1, 1), (0, math.nan), (0, math.inf), (-1e308, 1e308), (0, "1")]
    for value in wrong:
        with pytest.raises(ValueError, match=r"^ends is .*; it must be two finite numbers, the lower one first$"):
            check_range("ends", value)


@seeded
@given(anything | st.lists(st.integers()) | st.text())
def test_what_came_is_shown_in_one_short_line(value):
    text = shown(value)
    assert len(text) <= 60
    assert "\n" not in text
    assert text == repr(value) or text.endswith("...") or " " in repr(value)


def test_long_values_and_long_lists_are_cut_in_every_message():
    assert shown(10**5000) == "a number of very many digits"
    assert shown(np.zeros((3, 3))).count("\n") == 0
    for check in (check_whole, check_number):
        with pytest.raises(ValueError, match=r"^n is \[0, 0, [0, ]*\.\.\.; it must be"):
            check("n", [0] * 1000, 0)
    assert listed([1, "a"]) == "1, 'a'"
    with pytest.raises(ValueError, match=r"^n is 77; it must be one of 0, 1, .*, 9 and 20 more$"):
        check_one_of("n", 77, range(30))


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        (5, ["dsjson", "cb"], "there is no format 5: there are dsjson, cb"),
        ("dsjsn", ["dsjson", "cb"], "there is no format 'dsjsn': did you mean dsjson"),
        ("x", [], "there is no format 'x': there is none"),
        ("x", [f"c{number}" for number in range(5_000)], "c28, c29 and 4,970 more"),
        ("x" * 10_000, ["x" * 10_000 + "y"], "there is no format 'xx"),
        ("shown", ["a", 0], "there are a, 0"),
    ],
)
def test_names_that_are_not_known_are_answered_in_a_short_sentence(name, known, words):
    with pytest.raises(ValueError, match=r"there is no format") as refusal:
        check_known("format", name, known)
    assert words in str(refusal.value)
