"""Arithmetic on SymPy expressions that looks at the size of a result before it is computed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import sympy

from .math_notation import Unreadable
from .math_tokens import FUNCTIONS

MAX_BITS = 1 << 18  # of a power of numbers
MAX_EXPONENT = 2000  # over a base with letters, and of scientific notation
MAX_FACTORIAL = 1000

CONSTANTS = {"pi": sympy.pi, "infty": sympy.oo}
LETTERS = {"e": sympy.E, "i": sympy.I}
LOG_UNIT = sympy.Symbol("1/ln(base)")  # a \log without a base
MAKERS = {
    "ln": sympy.log,
    "log": lambda argument: LOG_UNIT * sympy.log(argument),
    "exp": sympy.exp,
    **{name: getattr(sympy, name.replace("arc", "a")) for name in FUNCTIONS - {"ln", "log", "exp", "sqrt"}},
}


def number(text: str) -> Any:
    """An exact rational from decimal notation, after a look at its size."""
    _mantissa, _, exponent = text.lower().partition("e")
    if exponent and (len(exponent) > 5 or abs(int(exponent)) > MAX_EXPONENT):
        raise Unreadable("the exponent is too large", "too_long")
    value = Fraction(text)
    return sympy.Rational(value.numerator, value.denominator)


def divide(top: Any, bottom: Any) -> Any:
    if bottom == 0:
        raise Unreadable("a division by zero")
    return top / bottom


def raise_to(base: Any, exponent: Any) -> Any:
    """base^exponent, unless writing it out would take more than MAX_BITS or MAX_EXPONENT factors."""
    if base == 0 and not exponent.is_positive:
        raise Unreadable("zero to a power that is not positive")
    if base.is_Rational and exponent.is_Rational:
        size = (
            float(math.log2(max(abs(base.p), base.q))) * abs(exponent.p) / exponent.q if abs(base.p) + base.q > 2 else 0
        )
        if size > MAX_BITS:
            raise Unreadable("the power is too large", "too_long")
    result = base**exponent
    if result.has(sympy.nan, sympy.zoo) or any(_too_high(power) for power in result.atoms(sympy.Pow)):
        raise Unreadable("the power is too large", "too_long")
    return result


def _too_high(power: Any) -> bool:
    exponent = power.exp
    return exponent.is_Rational and max(abs(exponent.p), exponent.q) > MAX_EXPONENT


def root(value: Any, index: Any) -> Any:
    """The real root: of a negative number and an odd index a negative one."""
    if not (index.is_Integer and 2 <= index <= 100):
        raise Unreadable("a root's index is not a whole number from 2 to 100")
    if index % 2 and value.free_symbols:
        return sympy.sign(value) * raise_to(sympy.Abs(value), 1 / index)
    if index % 2 and value.is_extended_negative:
        return -raise_to(-value, 1 / index)
    return raise_to(value, 1 / index)


def apply(name: str, argument: Any, base: Any = None, exponent: Any = None) -> Any:
    """A function with what stands below and above its name: log_2 x, sin^2 x; sin^-1 x is the inverse."""
    if base is not None and name != "log":
        raise Unreadable(f"{name} has no base")
    if exponent == -1 and name in ("sin", "cos", "tan"):
        return MAKERS["arc" + name](argument)
    value = MAKERS[name](argument) if base is None else divide(sympy.log(argument), sympy.log(base))
    return value if exponent is None else raise_to(value, exponent)


def factorial(value: Any) -> Any:
    if value.is_number and not (value.is_Integer and 0 <= value <= MAX_FACTORIAL):
        raise Unreadable("the factorial of something else than a whole number up to 1000")
    return sympy.factorial(value)


def binomial(top: Any, bottom: Any) -> Any:
    if top.is_number and bottom.is_number and not (top.is_Integer and bottom.is_Integer and 0 <= bottom <= top <= 1000):
        raise Unreadable("a binomial of something else than whole numbers up to 1000")
    return sympy.binomial(top, bottom)
