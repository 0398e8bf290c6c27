"""Whether two expressions are equal.

Numbers are compared exactly where both are rational, expressions with letters at eight rational points, exactly where
the values there are rational; what is irrational counts as equal if it agrees to 80 digits relative to its largest
term (30 at the points). No absolute tolerance: 2^-99 is not 2^-98. A zero that is not visibly zero must be proven.
"""

from __future__ import annotations

from typing import Any

import sympy

DIGITS, AGREE = 120, 80  # evaluated and compared decimal digits of a constant
POINT_DIGITS, POINT_AGREE = 50, 30
ENOUGH_POINTS = 3
_TABLE = [
    sympy.Rational(*pair) for pair in ((17, 11), (5, 13), (-7, 3), (29, 10), (-19, 23), (31, 37), (41, 9), (-2, 29))
]


def equal(left: Any, right: Any) -> bool:
    """Two expressions."""
    if left == right:
        return True
    if left.has(sympy.oo) or right.has(sympy.oo):
        return False
    symbols = left.free_symbols | right.free_symbols
    if not symbols:
        return _same_constant(left, right, DIGITS, AGREE)
    if (left - right) == 0:
        return True
    inside, outside = [], []  # the real domain of both
    for point in points(symbols):
        pair = left.xreplace(point), right.xreplace(point)
        if all(map(_is_finite, pair)):
            (inside if _in_domain(left, point) and _in_domain(right, point) else outside).append(pair)
    pairs = inside if len(inside) >= ENOUGH_POINTS else outside  # outside: an expression with i
    return len(pairs) >= ENOUGH_POINTS and all(_same_constant(*pair, POINT_DIGITS, POINT_AGREE) for pair in pairs)


def points(symbols: set) -> list[dict]:
    names = sorted(symbols, key=str)
    return [
        {name: _TABLE[(k + 3 * j) % len(_TABLE)] + sympy.Rational(j, 101 + k) for j, name in enumerate(names)}
        for k in range(len(_TABLE))
    ]


def _is_finite(value: Any) -> bool:
    return not value.has(sympy.nan, sympy.zoo, sympy.oo)


def _in_domain(expression: Any, point: dict) -> bool:
    """Every power and logarithm in it is real there, so that sqrt(x) sqrt(y) may be sqrt(x y)."""
    parts = (part.xreplace(point) for part in expression.atoms(sympy.Pow, sympy.log))
    return all(part.is_Rational or sympy.im(part.evalf(20)) == 0 for part in parts)


def _same_constant(left: Any, right: Any, digits: int, agree: int) -> bool:
    if left.is_Rational and right.is_Rational:
        return left == right
    if not _is_finite(left) or not _is_finite(right):
        return False
    difference = left - right
    if difference.is_Rational:
        return difference == 0
    values = [term.evalf(digits) for term in sympy.Add.make_args(difference)]
    if not all(value.is_number and _is_finite(value) for value in values):
        return False
    largest = max(abs(value) for value in values)
    if abs(sum(values)) <= largest * sympy.Float(10, digits) ** -agree:
        return True
    return (left == 0 or right == 0) and sympy.simplify(difference) == 0
