"""From what a program wrote to one reason code per test: what is read here may be forged, and is only data."""

from __future__ import annotations

import json
from typing import Any

from .code_tests import Call, Script, decode


def _messages(answer: dict[str, Any]) -> list[dict]:
    """The JSON lines of a program's process, up to the first that is none."""
    messages = []
    for line in answer["output"].splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(message, dict):
            break
        messages.append(message)
    return messages


def _end(answer: dict[str, Any]) -> str:
    """Why there is no more output."""
    if answer["ended"] != "end":
        return {"timeout": "timeout", "output": "too_much_output"}[answer["ended"]]
    return "exited"


def judge_compiled(answer: dict[str, Any]) -> str:
    (first, *_) = _messages(answer) or [{}]
    if first.get("compiled"):
        return "correct"
    return "syntax_error" if first.get("at") == "compile" else _end(answer)


def judge_calls(calls: list[Call], answer: dict[str, Any]) -> list[str]:
    """One reason per call: messages are {"compiled"}, {"defined"}, then one per call while the program lived."""
    compiled, defined, *values = *_messages(answer), {}, {}
    if not compiled.get("compiled"):
        return [judge_compiled(answer)] * len(calls)
    if not defined.get("defined"):
        return [_reason(defined) or _end(answer)] * len(calls)
    values = [value for value in values if value]
    missing = [_end(answer)] * (len(calls) - len(values))
    return [judge_value(call, value) for call, value in zip(calls, values, strict=False)] + missing


def judge_value(call: Call, message: dict) -> str:
    if "value" not in message:
        return _reason(message) or "error"
    try:
        passed = call.passes(decode(message["value"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return "wrong"
    return "correct" if passed else "wrong"


def _reason(message: dict) -> str | None:
    if "error" not in message:
        return None
    return "memory" if message["error"] == "MemoryError" else "error"


def judge_script(script: Script, answer: dict[str, Any]) -> str:
    if answer["ended"] != "end" or answer["status"] not in (0, 1):
        return _end(answer)
    if answer["status"] == 1:
        return "error"
    return "correct" if script.passes(answer["output"]) else "wrong"
