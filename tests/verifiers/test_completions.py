"""The sampled completions of data/completions, labelled by a comparison of strings and read by eye."""

import re

from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers import museum
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
