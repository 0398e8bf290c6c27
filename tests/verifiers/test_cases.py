"""Every labelled completion of data/verifier_cases.jsonl for the verifiers that need no other process."""

import json
from collections import Counter

import pytest

from grpo_lessons import verifiers
from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers import REASONS
from grpo_lessons.verifiers.report import read_cases, verify_cases

PATH = data_dir() / "verifier_cases.jsonl"
CASES = read_cases(PATH)
PURE = ("integer", "number", "text", "choice", "countdown", "knights")


@pytest.mark.parametrize("name", [*(f"verify_{name}" for name in PURE), "has_format"])
def test_every_case_gets_its_labelled_reward_and_reason(name):
    report = verify_cases(name, PATH)
    assert report.failures == []
    assert report.n >= 30


def test_the_file_has_every_kind_for_every_verifier_and_no_case_twice():
    assert len(CASES) >= 400
    assert len({json.dumps([c["verifier"], c["completion"], c["arguments"]]) for c in CASES}) == len(CASES)
    assert len({c["id"] for c in CASES}) == len(CASES)
    kinds = Counter((c["verifier"], c["kind"]) for c in CASES)
    for verifier in {c["verifier"] for c in CASES} - {"has_format"}:
        for kind in ("right", "wrong", "malformed", "adversarial", "multilingual"):
            assert kinds[verifier, kind] > 0, (verifier, kind)


def test_every_reason_of_the_table_is_a_label_or_belongs_to_another_process():
    labelled = {c["reason"] for c in CASES if "reason" in c}
    assert labelled <= set(REASONS)
    assert all(hasattr(verifiers, c["verifier"]) for c in CASES)
