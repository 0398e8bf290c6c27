"""`grpo-lessons compare`: methods trained side by side, or runs that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .options import (
    EvalN,
    Overwrite,
    PolicyName,
    Resume,
    Setting,
    Steps,
    TaskName,
    check_names,
    prepare,
    seed_list,
    settings,
)
from .runs import runs_table

COLUMNS = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def compare(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run directories to compare; then nothing is trained.")
    ] = None,
    methods: Annotated[str, typer.Option(help="Comma-separated names.")] = "grpo,gmpo,grpo_sg",
    seeds: Annotated[str, typer.Option(help="Comma-separated numbers, or a range such as 0-4.")] = "0",
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    steps: Steps = 80,
    out: Annotated[Path, typer.Option(help="Directory of the runs, the table and the figure.")] = Path("runs/compare"),
    setting: Setting = None,
    eval_n: EvalN = 500,
    jobs: Annotated[int | None, typer.Option(help="Runs at the same time; default: one per core.")] = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
) -> None:
    """Train several methods with several seeds; one table, one figure. Or, with RUNS, compare those from disk.

    The learning rate falls to a tenth, so that the last steps settle; `--set decay_to=1` keeps it constant.
    """
    console = Console()
    if runs:
        console.print(runs_table(runs))
        return
    from grpo_lessons import compare as library
    from grpo_lessons.config import TrainConfig

    names = [name.strip() for name in methods.split(",") if name.strip()]
    given = {"steps": steps, "decay_to": 0.1, "eval_every": 10, "eval_splits": ["held_out"], **settings(setting)}
    configs = library.configurations(names, seed_list(seeds), TrainConfig.from_dict(given), policy=policy)
    check_names(policy, task)
    prepare(out, overwrite, resume)
    out.mkdir(parents=True, exist_ok=True)
    with Progress(*COLUMNS, console=console) as progress:
        bars = {library.run_name(c): progress.add_task(library.run_name(c), total=steps) for c in configs}
        results = library.run_all(
            configs,
            out,
            policy=policy,
            task=task,
            eval_n=eval_n,
            jobs=jobs,
            poll=lambda done: [progress.update(bars[name], completed=n) for name, n in done.items()],
        )
    table, figure = library.report(results, out)
    console.print(f"Held-out accuracy, {eval_n} problems a seed, sampled at temperature 1")
    console.print(shown(table))
    console.print(f"figure  {figure}\nruns    {out}", soft_wrap=True)


def shown(table) -> Table:
    """The summary DataFrame of `compare.report` for a terminal."""
    columns = Table("method", "seeds", "before", "after [95 %]", "greedy", "worst seed", "tokens", "seconds")
    for row in table.itertuples():
        columns.add_row(
            row.method,
            str(row.seeds),
            f"{row.before:.1%}",
            f"{row.after:.1%} \\[{row.low:.1%}, {row.high:.1%}]",
            f"{row.greedy:.1%}",
            f"{row.worst_seed:.1%}",
            f"{row.length_before:.1f} -> {row.length_after:.1f}",
            f"{row.seconds:.0f}",
        )
    return columns
