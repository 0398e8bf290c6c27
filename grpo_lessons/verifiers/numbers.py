"""Integers, compared exactly."""

from __future__ import annotations

import re

from .answers import Extractor, extract_answer, read_answer
from .base import Verdict

_STRICT_INTEGER = re.compile(r"[+-]?[0-9]{1,12}")
_LONG_INTEGER = re.compile(r"[+-]?[0-9]{13,}+")


def _expected_integer(expected: object) -> int:
    """The gold answer as an int; a string, a whole float and a numpy integer are taken."""
    try:
        value = int(expected)
    except (TypeError, ValueError, OverflowError):
        value = None
    if value is None or (not isinstance(expected, str) and value != expected):
        raise ValueError(f"expected={expected!r} is not an integer; give an int, or a string such as '42'")
    return value


def verify_integer(completion: str, expected: int, *, extract: Extractor = extract_answer) -> Verdict:
    """Reward 1 if the answer is an optional sign and 1 to 12 ASCII digits, equal to `expected`.

    White space around the digits is allowed, nothing else: "73." and "**73**" are unreadable here
    (`verify_number` reads them). Raises ValueError if `expected` is not an integer, never on a completion.
    """
    gold = _expected_integer(expected)
    text, reason = read_answer(completion, extract)
    if text is None:
        return Verdict(0.0, reason)
    text = text.strip()
    if not _STRICT_INTEGER.fullmatch(text):
        return Verdict(0.0, "too_long" if _LONG_INTEGER.fullmatch(text) else "unreadable")
    value = int(text)
    return Verdict(1.0, "correct", value) if value == gold else Verdict(0.0, "wrong", value)
