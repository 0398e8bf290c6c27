"""The sampled completions of data/completions, labelled by a comparison of strings and read by eye."""

import re
from datetime import datetime, timedelta

from grpo_lessons.paths import data_dir
from grpo_lessons.tasks.weeks_later import verify_date
from grpo_lessons.verifiers import extract_answer, museum
from grpo_lessons.verifiers.report import read_cases, verify_cases

PATH = data_dir() / "completions" / "addition.jsonl"
CASES = read_cases(PATH)


def test_the_verifier_agrees_with_every_label():
    report = verify_cases("verify_integer", PATH)
    assert report.failures == []
    assert report.n == len(CASES) >= 300


def test_the_expected_value_is_the_sum_in_the_prompt_and_both_labels_occur():
    for case in CASES:
        assert sum(map(int, re.findall(r"\d+", case["prompt"]))) == case["arguments"]["expected"]
    right = sum(case["reward"] for case in CASES)
    assert 0.2 < right / len(CASES) < 0.8


def test_a_substring_match_pays_real_completions_that_are_wrong():
    report = verify_cases(museum.substring_match, PATH, cases_of="verify_integer")
    assert report.confusion[True, False] == 0
    assert report.confusion[False, True] > 20


WEEKS = data_dir() / "completions" / "weeks_later.jsonl"


def test_the_verifier_of_dates_agrees_with_every_label():
    report = verify_cases(verify_date, WEEKS)
    assert report.failures == []
    assert report.n == 120


def test_two_first_drafts_of_it_do_not():
    anywhere = verify_cases(lambda completion, expected: float(expected in completion), WEEKS)
    exact = verify_cases(lambda completion, expected: float(extract_answer(completion) == expected), WEEKS)
    assert anywhere.confusion[False, True] >= 5 and anywhere.confusion[True, False] >= 1
    assert exact.confusion[False, True] == 0 and exact.confusion[True, False] >= 1


def test_the_expected_date_is_that_of_the_calendar():
    for case in read_cases(WEEKS):
        start, weeks = re.fullmatch(r"(\d+ \w{3}) \+ (\d) weeks?", case["prompt"]).groups()
        end = datetime.strptime(f"{start} 2025", "%d %b %Y") + timedelta(weeks=int(weeks))
        assert f"{end.day} {end:%b}" == case["arguments"]["expected"]
