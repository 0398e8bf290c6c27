from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lessons.verifiers import verify_countdown


def verdict(answer, numbers=(3, 5, 2), target=16, **options):
    return verify_countdown(f"<answer>{answer}</answer>", numbers, target, **options)


@st.composite
def expressions(draw, depth=3):
    """(text, value or None for a division by zero, numbers used), evaluated while it is written."""
    if depth == 0 or draw(st.booleans()):
        number = draw(st.integers(0, 100))
        return str(number), Fraction(number), [number]
    (a, x, used), (b, y, more) = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    sign = draw(st.sampled_from("+-*/"))
    text = f"({a}{sign}{b})" if draw(st.booleans()) else f"( {a} {sign} {b} )"
    if x is None or y is None or (sign == "/" and y == 0):
        return text, None, used + more
    value = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else None}[sign]
    return text, value, used + more


@given(expressions())
def test_every_expression_has_the_value_that_it_was_built_with(expression):
    text, value, used = expression
    if value is None:
        assert verdict(text, used, 0).reason == "division_by_zero"
        return
    assert verdict(text, used, 0).answer == value
    assert verdict(text, used, 10**20).reason == "wrong"
    if value.denominator == 1:
        assert verdict(text, used, int(value), use_all=True).reward == 1.0
        assert verdict(text, [*used, 7], int(value), use_all=True).reason == "wrong_numbers"
        assert verdict(text, used[:-1], int(value)).reason == "wrong_numbers"


def test_products_bind_tighter_and_signs_group_to_the_left():
    assert verdict("3+5*2").answer == 13
    assert verdict("5-3-2").answer == 0
    assert verdict("12/3/2", [12, 3, 2]).answer == 2
    assert verdict("-3*5").answer == -15


@pytest.mark.parametrize(
    ("answer", "target", "reason"),
    [
        ("5+5", 10, "wrong_numbers"),  # T17
        ("(3+5)*2 = 16", 16, "correct"),
        ("(3+5)×2", 16, "correct"),
        ("(3+5)*2 = 15", 16, "false_claim"),
        ("(3+5)*2 = 8*2 = 16", 16, "correct"),
        ("16 = (3+5)*2", 16, "wrong_numbers"),
        (r"\left(3+5\right)\times 2", 16, "correct"),
        ("５−２", 3, "correct"),
        ("35", 35, "wrong_numbers"),
        ("3.5", 3, "unreadable"),
        ("3 5", 35, "unreadable"),
        ("3(5)", 15, "unreadable"),
        ("3²", 9, "unreadable"),
    ],
)
def test_numbers_and_claims_are_checked(answer, target, reason):
    assert verdict(answer, target=target).reason == reason


@pytest.mark.parametrize("answer", ["9**9**9", "9//9", "9^9", "9<<9", "9%9", "9e9", "0x9", "9!", "9_9", "9**-9", "9|9"])
def test_an_operator_that_is_not_one_of_four_is_unreadable(answer):  # T16
    assert verdict(answer, [9, 9, 9], 8).reason == "unreadable"


def test_division_by_zero_is_a_verdict():  # T16
    assert verdict("5/(3-3)", [5, 3, 3], 8).reason == "division_by_zero"


def test_depth_length_and_digits_are_bounded():
    assert verdict("(" * 30 + "3" + ")" * 30, target=3).reward == 1.0
    assert verdict("(" * 31 + "3" + ")" * 31, target=3).reason == "too_long"
    assert verdict("1+" * 150 + "1").reason == "too_long"
    assert verdict("9" * 13).reason == "too_long"


@pytest.mark.parametrize(("numbers", "target"), [(["3", 5], 8), ([3.5], 3), ([3], None), ([None], 3), ([3], "8")])
def test_numbers_and_target_that_are_no_integers_are_named(numbers, target):
    with pytest.raises(ValueError, match="is not an integer"):
        verdict("3", numbers, target)
