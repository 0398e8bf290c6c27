r"""Tokens of a mathematical answer -> what it says: a value, a list or set, a tuple, an interval, relations, a matrix.

Differs from latex2sympy, which it replaces here: that reads 3(2) as 5 and "2 3" as 5, x \pmod 3 as a set, and 1/2x as
1/(2x). This reader is small, builds SymPy objects itself and never evaluates text; what is ambiguous
(1/2x, 2 3) or not in the list below is refused, not guessed. It reads + - * / ^ ! % | | and brackets, implicit
products, \frac, \sqrt, \binom, roots, the usual functions, floor and ceiling, pi, e, i, letters with subscripts or
accents, \pm, mixed numbers such as 2\frac{1}{2}, chains of = < > \le \ge \ne, \cup, \{...\}, (a, b], p- and bmatrix.
A \log without a base is a logarithm to an unknown base: equal to another \log, never to a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from .math_expression import Expression
from .math_notation import Unreadable, normalise, split_unit, unwrap
from .math_tokens import CLOSING, OPENING, Token, tokens

RELATIONS = {"=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!="}


@dataclass(frozen=True)
class Value:
    expression: Any


@dataclass(frozen=True)
class Bag:
    r"""A list or, written with \{ \}, a set: the order does not matter."""

    items: tuple
    braces: bool = False


@dataclass(frozen=True)
class Row:
    """A tuple, or with two items perhaps an interval; opening: "(" or "[" (square brackets) or "<"."""

    items: tuple
    opening: str


@dataclass(frozen=True)
class Span:
    low: Any
    high: Any
    open_low: bool
    open_high: bool


@dataclass(frozen=True)
class Union:
    parts: tuple


@dataclass(frozen=True)
class Chain:
    """sides[0] relations[0] sides[1] relations[1] ..."""

    sides: tuple
    relations: tuple


@dataclass(frozen=True)
class Grid:
    rows: tuple


@dataclass(frozen=True)
class Words:
    text: str


def read(text: str, *, words: bool = False) -> tuple[Any, str]:
    r"""(what an answer says, its unit or ""). words: read it as words, for an expected answer that is \text{...}."""
    text = unwrap(text)
    inner = text[text.find("{") + 1 : -1] if text.startswith(r"\text{") and text.endswith("}") else None
    if words or (inner is not None and any(map(str.isalpha, inner)) and "{" not in inner and "}" not in inner):
        return Words(_plain_words(text if inner is None else inner)), ""
    text, unit = split_unit(normalise(text if inner is None else inner))
    items = [read_item(part) for part in split(tokens(text), (",", ";"))]
    return (items[0] if len(items) == 1 else Bag(tuple(items))), unit


def _plain_words(text: str) -> str:
    text = " ".join(text.casefold().split()).removesuffix(".")
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def split(part: list[Token], separators: tuple[str, ...]) -> list[list[Token]]:
    """Cut at the separators that stand in no bracket."""
    pieces, depth = [[]], 0
    for token in part:
        if token.kind in ("sign", "command"):
            depth += (token.text in OPENING) - (token.text in CLOSING)
            if depth == 0 and token.text in separators:
                pieces.append([])
                continue
        pieces[-1].append(token)
    return pieces


def read_item(part: list[Token]) -> Any:
    """One item of a list: plus-minus, membership and relations, then a side."""
    signs = [place for place, token in enumerate(part) if token == ("command", "pm")]
    if len(signs) > 1:
        raise Unreadable("more than one plus-minus sign in one expression")
    if signs:
        variants = [[*part[: signs[0]], Token("sign", sign), *part[signs[0] + 1 :]] for sign in "+-"]
        return Bag(tuple(map(read_item, variants)))
    if len(part) > 2 and part[0].kind == "letter" and part[1] == ("command", "in"):
        part = part[2:]
    sides = split(part, tuple(RELATIONS))
    if len(sides) == 1:
        return read_side(part)
    relations, depth = [], 0
    for token in part:
        if token.kind in ("sign", "command"):
            depth += (token.text in OPENING) - (token.text in CLOSING)
            if depth == 0 and token.text in RELATIONS:
                relations.append(RELATIONS[token.text])
    return Chain((_function_name(sides[0]) or read_side(sides[0]), *map(read_side, sides[1:])), tuple(relations))


def _function_name(side: list[Token]) -> Value | None:
    """The f(x) of f(x) = ...: a name here, while a(b + c) is a product elsewhere."""
    kinds, texts = [token.kind for token in side], "".join(token.text for token in side)
    if kinds == ["letter", "sign", "letter", "sign"] and texts[1] == "(" and texts[3] == ")":
        return Value(sympy.Symbol(texts))
    return None


def read_side(part: list[Token]) -> Any:
    """One side of a relation: a union, a matrix, something in brackets with commas, or an expression."""
    parts = split(part, ("cup",))
    if len(parts) == 1 and any(token == ("letter", "U") for token in part[1:-1]):
        parts = split([Token("sign", "cup") if token == ("letter", "U") else token for token in part], ("cup",))
    if len(parts) > 1:
        return Union(tuple(map(read_side, parts)))
    names = [token.text for token in part]
    if names == ["emptyset"]:
        return Bag(())
    if names == ["mathbb", "{", "R", "}"]:
        return Span(-sympy.oo, sympy.oo, True, True)
    if part and part[0] == ("command", "beginmatrix") and part[-1] == ("command", "endmatrix"):
        rows = split(part[1:-1], ("\\",))
        rows = rows[:-1] if not rows[-1] else rows
        return Grid(tuple(tuple(_expression(cell) for cell in split(row, ("&",))) for row in rows))
    return _bracketed(part) or Value(_expression(part))


def _bracketed(part: list[Token]) -> Any:
    """A set, tuple or interval that fills the whole part; None if it is anything else."""
    if len(part) < 2 or part[0].text not in OPENING or part[-1].text not in CLOSING or part[0].kind == "letter":
        return None
    inside = part[1:-1]
    depth = 0
    for token in inside:
        depth += (token.text in OPENING) - (token.text in CLOSING) if token.kind in ("sign", "command") else 0
        if depth < 0:
            return None  # (a + b)(c + d)
    items = split(inside, (",", ";"))
    opening, closing = part[0], part[-1]
    if opening == ("command", "{"):
        return Bag(tuple(map(read_item, items)) if inside else (), braces=True) if closing == ("command", "}") else None
    if len(items) == 1 or opening == ("sign", "{"):
        return None
    content = tuple(map(read_item, items))
    if (opening.text, closing.text) in (("(", ")"), ("[", "]"), ("langle", "rangle")):
        return Row(content, opening.text[0] if opening.text != "langle" else "<")
    if len(content) == 2 and {opening.text, closing.text} <= set("()[]"):
        return Span(value_of(content[0]), value_of(content[1]), opening.text in "(]", closing.text in ")[")
    raise Unreadable("brackets that do not match")


def _expression(part: list[Token]) -> Any:
    return Expression(part).read()


def value_of(item: Any) -> Any:
    if not isinstance(item, Value):
        raise Unreadable("an end of an interval is not a value")
    return item.expression
