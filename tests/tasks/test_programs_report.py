from types import SimpleNamespace

import pytest

from grpo_lessons.tasks import programs_report
from grpo_lessons.tasks.programs import Programs
from grpo_lessons.tasks.programs_report import difference_with_interval, share_with_interval, sit_exam

TASK = Programs("compact")


@pytest.fixture
def exam(monkeypatch):
    """The dev split, answered by a policy that writes the table for parabolas and the rule for lines."""

    def answers(policy, problems, group_size, **options):
        def table(problem):
            return "{" + ",".join(f"{x}:{y}" for x, y in problem.data["visible"]) + "}[x]"

        texts = [
            f"<answer>def f(x): return {table(p)}</answer>" if p.data["degree"] == 2 else f"<answer>{p.answer}</answer>"
            for p in problems
        ]
        return SimpleNamespace(texts=texts)

    monkeypatch.setattr(programs_report, "sample_groups", answers)
    return sit_exam(None, TASK, split="dev")


def test_every_problem_is_asked_once_and_stands_with_its_function(exam):
    assert len(exam) == len(set(exam["prompt"])) == 29 * 4
    assert exam["function"].tolist() == sorted(exam["function"])


def test_tables_pass_what_was_shown_and_rules_pass_everything(exam):
    lines = exam["degree"] == 1
    assert 0 < lines.sum() < len(exam)
    assert exam["shown"].all()
    assert exam["right"].tolist() == lines.tolist()
    assert set(exam.loc[~lines, "strategy"]) == {"table of the examples"}
    assert set(exam.loc[~lines, "reason"]) == {"error"}


def test_an_interval_counts_functions_and_not_problems(exam):
    """All four problems of a function share their fate here, so 116 problems say as much as 29."""
    from grpo_lessons.evaluation import wilson_interval

    share, (low, high) = share_with_interval(exam, "right")
    n = exam["function"].nunique()
    as_functions, as_problems = (wilson_interval(round(share * k), k) for k in (n, 4 * n))
    assert high - low > 0.85 * (as_functions[1] - as_functions[0]) > 1.5 * (as_problems[1] - as_problems[0])


def test_where_all_functions_agree_the_interval_is_not_empty(exam):
    share, (low, high) = share_with_interval(exam, "shown")
    assert (share, high) == (1.0, 1.0) and 0.8 < low < 0.9


def test_a_difference_is_of_the_same_problems_and_counts_functions(exam):
    """Every parabola gained and no line changed: the gain is the share of parabolas, as uncertain as that share is."""
    after = exam.assign(right=True)
    gain, (low, high) = difference_with_interval(after, exam, "right")
    share, (share_low, share_high) = share_with_interval(exam.assign(right=exam["degree"] == 2), "right")
    assert gain == pytest.approx(share)
    assert (low, high) == pytest.approx((share_low, share_high), abs=0.03)
    assert difference_with_interval(exam, exam, "right") == (0.0, (0.0, 0.0))
