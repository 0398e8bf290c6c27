"""`grpo-lessons evaluate`: accuracy, interval, pass@k, reasons."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import PolicyName, TaskName, check_names


def evaluate(
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    n: Annotated[int, typer.Option(help="Problems.")] = 500,
    samples: Annotated[int, typer.Option(help="Completions per problem, for pass@k.")] = 1,
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = 1.0,
    split: Annotated[str, typer.Option(help="train, dev or held_out.")] = "held_out",
    seed: Annotated[int, typer.Option(help="Chooses the problems and the samples.")] = 0,
) -> None:
    """Accuracy with its 95 % interval, pass@k, and why answers were wrong."""
    from grpo_lessons.evaluation import evaluate as run
    from grpo_lessons.policies import load_policy
    from grpo_lessons.tasks import get_task

    check_names(policy, task)
    where = {"n": n, "samples": samples, "temperature": temperature, "seed": seed, "split": split}
    report = run(load_policy(policy), get_task(task), **where)
    print(report)
    for k, value in report.pass_at.items():
        print(f"pass@{k:<3} {value:.1%}")
    total = sum(report.reasons.values())
    for reason, count in report.reasons.items():
        print(f"{reason:<16} {count / total:6.1%}")
