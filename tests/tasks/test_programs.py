import random
import re

import pytest

from grpo_lessons.tasks.programs import (
    Function,
    Programs,
    all_functions,
    run_suites,
    share_reward,
    split_functions,
    visible_suite_reward,
)
from grpo_lessons.tasks.programs_homework import STRATEGIES, homework_functions, programs_homework, strategy

TASK = Programs("compact")
LINE = TASK.problem(Function(1, 3, 2), third=3)  # 2, 5, 11
PARABOLA = TASK.problem(Function(2, 2, 0), third=4)  # 0, 2, 32


def program(body):
    return f"<answer>def f(x): return {body}</answer>"


@pytest.mark.parametrize(
    "function, text, at_minus_2",
    [
        (Function(1, 3, 2), "3*x+2", -4),
        (Function(1, 1, 0), "x", -2),
        (Function(2, 2, 5), "2*x*x+5", 13),
        (Function(2, 1, 7), "x*x+7", 11),
    ],
)
def test_functions_compute_and_write_themselves(function, text, at_minus_2):
    assert (str(function), function(-2)) == (text, at_minus_2)


def test_the_prompt_shows_three_points():
    assert LINE.prompt[0]["content"] == "f(0)=2 f(1)=5 f(3)=11"
    assert "f(0)=2, f(1)=5, f(3)=11" in Programs("en").problem(Function(1, 3, 2), 3).prompt[0]["content"]


def test_right_programs_pass_and_tables_and_lines_through_a_parabola_do_not():
    completions = [
        program("3*x+2"),
        program("2+x+x+x"),
        program("{0:2,1:5,3:11}[x]"),
        program("2*x*x"),
        program("2*x"),
        program("{0:0,1:2,4:32}[x]"),
        "<answer>def f(x) return 3*x+2</answer>",
        "3*x+2",
    ]
    verdicts = TASK.verify_batch(completions, [LINE] * 3 + [PARABOLA] * 3 + [LINE] * 2)
    reasons = [verdict.reason for verdict in verdicts]
    assert reasons == ["correct", "correct", "error", "correct", "wrong", "error", "syntax_error", "no_answer"]
    assert [verdict.reward for verdict in verdicts] == [1, 1, 0, 1, 0, 0, 0, 0]


def test_the_weak_suite_pays_for_a_table_of_the_examples():
    completions = [program("{0:2,1:5,3:11}[x]"), program("3*x+2"), program("3*x+1")]
    assert visible_suite_reward(None, completions, [LINE.data["visible"]] * 3, answer=None) == [1, 1, 0]


def test_partial_credit_counts_shown_and_hidden_tests_alike():
    completions = [program("2*x*x"), program("2*x"), program("{0:0,1:2,4:32}[x]"), "2*x*x"]
    data = {key: [PARABOLA.data[key]] * 4 for key in ("visible", "hidden")}
    assert share_reward(None, completions, **data, answer=None) == pytest.approx([1, 2 / 9, 3 / 9, 0])


def test_equal_programs_run_once_and_answer_for_every_row(monkeypatch):
    from grpo_lessons.tasks import programs

    graded = []
    whole = programs.verify_code_batch

    def counting(completions, tests, **options):
        graded.extend(completions)
        return whole(completions, tests, **options)

    monkeypatch.setattr(programs, "verify_code_batch", counting)
    right, wrong = program("3*x+2"), program("3*x+4")
    suites = [LINE.data["hidden"], LINE.data["hidden"], PARABOLA.data["hidden"], LINE.data["hidden"]]
    verdicts = run_suites([right, wrong, right, right], suites)
    assert [v.reward for v in verdicts] == [1, 0, 0, 1]
    assert sorted(graded) == sorted([right, wrong, right])


def test_splits_share_no_function():
    parts = {split: set(split_functions(split)) for split in ("train", "dev", "held_out")}
    assert {split: len(part) for split, part in parts.items()} == {"train": 207, "dev": 29, "held_out": 58}
    assert set.union(*parts.values()) == set(all_functions())


def test_three_examples_tell_all_functions_apart():
    for third in (2, 3, 4, 5):
        shown = {tuple(y for _, y in TASK.problem(f, third).data["visible"]) for f in all_functions()}
        assert len(shown) == len(all_functions())


def test_problems_differ_repeat_with_the_seed_and_stop_at_the_pool():
    problems = TASK.problems("held_out", 232, seed=0)
    assert len({p.prompt[0]["content"] for p in problems}) == 232
    assert TASK.problems("dev", 5, seed=2) == TASK.problems("dev", 5, seed=2)
    with pytest.raises(ValueError, match="233 problems asked of 'held_out', which has 232"):
        TASK.problems("held_out", 233, seed=0)
    with pytest.raises(ValueError, match="unknown split"):
        TASK.problems("test", 1, seed=0)
    with pytest.raises(ValueError, match="unknown form"):
        Programs("latex")


def test_strategies_are_told_apart():
    assert strategy(program("3*x+2"), LINE) == "program at once"
    assert strategy("5-2=3 3*3+2=11 " + program("3*x+2"), LINE) == "worked out"
    assert strategy(program("{0:2,1:5,3:11}[x]"), LINE) == "table of the examples"
    assert strategy(program("2 if x==0 else 5 if x==1 else 11"), LINE) == "table of the examples"
    assert strategy("def f(x): return 3*x+2", LINE) == "no program"


def test_homework_is_flawed_but_not_hopeless():
    rng = random.Random(0)
    asked = [TASK.problem(f, third) for part in homework_functions() for f in part for third in (2, 3, 4, 5)]
    seen = {p.prompt[0]["content"]: p for p in asked}
    lines = [programs_homework(rng) for _ in range(300)]
    problems = [seen[prompt[0]["content"]] for prompt, _ in lines]
    completions = [line for _, line in lines]
    share = sum(v.reward for v in TASK.verify_batch(completions, problems)) / len(lines)
    assert 0.25 < share < 0.5
    assert {strategy(line, p) for line, p in zip(completions, problems, strict=True)} == set(STRATEGIES)


def test_no_function_of_dev_or_held_out_is_in_the_homework():
    kept_apart = {*split_functions("dev"), *split_functions("held_out")}
    assert not kept_apart & {f for part in homework_functions() for f in part}


def test_worked_lines_compute_the_straight_line_at_the_third_point():
    rng = random.Random(1)
    worked = [line for _, line in (programs_homework(rng) for _ in range(200)) if re.match(r"\d+-", line)]
    assert len(worked) > 40
    for line in worked:
        for sum_, value in re.findall(r"(\d+[-*+]\d+)=(\d+)", line):
            assert eval(sum_) == int(value)
