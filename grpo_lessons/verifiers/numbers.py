"""Numbers, compared exactly as fractions: no float, no tolerance unless it is asked for."""

from __future__ import annotations

import re
from fractions import Fraction

from .answers import Extractor, extract_answer, final_part, read_answer
from .base import Verdict
from .numerals import ASCII, parse_number

_STRICT_INTEGER = re.compile(r"[+-]?[0-9]{1,12}")
_LONG_INTEGER = re.compile(r"[+-]?[0-9]{13,}+")
_NOT_FINITE = frozenset({"nan", "inf", "infinity"})
# A minus is a sign only where nothing that it could be subtracted from stands before it: "3-5" ends in 5.
_FREE_NUMBER = re.compile(
    r"(?:(?<![\w.)\]}%])[+-])?(?<![A-Za-z_0-9.])(?:[1-9][0-9]{0,2}(?:,[0-9]{3})++(?![0-9])|[0-9]++)"
    r"(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?:/[0-9]++)?(?:\s?%)?"
)
_FREE_SCAN = 4000


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


def _expected_number(expected: object) -> Fraction | None:
    """The gold answer as a fraction, a float as printed (0.1 is 1/10); None for NaN and infinities."""
    text = str(expected).strip()
    if text.lower().lstrip("+-") in _NOT_FINITE:
        return None
    value = expected if isinstance(expected, Fraction) else parse_number(text)[0]
    if value is None:
        raise ValueError(f"expected={expected!r} is not a number; give an int, float, Fraction, or a string like '1/2'")
    return value


def verify_number(
    completion: str, expected: object, *, rel_tol: float = 0, extract: Extractor = extract_answer
) -> Verdict:
    r"""Reward 1 if the answer is a number equal to `expected`; how it is read stands in `numerals`.

    "1,234", "$29.00", "1e3", "50%" (which is 1/2), "1 1/2", `\frac{1}{2}`, "**73**" and "72 clips" are read.
    expected: int, float (as printed), Fraction, Decimal or a string read by the same rule; NaN and infinities
    are never correct. rel_tol: accept |answer - expected| <= rel_tol * |expected|; 0 means exact.
    Raises ValueError if `expected` is not a number or rel_tol is negative, never on a completion.
    """
    gold = _expected_number(expected)
    if not 0 <= rel_tol < 1:
        raise ValueError(f"rel_tol={rel_tol} must be at least 0 and below 1; 0 compares exactly")
    text, reason = read_answer(completion, extract)
    if text is None:
        return Verdict(0.0, reason)
    value, reason = parse_number(text)
    if value is None:
        return Verdict(0.0, reason)
    close = gold is not None and abs(value - gold) <= Fraction(str(rel_tol)) * abs(gold)
    return Verdict(1.0, "correct", value) if close else Verdict(0.0, "wrong", value)


def last_number(text: str) -> str | None:
    """The last number in free text after the last `</think>`; for `extract=`, and never a default.

    "72 clips, altogether." gives "72", "3-5" gives "5", "it is -5" gives "-5". A fallback rewards a model for
    naming a number last, whatever it says about it: "not 42" gives "42". Looks at the last 4 000 characters.
    """
    if not isinstance(text, str):
        return None
    numbers = _FREE_NUMBER.findall(final_part(text)[-_FREE_SCAN:].translate(ASCII))
    return numbers[-1] if numbers else None
