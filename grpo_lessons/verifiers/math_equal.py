"""Whether two answers say the same: their structure here, their values in `math_values`."""

from __future__ import annotations

from typing import Any

import sympy

from .math_reader import Bag, Chain, Grid, Row, Span, Union, Value, Words
from .math_values import equal, points


def same(expected: Any, answer: Any) -> bool:
    """Structure first, then values. A part of a set, or a list of guesses, is never the same as one value."""
    expected, answer = _single(expected), _single(answer)
    if isinstance(expected, Words) or isinstance(answer, Words):
        return expected == answer
    if isinstance(expected, Value):
        return _same_value(expected.expression, answer)
    if isinstance(expected, Bag):
        return isinstance(answer, Bag) and _same_bag(expected, answer)
    if isinstance(expected, Grid):
        return isinstance(answer, Grid) and _same_grid(expected, answer)
    if isinstance(expected, Row) and isinstance(answer, (Row, Bag)):
        if isinstance(answer, Bag):
            return not answer.braces and _pairwise(expected.items, answer.items)
        brackets = expected.opening == answer.opening or len(expected.items) > 2
        return brackets and _pairwise(expected.items, answer.items)
    if isinstance(expected, Chain) and isinstance(answer, (Chain, Value)) and _same_chain(expected, answer):
        return True
    left, right = _spans(expected), _spans(answer)
    return left is not None and right is not None and _matched(left, right, _same_span)


def _single(said: Any) -> Any:
    return said.items[0] if isinstance(said, Bag) and len(said.items) == 1 else said


def _pairwise(left: tuple, right: tuple) -> bool:
    return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))


def _matched(left: list, right: list, equal: Any) -> bool:
    """Each of the left has its own partner on the right, and none is left over."""
    rest = list(right)
    for item in left:
        partner = next((place for place, other in enumerate(rest) if equal(item, other)), None)
        if partner is None:
            return False
        del rest[partner]
    return not rest


def _distinct(items: tuple) -> list:
    kept: list = []
    for item in items:
        if not any(same(item, other) for other in kept):
            kept.append(item)
    return kept


def _same_bag(expected: Bag, answer: Bag) -> bool:
    if len(expected.items) > 40 or len(answer.items) > 40:
        return False
    left, right = ({_name(item) for item in bag.items} for bag in (expected, answer))
    if left != right and (len(left) > 1 or len(right) > 1):  # x = 1, y = 2 is no list of values
        return False
    return _matched(_distinct(expected.items), _distinct(answer.items), same)


def _same_grid(expected: Grid, answer: Grid) -> bool:
    if [len(row) for row in expected.rows] != [len(row) for row in answer.rows]:
        return False
    pairs = zip(sum(expected.rows, ()), sum(answer.rows, ()), strict=True)
    return all(equal(a, b) for a, b in pairs)


def _name(item: Any) -> Any:
    """The x of x = ..."""
    if isinstance(item, Chain) and item.relations[0] == "=" and isinstance(item.sides[0], Value):
        first = item.sides[0].expression
        return first if first.is_Symbol else None
    return None


def _same_value(value: Any, answer: Any) -> bool:
    """answer may be the value, x = the value, or a chain of equal ones all of which are the value."""
    if isinstance(answer, Value):
        return equal(value, answer.expression)
    if not isinstance(answer, Chain) or set(answer.relations) != {"="}:
        return False
    named = _name(answer) is not None and _name(answer) not in value.free_symbols
    return all(_same_value(value, side) for side in answer.sides[named:])


def _same_chain(expected: Chain, answer: Chain | Value) -> bool:
    name = _name(expected)
    if name is not None and set(expected.relations) == {"="}:
        value = expected.sides[-1]
        if isinstance(answer, Value):
            return same(value, answer)
        if set(answer.relations) == {"="} and _name(answer) == name:
            return all(same(value, side) for side in answer.sides[1:])
        if not isinstance(value, Value) or not value.expression.free_symbols:
            return False  # x = 3 is solved, 2x = 6 is not
    if isinstance(answer, Value):
        return False
    left, right = _links(expected), _links(answer)
    return left is not None and right is not None and _matched(left, right, _same_link)


def _links(chain: Chain) -> list[tuple[Any, str]] | None:
    """a < b < c as [(a - b, "<"), (b - c, "<")], > and >= turned round; None if a side is no value."""
    if not all(isinstance(side, Value) for side in chain.sides):
        return None
    sides = [side.expression for side in chain.sides]
    links = []
    for left, relation, right in zip(sides, chain.relations, sides[1:], strict=False):
        turned = relation in (">", ">=")
        links.append((right - left if turned else left - right, relation.replace(">", "<")))
    return links


def _same_link(expected: tuple[Any, str], answer: tuple[Any, str]) -> bool:
    """The same relation to zero, and differences that are a constant times each other (a positive one for <)."""
    (left, relation), (right, other) = expected, answer
    if relation != other or not (left.free_symbols and left.free_symbols == right.free_symbols):
        return False
    for point in points(left.free_symbols):
        a, b = left.xreplace(point), right.xreplace(point)
        if a.is_finite and b.is_finite and a != 0 and b != 0:
            factor = a / b
            return (relation in ("=", "!=") or bool(factor > 0)) and equal(left, factor * right)
    return False


def _spans(said: Any) -> list[Span] | None:
    """What is said as intervals, if it can be."""
    if isinstance(said, Span):
        return [said]
    if isinstance(said, Row) and len(said.items) == 2 and all(isinstance(item, Value) for item in said.items):
        low, high = (item.expression for item in said.items)
        return None if said.opening == "<" else [Span(low, high, said.opening == "(", said.opening == "(")]
    if isinstance(said, Union):
        parts = [_spans(part) for part in said.parts]
        return None if any(part is None for part in parts) else [span for part in parts for span in part]
    if isinstance(said, Bag) and said.items and all(isinstance(item, Value) for item in said.items):
        return [Span(item.expression, item.expression, False, False) for item in said.items]
    return _span_of_chain(said) if isinstance(said, Chain) else None


def _span_of_chain(chain: Chain) -> list[Span] | None:
    """x > 3, or 1 < x <= 2, in either direction."""
    if not all(isinstance(side, Value) for side in chain.sides) or "=" in chain.relations or "!=" in chain.relations:
        return None
    sides, relations = [side.expression for side in chain.sides], list(chain.relations)
    if relations[0].startswith(">"):
        sides, relations = sides[::-1], [relation.replace(">", "<") for relation in relations[::-1]]
    if any(relation.startswith(">") for relation in relations):
        return None
    constant = [not side.free_symbols for side in sides]
    name = [side.is_Symbol for side in sides]
    if len(sides) == 3 and constant[0] and name[1] and constant[2]:
        return [Span(sides[0], sides[2], relations[0] == "<", relations[1] == "<")]
    if len(sides) == 2 and name[0] and constant[1]:
        return [Span(-sympy.oo, sides[1], True, relations[0] == "<")]
    if len(sides) == 2 and constant[0] and name[1]:
        return [Span(sides[0], sympy.oo, relations[0] == "<", True)]
    return None


def _same_span(left: Span, right: Span) -> bool:
    ends = (left.open_low, left.open_high) == (right.open_low, right.open_high)
    return ends and equal(left.low, right.low) and equal(left.high, right.high)
