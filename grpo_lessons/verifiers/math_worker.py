"""The process behind `verify_math`: `python -m grpo_lessons.verifiers.math_worker`, JSON lines in and out.

In: {"expected", "answer", "limit_s"}; out: {"reason"}. It ends with its input, hence with its parent, and by
itself shortly after a request's time limit, even inside one long operation on a huge number.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import json
import os
import sys

import sympy.parsing.sympy_parser as sympy_parser

from .math_equal import same
from .math_notation import Unreadable
from .math_reader import Words, read

MEMORY_BYTES = 1 << 30  # address space, where the system can limit it
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "subprocess.", "socket.")


def refuse(*_args: object, **_options: object) -> None:
    raise Unreadable("text is never evaluated")


def watch(event: str, arguments: tuple) -> None:
    """An audit hook: no process, no socket, no file opened for writing, whatever a library may do."""
    if event.startswith(FORBIDDEN) or (
        event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    ):
        raise PermissionError(f"{event} is refused in this process")


@functools.lru_cache(maxsize=4096)
def read_expected(text: str):
    try:
        return read(text)
    except Unreadable:
        return None


@functools.lru_cache(maxsize=4096)
def judge(expected: str, answer: str) -> str:
    """The reason code for one pair of texts."""
    wanted = read_expected(expected)
    if wanted is None:
        return "bad_expected"
    try:
        said, unit = read(answer, words=isinstance(wanted[0], Words))
    except Unreadable as error:
        return error.reason
    if unit and wanted[1] and unit != wanted[1]:
        return "wrong"
    return "correct" if same(wanted[0], said) else "wrong"


def main() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    answers, null = os.fdopen(os.dup(1), "w"), open(os.devnull, "w")  # noqa: SIM115  (open until the end)
    os.dup2(null.fileno(), 1)
    judge(r"\frac{1}{2}x+\sqrt{2}", r"\frac{\sqrt{8}+x}{2}")  # whatever is imported late
    sympy_parser.eval_expr = sympy_parser.parse_expr = refuse
    sys.addaudithook(watch)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        faulthandler.dump_traceback_later(request["limit_s"] + 1.0, exit=True, file=null)
        try:
            reason = judge(request["expected"], request["answer"])
        except MemoryError:
            reason = "memory"
        except Exception:  # a fault in a library: nothing was decided
            reason = "unreadable"
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"reason": reason}), file=answers, flush=True)
        if reason == "memory":
            return  # a fresh process is a better one


if __name__ == "__main__":
    main()
