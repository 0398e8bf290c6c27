import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from grpo_lessons.cli import app
from grpo_lessons.verifiers import Verdict, museum
from grpo_lessons.verifiers.report import print_report, verify_cases


def case(completion, reward, **more):
    return {"completion": completion, "arguments": {"expected": 42}, "reward": reward, **more}


@pytest.fixture
def path(tmp_path):
    def write(*cases):
        file = tmp_path / "cases.jsonl"
        file.write_text("\n".join(json.dumps(c) for c in cases) + "\n\n", encoding="utf-8")
        return file

    return write


def test_the_confusion_matrix_counts_each_of_its_four_cells(path):
    file = path(*[case("42", 1)] * 3, *[case("41", 1)] * 2, *[case("342", 0)] * 4, case("0", 0))
    report = verify_cases(museum.substring_match, file)
    assert report.confusion == {(True, True): 3, (True, False): 2, (False, True): 4, (False, False): 1}
    assert (report.error_rate(False), report.error_rate(True)) == ((4, 5), (2, 5))
    assert len(report.failures) == 6


def test_another_reason_or_another_share_is_a_failure(path):
    file = path(case("x", 0, reason="wrong"), case("x", 0, reason="unreadable"), case("x", 0.25), case("x", 0))
    report = verify_cases(lambda completion, expected: Verdict(0.0, "unreadable"), file)
    assert [failure.case for failure in report.failures] == [case("x", 0, reason="wrong"), case("x", 0.25)]


def test_a_verifier_that_raises_has_failed_and_the_rest_is_still_graded(path):
    report = verify_cases(museum.isdigit_integer, path(case("<answer>4²</answer>", 1), case("<answer>42</answer>", 1)))
    assert [failure.reason for failure in report.failures] == ["raised ValueError"]


def test_only_the_cases_of_the_verifier_are_taken(path):
    file = path(case("<answer>42</answer>", 1, verifier="verify_integer"), case("x", 1, verifier="verify_text"))
    assert verify_cases("verify_integer", file).n == 1
    assert verify_cases(museum.substring_match, file, cases_of="verify_integer").n == 1
    with pytest.raises(ValueError, match="no case for substring_match; it has cases for verify_integer, verify_text"):
        verify_cases(museum.substring_match, file)


def test_an_extractor_is_given_by_its_name(path):
    row = {"completion": r"\boxed{42}", "arguments": {"expected": 42, "extract": "extract_boxed"}, "reward": 1}
    assert verify_cases("verify_integer", path(row)).failures == []


@pytest.mark.parametrize("line", ["{", "[]", '{"completion": "x"}'])
def test_a_broken_line_is_named(tmp_path, line):
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case("x", 0)) + "\n" + line)
    with pytest.raises(ValueError, match="line 2"):
        verify_cases("verify_integer", file)


def test_an_unknown_verifier_is_answered_with_the_known_ones(path):
    with pytest.raises(ValueError, match=r"unknown verifier 'verify_intger'; known: .*verify_integer"):
        verify_cases("verify_intger", path(case("x", 0)))


def test_a_verifier_of_ones_own_is_given_by_file_or_module(path, tmp_path):
    (tmp_path / "mine.py").write_text("def verify_mine(completion, expected):\n    return float(completion == '42')\n")
    file = path(case("42", 1), case("<answer>42</answer>", 0, verifier="verify_mine"))
    assert verify_cases(f"{tmp_path / 'mine.py'}:verify_mine", file).failures == []
    assert verify_cases("grpo_lessons.verifiers.numbers:verify_integer", path(case("<answer>42</answer>", 1))).n == 1


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no_such_module:verify", "no_such_module cannot be read"),
        ("missing.py:verify", "missing.py cannot be read"),
        ("grpo_lessons.verifiers.numbers:verify_nothing", "holds no function 'verify_nothing'"),
    ],
)
def test_a_verifier_of_ones_own_that_is_not_there_is_named(path, name, fault):
    with pytest.raises(ValueError, match=fault):
        verify_cases(name, path(case("42", 1)))


def test_the_printed_rates_carry_wilson_intervals(path):
    file = path(*[case("342", 0)] * 2, *[case("0", 0)] * 8)
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    print_report(verify_cases(museum.substring_match, file), console, rows=1)
    text = console.export_text()
    assert "false positives: 2 of 10, 20.0% [5.7%, 51.0%]" in text  # Wilson, z = 1.96, by hand
    assert "false negatives: no such case" in text
    assert "failing rows: 2" in text
    assert "and 1 more" in text


def test_the_command_prints_and_fails_when_a_row_fails(path):
    run = lambda file: CliRunner().invoke(app, ["verify", "--verifier", "verify_integer", "--cases", str(file)])  # noqa: E731
    assert run(path(case("<answer>42</answer>", 1))).exit_code == 0
    assert run(path(case("<answer>42</answer>", 0))).exit_code == 1
    assert run(path(case("x", 0, verifier="verify_text"))).exit_code == 2
