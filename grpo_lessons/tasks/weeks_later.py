"""Calendar sums: which date is 2 weeks after 27 Feb? The worked example of lesson 18, "your own task"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from grpo_lessons.verifiers import Verdict, read_answer

from .base import Problem
from .finite import FiniteTask

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NEW_YEAR = date(2025, 1, 1)  # of a year without 29 February
MOST_WEEKS = 4  # no sum passes the end of two months


def short(day: date) -> str:
    """The date as "9 Mar"."""
    return f"{day.day} {MONTHS[day.month - 1][:3]}"


class WeeksLater(FiniteTask):
    """A date plus 1 to 4 weeks; the answer is a date such as "9 Mar" in an `<answer>` block."""

    name, max_new_tokens = "weeks_later", 40

    def items(self) -> list[tuple[int, int]]:
        """(day of the year from 0, weeks to add)."""
        return [(start, weeks) for start in range(365) for weeks in range(1, MOST_WEEKS + 1)]

    def problem(self, item: tuple[int, int]) -> Problem:
        """The problem of an item; data holds the date of the start and the weeks to add."""
        start, weeks = NEW_YEAR + timedelta(days=item[0]), item[1]
        prompt = [{"role": "user", "content": f"{short(start)} + {weeks} week{'s' * (weeks > 1)}"}]
        return Problem(prompt, short(start + timedelta(weeks=weeks)), {"start": start, "weeks": weeks})

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Strict on the block, lenient on how the date is written: see `verify_date`."""
        return verify_date(completion, problem.answer)


def verify_date(completion: str, expected: str) -> Verdict:
    """Reward 1 if the answer block holds the expected date, such as "9 Mar", and nothing else.

    Read are day and month in either order, the month's English name or its first three letters, in any case, and a
    leading zero. "9/3" is unreadable: half of the world reads it as the third of September.
    """
    text, reason = read_answer(completion)
    if text is None:
        return Verdict(0.0, reason)
    words = re.fullmatch(r"(?:(\d{1,2}) ([a-z]+)|([a-z]+) (\d{1,2}))", text, re.ASCII | re.IGNORECASE)
    day, month = (words[1] or words[4], (words[2] or words[3]).title()) if words else ("0", "")
    if month not in MONTHS and month not in [name[:3] for name in MONTHS]:
        return Verdict(0.0, "unreadable")
    answer = f"{int(day)} {month[:3]}"
    return Verdict(1.0, "correct", answer) if answer == expected else Verdict(0.0, "wrong", answer)
