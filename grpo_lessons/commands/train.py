"""`grpo-lessons train`: one policy, one method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .options import (
    AllowChange,
    EvalN,
    Method,
    Overwrite,
    PolicyName,
    Resume,
    Setting,
    Steps,
    TaskName,
    check_names,
    prepare,
    settings,
)


def train(
    out: Annotated[Path, typer.Option(help="Run directory: metrics, checkpoints, the trained policy.")],
    method: Method = "grpo",
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    steps: Steps = 80,
    seed: Annotated[int, typer.Option(help="The same seed on the same machine gives the same numbers.")] = 0,
    setting: Setting = None,
    eval_n: EvalN = 500,
    overwrite: Overwrite = False,
    resume: Resume = False,
    allow_change: AllowChange = None,
) -> None:
    """Train one policy with one method and say what it learned on problems it has never seen.

    At the end, and where something stops it, the run is diagnosed: what is wrong with it, and what to try.
    The learning rate falls to a tenth, so that the last steps settle; `--set decay_to=1` keeps it constant.
    """
    from grpo_lessons.compare import options_for, train_and_evaluate
    from grpo_lessons.config import TrainConfig

    given = {"decay_to": 0.1, **settings(setting)}
    given["method_options"] = {**options_for(policy, method), **given.get("method_options", {})}
    config = TrainConfig.from_dict({"method": method, "steps": steps, "seed": seed, "eval_every": 10, **given})
    check_names(policy, task)
    prepare(out, overwrite, resume)
    with diagnosed(out):
        result = train_and_evaluate(
            policy, task, config, out, eval_n=eval_n, resume=resume, allow_changes=allow_change or ()
        )
    for when in ("before", "after"):
        accuracy, low, high = result[when]
        print(f"held-out {when:7} {accuracy:.1%} [{low:.1%}, {high:.1%}]  {eval_n} problems")
    print(f"run directory    {out}")


@contextmanager
def diagnosed(run_dir: Path) -> Iterator[None]:
    """Print the findings of the run that is trained in this block, also if a fault or Ctrl-C ends it."""
    from grpo_lessons.diagnose import diagnose_command
    from grpo_lessons.rundir import TrainingError
    from grpo_lessons.scoring import RewardError

    try:
        yield
    except (KeyboardInterrupt, TrainingError, RewardError):
        if (run_dir / "run.json").exists():
            diagnose_command(run_dir)
        raise
    diagnose_command(run_dir)
