"""The tables of benchmarks/engine.py, made from what it measured."""

from __future__ import annotations

from statistics import mean

from grpo_lessons.evaluation import wilson_interval

GOAL = 0.95
TITLES = {"ours": "grpo-lessons", "trl": "TRL 1.16.0", "naive": "naive loop"}


def report(record: dict) -> str:
    """The page that stands in benchmarks/results/."""
    lines = [f"# {record['work']}: ours and TRL on the same work", "", setting(record), "", *times(record)]
    if record["n"]:
        lines += ["", *curves(record), "", *time_to_goal(record)]
    return "\n".join(lines) + "\n"


def setting(record: dict) -> str:
    machine, work = record["machine"], WORDS[record["work"]]
    seeds = len({r["seed"] for r in record["results"]})
    return (
        f"{work} {record['steps']} rollout{'s' * (record['steps'] > 1)}, {seeds} seed{'s' * (seeds > 1)}, "
        f"in turns in one process, {record['dtype']}, {machine['threads']} thread. "
        f"{machine['hardware']}, torch {machine['torch']}, transformers {machine['transformers']}, {machine['date']}. "
        "Others used the machine too (load "
        f"{record['load']:.0f}), so processor time is the number to compare."
    )


WORDS = {
    "nano": (
        "The nano policy, addition, 32 prompts x 8 completions a rollout, four minibatches, learning rate 2e-4, "
        "constant, beta 0, temperature 1, at most 40 tokens, no LoRA;"
    ),
    "smollm2": (
        "SmolLM2-135M-Instruct, LoRA of rank 16 in float32, sums up to 20 + 20 after two worked examples "
        "(prompts of about 106 tokens), 2 prompts x 4 completions a rollout, two minibatches, rewards 1, 0, 1, 0, so "
        "that no group is dead, beta 0, temperature 1, at most 16 tokens;"
    ),
}


def of(record: dict, loop: str) -> list[dict]:
    return [r for r in record["results"] if r["loop"] == loop]


def times(record: dict) -> list[str]:
    """Mean seconds of a run, ratios to TRL with their range over the seeds, share of processor time by phase."""
    phases = ("sample", "score", "update")
    lines = [
        "| loop | processor s | ratio to TRL [seeds] | wall s | ratio | sample | score | update | rest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for loop in record["loops"]:
        mine = of(record, loop)
        share = [mean(r["phases"][p] / r["cpu"] for r in mine) for p in phases]
        cells = [f"{mean(r['cpu'] for r in mine):.1f}", ratio(record, loop, "cpu")]
        cells += [f"{mean(r['wall'] for r in mine):.0f}", ratio(record, loop, "wall").split(" ")[0]]
        lines.append(
            f"| {TITLES[loop]} | {' | '.join(cells)} | {' | '.join(f'{s:.0%}' for s in (*share, 1 - sum(share)))} |"
        )
    rate = max(r["matmul_rate"] for r in record["results"])
    limit, cpu = record["operations"] / rate, mean(r["cpu"] for r in of(record, "ours"))
    lines.append(f"| arithmetic of ours | {limit:.1f} | {limit / cpu:.2f} of ours | | | | | | |")
    lines += [
        "",
        f"{record['operations'] / 1e9:.0f} G operations at {rate / 1e9:.0f} G a second, the best rate measured.",
    ]
    return lines


def ratio(record: dict, loop: str, kind: str) -> str:
    """'0.30 [0.29, 0.31]': ratio of means, and its range over the seeds; '-' without TRL."""
    if "trl" not in record["loops"]:
        return "-"
    mine, theirs = ([r[kind] for r in of(record, name)] for name in (loop, "trl"))
    each = [a / b for a, b in zip(mine, theirs, strict=True)]
    return f"{mean(mine) / mean(theirs):.2f} [{min(each):.2f}, {max(each):.2f}]"


def curves(record: dict) -> list[str]:
    """Held-out accuracy at each checkpoint, the seeds' problems together; and whether the intervals overlap."""
    seeds, loops = len(of(record, record["loops"][0])), record["loops"]
    lines = [
        f"Held-out accuracy [95 %], {record['n']} sampled answers a seed:",
        "",
        "| rollouts | " + " | ".join(TITLES[name] for name in loops) + " | intervals overlap |",
        "|---|" + "---|" * (len(loops) + 1),
    ]
    for i, point in enumerate(record["results"][0]["curve"]):
        intervals, cells = [], []
        for loop in loops:
            correct = sum(r["curve"][i]["correct"] for r in of(record, loop))
            low, high = wilson_interval(correct, record["n"] * seeds)
            intervals.append((low, high))
            cells.append(f"{correct / record['n'] / seeds:.1%} [{low:.1%}, {high:.1%}]")
        overlap = max(low for low, _ in intervals) <= min(high for _, high in intervals)
        lines.append(f"| {point['rollouts']} | " + " | ".join(cells) + f" | {'yes' if overlap else 'no'} |")
    return lines


def time_to_goal(record: dict) -> list[str]:
    """Processor seconds to the first checkpoint at the goal: by seed, and for all seeds together."""
    lines = [f"Processor seconds to {GOAL:.0%} held-out accuracy, at the first checkpoint that reaches it:", ""]
    together = {}
    for loop in record["loops"]:
        mine = of(record, loop)
        each = [first(r["curve"], GOAL * record["n"]) for r in mine]
        pooled = [
            {"cpu": mean(p["cpu"] for p in points), "correct": sum(p["correct"] for p in points)}
            for points in zip(*(r["curve"] for r in mine), strict=True)
        ]
        together[loop] = first(pooled, GOAL * record["n"] * len(mine))
        shown = [f"{t:.1f}" if t else f"not within {record['steps']} rollouts" for t in (*each, together[loop])]
        lines.append(f"- {TITLES[loop]}: {', '.join(shown[:-1])}; the seeds together {shown[-1]}")
    if together.get("ours") and together.get("trl"):
        lines += ["", f"Ratio to TRL, the seeds together: {together['ours'] / together['trl']:.2f}."]
    return lines


def first(curve: list[dict], correct: float) -> float | None:
    """Processor seconds up to the first checkpoint with so many right answers; None if there is none."""
    return next((point["cpu"] for point in curve if point["correct"] >= correct), None)
