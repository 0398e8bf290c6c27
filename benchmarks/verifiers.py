"""Verdicts per second of every verifier, over its cases in data/verifier_cases.jsonl.

    python benchmarks/verifiers.py [--seconds 2]

One thread, one process per verifier where it needs one, warm; the cases of a verifier in turn until the time is up,
without those labelled "timeout", which measure their limit. Then agreement and speed against math-verify on one list
(benchmarks/verifiers_math.py). Prints tables and writes benchmarks/results/verifiers.md; many programs at a time are
measured by benchmarks/code_grading.py.
"""

import argparse
import platform
import time
import warnings
from pathlib import Path
from statistics import median

import verifiers_math  # beside this file

from grpo_lessons import verifiers
from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers.report import read_cases, run_case

HERE = Path(__file__).parent


def verdicts_per_second(name: str, cases: list[dict], seconds: float) -> tuple[float, float]:
    """(verdicts per second, median microseconds of one verdict) after one warm round."""
    verify = getattr(verifiers, name)
    for case in cases:
        run_case(verify, case)
    durations, started = [], time.perf_counter()
    while time.perf_counter() - started < seconds:
        for case in cases:
            before = time.perf_counter()
            run_case(verify, case)
            durations.append(time.perf_counter() - before)
    return len(durations) / sum(durations), 1e6 * median(durations)


def speed_table(seconds: float) -> list[str]:
    every = [case for case in read_cases(data_dir() / "verifier_cases.jsonl") if case.get("reason") != "timeout"]
    lines = ["| verifier | cases | verdicts a second | median, microseconds |", "|---|---|---|---|"]
    for name in sorted({case["verifier"] for case in every}):
        cases = [case for case in every if case["verifier"] == name]
        rate, middle = verdicts_per_second(name, cases, seconds)
        lines.append(f"| {name} | {len(cases)} | {rate:,.0f} | {middle:,.0f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="per verifier")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # unreadable expected answers are among the cases
    lines = ["# Verifiers: speed", "", f"Python {platform.python_version()}, {platform.machine()}, one thread.", ""]
    lines += speed_table(given.seconds)
    lines += ["", *verifiers_math.section()]
    (HERE / "results" / "verifiers.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
