"""What an exercise is: a right implementation, inputs, and the wrong implementations that readers tend to write.

A reader's function runs on the inputs. Where its results are those of a known wrong implementation, the answer
is that one's hint; otherwise the first input on which it differs, what was expected and what came. So each hint
can be tested: run the check on the wrong implementation beside it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from grpo_lessons.check.compare import difference, same, show


@dataclass(frozen=True)
class Result:
    """The answer to one attempt; true if it passed. status: "passed", "todo" or "wrong"."""

    exercise: str
    status: str
    message: str

    def __bool__(self) -> bool:
        return self.status == "passed"

    def _ipython_display_(self) -> None:
        """Nothing more: the message was printed when the check ran."""


@dataclass(frozen=True)
class Raised:
    """Stands for the result of a call that failed."""

    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class Exercise:
    """Call it with the reader's function: it prints the answer and returns a Result; it never raises.

    name: "01.group_advantages", the id that exercise and solution cells carry.
    todo: what to do first, for a stub that returns nothing.
    right: a correct implementation, with the signature that the reader's function must have.
    inputs: argument tuples (the last entry may be a dict of keyword arguments in a `Call`).
    wrong: (implementation, hint) pairs.
    measure: what is compared, from the function and one input; by default its return value.
    tolerance: absolute and relative, for numbers.
    """

    name: str
    todo: str
    right: Callable
    inputs: tuple[tuple, ...]
    wrong: tuple[tuple[Callable, str], ...]
    measure: Callable[..., Any] = field(default=lambda function, *args: function(*args))
    tolerance: float = 1e-4

    def __call__(self, function: Callable) -> Result:
        result = self._judge(function)
        words = {"passed": "Passed", "todo": "Not done yet", "wrong": "Not yet"}[result.status]
        print(f"{self.name}. {words}{': ' if result.message else '.'}{result.message}")
        return result

    def _judge(self, function: Callable) -> Result:
        if function is None or function is ...:
            return Result(self.name, "todo", self.todo)
        if not callable(function):
            hint = f"give the check the function itself, without brackets; it got a {type(function).__name__}."
            return Result(self.name, "wrong", hint)
        given, expected = self._run(function), self._run(self.right)
        if all(is_empty(value) for value in given):
            return Result(self.name, "todo", self.todo)
        if stopped := [value for value in expected if isinstance(value, Raised)]:
            return Result(self.name, "wrong", f"this machine cannot judge it: {stopped[0]}")
        failed = [i for i, e in enumerate(expected) if not same(given[i], e, self.tolerance)]
        if not failed:
            return Result(self.name, "passed", "")
        return Result(self.name, "wrong", self._hint(given, expected, failed))

    def _run(self, function: Callable) -> list:
        """The measured result for each input, or what was raised."""
        results = []
        for args in self.inputs:
            try:
                results.append(self.measure(function, *copy.deepcopy(args)))
            except Exception as error:
                results.append(Raised(error))
        return results

    def _hint(self, given: list, expected: list, failed: list[int]) -> str:
        """The hint of the wrong implementation whose results agree most often, if it errs where the reader does."""
        first, best, hint = failed[0], 0, None
        for function, text in self.wrong:
            results = self._run(function)
            if not same(results[first], given[first], self.tolerance) or same(
                results[first], expected[first], self.tolerance
            ):
                continue
            agreed = sum(same(r, g, self.tolerance) for r, g in zip(results, given, strict=True))
            if agreed > best:
                best, hint = agreed, text
        if hint:
            return hint
        arguments = ", ".join(show(value) for value in self.inputs[first])
        return f"on the input {arguments}\n  {difference(given[first], expected[first], self.tolerance)}"


def is_empty(value: Any) -> bool:
    """What an unfilled stub gives: None, an ellipsis, or NotImplementedError."""
    return value is None or value is ... or (isinstance(value, Raised) and isinstance(value.error, NotImplementedError))


def value_and_gradient(function: Callable, first, *rest) -> Any:
    """A measure: the function's scalar value and its gradient by the first argument, a float tensor."""
    first = first.clone().requires_grad_()
    value = function(first, *rest)
    if is_empty(value):
        return value
    value = getattr(value, "loss", value)
    gradient = torch.autograd.grad(value, first)[0]
    return {"the value": value.detach(), "the gradient": gradient}
