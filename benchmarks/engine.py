"""Ours against TRL's GRPOTrainer: the same work, side by side, seed by seed in one run.

    python -m benchmarks.engine [--work nano] [--seeds 3] [--steps 40] [--every 5] [--n 500] [--loops ours,trl]
        [--dtype bfloat16]

--work smollm2 takes SmolLM2-135M with LoRA and short answers. --loops may add `naive` (see loops.py).
Processor time (all threads of the process) is what compares on a machine that others use; wall time stands beside it.
Time stops while a checkpoint is evaluated on held-out problems. The arithmetic limit is the number of floating-point
operations of our run, counted, at the rate of a large matrix product in the same number format, measured here.
Prints tables and writes them to benchmarks/results/engine_WORK.md; what was measured to engine_WORK.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from benchmarks import loops
from benchmarks.engine_report import report
from grpo_lessons.evaluation import evaluate
from grpo_lessons.machine import describe_machine

RESULTS = Path(__file__).parent / "results"
WORKS = {"nano": loops.NANO, "smollm2": loops.SMOLLM2}
# The counter of PyTorch does not know attention on CPU: two products in forward, five in backward.
ATTENTION_OPERATIONS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v),
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        lambda grad, q, k, v, *_, **__: sdpa_flop_count(q, k, v) * 5 // 2
    ),
}


def run(name: str, work: loops.Work, seed: int, args) -> dict:
    """One loop with one seed: seconds, and held-out accuracy by checkpoint (n = 0: none)."""
    policy, curve, clock = work.load(), [], Counter()

    def checkpoint(done: int) -> None:
        if not args.n or done == 0 or (done % args.every and done != args.steps):
            return
        wall, cpu = time.perf_counter(), time.process_time()
        spent = {
            "wall": wall - clock["start"] - clock["pause"],
            "cpu": cpu - clock["cpu_start"] - clock["cpu_pause"],
        }
        correct = int(evaluate(policy, work.task, n=args.n, seed=seed).correct.sum())
        curve.append({"rollouts": done, **spent, "correct": correct})
        clock["pause"] += time.perf_counter() - wall
        clock["cpu_pause"] += time.process_time() - cpu

    clock.update(start=time.perf_counter(), cpu_start=time.process_time())
    phases = getattr(loops, name)(work, policy, args.steps, seed, checkpoint)
    return {
        "loop": name,
        "seed": seed,
        "wall": time.perf_counter() - clock["start"] - clock["pause"],
        "cpu": time.process_time() - clock["cpu_start"] - clock["cpu_pause"],
        "phases": dict(phases),
        "curve": curve,
        "matmul_rate": matmul_rate(getattr(torch, work.dtype)),
    }


def counted_operations(work: loops.Work, steps: int) -> int:
    """Floating-point operations of our run with seed 0: matrix products and attention, forward and backward.

    Counted in float32, whose operations are as many and, on most processors, quicker.
    """
    work = replace(work, dtype="float32")
    with FlopCounterMode(display=False, custom_mapping=ATTENTION_OPERATIONS) as counter:
        loops.ours(work, work.load(), steps, 0, lambda done: None)
    return counter.get_total_flops()


def matmul_rate(dtype: torch.dtype, n: int = 1024, repeats: int = 7) -> float:
    """Operations a processor second of a product of two (n, n) matrices, median."""
    a, b = torch.randn(n, n).to(dtype), torch.randn(n, n).to(dtype)
    a @ b
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(3):
            a @ b
        times.append((time.process_time() - begin) / 3)
    return 2 * n**3 / median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=WORKS, default="nano")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40, help="rollouts")
    parser.add_argument("--every", type=int, default=5, help="rollouts between evaluations")
    parser.add_argument("--n", type=int, default=500, help="held-out problems of an evaluation, 0 for none")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="of the frozen weights")
    parser.add_argument("--loops", type=lambda text: text.split(","), default=["ours", "trl"])
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    work = replace(WORKS[args.work], dtype=args.dtype)
    record = {key: getattr(args, key) for key in ("work", "dtype", "steps", "n", "loops")}
    record |= {"machine": describe_machine(), "results": [], "operations": counted_operations(work, args.steps)}
    RESULTS.mkdir(exist_ok=True)
    for name in args.loops:  # a first rollout of the small model pays for imports and is not counted
        getattr(loops, name)(loops.NANO, loops.NANO.load(), 1, 0, lambda done: None)
    for seed in range(args.seeds):
        for name in args.loops:
            record["results"].append(run(name, work, seed, args))
            print(name, seed, {k: round(record["results"][-1][k], 1) for k in ("cpu", "wall")}, flush=True)
    record["load"] = os.getloadavg()[1] if hasattr(os, "getloadavg") else None
    (RESULTS / f"engine_{args.work}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    text = report(record)
    (RESULTS / f"engine_{args.work}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
