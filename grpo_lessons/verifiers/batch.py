"""Score many completions: a progress bar, several processes for slow verifiers, and the order never changes.

Differs from `concurrent.futures`: the processes are started as `python -m grpo_lessons.verifiers.batch`, so that a
script without an `if __name__ == "__main__"` guard is not run again in each of them, and nothing is forked from
a process that holds threads or a GPU. A reward function must therefore live in a module, not in `__main__`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from tqdm import tqdm

from .compose import Rewards

CHUNK = 16  # rows per message to a process


def score_batch(
    reward: Callable,
    prompts: Sequence | None,
    completions: Sequence,
    *,
    processes: int = 1,
    progress: bool | None = None,
    **columns: Sequence,
) -> Rewards:
    """The rewards of all completions, in their order.

    reward: a reward function with TRL's signature. columns: one value per completion each.
    processes: 1 scores in this process; more start that many others, which is worth it for verifiers that take
    milliseconds. A process that dies is replaced and its rows are scored once more.
    progress: show a bar; None shows it on a terminal only.
    Raises ValueError if a column has another length or if `reward` cannot be sent to a process, RuntimeError if
    the rows kill a process twice; what `reward` raises is raised here.
    """
    rows = len(completions)
    columns = {"prompts": [None] * rows if prompts is None else prompts, "completions": completions, **columns}
    if wrong := [name for name, values in columns.items() if len(values) != rows]:
        raise ValueError(f"{rows} completions, but columns of another length: {', '.join(wrong)}")
    chunks = [
        {name: list(values[start : start + CHUNK]) for name, values in columns.items()}
        for start in range(0, rows, CHUNK)
    ]
    results: list[Rewards] = []
    with tqdm(total=rows, unit="completion", disable=None if progress is None else not progress) as bar:
        for rewards in _in_order(reward, chunks, processes):
            results.append(rewards)
            bar.update(len(rewards))
    return [reward for rewards in results for reward in rewards]


def _in_order(reward: Callable, chunks: list[dict], processes: int):
    if processes <= 1:
        yield from (reward(**chunk) for chunk in chunks)
        return
    sent = _pickled(reward)
    idle: SimpleQueue = SimpleQueue()
    workers = [_Worker(sent) for _ in range(min(processes, len(chunks)))]
    for worker in workers:
        idle.put(worker)

    def grade(chunk: dict) -> Rewards:
        worker = idle.get()
        try:
            return worker.grade(chunk)
        finally:
            idle.put(worker)

    try:
        with ThreadPoolExecutor(max(1, len(workers))) as threads:
            yield from threads.map(grade, chunks)
    finally:
        for worker in workers:
            worker.stop()


def _pickled(reward: Callable) -> bytes:
    try:
        sent = pickle.dumps(reward)
    except Exception as error:
        raise ValueError(f"{reward!r} cannot be sent to a process ({error}); define it in a module") from error
    if b"__main__" in sent:
        raise ValueError(f"{reward!r} lives in __main__; other processes cannot import it: move it to a module")
    return sent


class _Worker:
    """One process; it is started at the first chunk, and again after it died."""

    def __init__(self, reward: bytes):
        self.reward = reward
        self.process: subprocess.Popen | None = None

    def grade(self, chunk: dict) -> Rewards:
        for _ in range(2):
            try:
                outcome = self._ask(chunk)
            except (EOFError, OSError, pickle.UnpicklingError):
                self.stop()
                continue
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome
        raise RuntimeError(f"a scoring process died twice on these completions: {chunk['completions']!r:.300}")

    def _ask(self, chunk: dict) -> Rewards | BaseException:
        if self.process is None:
            command = [sys.executable, "-m", __name__]
            path = os.pathsep.join(filter(None, sys.path))
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
            )
            pickle.dump(self.reward, self.process.stdin)
        pickle.dump(chunk, self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def _serve() -> None:
    """The other end: a reward function, then chunks, from stdin; rewards or an exception to the first stdout."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a verifier prints must not mix with the answers
    try:
        reward: Callable[..., Any] | Exception = pickle.loads(pickle.load(sys.stdin.buffer))
    except Exception as error:
        reward = error
    while True:
        try:
            chunk = pickle.load(sys.stdin.buffer)
        except (EOFError, KeyboardInterrupt):
            return
        try:
            outcome = reward if isinstance(reward, Exception) else reward(**chunk)
            message = pickle.dumps(outcome)
        except Exception as error:
            message = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        answers.write(message)
        answers.flush()


if __name__ == "__main__":
    _serve()
