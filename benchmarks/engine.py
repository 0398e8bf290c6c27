"""Ours against TRL's GRPOTrainer and a naive loop: the same work, side by side, seed by seed in one run.

    python -m benchmarks.engine [--seeds 3] [--steps 60] [--every 10] [--threads 2] [--loops ours,trl,naive]

Time stops while a checkpoint is evaluated on held-out sums. Wall time is what a reader waits for; processor time
(all threads of the process) also compares on a machine that others use. The arithmetic limit is the number of
floating-point operations of our run, counted, at the rate of a large float32 matrix product measured here.
Prints tables and writes them to benchmarks/results/engine.md and .json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from statistics import mean

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from benchmarks import loops
from grpo_lessons.evaluation import evaluate, wilson_interval
from grpo_lessons.machine import describe_machine
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks import get_task

RESULTS = Path(__file__).parent / "results"
GOAL = 0.95
# The counter of PyTorch does not know attention on CPU: two products in forward, five in backward.
ATTENTION_OPERATIONS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v),
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        lambda grad, q, k, v, *_, **__: sdpa_flop_count(q, k, v) * 5 // 2
    ),
}


def run(name: str, seed: int, args) -> dict:
    """One loop with one seed: seconds, and held-out accuracy by checkpoint."""
    policy, task = load_policy("nano", device="cpu"), get_task("addition")
    curve, clock = [], Counter()

    def checkpoint(done: int) -> None:
        if done == 0 or (done % args.every and done != args.steps):
            return
        wall, cpu = time.perf_counter(), time.process_time()
        spent = wall - clock["start"] - clock["pause"]
        report = evaluate(policy, task, n=args.n, seed=seed)
        curve.append({"rollouts": done, "seconds": spent, "correct": int(report.correct.sum())})
        clock["pause"] += time.perf_counter() - wall
        clock["cpu_pause"] += time.process_time() - cpu

    clock.update(start=time.perf_counter(), cpu_start=time.process_time())
    phases = getattr(loops, name)(policy, task, args.steps, seed, checkpoint)
    return {
        "loop": name,
        "seed": seed,
        "wall": time.perf_counter() - clock["start"] - clock["pause"],
        "cpu": time.process_time() - clock["cpu_start"] - clock["cpu_pause"],
        "phases": dict(phases),
        "curve": curve,
    }


def counted_operations(args) -> int:
    """Floating-point operations of our run with seed 0: matrix products and attention, forward and backward."""
    with FlopCounterMode(display=False, custom_mapping=ATTENTION_OPERATIONS) as counter:
        loops.ours(load_policy("nano", device="cpu"), get_task("addition"), args.steps, 0, lambda done: None)
    return counter.get_total_flops()


def matmul_rate(n: int = 1024, repeats: int = 20) -> float:
    """Operations a processor second of a float32 product of two (n, n) matrices."""
    a, b = torch.randn(n, n), torch.randn(n, n)
    a @ b
    begin = time.process_time()
    for _ in range(repeats):
        a @ b
    return repeats * 2 * n**3 / (time.process_time() - begin)


def summary(results: list[dict], limit: float, args) -> str:
    lines = [
        "| loop | wall s | processor s | wall / TRL | processor / TRL | sample | score | update | other |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    total = {n: {k: mean(r[k] for r in results if r["loop"] == n) for k in ("wall", "cpu")} for n in args.loops}
    for name in args.loops:
        mine = [r for r in results if r["loop"] == name]
        share = {p: mean(r["phases"][p] / r["wall"] for r in mine) for p in ("sample", "score", "update")}
        against = total.get("trl", {})
        ratios = [f"{total[name][k] / against[k]:.2f}" if against else "-" for k in ("wall", "cpu")]
        lines.append(
            f"| {name} | {total[name]['wall']:.1f} | {total[name]['cpu']:.1f} | {' | '.join(ratios)} | "
            + " | ".join(f"{share[p]:.0%}" for p in ("sample", "score", "update"))
            + f" | {1 - sum(share.values()):.0%} |"
        )
    lines += [f"| arithmetic of ours | | {limit:.1f} | | | | | | |", "", *curves(results, args)]
    return "\n".join(lines)


def curves(results: list[dict], args) -> list[str]:
    """Held-out accuracy of all seeds together at each checkpoint, and the time to reach the goal."""
    seeds = sum(r["loop"] == args.loops[0] for r in results)
    lines = ["| rollouts | " + " | ".join(args.loops) + " |", "|---|" + "---|" * len(args.loops)]
    for i, point in enumerate(results[0]["curve"]):
        cells = []
        for name in args.loops:
            correct = sum(r["curve"][i]["correct"] for r in results if r["loop"] == name)
            low, high = wilson_interval(correct, args.n * seeds)
            cells.append(f"{correct / args.n / seeds:.1%} [{low:.1%}, {high:.1%}]")
        lines.append(f"| {point['rollouts']} | " + " | ".join(cells) + " |")
    lines += ["", f"Seconds to {GOAL:.0%} held-out accuracy, by seed:", ""]
    for name in args.loops:
        times = []
        for r in (r for r in results if r["loop"] == name):
            reached = [p["seconds"] for p in r["curve"] if p["correct"] >= GOAL * args.n]
            times.append(f"{reached[0]:.1f}" if reached else f"not within {args.steps} rollouts")
        lines.append(f"- {name}: {', '.join(times)}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=10, help="rollouts between evaluations")
    parser.add_argument("--n", type=int, default=500, help="held-out sums of an evaluation")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--loops", type=lambda text: text.split(","), default=["ours", "trl", "naive"])
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    results = [run(name, seed, args) for seed in range(args.seeds) for name in args.loops]
    limit = counted_operations(args) / matmul_rate()
    machine = describe_machine()
    title = (
        f"nano, addition, {args.steps} rollouts of 32 x 8, {args.seeds} seeds, {args.threads} threads. "
        f"{machine['hardware']}, torch {machine['torch']}, {machine['date']}.\n\n"
    )
    text = "# Ours, TRL and a naive loop on the same work\n\n" + title + summary(results, limit, args) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "engine.md").write_text(text, encoding="utf-8")
    (RESULTS / "engine.json").write_text(json.dumps({"machine": machine, "results": results}, indent=1))
    print(text)


if __name__ == "__main__":
    main()
