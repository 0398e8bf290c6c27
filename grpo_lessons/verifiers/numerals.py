r"""Text -> an exact number, by a rule that fits on one page.

 1. U+2212 and full-width digits and signs become ASCII. Every other digit outside ASCII makes the text
    unreadable: superscripts are wrong (plain NFKC would read 4² as 42).
 2. Markdown marks, `$...$`, `\(...\)` and `\boxed{...}` around the whole text are taken off, and `\text{...}`
    anywhere.
 3. One currency sign, one unit ("clips", "km/h", "square metres") and one full stop are taken off. A word
    that changes or doubts a number ("million", "dozen", "or", "squared") is not a unit.
 4. What is left is an integer, a decimal, `a/b`, `\frac{a}{b}`, a mixed number or scientific notation. Commas
    and thin spaces separate groups of three only ("1,234"; "12,34" and "0,1" are unreadable). x% means x/100.
Lengths and exponents are checked before anything is converted.
"""

from __future__ import annotations

import re
from fractions import Fraction

MAX_CHARACTERS = 1000
MAX_EXPONENT = 1000  # of scientific notation, either sign
MAX_LAYERS = 8  # of marks around a text

ASCII = str.maketrans("−０１２３４５６７８９＋－．，／％", "-0123456789+-.,/%")
_WRAPS = (("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), (r"\(", r"\)"), (r"\[", r"\]"))
_TEXT = re.compile(r"(?:~|\\[,;: ])?\\(?:text|textbf|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_SEPARATOR = r"(?:,|\{,\}|\\[,!]|[\u00a0\u2009\u202f])"
_WHOLE = rf"[1-9][0-9]{{0,2}}(?P<sep>{_SEPARATOR})[0-9]{{3}}(?:(?P=sep)[0-9]{{3}})*|[0-9]+"
_DECIMAL = re.compile(rf"(?P<whole>{_WHOLE})?(?:\.(?P<part>[0-9]*))?(?P<rest>.*)", re.DOTALL)
_POWER = re.compile(
    r"[eE](?P<e>[+-]?[0-9]+)|\s*(?:\*|×|·|\\times|\\cdot)\s*10\s*\^\s*(?:(?P<p>[+-]?[0-9]+)|\{\s*(?P<b>[+-]?[0-9]+)\s*\})"
)
_LATEX_FRACTION = re.compile(
    r"\\[dt]?frac\s*(?:\{\s*(?P<a>[+-]?[0-9]+)\s*\}|(?P<c>[0-9]))\s*(?:\{\s*(?P<b>[+-]?[0-9]+)\s*\}|(?P<d>[0-9]))"
)
_SLASH = re.compile(r"(?P<a>[0-9.,]+)\s*/\s*(?P<b>[0-9.,]+)")
_MIXED = re.compile(r"(?P<whole>[0-9]+)\s*(?P<part>(?<=\s)[0-9]+\s*/\s*[0-9]+|\\[dt]?frac.*)", re.DOTALL)
_PERCENT = re.compile(r"(?P<number>.*?)\s*(?:\\?%|percent|per cent)", re.DOTALL)
_CURRENCY = re.compile(r"(?P<before>[+-]?)\s*\\?[$€£¥₹]\s*(?P<after>[+-]?.*)", re.DOTALL)

_WORD = r"[^\W\d_]+(?:[²³]|\^\{?[23]\}?)?"
_UNIT = re.compile(
    rf"(?P<number>.*?[0-9.}}])(?:\s+(?P<words>(?:(?:square|cubic)\s+)?{_WORD}(?:(?:\s+per\s+|/){_WORD})?)"
    r"|(?:mm|cm|dm|km|mg|kg|ml)(?:[²³]|\^\{?[23]\}?)?|\s*°[CF]?|\s*\^\s*\{?\\circ\}?|\s*\\?[$€£¥₹])",
    re.DOTALL,
)
_LETTER_UNITS = frozenset("mgshltLJWVNAC")  # other single letters are algebra
# Words that join, doubt or deny; that multiply, divide or change the base. None of them is a unit.
_NOT_UNITS = frozenset(
    """
    or and to not nor but if than by of is are isn was maybe perhaps probably approximately about roughly nearly
    almost unknown wrong incorrect false more less fewer ou oder et und ni no não nicht pas peut vielleicht talvez
    hundred hundreds thousand thousands million millions billion billions trillion trillions dozen dozens score
    bn mn tn half halves third thirds quarter quarters fourth fourths fifth fifths sixth sixths seventh sevenths
    eighth eighths ninth ninths tenth tenths hundredth hundredths thousandth thousandths squared cubed factorial
    times plus minus over choose mod percent pct binary bin hex hexadecimal octal base pi mil milhão milhões
    bilhão bilhões dúzia dúzias cento centos cientos millón millones docena docenas hundert tausend millionen
    milliarde milliarden dutzend mille millier milliers milliard milliards douzaine douzaines metade meia halb
    halbe demi
    """.split()  # noqa: SIM905
)


def parse_number(text: str) -> tuple[Fraction | None, str]:
    """(the number, "") or (None, "too_long" or "unreadable"). Never raises on a string."""
    if len(text) > MAX_CHARACTERS:
        return None, "too_long"
    try:
        value = _number(unwrap(text.translate(ASCII)))
    except OverflowError:
        return None, "too_long"
    return value, "" if value is not None else "unreadable"


def unwrap(text: str) -> str:
    r"""Take off `\text{...}`, and marks, dollars and a box around the whole text, up to MAX_LAYERS of them."""
    text = _TEXT.sub(r" \1 ", text).strip()
    for _ in range(MAX_LAYERS):
        before = text
        for left, right in _WRAPS:
            if len(text) > len(left + right) and text.startswith(left) and text.endswith(right):
                text = text[len(left) : -len(right)].strip()
        if len(text) > 2 and text[0] == text[-1] == "$" and text[-2] != "\\":
            text = text[1:-1].strip()
        if text.startswith(r"\boxed{") and text.endswith("}"):
            text = text[len(r"\boxed{") : -1].strip()
        if text == before:
            break
    return text


def _number(text: str) -> Fraction | None:
    """Rules 3 and 4: full stop, percent or unit, currency, sign; then a bare number."""
    for candidate in (text, text[:-1] if text.endswith(".") else None):
        if candidate is None:
            continue
        if (value := _signed(candidate)) is not None:
            return value
        if found := _PERCENT.fullmatch(candidate):
            value = _signed(found["number"])
            return None if value is None else value / 100
        if (found := _UNIT.fullmatch(candidate)) and _is_unit(found["words"]):
            return _signed(found["number"])
    return None


def _is_unit(words: str | None) -> bool:
    """True for a unit without words (cm, °, €) and for words that leave the number as it is."""
    parts = re.split(r"[\s/]+", words) if words else []
    return all(part in _LETTER_UNITS if len(part) == 1 else part.lower() not in _NOT_UNITS for part in parts)


def _signed(text: str) -> Fraction | None:
    """A number with at most one sign and one currency sign, in either order."""
    text = text.strip()
    if found := _CURRENCY.fullmatch(text):
        text = found["before"] + found["after"]
    sign = -1 if text.startswith("-") else 1
    value = _bare(text[1:].lstrip() if text[:1] in ("+", "-") else text)
    return None if value is None else sign * value


def _bare(text: str) -> Fraction | None:
    """An unsigned number: decimal, scientific, fraction or mixed."""
    if found := _LATEX_FRACTION.fullmatch(text):
        return _divide(int(found["a"] or found["c"]), int(found["b"] or found["d"]))
    if found := _SLASH.fullmatch(text):
        return _divide(_bare(found["a"]), _bare(found["b"]))
    if found := _MIXED.fullmatch(text):
        part = _bare(found["part"])
        return int(found["whole"]) + part if part is not None and 0 < part < 1 else None
    found = _DECIMAL.fullmatch(text)
    if not found or not (found["whole"] or found["part"]):
        return None
    digits = re.sub(r"[^0-9]", "", found["whole"] or "0")
    value = Fraction(f"{digits}.{found['part'] or 0}")
    return value if not found["rest"] else _scaled(value, found["rest"])


def _scaled(value: Fraction, rest: str) -> Fraction | None:
    """value times the power of ten written in `rest`; OverflowError beyond MAX_EXPONENT."""
    found = _POWER.fullmatch(rest)
    if not found:
        return None
    exponent = int(found["e"] or found["p"] or found["b"])
    if abs(exponent) > MAX_EXPONENT:
        raise OverflowError(f"exponent {exponent}")
    return value * Fraction(10) ** exponent


def _divide(a: Fraction | int | None, b: Fraction | int | None) -> Fraction | None:
    return Fraction(a) / b if a is not None and b else None
