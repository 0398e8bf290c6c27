"""Fuzz the verifiers that have processes of their own with mutations of data/verifier_cases.jsonl.

    python benchmarks/fuzz_processes.py [--math 20000] [--code 500] [--seed 0]

Prints, per verifier: mutants, exceptions (must be 0), timeouts, the slowest verdict by wall clock, and how many
mutants were paid. A time limit of 0.5 s holds for each. After every hundredth mutant a verdict that is known is asked
for, so that a worker left in a wrong state would show. Exit status 1 for an exception or a wrong known verdict.
Writes benchmarks/results/fuzz_processes.md.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from fuzz_verifiers import starting_points

from grpo_lessons.verifiers import verify_code, verify_math
from grpo_lessons.verifiers.fuzz import mutants

LIMIT_S = 0.5
KNOWN = {
    verify_math: [(("<answer>x+1</answer>", "1+x"), 1.0), (("<answer>x+2</answer>", "1+x"), 0.0)],
    verify_code: [
        (("<answer>def f(): return 1</answer>", ["assert f() == 1"]), 1.0),
        (("<answer>def f(): return 2</answer>", ["assert f() == 1"]), 0.0),
    ],
}


def fuzz_one(verify, n: int, seed: int) -> tuple[list, bool]:
    """(a row of the table, whether anything failed)."""
    reasons, exceptions, wrong, slowest = Counter(), [], 0, 0.0
    for k, (completion, arguments) in enumerate(mutants(starting_points(verify.__name__), n=n, seed=seed)):
        started = time.perf_counter()
        try:
            verdict = verify(completion, **{**arguments, "timeout_s": LIMIT_S})
            reasons["paid" if verdict.reward else verdict.reason] += 1
        except Exception as error:
            exceptions.append(f"{type(error).__name__}: {error} on {completion[:200]!r}")
        slowest = max(slowest, time.perf_counter() - started)
        if k % 100 == 0:
            wrong += sum(verify(*question).reward != reward for question, reward in KNOWN[verify])
    for line in exceptions[:5]:
        print(line)
    row = [verify.__name__, n, len(exceptions), wrong, reasons["timeout"], f"{slowest:.2f}", reasons["paid"]]
    print(row, reasons, flush=True)
    return row, bool(exceptions or wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--math", type=int, default=20_000)
    parser.add_argument("--code", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # unreadable expected answers are among the cases
    lines = [
        f"# Fuzzing the verifiers with processes: seed {given.seed}, Python {sys.version.split()[0]}",
        "",
        "| verifier | mutants | exceptions | known verdicts wrong | timeouts at 0.5 s | slowest verdict, s | paid |",
        "|---|---|---|---|---|---|---|",
    ]
    failed = False
    for verify, n in ((verify_math, given.math), (verify_code, given.code)):
        row, bad = fuzz_one(verify, n, given.seed)
        failed = failed or bad
        lines.append("| " + " | ".join(map(str, row)) + " |")
    (Path(__file__).parent / "results" / "fuzz_processes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
