r"""The text of a mathematical answer with one spelling for each sign, without its wrappers and its unit.

One pair of wrappers ($...$, \(...\), \[...\], \boxed{...}, **...**) and a final full stop go. A unit may stand at the
end in \text{...} or \mathrm{...}, or as a degree sign, or a dollar sign in front.
"""

from __future__ import annotations

import re


class Unreadable(Exception):
    """The answer is in no form that is read here. `reason`: a code of the table in `reasons`."""

    def __init__(self, message: str, reason: str = "unreadable"):
        super().__init__(message)
        self.reason = reason


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
    r"\\": r"\\",  # the end of a row, whose second half must not be read as the next one
    r"\ ": " ",
    r"\,": " ",
    r"\;": " ",
    r"\:": " ",
    r"\!": "",
    "~": " ",
}
_SYMBOL = re.compile("|".join(map(re.escape, _SYMBOLS)))
GREEK_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega"
)
_GREEK_SIGNS = dict(zip("αβγδεζηθικλμνξρστυφχψω", GREEK_LETTERS.split(), strict=True))
_LAYOUT = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|quad|qquad)(?![A-Za-z])")
_WRAPPERS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (r"\$\$(.*)\$\$", r"\$([^$]*)\$", r"\\\((.*)\\\)", r"\\\[(.*)\\\]", r"\*\*(.*)\*\*")
]
_UNIT = re.compile(
    r"(?:\\(?:text|textrm|textbf|mathrm|mbox)\s*\{([^{}]*)\}(?:\s*\^\s*\{?\s*([23])\s*\}?)?|\^\s*\{?\s*(\\circ)\s*\}?)\s*$"
)
_DOLLARS = re.compile(r"(?:\\?\$\s*)+")
_IS_UNIT = re.compile(r"[^\W\d_][^\d_]*")
_NO_UNITS = re.compile(  # what changes the value or leaves it open
    r"\b(?:or|and|not|no|maybe|perhaps|possibly|either|but|wrong|if|any|about"
    r"|percent|per cent|percentage|half|halves|dozens?|hundreds?|thousands?|millions?|billions?|trillions?|pi)\b"
)
_SPACED_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:\\[,!;]\s?|\{,\})\d{3})+(?![\d,])", re.ASCII)


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
    for letter, name in _GREEK_SIGNS.items():
        text = text.replace(letter, f"\\{name} ")
    return _LAYOUT.sub(" ", text).strip()


def split_unit(text: str) -> tuple[str, str]:
    """(the answer, its unit): a unit is what `\\text{...}` or a degree sign at the end, or `\\$` in front, says."""
    unit = ""
    if found := _DOLLARS.match(text):
        text, unit = text[found.end() :], "$"
    while found := _UNIT.search(text):
        if not text[: found.start()].strip():
            break
        words, power, circle = found.groups()
        words = " ".join((words or "").lower().split())
        if len(words) == 1 and words not in "acfghjklmnstvw":  # 10\mathrm{e} is a product
            break
        if words and (not _IS_UNIT.fullmatch(words) or _NO_UNITS.search(words)):
            raise Unreadable(f"{words!r} is no unit")
        unit = ("degree" if circle else words + (power or "")) + unit
        text = text[: found.start()].rstrip()
    return text, unit
