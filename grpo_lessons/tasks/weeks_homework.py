"""A simulated pupil's homework for calendar sums, from which lesson 18 raises its policy.

The pupil adds the days and takes off the length of the month: "27+14=41, 41-28=13, 13 Mar". The typical fault is to
believe that every month has 30 days. Some lines guess, some name two dates, some are written in ways that a verifier
may stumble over. Every line is drawn from the train split of the task.
"""

from __future__ import annotations

import random
from calendar import monthrange
from collections.abc import Callable
from datetime import date

from grpo_lessons.nano import Homework
from grpo_lessons.verifiers import extract_answer

from .base import Problem
from .finite import FiniteTask
from .weeks_later import MONTHS

STRATEGIES = ("bad format", "two dates", "30 days for every month", "length of the month", "direct guess")

# How often each kind of line is written.
SHARES = {"written": 0.4, "guess": 0.3, "other form": 0.1, "sloppy": 0.14, "two dates": 0.06}
# How often a written-out sum uses the length of its month, and not 30.
LENGTH_KNOWN = 0.3
# A guess is off by so many days, whatever the month.
GUESS_OFF = (-1, 0, 0, 1)

# Settings of `make_nano` for this homework: about 45 seconds on one core, and far from perfect on purpose.
RAISING = {"steps": 300, "batch_size": 48, "learning_rate": 4e-3}


def weeks_homework(task: FiniteTask) -> Homework:
    """Lines for the train split of a task whose problems hold `start` (a date) and `weeks`, as `WeeksLater` does."""
    pool = task.pool("train")

    def line(rng: random.Random):
        problem = task.problem(rng.choice(pool))
        kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
        return problem.prompt, _LINES[kind](problem.data["start"], 7 * problem.data["weeks"], rng)

    return line


def month_length(start: date) -> int:
    """Days of the month in which the date lies."""
    return monthrange(start.year, start.month)[1]


def _sum(start: date, days: int, length: int) -> tuple[str, tuple[int, int]]:
    """Steps and (day, index of the month), for a month of so many days: ("27+14=41, 41-28=13, ", (13, 2))."""
    total, month = start.day + days, start.month - 1
    steps = f"{start.day}+{days}={total}, "
    if total <= length:
        return steps, (total, month)
    return f"{steps}{total}-{length}={total - length}, ", (total - length, (month + 1) % 12)


def _worked(start: date, days: int, rng: random.Random) -> tuple[str, tuple[int, int]]:
    return _sum(start, days, month_length(start) if rng.random() < LENGTH_KNOWN else 30)


def _text(answer: tuple[int, int]) -> str:
    return f"{answer[0]} {MONTHS[answer[1]][:3]}"


def _block(text: str) -> str:
    return f"<answer>{text}</answer>"


def _written(start: date, days: int, rng: random.Random) -> str:
    steps, answer = _worked(start, days, rng)
    return steps + _block(_text(answer))


def _guess(start: date, days: int, rng: random.Random) -> str:
    day, month = _sum(start, days, 30)[1]
    return _block(_text((min(31, max(1, day + rng.choice(GUESS_OFF))), month)))


def _two_dates(start: date, days: int, rng: random.Random) -> str:
    """Both dates that a month of 30 and one of 31 days give, in either order."""
    dates = [_text(_sum(start, days, length)[1]) for length in rng.sample([30, 31], 2)]
    return _block(" or ".join(dates))


def _other_form(start: date, days: int, rng: random.Random) -> str:
    """The same date in another form that nobody can misread."""
    steps, (day, month) = _worked(start, days, rng)
    return steps + _block(rng.choice([f"{day:02d} {MONTHS[month][:3]}", f"{MONTHS[month][:3]} {day}"]))


def _sloppy(start: date, days: int, rng: random.Random) -> str:
    """No block, no closing tag, words after it, the month left out, or numbers that can be read in two ways."""
    steps, (day, month) = _worked(start, days, rng)
    text = _text((day, month))
    forms = (text, f"<answer>{text}", f"{_block(text)} ok", _block(str(day)), _block(f"{day}/{month + 1}"))
    return steps + rng.choice(forms)


_LINES: dict[str, Callable[[date, int, random.Random], str]] = {
    "written": _written,
    "guess": _guess,
    "two dates": _two_dates,
    "other form": _other_form,
    "sloppy": _sloppy,
}


def strategy(completion: str, problem: Problem) -> str:
    """What a completion does: the first of STRATEGIES that fits.

    "30 days for every month": the sum is written out and ends where a month of 30 days puts it, which is wrong.
    "length of the month": any other sum that is written out.
    """
    answer = extract_answer(completion)
    if answer is None:
        return "bad format"
    if " or " in answer:
        return "two dates"
    if "=" not in completion:
        return "direct guess"
    start, days = problem.data["start"], 7 * problem.data["weeks"]
    wrong = _sum(start, days, 30)[0]
    return STRATEGIES[2 if completion.startswith(wrong) and wrong != _sum(start, days, month_length(start))[0] else 3]
