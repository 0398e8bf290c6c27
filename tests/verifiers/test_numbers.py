from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lessons.verifiers import extract_boxed, last_number, verify_integer, verify_number
from grpo_lessons.verifiers.numerals import parse_number


def block(answer):
    return f"<answer>{answer}</answer>"


@given(st.integers(-(10**12) + 1, 10**12 - 1), st.integers(-(10**12) + 1, 10**12 - 1))
def test_an_integer_is_right_exactly_if_it_is_the_expected_one(said, expected):
    assert verify_integer(block(said), expected).reward == float(said == expected)
    assert verify_integer(block(said), said).reward == 1.0


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**6))
def test_a_fraction_is_read_exactly_in_every_notation(a, b):
    sign = "-" if a < 0 else ""
    for text in (
        f"{a}/{b}",
        rf"\frac{{{a}}}{{{b}}}",
        rf"{sign}\dfrac{{{abs(a)}}}{{{b}}}",
        f"${a}/{b}$",
        f"**{a}/{b}**",
    ):
        assert parse_number(text) == (Fraction(a, b), "")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12))
def test_a_decimal_is_read_exactly_with_and_without_thousands_groups(number):
    for text in (f"{number:f}", f"{number:,f}", f"{number:.20e}", f"{number:f} clips", f"{number:f}".replace("-", "−")):
        assert parse_number(text) == (Fraction(Decimal(number)), "")
    assert parse_number(f"{number:f}%") == (Fraction(Decimal(number)) / 100, "")


@pytest.mark.parametrize(
    "expected", [73, 73.0, "73", "73.0", "146/2", Fraction(73), Decimal("73.00"), np.int64(73), np.float32(73)]
)
def test_expected_may_be_any_kind_of_number(expected):
    assert verify_number(block("73"), expected).reward == 1.0
    assert verify_number(block("74"), expected).reward == 0.0


def test_an_expected_float_means_the_decimal_that_it_prints():
    assert verify_number(block("0.1"), 0.1).reward == 1.0
    assert verify_number(block("1/10"), 0.1).reward == 1.0
    assert verify_number(block("0.1"), np.float32(0.1)).reward == 1.0
    assert verify_number(block("0.3"), 0.1 + 0.2).reward == 0.0


@pytest.mark.parametrize("gold", [float("nan"), "NaN", float("inf"), "-inf", "Infinity", Decimal("NaN")])
@pytest.mark.parametrize("answer", ["NaN", "nan", "inf", "-inf", "Infinity", "1e400", "0"])
def test_nan_and_infinity_are_never_correct(answer, gold):  # T12
    assert verify_number(block(answer), gold).reward == 0.0


def test_tolerance_is_relative_and_only_on_request():
    assert verify_number(block("3.14"), "3.14159").reward == 0.0
    assert verify_number(block("3.14"), "3.14159", rel_tol=1e-3).reward == 1.0
    tiny = Fraction(1, 2**99)
    assert verify_number(block(f"1/{2**98}"), tiny, rel_tol=0.01).reward == 0.0  # T15
    assert verify_number(block("101"), 100, rel_tol=0.01).reward == 1.0
    assert verify_number(block("101.0001"), 100, rel_tol=0.01).reward == 0.0


@pytest.mark.parametrize("rel_tol", [-0.1, 1, float("nan")])
def test_a_senseless_tolerance_is_refused(rel_tol):
    with pytest.raises(ValueError, match="rel_tol"):
        verify_number(block("1"), 1, rel_tol=rel_tol)


@pytest.mark.parametrize("verify", [verify_integer, verify_number])
@pytest.mark.parametrize("expected", ["dog", "", None, [1], "1 or 2", {}])
def test_an_expected_value_that_is_no_number_is_named(verify, expected):
    with pytest.raises(ValueError, match=r"is not an? (integer|number)"):
        verify(block("1"), expected)


@pytest.mark.parametrize("expected", [1.5, float("nan"), float("inf"), "1.5"])
def test_an_integer_cannot_be_expected_to_be_a_fraction(expected):
    with pytest.raises(ValueError, match="is not an integer"):
        verify_integer(block("1"), expected)


@pytest.mark.parametrize(
    ("word", "accepted"),
    [
        *((word, True) for word in ("clips", "m", "km/h", "miles per hour", "square metres", "m²")),
        *((word, False) for word in ("million", "Million", "or", "x", "k", "squared", "dozen eggs", "m or")),
    ],
)
def test_a_unit_is_taken_off_unless_it_changes_the_number(word, accepted):
    assert (parse_number(f"5 {word}")[0] == 5) is accepted


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("72 clips, altogether.", "72"),
        ("3-5", "5"),
        ("3 - 5", "5"),
        ("3–5", "5"),
        ("it is -5", "-5"),
        ("it is −5.", "-5"),
        ("(2)-5", "5"),
        ("costs $1,234.50.", "1,234.50"),
        ("1,2,3", "3"),
        ("half is 50%", "50%"),
        ("1/2", "1/2"),
        ("H2O", None),
        ("none", None),
        ("41 or 42", "42"),
        ("<think>41</think>", None),
        (None, None),
    ],
)
def test_the_last_number_of_free_text(text, number):
    assert last_number(text) == number


def test_free_text_counts_only_when_asked_for():  # T06
    assert verify_number("It is 42.", 42).reason == "no_answer"
    assert verify_number("It is 42.", 42, extract=last_number).reward == 1.0


def test_another_extractor_may_be_given():
    assert verify_number(r"\boxed{2} no, \boxed{\frac{1}{2}}", 0.5, extract=extract_boxed).reward == 1.0
    assert verify_integer(r"\boxed{5", 5, extract=extract_boxed).reason == "no_answer"


def test_the_verdict_holds_the_number_that_was_read():
    assert verify_integer(block("065"), 75).answer == 65
    assert verify_number(block("50%"), 1).answer == Fraction(1, 2)


def test_a_huge_exponent_is_refused_before_it_is_converted():
    assert parse_number("1e1000") == (Fraction(10) ** 1000, "")
    assert parse_number("1e1001") == (None, "too_long")
    assert parse_number("1e-" + "9" * 500) == (None, "too_long")
