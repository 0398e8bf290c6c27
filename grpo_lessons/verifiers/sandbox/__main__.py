"""The warm parent of every program: waits for a request, forks a supervisor, and never holds a request itself.

Three generations, so that no program sees anything of another. This process isolates itself once and then only
waits and forks. The supervisor, one per request, reads the request, makes the program's directory and process
namespace, forks the program, collects what it writes up to a size and a time, kills it with all that it started,
and writes one line. The program, the third, has no descriptor but its own result pipe.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import time

import isolation
import syscalls
from program import report_to, run_calls, run_script

OUTPUT_LIMIT = 1 << 20  # bytes that a program may write to its result pipe
RESULTS = 3  # the descriptor that the program's calls are reported on
# Loaded once here, not once in every program; few, since a fork costs in proportion to what it copies.
COMMON = """abc bisect collections collections.abc copy datetime functools heapq itertools math operator random re
string typing"""
# Where a program has no file system it finds these as well, and no other module.
OTHERS = """array base64 calendar cmath codecs contextlib csv dataclasses decimal difflib enum fractions gc hashlib
inspect io keyword locale numbers pprint queue secrets statistics struct textwrap threading time traceback types
unicodedata uuid warnings weakref zlib zoneinfo"""


def serve(*, namespaces: bool) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    filtered = syscalls.available()
    for name in COMMON.split():
        importlib.import_module(name)
    namespaces = namespaces and isolation.enter_namespaces()
    isolation.hide_memory()  # after the writes to /proc/self that a user namespace needs
    for name in () if namespaces else OTHERS.split():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    report_to(1)({"namespaces": namespaces, "filter": filtered})
    while True:
        select.select([0], [], [])
        supervisor = os.fork()
        if supervisor == 0:
            status = 1
            try:
                status = supervise(null, namespaces=namespaces, filtered=filtered)
            finally:
                os._exit(status)
        if os.waitpid(supervisor, 0)[1] != 0:
            return  # the end of the input, or a fault that a fresh start mends


def supervise(null: int, *, namespaces: bool, filtered: bool) -> int:
    isolation.die_with_parent()
    line = read_line(0)
    if not line:
        return 1
    request = json.loads(line)
    deadline = time.monotonic() + request["timeout_s"]
    with contextlib.ExitStack() as cleanup:
        work = isolation.WORK
        if namespaces:
            isolation.enter_program_namespaces()
        elif filtered:
            work = "/"  # the filter refuses every file
        else:
            import tempfile

            work = cleanup.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        results, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            become_program(request, null, write_end, work, files=namespaces or not filtered, filtered=filtered)
        os.close(write_end)
        output, ended = collect(results, deadline)
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(OSError):
                kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    answer = {"output": output.decode("utf-8", "surrogateescape"), "ended": ended, "status": status}
    report_to(1)(answer)
    return 0


def read_line(descriptor: int) -> bytes:
    """One line, and not a byte more than the one request that was sent."""
    parts = [b""]
    while not parts[-1].endswith(b"\n"):
        parts.append(os.read(descriptor, 1 << 16))
        if not parts[-1]:
            return b""
    return b"".join(parts)


def collect(descriptor: int, deadline: float) -> tuple[bytes, str]:
    """What comes until the end ("end"), the deadline ("timeout") or too much of it ("output")."""
    parts, size = [], 0
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            break
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts), "end"
        parts.append(part)
        size += len(part)
        if size > OUTPUT_LIMIT:
            return b"".join(parts), "output"
    return b"".join(parts), "timeout"


def become_program(request: dict, null: int, results: int, work: str, *, files: bool, filtered: bool) -> None:
    """Give up everything, in this order, and run. Does not return."""
    status = 1
    try:
        os.setsid()
        script = request["stdin"] is not None
        os.dup2(text_file(request["stdin"]) if script else null, 0)
        os.dup2(results if script else null, 1)
        os.dup2(null, 2)
        os.dup2(null if script else results, RESULTS)
        os.closerange(RESULTS + 1, 256)
        isolation.limit(seconds=int(request["timeout_s"]) + 2, memory_mb=request["memory_mb"])
        isolation.drop_privileges()
        isolation.die_with_parent()
        os.chdir(work)
        if filtered:
            syscalls.install(files=files)
        os.environ.clear()
        for name in ("isolation", "syscalls", "program"):
            del sys.modules[name]
        sys.path.pop(0)
        sys.argv = ["program.py"]
        if script:
            status = run_script(request["source"])
        else:
            run_calls(request, report_to(RESULTS))
            status = 0
    finally:
        os._exit(status)


def text_file(text: str) -> int:
    """A descriptor of a nameless file that holds the text, at its beginning."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("stdin")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.write(descriptor, text.encode("utf-8", "surrogatepass"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


if __name__ == "__main__":
    serve(namespaces="--no-namespaces" not in sys.argv)
