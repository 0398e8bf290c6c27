"""Fuzz every pure verifier with mutations of data/verifier_cases.jsonl.

    python benchmarks/fuzz_verifiers.py [--n 200000] [--seed 0]

n mutants per verifier (one in 2 000 is a megabyte long). Prints the number of exceptions, which must be 0, and the
CPU time of the slowest verdict, which must stay under 50 ms; it is measured twice again, so that a cold cache on a
busy machine is not blamed on the verifier. Exit status 1 otherwise. Writes benchmarks/results/fuzz_verifiers.md.
"""

import argparse
import sys
import time
from pathlib import Path

from grpo_lessons import verifiers
from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers.fuzz import fuzz
from grpo_lessons.verifiers.report import read_cases

PURE = ("verify_integer", "verify_number", "verify_text", "verify_choice", "verify_countdown", "verify_knights")
LIMIT_S = 0.05


def starting_points(name: str) -> list[tuple[str, dict]]:
    """(completion, arguments) of the cases of a verifier that are text; extractors by name become functions."""
    cases = [case for case in read_cases(data_dir() / "verifier_cases.jsonl") if case["verifier"] == name]
    return [(c["completion"], resolved(c["arguments"])) for c in cases if isinstance(c["completion"], str)]


def resolved(arguments: dict) -> dict:
    extract = arguments.get("extract")
    return {**arguments, "extract": getattr(verifiers, extract)} if extract else arguments


def best_of_three(verify, report, cases) -> float:
    """CPU seconds of the slowest completion, the best of three, over the arguments that it may have met."""
    seconds = 0.0
    for arguments in {str(a): a for _, a in cases}.values():
        runs = []
        for _ in range(2):
            started = time.thread_time()
            verify(report.slowest, **arguments)
            runs.append(time.thread_time() - started)
        seconds = max(seconds, min(runs))
    return min(seconds, report.slowest_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    lines = ["| verifier | mutants | exceptions | slowest verdict, first, ms | again, ms |", "|---|---|---|---|---|"]
    failed = False
    for name in PURE:
        verify, cases = getattr(verifiers, name), starting_points(name)
        report = fuzz(verify, cases, n=given.n, seed=given.seed)
        again = best_of_three(verify, report, cases)
        failed = failed or bool(report.exceptions) or again > LIMIT_S
        row = (name, f"{report.n:,}", len(report.exceptions), f"{1000 * report.slowest_s:.1f}", f"{1000 * again:.1f}")
        lines.append("| " + " | ".join(map(str, row)) + " |")
        print(lines[-1], flush=True)
        for completion, error in report.exceptions[:5]:
            print(f"  {error}: {completion[:200]!r}")
    text = f"# Fuzzing the verifiers: seed {given.seed}, Python {sys.version.split()[0]}, CPU time\n\n"
    (Path(__file__).parent / "results" / "fuzz_verifiers.md").write_text(text + "\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
