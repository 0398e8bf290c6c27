import random
from collections import Counter
from datetime import date

import pytest

from grpo_lessons.tasks.weeks_homework import SHARES, STRATEGIES, month_length, strategy, weeks_homework
from grpo_lessons.tasks.weeks_later import NEW_YEAR, WeeksLater, verify_date

TASK = WeeksLater()


def problem(month, day, weeks):
    return TASK.problem(((date(2025, month, day) - NEW_YEAR).days, weeks))


@pytest.mark.parametrize(
    ("start", "prompt", "answer"),
    [
        ((2, 27, 2), "27 Feb + 2 weeks", "13 Mar"),
        ((2, 28, 4), "28 Feb + 4 weeks", "28 Mar"),
        ((12, 31, 1), "31 Dec + 1 week", "7 Jan"),
        ((1, 31, 4), "31 Jan + 4 weeks", "28 Feb"),
        ((7, 3, 1), "3 Jul + 1 week", "10 Jul"),
    ],
)
def test_dates_from_a_calendar_on_the_wall(start, prompt, answer):
    p = problem(*start)
    assert (p.prompt[0]["content"], p.answer) == (prompt, answer)


@pytest.mark.parametrize("text", ["13 Mar", "March 13", "13 MARCH", "Mar 13", " 13 mar ", "\n13 Mar\n"])
def test_the_same_date_in_another_form_is_right(text):
    assert verify_date(f"27+14=41, <answer>{text}</answer>", "13 Mar").reason == "correct"


def test_a_leading_zero_is_read():
    assert verify_date("<answer>09 Mar</answer>", "9 Mar").reward == 1.0


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        ("<answer>14 Mar</answer>", "wrong"),
        ("<answer>13 May</answer>", "wrong"),
        ("<answer>13/3</answer>", "unreadable"),
        ("<answer>13</answer>", "unreadable"),
        ("<answer>13 Marx</answer>", "unreadable"),
        ("<answer>13 Mar or 14 Mar</answer>", "unreadable"),
        ("<answer>113 Mar</answer>", "unreadable"),
        ("<answer>١٣ Mar</answer>", "unreadable"),
        ("13 Mar", "no_answer"),
        ("<answer>13 Mar</answer> ok", "trailing_text"),
        (None, "not_text"),
    ],
)
def test_anything_else_is_not_right(completion, reason):
    verdict = verify_date(completion, "13 Mar")
    assert (verdict.reward, verdict.reason) == (0.0, reason)


def test_nine_march_is_not_nineteen_march():
    assert verify_date("<answer>19 Mar</answer>", "9 Mar").reward == 0.0


def test_the_homework_reads_the_train_split_only():
    train = {TASK.problem(item).prompt[0]["content"] for item in TASK.pool("train")}
    draw, rng = weeks_homework(TASK), random.Random(0)
    assert {draw(rng)[0][0]["content"] for _ in range(300)} <= train


def test_written_out_sums_use_both_rules_and_only_one_of_them_is_right_in_february():
    p = problem(2, 27, 2)
    assert strategy("27+14=41, 41-30=11, <answer>11 Mar</answer>", p) == "30 days for every month"
    assert strategy("27+14=41, 41-28=13, <answer>13 Mar</answer>", p) == "length of the month"


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ("<answer>11 Mar</answer>", "direct guess"),
        ("<answer>11 Mar or 12 Mar</answer>", "two dates"),
        ("27+14=41, 41-28=13, 13 Mar", "bad format"),
    ],
)
def test_what_is_not_written_out_has_a_name_too(completion, kind):
    assert strategy(completion, problem(2, 27, 2)) == kind


def test_every_strategy_of_the_homework_is_met():
    draw, rng = weeks_homework(TASK), random.Random(1)
    by_prompt = {TASK.problem(item).prompt[0]["content"]: TASK.problem(item) for item in TASK.pool("train")}
    lines = [draw(rng) for _ in range(600)]
    kinds = Counter(strategy(line, by_prompt[messages[0]["content"]]) for messages, line in lines)
    assert set(kinds) == set(STRATEGIES)
    assert abs(kinds["direct guess"] / 600 - SHARES["guess"]) < 0.06


def test_the_pupil_is_right_in_some_lines_and_wrong_in_more_than_a_third():
    draw, rng = weeks_homework(TASK), random.Random(2)
    answers = {TASK.problem(item).prompt[0]["content"]: TASK.problem(item) for item in TASK.pool("train")}
    right = sum(TASK.verify(line, answers[m[0]["content"]]).reward for m, line in (draw(rng) for _ in range(600))) / 600
    assert 0.3 < right < 0.65


def test_month_lengths_are_those_of_a_year_without_29_february():
    assert [month_length(date(2025, month, 1)) for month in (1, 2, 4, 12)] == [31, 28, 30, 31]
