"""Countdown: reach a target with given numbers and + - * / (as in TinyZero, 2025).

Differs from the usual `eval` behind a character filter: an own parser that knows integers, four operators, a
minus sign and brackets, so `**`, `//`, decimals and glued digits are unreadable instead of computed; exact
fractions, so 8/(3-8/3) is 24; and what stands right of "=" is checked, not ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from .answers import Extractor, extract_answer, read_answer
from .base import Verdict
from .numerals import ASCII, unwrap

MAX_CHARACTERS = 300
MAX_DIGITS = 12
MAX_DEPTH = 30

_SIGNS = str.maketrans({"×": "*", "·": "*", "∗": "*", "÷": "/", "∕": "/", "（": "(", "）": ")", "＊": "*", "＝": "="})
_LATEX = {r"\times": "*", r"\cdot": "*", r"\div": "/", r"\left": "", r"\right": ""}
_TOKEN = re.compile(r"\s*([0-9]+|[-+*/()])\s*")


class _Unreadable(Exception):
    """Carries the reason code."""


class _Expression:
    """sum = term (+|- term)*; term = factor (*|/ factor)*; factor = -? (integer | "(" sum ")")."""

    def __init__(self, text: str):
        self.tokens = self._tokens(text)
        self.position = 0
        self.numbers: list[int] = []
        self.value = self._sum(0)
        if self.position != len(self.tokens):
            raise _Unreadable("unreadable")

    @staticmethod
    def _tokens(text: str) -> list[str]:
        tokens, end = [], 0
        for found in _TOKEN.finditer(text):
            if found.start() != end:
                break
            tokens.append(found.group(1))
            end = found.end()
        if end != len(text):
            raise _Unreadable("unreadable")
        if any(len(token) > MAX_DIGITS for token in tokens):
            raise _Unreadable("too_long")
        return tokens

    def _take(self, symbols: str) -> str | None:
        """The next token, consumed, if it is one of the symbols."""
        if self.position < len(self.tokens) and self.tokens[self.position] in symbols:
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def _sum(self, depth: int) -> Fraction:
        value = self._term(depth)
        while sign := self._take("+-"):
            term = self._term(depth)
            value = value + term if sign == "+" else value - term
        return value

    def _term(self, depth: int) -> Fraction:
        value = self._factor(depth)
        while sign := self._take("*/"):
            factor = self._factor(depth)
            if sign == "/" and factor == 0:
                raise _Unreadable("division_by_zero")
            value = value * factor if sign == "*" else value / factor
        return value

    def _factor(self, depth: int) -> Fraction:
        sign = -1 if self._take("-") else 1
        if self._take("("):
            if depth == MAX_DEPTH:
                raise _Unreadable("too_long")
            value = self._sum(depth + 1)
            if not self._take(")"):
                raise _Unreadable("unreadable")
            return sign * value
        if self.position == len(self.tokens) or not self.tokens[self.position].isdigit():
            raise _Unreadable("unreadable")
        self.numbers.append(int(self.tokens[self.position]))
        self.position += 1
        return Fraction(sign * self.numbers[-1])


def evaluate(text: str) -> tuple[Fraction | None, str]:
    """(value, "") of an expression of integers, + - * / and brackets, or (None, the reason why it has none)."""
    if len(text) > MAX_CHARACTERS:
        return None, "too_long"
    try:
        return _Expression(_plain(text)).value, ""
    except _Unreadable as error:
        return None, str(error)


def verify_countdown(
    completion: str,
    numbers: Sequence[int],
    target: int,
    *,
    use_all: bool = False,
    extract: Extractor = extract_answer,
) -> Verdict:
    """Reward 1 if the answer is an expression over `numbers` that equals `target`.

    numbers: the integers given; each may be used once for every time it is given, with `use_all` it must be.
    "(3+5)*2 = 16" is judged by its left side; every side of "=" must have the same value. `×`, `÷`, `−` and
    their LaTeX names are understood. The verdict's answer is the value as a Fraction.
    Raises ValueError if numbers or target are not integers, never on a completion.
    """
    given, goal = Counter(_integer(n) for n in numbers), _integer(target)
    text, reason = read_answer(completion, extract)
    if text is None:
        return Verdict(0.0, reason)
    if len(text) > MAX_CHARACTERS:
        return Verdict(0.0, "too_long")
    try:
        left, *claims = [_Expression(side) for side in _plain(text).split("=")]
    except _Unreadable as error:
        return Verdict(0.0, str(error))
    used = Counter(left.numbers)
    if not (used == given if use_all else used <= given):
        return Verdict(0.0, "wrong_numbers", left.value)
    if any(claim.value != left.value for claim in claims):
        return Verdict(0.0, "false_claim", left.value)
    return Verdict(1.0, "correct", left.value) if left.value == goal else Verdict(0.0, "wrong", left.value)


def _plain(text: str) -> str:
    """The expression in ASCII."""
    text = unwrap(text).translate(ASCII).translate(_SIGNS)
    for name, sign in _LATEX.items():
        text = text.replace(name, sign)
    return text


def _integer(value: object) -> int:
    if isinstance(value, str) or not hasattr(value, "__int__") or int(value) != value:
        raise ValueError(f"{value!r} is not an integer; numbers and target are integers such as [3, 5, 2] and 16")
    return int(value)
