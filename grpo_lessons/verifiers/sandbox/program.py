"""Runs one program and reports what its calls returned.

Everything here shares a process with the program and may be bent by it. That does no harm: the process knows the
calls, not the values that are expected, and nothing it writes is taken for more than a value.
"""

from __future__ import annotations

import io
import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any


def encode(value: Any) -> Any:
    """A plain value as JSON that keeps Python's types; TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: [encode(item) for item in value]}
    raise TypeError(f"{type(value).__name__} is not a plain value")


def report_to(descriptor: int) -> Callable[[dict], None]:
    """A function that writes one JSON line to a file descriptor."""
    dumps, write = json.dumps, os.write

    def report(message: dict) -> None:
        line = dumps(message).encode() + b"\n"
        while line:
            line = line[write(descriptor, line) :]

    return report


def run_calls(request: dict[str, Any], report: Callable[[dict], None]) -> None:
    """Compile, define, then evaluate each call: one line each, as soon as it is known."""
    try:
        code = compile(request["source"], "<program>", "exec", dont_inherit=True)
    except BaseException as error:
        return report({"error": type(error).__name__, "at": "compile"})
    report({"compiled": True})
    if request["compile_only"]:
        return None
    module = types.ModuleType("program")
    sys.modules["program"] = module
    names = module.__dict__
    try:
        exec(code, names)
        exec(request["setup"], names)
    except BaseException as error:
        return report({"error": type(error).__name__, "at": "define"})
    report({"defined": True})
    for call in request["calls"]:
        try:
            message = {"value": encode(eval(call, names))}
        except BaseException as error:
            message = {"error": type(error).__name__}
        try:
            report(message)
        except Exception:  # an integer with too many digits, text that no encoding takes
            report({"error": "ValueError"})


def run_script(source: str) -> int:
    """Run the program as a script on its own standard input and output; its exit status."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    status = 0
    try:
        exec(compile(source, "<program>", "exec", dont_inherit=True), module.__dict__)
    except SystemExit as end:
        status = 0 if end.code in (None, 0) else 1
    except BaseException:
        status = 1
    try:
        sys.stdout.flush()
    except BaseException:
        status = 1
    return status


def main() -> None:
    """One request, one program, and no wall around it: where a system cannot fork (see `unfenced`)."""
    request = json.loads(sys.stdin.readline())
    report = report_to(os.dup(1))
    if request["stdin"] is not None:
        sys.stdin = io.StringIO(request["stdin"])
        os._exit(run_script(request["source"]))
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    run_calls(request, report)
    os._exit(0)


if __name__ == "__main__":
    main()
