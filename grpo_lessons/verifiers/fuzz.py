"""Break a verifier before a policy does: seeded mutations of labelled cases.

Reports exceptions and the slowest verdict; whether an accepted mutant deserved it, it cannot know.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SNIPPETS = (
    *(
        "<answer>",
        "</answer>",
        "<think>",
        "</think>",
        "<|im_end|>",
        "</s>",
        "<pad>",
        "\\boxed{",
        "}",
        "{",
        "####",
        "```",
    ),
    *(
        "\\frac{",
        "\\text{",
        "\\,",
        "{,}",
        "\\times 10^",
        "e999999999",
        "1e",
        "**",
        "__",
        "`",
        "$",
        "%",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        "=",
        "+",
        "-",
        "*",
        "/",
        "//",
        ",",
        ".",
        "or",
        "not",
        " is a ",
        "knight",
        "knaves: ",
        "\n",
        "\r\n",
        "\x00",
        "\t",
        " ",
    ),
    *(
        "−",
        "²",
        "½",
        "４",
        "٤",
        "×",
        "÷",
        "\u200b",
        "\u202f",
        "\u0301",
        "\ud800",
        "\U0001f600",
        "İ",
        "ß",
        "ﬁ",
        "\ufeff",
    ),
)
HUGE = 1_000_000  # characters of the rare very long completion


@dataclass(frozen=True)
class FuzzReport:
    """n completions were tried. exceptions: (completion, error). slowest_s: CPU seconds of the slowest verdict."""

    n: int
    exceptions: list[tuple[str, str]]
    slowest_s: float
    slowest: str


def fuzz(verify: Callable, cases: Sequence[tuple[str, dict[str, Any]]], *, n: int, seed: int) -> FuzzReport:
    """Call `verify` on n mutants.

    cases: (completion, the other arguments by name) pairs to start from. Measures CPU time of this thread, so that
    a busy machine does not look like a slow verifier.
    """
    exceptions, slowest_s, slowest = [], 0.0, ""
    for completion, arguments in mutants(cases, n=n, seed=seed):
        started = time.thread_time()
        try:
            verify(completion, **arguments)
        except Exception as error:
            exceptions.append((completion, f"{type(error).__name__}: {error}"))
        if (seconds := time.thread_time() - started) > slowest_s:
            slowest_s, slowest = seconds, completion
    return FuzzReport(n, exceptions, slowest_s, slowest)


def mutants(cases: Sequence[tuple[str, dict[str, Any]]], *, n: int, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """n mutated completions, each with the arguments of the case it came from; one in 2 000 is a megabyte long."""
    rng = random.Random(seed)
    for _ in range(n):
        completion, arguments = rng.choice(cases)
        before, opened, rest = completion.partition("<answer>")
        inside, closed, after = rest.partition("</answer>")
        if opened and closed and rng.random() < 0.7:  # keep the block, so that what reads the answer is reached
            mutant = before + opened + _mutate(inside, cases, rng) + closed + after
        else:
            mutant = _mutate(completion, cases, rng)
        if rng.random() < 1 / 2000:
            piece = rng.choice((mutant, rng.choice(SNIPPETS), "9", "(1+", "Ann, ")) or " "
            mutant = (piece * (HUGE // len(piece) + 1))[:HUGE]
        yield mutant, arguments


def _mutate(text: str, cases: Sequence[tuple[str, dict]], rng: random.Random) -> str:
    """One to four random edits: delete, repeat, insert, splice with another case, swap a character."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.randint(0, 12))
        edit = rng.randrange(6)
        if edit == 0:
            text = text[:start] + text[end:]
        elif edit == 1:
            text = text[:start] + text[start:end] * rng.choice((2, 3, 50, 700)) + text[end:]
        elif edit == 2:
            text = text[:start] + rng.choice(SNIPPETS) + text[start:]
        elif edit == 3:
            other = rng.choice(cases)[0]
            text = text[:start] + other[rng.randint(0, len(other)) :]
        elif edit == 4:
            text = text[:start] + chr(rng.randrange(1, 0x2FFF)) + text[end:]
        else:
            text = text[:start] + rng.choice("0123456789 ") * rng.choice((1, 2, 13, 1100)) + text[start:]
    return text
