"""How long verify_code takes: one program, 256 programs, a start of Python each.

    python benchmarks/code_grading.py

The programs are small and all different; half of them are wrong, so the rewards are checked as well. The last row
starts a fresh Python per program, as a verifier without a warm parent must, for 64 of them, and states the time
for 256. Prints a table and writes benchmarks/results/code_grading.md.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from grpo_lessons.verifiers import code, verify_code, verify_code_batch

N = 256
FRESH = 64


def programs() -> tuple[list[str], list[list[str]]]:
    """N completions and three tests each; every second program is wrong."""
    completions, tests = [], []
    for n in range(N):
        body = f"def f(x):\n    total = 0\n    for i in range(x):\n        total += i * {n + n % 2}\n    return total"
        completions.append(f"```python\n{body}\n```")
        tests.append([f"assert f({x}) == {n * sum(range(x))}" for x in (3, 10, 50)])
    return completions, tests


def main() -> None:
    completions, tests = programs()
    started = time.perf_counter()
    verify_code(completions[0], tests[0])
    rows = [("the first verdict, with the start of the warm parent", time.perf_counter() - started)]
    single = []
    for completion, test in zip(completions[:100], tests, strict=False):
        started = time.perf_counter()
        verify_code(completion, test)
        single.append(time.perf_counter() - started)
    rows.append(("one program, median of 100", median(single)))
    code._pool(False).close()
    batches, before = [], sum(os.times()[:4])
    for _ in range(5):
        started = time.perf_counter()
        verdicts = verify_code_batch(completions, tests)
        batches.append(time.perf_counter() - started)
        assert [verdict.reward for verdict in verdicts] == [float(n % 2 == 0) for n in range(N)]
    code._pool(False).close()  # only ended processes are counted
    cpu = sum(os.times()[:4]) - before
    rows.append((f"CPU time of all processes for {N} programs, mean of 5", cpu / 5))
    rows += [(f"{N} programs, median of 5", median(batches)), (f"{N} programs, slowest of 5", max(batches))]
    started = time.perf_counter()
    for completion in completions[:FRESH]:
        subprocess.run([sys.executable, "-S", "-c", completion.split("\n", 1)[1][:-3]], check=True)
    rows.append((f"{N} fresh Pythons one after another, nothing isolated", (time.perf_counter() - started) * N / FRESH))
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    head = f"Python {platform.python_version()}, {cpus} CPUs, load {os.getloadavg()[0]:.1f} at the end"
    lines = ["# Grading programs", "", head, "", "| what | seconds |", "|---|---|"]
    lines += [f"| {what} | {seconds:.4f} |" for what, seconds in rows]
    print("\n".join(lines))
    (Path(__file__).parent / "results" / "code_grading.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
