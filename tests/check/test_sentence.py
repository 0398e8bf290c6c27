import pytest

from grpo_lessons.check.sentence import sentence_faults

FACTS = {
    "task": "weeks_later",
    "verifier": "verify_date",
    "before": 0.41,
    "after": 0.962,
    "low": 0.93,
    "high": 0.98,
    "n": 280,
    "tokens": 40,
    "steps": 50,
    "runs": 1,
}
GOOD = (
    "On weeks_later, after 50 steps (one run), verify_date accepts 96.2 % [93, 98] of 280 answers of up to 40 tokens, "
    "against 41 % before."
)


def test_a_complete_sentence_has_no_fault():
    assert sentence_faults(GOOD, FACTS) == []


def test_shares_may_stand_as_shares_too():
    assert sentence_faults(GOOD.replace("96.2 % [93, 98]", "0.96 [0.93, 0.98]"), FACTS) == []


@pytest.mark.parametrize(
    ("words", "other", "missing"),
    [
        ("280 ", "", "the number of problems"),
        ("40 tokens", "few tokens", "the token budget"),
        ("[93, 98]", "[93]", "the upper end of the interval"),
        ("[93, 98]", "[90, 98]", "the lower end of the interval"),
        ("96.2 %", "95 %", "the accuracy after"),
        ("41 %", "half", "the accuracy before"),
        ("50 steps", "training", "the training steps"),
        (" (one run)", "", "the number of runs"),
        ("verify_date", "a program", "the verifier"),
        ("weeks_later", "dates", "the task"),
    ],
)
def test_what_is_missing_is_named_alone(words, other, missing):
    assert sentence_faults(GOOD.replace(words, other), FACTS) == [f"missing: {missing}"]


@pytest.mark.parametrize("claim", ["it reasons about dates", "it has learned to add", "it understands months"])
def test_more_than_was_measured_is_named(claim):
    (fault,) = sentence_faults(f"{GOOD} So {claim}.", FACTS)
    assert fault.startswith("more than was measured")


def test_another_number_of_runs_must_be_a_number():
    assert sentence_faults(GOOD, FACTS | {"runs": 3}) == ["missing: the number of runs"]
