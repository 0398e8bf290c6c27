"""Tests of a program, split into what the program may see and what it may not.

A test becomes a call, which is sent to the program's process, and a judgement of its value, which is not. A test
that cannot be split so is refused with ValueError: that is a fault of the test, not of a completion.
"""

from __future__ import annotations

import ast
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

MAX_HASHED = 1000  # entries of a set or dict that a program returns: equal hashes would cost their square here
PLAIN = (type(None), bool, int, float, complex, str, bytes)
MAKERS = {"set": set, "frozenset": frozenset, "tuple": tuple, "list": list, "dict": dict, "float": float}
FORMS = (
    'forms: "assert f(3) == 7", "assert f(3)", "assert not f(3)", "assert math.isclose(f(3), 7.0, rel_tol=1e-6)", '
    '"assert abs(f(3) - 7.0) < 1e-6", {"call": "f(3)", "expect": 7}, {"stdin": "3\\n", "stdout": "7\\n"}, '
    "((3,), 7) with function="
)
# Up to Python 3.11.7 two threads that parse at once can end in a SystemError (github.com/python/cpython/issues/106905).
ONE_PARSES = threading.Lock()


@dataclass(frozen=True)
class Call:
    """An expression for the program, and whether its value passes. setup: import statements it needs."""

    expression: str
    passes: Callable[[Any], bool]
    setup: str = ""


@dataclass(frozen=True)
class Script:
    """What the whole program reads, and what it must print; white space at line ends and at the end is ignored."""

    stdin: str
    stdout: str

    def passes(self, printed: str) -> bool:
        return _lines(printed) == _lines(self.stdout)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def read_tests(tests: Any, function: str | None = None) -> list[Call | Script]:
    """Every test of a list, or of one string with several assertions. ValueError names the test and the forms."""
    if isinstance(tests, (str, dict)):
        tests = [tests]
    return [part for test in tests for part in _read(test, function)]


def _read(test: Any, function: str | None) -> list[Call | Script]:
    if isinstance(test, str):
        return _read_text(test)
    if isinstance(test, dict) and {"stdin", "stdout"} <= test.keys():
        return [Script(str(test["stdin"]), str(test["stdout"]))]
    if isinstance(test, dict) and {"call", "expect"} <= test.keys():
        tolerances = {name: test[name] for name in ("rel_tol", "abs_tol") if test.get(name) is not None}
        return [Call(_expression(test["call"]), equals(_plain(test["expect"], test), **tolerances))]
    if isinstance(test, (tuple, list)) and len(test) == 2 and function is not None:
        arguments, expected = test
        arguments = arguments if isinstance(arguments, (tuple, list)) else (arguments,)
        inside = ", ".join(repr(_plain(argument, test)) for argument in arguments)
        return [Call(_expression(f"{function}({inside})"), equals(_plain(expected, test)))]
    raise ValueError(f"cannot split the test {test!r:.200}; {FORMS}")


def equals(expected: Any, **tolerances: float) -> Callable[[Any], bool]:
    """Python's own ==; with rel_tol or abs_tol, math.isclose for numbers."""

    def passes(value: Any) -> bool:
        if tolerances and isinstance(value, (int, float)):
            return math.isclose(value, expected, **tolerances)
        return value == expected

    return passes


def _plain(value: Any, test: Any) -> Any:
    """The value itself, if it and all in it are plain: what a program returns is never compared to anything else."""
    if isinstance(value, dict):
        inside = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = list(value)
    elif type(value) in PLAIN:
        inside = []
    else:
        raise ValueError(f"the test {test!r:.200} holds a {type(value).__name__}; expected are plain Python values")
    for item in inside:
        _plain(item, test)
    return value


def _expression(text: Any) -> str:
    try:
        with ONE_PARSES:
            ast.parse(text, mode="eval")
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"the call {text!r:.200} is not a Python expression") from error
    return text


def _read_text(text: str) -> list[Call]:
    try:
        with ONE_PARSES:
            statements = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"the test {text!r:.200} is not Python: {error}") from error
    imports = [s for s in statements if isinstance(s, (ast.Import, ast.ImportFrom))]
    asserts = [s for s in statements if isinstance(s, ast.Assert)]
    if not asserts or len(imports) + len(asserts) < len(statements):
        raise ValueError(f"the test {text!r:.200} is not made of assertions (and imports) alone; {FORMS}")
    setup = "\n".join(map(ast.unparse, imports))
    return [_read_assert(statement.test, setup) for statement in asserts]


def _read_assert(test: ast.expr, setup: str) -> Call:
    """Each form of an assertion that has a call on one side and a literal on the other."""
    match test:
        case ast.Compare(left, [ast.Eq() | ast.Is()], [right]):
            call, expected = (right, left) if _is_literal(left) else (left, right)
            return _call(call, equals(_literal(expected, test)), setup)
        case ast.Compare(
            ast.Call(ast.Name("abs"), [ast.BinOp(call, ast.Sub(), expected)]), [ast.Lt() | ast.LtE()], [gap]
        ):
            tolerance = _literal(gap, test)
            return _call(call, equals(_literal(expected, test), rel_tol=0.0, abs_tol=tolerance), setup)
        case ast.Call(ast.Attribute(ast.Name("math"), "isclose") | ast.Name("isclose"), [call, expected], keywords):
            tolerances = {keyword.arg: _literal(keyword.value, test) for keyword in keywords} or {"rel_tol": 1e-9}
            return _call(call, equals(_literal(expected, test), **tolerances), setup)
        case ast.UnaryOp(ast.Not(), ast.Call() as call):
            return _call(call, lambda value: not value, setup)
        case ast.Call():
            return _call(test, bool, setup)
    raise ValueError(f"cannot split the assertion {ast.unparse(test)!r:.200}; {FORMS}")


def _call(expression: ast.expr, passes: Callable[[Any], bool], setup: str) -> Call:
    if not any(isinstance(node, ast.Call) for node in ast.walk(expression)):
        raise ValueError(f"{ast.unparse(expression)!r:.200} calls nothing, so there is nothing to test")
    return Call(ast.unparse(expression), passes, setup)


def _is_literal(node: ast.expr) -> bool:
    try:
        _literal(node, node)
    except ValueError:
        return False
    return True


def _literal(node: ast.expr, test: ast.expr) -> Any:
    """The value of a literal, or of set([...]), tuple(...), float("inf") and the like over literals."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS and not node.keywords:
        return MAKERS[node.func.id](*[_literal(argument, test) for argument in node.args])
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"the expected value {ast.unparse(node)!r:.200} of {ast.unparse(test)!r:.200} is not a literal; {FORMS}"
        ) from error


def decode(message: Any) -> Any:
    """The plain value that a program's process sent.

    ValueError, TypeError, KeyError or RecursionError for anything else, and for a set or dict over MAX_HASHED.
    """
    if not isinstance(message, (dict, list)):
        return message
    ((kind, content),) = message.items() if isinstance(message, dict) else [("", message)]
    if kind in ("set", "frozenset", "dict") and len(content) > MAX_HASHED:
        raise ValueError(f"a {kind} of {len(content)} entries")
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "complex":
        return complex(*content)
    if kind == "dict":
        return {decode(key): decode(value) for key, value in content}
    makers: dict[str, Callable[[Sequence], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
    return makers[kind]([decode(item) for item in content])
