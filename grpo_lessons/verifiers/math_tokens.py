r"""The tokens of a mathematical answer.

Commas group thousands only if the whole number is one proper group, as in 1,234 (not in 12,34, and 1, 2 is a list);
`or` and `and` separate like commas; a word of two or three letters is a product of letters, a longer one that is no
function is not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .math_notation import GREEK_LETTERS, Unreadable

MAX_DEPTH = 40  # of brackets


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Token(NamedTuple):
    kind: str  # "number", "letter", "command" (without its backslash) or "sign"
    text: str


_TWO_DIGITS = re.compile(r"\\[dtc]?frac\s*(\d)\s*(\d)", re.ASCII)
_ONE_LETTER = re.compile(r"\\(?:mathrm|mathit|mathbf|mathsf|operatorname|rm)\s*\{\s*([A-Za-z])\s*\}")
_NAMED = re.compile(r"\\(?:operatorname|mathrm)\s*\{\s*(sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|ln|log|exp)\s*\}")
_SEPARATING_TEXT = re.compile(r",?\s*\\(?:text|mathrm|mbox)\s*\{\s*(?:or|and)\s*\}")
_MATRIX = re.compile(r"\\(begin|end)\s*\{[pbB]?matrix\}")
_THOUSANDS = re.compile(r"((?:[A-Za-z]\s*=\s*)?[-+]?\s*)(\d{1,3}(?:,\d{3})+)(\.\d+)?", re.ASCII)
_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|\\(?P<command>[A-Za-z]+|[{}|%$\\])|(?P<word>[A-Za-z]+)|(?P<sign>[-+*/^_=<>()\[\]{},;:|!%'&])|\s+",
    re.ASCII,
)
FUNCTIONS = names("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh ln log exp sqrt")
_WORDS = {name: name for name in (*FUNCTIONS, *GREEK_LETTERS.split(), "pi")} | {
    "infinity": "infty",
    "inf": "infty",
    "oo": "infty",
    "in": "in",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "union": "cup",
}
_NOT_PRODUCTS = names("to is not if no yes but nor any all the for are of it its so we you he she as at an by")
_COMMANDS = {
    "cdot": "*",
    "times": "*",
    "ast": "*",
    "div": "/",
    "lbrace": "{",
    "rbrace": "}",
    "dfrac": "frac",
    "tfrac": "frac",
    "cfrac": "frac",
    "dbinom": "binom",
    "tbinom": "binom",
    "leq": "le",
    "leqslant": "le",
    "geq": "ge",
    "geqslant": "ge",
    "neq": "ne",
    "lt": "<",
    "gt": ">",
    "varnothing": "emptyset",
    "varphi": "phi",
    "varepsilon": "epsilon",
    "vartheta": "theta",
    "lvert": "|",
    "rvert": "|",
    "vert": "|",
    "colon": ":",
    "arsinh": "arcsinh",
    "arcosh": "arccosh",
    "artanh": "arctanh",
}


def tokens(text: str) -> list[Token]:
    """The tokens of a normalised answer without its unit; Unreadable at the first thing that is not understood."""
    text = _SEPARATING_TEXT.sub(",", text)
    text = _ONE_LETTER.sub(r"\1", _NAMED.sub(r"\\\1", _MATRIX.sub(r"\\\1matrix ", text)))
    text = _TWO_DIGITS.sub(r"\\frac{\1}{\2}", text)
    if found := _THOUSANDS.fullmatch(text.strip()):
        text = found.group(1) + found.group(2).replace(",", "") + (found.group(3) or "")
    result, place, depth = [], 0, 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise Unreadable(f"{text[place]!r} is not understood")
        place = found.end()
        result += _token(found)
        depth += sum((t.text in OPENING) - (t.text in CLOSING) for t in result[-1:] if t.kind in ("sign", "command"))
        if depth > MAX_DEPTH:
            raise Unreadable("brackets nest too deep", "too_long")
    return result


OPENING, CLOSING = frozenset("([{") | {"langle"}, frozenset(")]}") | {"rangle"}


def _token(found: re.Match) -> list[Token]:
    kind, text = found.lastgroup, found.group(found.lastgroup) if found.lastgroup else ""
    if kind is None:
        return []
    if kind == "command":
        text = _COMMANDS.get(text, text)
        return [Token("sign" if text in ("*", "/", "<", ">", "|", ":") else "command", text)]
    if kind != "word":
        return [Token(kind, text)]
    if text in ("or", "and"):
        return [Token("sign", ",")]
    if text in _WORDS:
        return [Token("command", _WORDS[text])]
    if len(text) > 3 or text.lower() in _NOT_PRODUCTS:
        raise Unreadable(f"the word {text!r} is not understood")
    return [Token("letter", letter) for letter in text]
