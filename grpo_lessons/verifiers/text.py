"""Words and choices: the whole answer is compared, never a part of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .answers import Extractor, extract_answer, read_answer
from .base import Verdict
from .numerals import MAX_LAYERS, unwrap

MAX_CHARACTERS = 2000
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"))
_CHOICE = re.compile(r"\(([A-Z])\)|\[([A-Z])\]|([A-Z])[.):]?")
_FULL_WIDTH_LETTERS = {ord("Ａ") + i: ord("A") + i for i in range(26)} | {
    ord("ａ") + i: ord("a") + i for i in range(26)
}


def normalise_text(text: str) -> str:
    """Marks and quotes around the text, "." and "!" at its end, case and differences of white space are removed.

    Composed and decomposed accents become equal (NFC), ß equals ss (case folding); "x²" stays apart from "x2".
    """
    text = unwrap(text)
    for _ in range(MAX_LAYERS):
        if len(text) > 1 and text[-1] in ".!":
            text = text[:-1].rstrip()
        for left, right in _QUOTES:
            if len(text) > 2 and text.startswith(left) and text.endswith(right):
                text = text[1:-1].strip()
        text = unwrap(text)
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def verify_text(completion: str, expected: str | Sequence[str], *, extract: Extractor = extract_answer) -> Verdict:
    """Reward 1 if the whole answer equals `expected`, or one of several, after `normalise_text`.

    "Dog." equals "dog"; "", "o" and "not dog" do not. Raises ValueError if an expected text is empty.
    """
    accepted = [expected] if isinstance(expected, str) else list(expected)
    gold = {normalise_text(text) for text in accepted}
    if not gold or "" in gold:
        raise ValueError(f"expected={expected!r} holds no text to compare with; give a word, or a list of words")
    text, reason = read_answer(completion, extract)
    if text is None:
        return Verdict(0.0, reason)
    if len(text) > MAX_CHARACTERS:
        return Verdict(0.0, "too_long")
    text = normalise_text(text)
    return Verdict(1.0, "correct", text) if text in gold else Verdict(0.0, "wrong", text)


def _letter(text: str, choices: str) -> str | None:
    """The letter of "B", "(B)", "[B]", "B)", "B." or "B:", either case, if it is one of the choices."""
    found = _CHOICE.fullmatch(unwrap(text).translate(_FULL_WIDTH_LETTERS).upper())
    letter = next(filter(None, found.groups())) if found else None
    return letter if letter and letter in choices else None


def verify_choice(
    completion: str, expected: str, *, choices: str = "ABCDE", extract: Extractor = extract_answer
) -> Verdict:
    """Reward 1 if the answer is the expected letter, with or without brackets, and nothing else.

    "A or B", "AB" and "B) because ..." are unreadable. Full-width letters count, look-alikes of other alphabets
    do not. Raises ValueError if `expected` is not one of the choices.
    """
    gold = _letter(expected, choices) if isinstance(expected, str) else None
    if gold is None:
        raise ValueError(f"expected={expected!r} is not one letter of {choices!r}")
    text, reason = read_answer(completion, extract)
    if text is None:
        return Verdict(0.0, reason)
    if len(text) > MAX_CHARACTERS:
        return Verdict(0.0, "too_long")
    letter = _letter(text, choices)
    if letter is None:
        return Verdict(0.0, "unreadable")
    return Verdict(1.0, "correct", letter) if letter == gold else Verdict(0.0, "wrong", letter)
