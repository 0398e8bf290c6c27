r"""The text of a mathematical answer -> tokens, LaTeX and plain notation made one.

Rules, all of them: one pair of wrappers ($...$, \(...\), \[...\], \boxed{...}, **...**) and a final full stop go;
a unit may stand at the end in \text{...} or \mathrm{...}, or as a degree sign, or a dollar sign in front; commas group
thousands only if the whole number is one proper group, as in 1,234 (not in 12,34, and 1, 2 is a list); `or` and
`and` separate like commas; a word of more than three letters that is no function is not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_DEPTH = 40  # of brackets


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Unreadable(Exception):
    """The answer is in no form that is read here. `reason`: a code of the table in `reasons`."""

    def __init__(self, message: str, reason: str = "unreadable"):
        super().__init__(message)
        self.reason = reason


class Token(NamedTuple):
    kind: str  # "number", "letter", "command" (without its backslash) or "sign"
    text: str


_SIGNS = str.maketrans(
    {"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∕": "/", "’": "'", "′": "'", "\u00a0": " "}
    | dict(zip("０１２３４５６７８９", "0123456789", strict=True))
)
_SYMBOLS = {
    "π": r"\pi ",
    "√": r"\sqrt ",
    "∞": r"\infty ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "∪": r"\cup ",
    "∈": r"\in ",
    "∅": r"\emptyset ",
    "±": r"\pm ",
    "°": r"^\circ ",
    "ℝ": r"\mathbb{R}",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "**": "^",
    "<=": r"\le ",
    ">=": r"\ge ",
    "!=": r"\ne ",
    "{,}": "",
    r"\\": r"\\",  # the end of a row, whose second half must not be read as the next one
    r"\ ": " ",
    r"\,": " ",
    r"\;": " ",
    r"\:": " ",
    r"\!": "",
    "~": " ",
}
_SYMBOL = re.compile("|".join(map(re.escape, _SYMBOLS)))
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega"
)
_GREEK_LETTERS = dict(zip("αβγδεζηθικλμνξρστυφχψω", _GREEK.split(), strict=True))
_LAYOUT = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|quad|qquad)(?![A-Za-z])")
_TWO_DIGITS = re.compile(r"\\[dtc]?frac\s*(\d)\s*(\d)", re.ASCII)
_ONE_LETTER = re.compile(r"\\(?:mathrm|mathit|mathbf|mathsf|operatorname|rm)\s*\{\s*([A-Za-z])\s*\}")
_NAMED = re.compile(r"\\(?:operatorname|mathrm)\s*\{\s*(sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|ln|log|exp)\s*\}")
_SEPARATING_TEXT = re.compile(r",?\s*\\(?:text|mathrm|mbox)\s*\{\s*(?:or|and)\s*\}")
_MATRIX = re.compile(r"\\(begin|end)\s*\{[pbB]?matrix\}")
_WRAPPERS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (r"\$\$(.*)\$\$", r"\$([^$]*)\$", r"\\\((.*)\\\)", r"\\\[(.*)\\\]", r"\*\*(.*)\*\*")
]
_UNIT = re.compile(
    r"(?:\\(?:text|textrm|textbf|mathrm|mbox)\s*\{([^{}]*)\}(?:\s*\^\s*\{?\s*([23])\s*\}?)?|\^\s*\{?\s*(\\circ)\s*\}?)\s*$"
)
_HEDGES = re.compile(r"\b(?:or|and|not|no|maybe|perhaps|possibly|either|but|wrong|if|any)\b")
_THOUSANDS = re.compile(r"((?:[A-Za-z]\s*=\s*)?[-+]?\s*)(\d{1,3}(?:,\d{3})+)(\.\d+)?", re.ASCII)
_SPACED_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\\[,!;]\s?\d{3})+(?![\d,])", re.ASCII)

_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|\\(?P<command>[A-Za-z]+|[{}|%$\\])|(?P<word>[A-Za-z]+)|(?P<sign>[-+*/^_=<>()\[\]{},;:|!%'&])|\s+",
    re.ASCII,
)
FUNCTIONS = names("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh ln log exp sqrt")
_WORDS = {name: name for name in (*FUNCTIONS, *_GREEK.split(), "pi")} | {
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


def unwrap(text: str) -> str:
    """Without dollar signs, display brackets, one box or bold marks around the whole, and a final full stop."""
    text = text.strip()
    for _ in range(4):
        before = text
        text = text.removesuffix(".").rstrip()
        for wrapper in _WRAPPERS:
            if found := wrapper.fullmatch(text):
                text = found.group(1).strip()
        if text.startswith(r"\boxed{") and text.endswith("}") and _closes_at_end(text, text.index("{")):
            text = text[text.index("{") + 1 : -1].strip()
        if text == before:
            break
    return text


def _closes_at_end(text: str, start: int) -> bool:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place == len(text) - 1
    return False


def normalise(text: str) -> str:
    """Characters and spacing commands that have a plain equal here, replaced by it."""
    text = _SPACED_THOUSANDS.sub(lambda found: re.sub(r"\D", "", found.group()), text.translate(_SIGNS))
    text = _SYMBOL.sub(lambda found: _SYMBOLS[found.group()], text)
    for letter, name in _GREEK_LETTERS.items():
        text = text.replace(letter, f"\\{name} ")
    return _LAYOUT.sub(" ", text).strip()


def split_unit(text: str) -> tuple[str, str]:
    """(the answer, its unit): a unit is what `\\text{...}` or a degree sign at the end, or `\\$` in front, says."""
    unit = ""
    if text.startswith((r"\$", "$")):
        text, unit = text.lstrip("\\$").lstrip(), "$"
    while found := _UNIT.search(text):
        if not text[: found.start()].strip():
            break
        words, power, circle = found.groups()
        if words and _HEDGES.search(words.lower()):
            raise Unreadable(f"a hedge: {words!r}")
        unit = ("degree" if circle else " ".join(words.lower().split()) + (power or "")) + unit
        text = text[: found.start()].rstrip()
    return text, unit


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
