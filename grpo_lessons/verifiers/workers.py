"""Warm worker processes that speak JSON lines, and a pool of them that any thread may ask.

Differs from `multiprocessing`: a worker is started with `subprocess` and imports only what it needs, so that a
script without an `if __name__ == "__main__"` guard is not run again, nothing is forked from a process that holds
threads or a GPU, and a worker that hangs or dies costs one request at most. A worker writes one line when it is
ready, then one line for each line that it reads, and ends when its input ends, hence with its parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import Any

START_LIMIT_S = 120.0  # a cold disk and a busy machine included


ATTEMPTS = 3  # for a message whose workers die


class WorkerDied(Exception):
    """The worker ended before it answered; with a message, before it was ready."""


class Worker:
    """One process. `ask` sends a message and waits for its answer; not for two threads at once."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in `stop`)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is the parent's
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self._hello: dict[str, Any] | None = None

    def _read(self) -> None:
        """Runs in a thread of its own: Windows cannot wait for a pipe with a time limit."""
        with contextlib.suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._answers.put(line)
        self._answers.put(b"")

    def hello(self) -> dict[str, Any]:
        """What the worker said when it was ready. WorkerDied, with its error output, if it never was."""
        if self._hello is None:
            try:
                self._hello = self._next(START_LIMIT_S)
            except (WorkerDied, TimeoutError) as error:
                self._process.kill()
                self._errors.seek(0)
                said = self._errors.read()[-2000:].decode("utf-8", "replace").strip()
                command = " ".join(self._process.args)
                raise WorkerDied(f"the worker did not start ({command}); it wrote: {said or 'nothing'}") from error
        return self._hello

    def ask(self, message: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """The answer. TimeoutError after limit_s seconds, WorkerDied at its end; then call `stop`."""
        self.hello()
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:  # a broken pipe, or one that `stop` closed
            raise WorkerDied from error
        return self._next(limit_s)

    def _next(self, limit_s: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=limit_s)
        except queue.Empty:
            raise TimeoutError from None
        if not line.endswith(b"\n"):
            raise WorkerDied
        return json.loads(line)

    def stop(self) -> None:
        self._process.kill()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._errors.close()

    def forget(self) -> None:
        """In a forked child: the worker belongs to the parent; only our copies of its pipes go."""
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                os.close(pipe.fileno())


class WorkerPool:
    """Up to `size` workers, each started when first needed. `ask` may be called from any thread.

    check: called once with the first worker's greeting; what it raises is raised by `ask`.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        size: int,
        check: Callable[[dict[str, Any]], None] = lambda hello: None,
    ):
        self._command, self._environment, self._size, self._check = command, environment, size, check
        self._checked = False
        self._empty_slots()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _empty_slots(self) -> None:
        self._workers: set[Worker] = set()
        self._slots: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(self._size):
            self._slots.put(None)

    def _after_fork(self) -> None:
        for worker in self._workers:
            worker.forget()
        self._empty_slots()

    def _start(self) -> Worker:
        worker = Worker(self._command, self._environment)
        self._workers.add(worker)
        return worker

    def _stop(self, worker: Worker) -> None:
        self._workers.discard(worker)
        worker.stop()

    def ask(self, message: dict[str, Any], limit_s: float) -> dict[str, Any] | None:
        """The answer of an idle worker; None if it took longer than limit_s or ended each time over it.

        A worker that was found dead is replaced and the message sent again; one that ran out of time is killed,
        and its successor starts at once in the background. RuntimeError if no worker starts.
        """
        worker = self._slots.get()
        try:
            for attempt in range(ATTEMPTS):
                worker = worker or self._start()
                try:
                    if not self._checked:
                        self._check(worker.hello())
                        self._checked = True
                    return worker.ask(message, limit_s)
                except WorkerDied as death:
                    self._stop(worker)
                    worker = None
                    if death.args and attempt == ATTEMPTS - 1:
                        raise RuntimeError(death.args[0]) from death
            return None
        except TimeoutError:
            self._stop(worker)
            worker = self._start()
            return None
        except BaseException:  # Ctrl-C above all: the answer that is still to come must reach nobody
            if worker is not None:
                self._stop(worker)
                worker = None
            raise
        finally:
            self._slots.put(worker)

    def close(self) -> None:
        """Stop every worker, while no `ask` is under way; a later one starts new ones."""
        for worker in list(self._workers):
            self._stop(worker)


def cpu_count() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def system_environment(**more: str) -> dict[str, str]:
    """The few variables without which a Python does not start, and `more`; none of the user's."""
    kept = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if sys.platform != "win32" else ("SYSTEMROOT",)
    return {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONUTF8": "1"} | more
