"""Each exhibit, and beside it the verifier that gets the same input right."""

import ast
import time
from pathlib import Path

import pytest

import grpo_lessons
from grpo_lessons.verifiers import museum, verify_countdown, verify_integer, verify_number


def block(answer):
    return f"<answer>{answer}</answer>"


def test_a_substring_takes_a_mention_for_an_answer():
    for wrong in ("I considered 42, my answer is <answer>40</answer>", block(142)):
        assert museum.substring_match(wrong, "42")
        assert verify_integer(wrong, 42).reward == 0.0


def test_a_dot_stops_at_a_line_break():
    right = block("\n42\n")
    assert not museum.dot_without_newline(right, "42")
    assert verify_integer(right, 42).reward == 1.0


def test_a_dollar_with_multiline_ends_any_line():
    wrong = block(42) + "\nor 43, who knows"
    assert museum.dollar_with_multiline(wrong, "42")
    assert verify_integer(wrong, 42).reason == "trailing_text"


def test_isdigit_refuses_a_minus_and_lets_a_superscript_through_to_int():
    assert not museum.isdigit_integer(block(-5), -5)
    assert verify_integer(block(-5), -5).reward == 1.0
    with pytest.raises(ValueError):
        museum.isdigit_integer(block("4²"), 42)
    assert verify_integer(block("4²"), 42).reason == "unreadable"


def test_equal_floats_are_not_equal_numbers():
    assert museum.float_equality(block("9007199254740993"), "9007199254740992")
    assert verify_number(block("9007199254740993"), "9007199254740992").reward == 0.0
    assert not museum.float_equality(block("0.30"), 0.1 + 0.2)
    assert verify_number(block("0.30"), "0.3").reward == 1.0


def test_an_absolute_tolerance_accepts_zero_for_anything_small():
    assert museum.absolute_tolerance(block("0"), "0.0001")
    assert verify_number(block("0"), "0.0001", rel_tol=0.01).reward == 0.0


def test_filtered_eval_accepts_a_decimal_glued_from_two_numbers():
    assert museum.filtered_eval(block("2.5*4"), 10, (2, 5, 4))
    assert verify_countdown(block("2.5*4"), [2, 5, 4], 10).reason == "unreadable"


def test_filtered_eval_hangs_on_a_tower_of_powers_until_it_is_killed():
    started = time.monotonic()
    assert not museum.filtered_eval(block("9**9**9"), 8, (9, 9, 9), time_limit_s=0.3)
    assert time.monotonic() - started >= 0.3
    assert verify_countdown(block("9**9**9"), [9, 9, 9], 8).reason == "unreadable"


def test_filtered_eval_runs_no_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not museum.filtered_eval("open('probe','w').write('x')*42", 42)
    assert list(tmp_path.iterdir()) == []


def test_the_exhibits_accept_the_plain_case_that_makes_them_look_right():
    for exhibit in (museum.substring_match, museum.dot_without_newline, museum.dollar_with_multiline):
        assert exhibit(block(42), "42")
        assert not exhibit(block(41), "42")
    for exhibit in (museum.isdigit_integer, museum.float_equality, museum.absolute_tolerance):
        assert exhibit(block(42), 42)
        assert not exhibit(block(41), 42)
    assert museum.filtered_eval(block("(3+5)*2"), 16, (2, 3, 5))
    assert not museum.filtered_eval(block("3+5*2"), 16, (2, 3, 5))


def test_nothing_in_the_library_but_the_checks_and_the_clinic_imports_the_museum():
    package = Path(grpo_lessons.__file__).parent
    checks = [*(package / "check").rglob("*.py"), *(package / "workshop" / "hidden").rglob("*.py")]
    meant = {*checks, package / "clinic.py"}  # the clinic trains on a wrong verifier
    for path in set(package.rglob("*.py")) - meant:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = getattr(node, "module", None) or ""
            assert not any("museum" in name for name in [*names, module]), path
