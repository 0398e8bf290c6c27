"""Every labelled completion of data/verifier_cases.jsonl, right, wrong, malformed, adversarial, multilingual."""

import json
import warnings
from collections import Counter

import pytest

from grpo_lessons import verifiers
from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers import REASONS
from grpo_lessons.verifiers.report import read_cases, verify_cases

PATH = data_dir() / "verifier_cases.jsonl"
CASES = read_cases(PATH)
NAMES = sorted({case["verifier"] for case in CASES})


@pytest.mark.parametrize("name", NAMES)
def test_every_case_gets_its_labelled_reward_and_reason(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of expected answers that cannot be read, and of systems without namespaces
        report = verify_cases(name, PATH)
    assert report.failures == []
    assert report.n >= 30


def test_every_verifier_has_cases_of_every_kind_and_no_case_stands_twice():
    assert set(NAMES) == {n for n in verifiers.__all__ if n.startswith("verify_")} - {
        "verify_cases",
        "verify_code_batch",
    } | {"has_format"}
    assert len({json.dumps([c["verifier"], c["completion"], c["arguments"]]) for c in CASES}) == len(CASES) >= 400
    assert len({c["id"] for c in CASES}) == len(CASES)
    kinds = Counter((c["verifier"], c["kind"]) for c in CASES)
    for name in NAMES:
        for kind in ("right", "malformed", "adversarial", "multilingual"):
            assert kinds[name, kind] > 0, (name, kind)


def test_every_label_is_a_reason_of_the_table():
    assert {c["reason"] for c in CASES if "reason" in c} <= set(REASONS)
