"""A simulated pupil's homework: what the nano policy has read before reinforcement learning starts.

The pupil adds two two-digit numbers. Some lines are direct guesses, some are written-out column sums, and
the pupil's typical fault is to forget the carry. Every line is drawn from the train split of the addition
task, so no dev or held-out sum is ever seen. `strategy` sorts a completion by what it does.
"""

from __future__ import annotations

import random
import re
from functools import cache

from grpo_lessons.tasks.addition import Addition, ordered_pairs
from grpo_lessons.tasks.base import Problem
from grpo_lessons.verifiers import extract_answer

STRATEGIES = ("wait", "hedge", "bad format", "forgotten carry", "written-out sum", "direct guess")

# How often each kind of line is written.
SHARES = {"guess": 0.42, "written": 0.29, "sloppy": 0.21, "hedge": 0.04, "wait": 0.04}
# How often the carry is remembered in a written-out sum that has one.
CARRY_REMEMBERED = 0.18
# How often a guess adds one to the tens. The pupil does not look whether there is a carry, so that no policy can
# get better by guessing with more conviction: it has to write the sum out.
GUESS_ADDS_ONE = 0.25
# How often sloppy work is written out; the rest of it is guessed.
SLOPPY_WRITTEN = 0.9

Messages = list[dict[str, str]]


@cache
def _train_pairs() -> tuple[tuple[int, int], ...]:
    return tuple(ordered_pairs("train"))


def addition_homework(rng: random.Random) -> tuple[Messages, str]:
    """One line of homework for a sum of the train split: (chat messages of the prompt, completion)."""
    a, b = rng.choice(_train_pairs())
    kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
    return Addition.problem(a, b).prompt, _LINES[kind](a, b, rng)


def _column_sum(a: int, b: int, rng: random.Random, aside: str = "") -> tuple[str, int]:
    """Steps and result: ("7+8=15, 2+4+1=7, ", 75), or ("7+8=15, 2+4=6, ", 65) with the carry forgotten."""
    ones, tens = a % 10 + b % 10, a // 10 + b // 10
    carried = ones >= 10 and rng.random() < CARRY_REMEMBERED
    steps = f"{a % 10}+{b % 10}={ones}, {aside}{a // 10}+{b // 10}{'+1' * carried}={tens + carried}, "
    return steps, 10 * (tens + carried) + ones % 10


def _guessed(a: int, b: int, rng: random.Random) -> int:
    """The digits added one by one, and sometimes a carry, whether there is one or not."""
    return 10 * (a // 10 + b // 10 + (rng.random() < GUESS_ADDS_ONE)) + (a + b) % 10


def _block(answer: object) -> str:
    return f"<answer>{answer}</answer>"


def _guess(a: int, b: int, rng: random.Random) -> str:
    return _block(_guessed(a, b, rng))


def _written(a: int, b: int, rng: random.Random) -> str:
    steps, answer = _column_sum(a, b, rng)
    return steps + _block(answer)


def _wait(a: int, b: int, rng: random.Random) -> str:
    """The word "wait" once or twice in the middle; it does not help the carry."""
    steps, answer = _column_sum(a, b, rng, aside="wait, " * rng.choice([1, 1, 2]))
    return steps + _block(answer)


def _hedge(a: int, b: int, rng: random.Random) -> str:
    """Two to four candidates in one block, the right one usually among them."""
    others = rng.sample([a + b + d for d in (-10, 10, -1, 1)], 3)
    candidates = rng.sample([a + b, *others], rng.choice([2, 3, 4]))
    return _block(" or ".join(map(str, candidates)))


def _sloppy(a: int, b: int, rng: random.Random) -> str:
    """Work that a strict verifier cannot read: no block, no closing tag, words after it, or two blocks."""
    steps, answer = _column_sum(a, b, rng) if rng.random() < SLOPPY_WRITTEN else ("", _guessed(a, b, rng))
    form = rng.choice(["{n}", "<answer>{n}", "<answer>{n}</answer> ok", "<answer>{n}</answer><answer>{n}</answer>"])
    return steps + form.format(n=answer)


_LINES = {"guess": _guess, "written": _written, "sloppy": _sloppy, "hedge": _hedge, "wait": _wait}


def strategy(completion: str, problem: Problem) -> str:
    """What a completion of an addition problem does: the first of STRATEGIES that fits.

    "wait": the word occurs, whatever else is there.
    "hedge": numbers joined by "or", or several numbers in the one answer block.
    "bad format": the strict verifier finds no answer.
    "forgotten carry": steps are written out and the last one is the sum of the tens without its carry.
    "written-out sum": any other line with a step such as 7+8=15.
    "direct guess": an answer block and no steps.
    """
    if re.search(r"\bwait\b", completion, re.IGNORECASE):
        return "wait"
    answer = extract_answer(completion)
    if re.search(r"\d\s+or\s+\d", completion) or len(re.findall(r"\d+", answer or "")) > 1:
        return "hedge"
    if answer is None:
        return "bad format"
    steps = re.findall(r"\d\s*=\s*(\d+)", completion)
    if not steps:
        return "direct guess"
    a, b = problem.data["a"], problem.data["b"]
    forgotten = a % 10 + b % 10 >= 10 and int(steps[-1]) == a // 10 + b // 10
    return "forgotten carry" if forgotten else "written-out sum"
