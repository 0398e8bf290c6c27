"""What lesson 10 answers about each of its seven runs; the answers themselves follow from grpo_lessons/clinic.py.

A hint says what the named fault would show and where to look instead. It never says what the run has.
"""

from dataclasses import dataclass

from grpo_lessons.check.base import Exercise, is_empty
from grpo_lessons.clinic import FAULTS, PATIENTS

SIGNS = {
    "healthy": "held-out accuracy that rises together with the reward",
    "cut_off": "completions that all end in mid-sentence, at the same length",
    "too_cold": "the two completions of a question alike word for word, and an entropy near 0",
    "too_hard": "a reward near 0 from the first step, for completions that are whole",
    "rate_too_high": "movement of whole nats within a rollout while the reward falls",
    "rate_too_low": "a gradient in every step, and a movement that is nearly 0",
    "hacked": "a reward that rises while held-out accuracy falls",
    "memorised": "a reward near 1 while held-out accuracy stays where it was",
}
LOOK = {
    "healthy": "the first and the last points of reward and held-out accuracy",
    "cut_off": "how its completions end, and how long they are",
    "too_cold": "the two completions of each question side by side",
    "rate_too_high": "its movement in the first ten steps, beside that of the other runs",
    "rate_too_low": "the scale of its movement, and whether there is a gradient",
    "hacked": "the reason codes of the completions that got reward 1",
    "memorised": "where held-out accuracy begins and ends, and where the reward does",
}


def _line(run: str, guess) -> str:
    if not isinstance(guess, str) or guess not in FAULTS:
        return f"{run}: {guess!r} is not on the list of FAULTS."
    return f"{run}: {guess} would show {SIGNS[guess]}. Look at {LOOK[PATIENTS[run].fault]}."


def _message(guesses: dict) -> str:
    """How many runs are named rightly, a line for each that is not, and which have no name yet."""
    wrong = {run: guess for run, guess in guesses.items() if guess != PATIENTS[run].fault}
    unnamed = [run for run, guess in wrong.items() if is_empty(guess)]
    lines = [f"{len(guesses) - len(wrong)} of {len(guesses)} right."]
    lines += [_line(run, guess) for run, guess in wrong.items() if run not in unnamed]
    return "\n  ".join([*lines, *([f"No name yet: {', '.join(unnamed)}."] if unnamed else [])])


@dataclass(frozen=True)
class Diagnosis(Exercise):
    """An exercise that answers about each run, and never says the answer."""

    def _hint(self, given: list, expected: list, failed: list[int]) -> str:
        return _message({run: guess for (run,), guess in zip(self.inputs, given, strict=True)})


def _fault(run: str) -> str:
    return PATIENTS[run].fault


def _all_but(run: str, guess):
    """A reader who names one run wrongly."""
    return lambda asked: guess if asked == run else _fault(asked)


diagnosis = Diagnosis(
    name="10.diagnosis",
    todo="read the completions of one run, then its curves, and write one of FAULTS in place of its dots.",
    right=_fault,
    inputs=tuple((run,) for run in PATIENTS),
    wrong=tuple(
        (_all_but(run, guess), _message({asked: _all_but(run, guess)(asked) for asked in PATIENTS}))
        for run in PATIENTS
        for guess in (*FAULTS, ...)
        if guess != _fault(run)
    ),
)
