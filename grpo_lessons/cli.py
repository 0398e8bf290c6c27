"""The command line: a thin layer over the library. `grpo-lessons --help` lists the commands."""

from __future__ import annotations

import shutil
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from .cli_verify import verify

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Reinforcement learning with verifiable rewards for small language models. Start with `grpo-lessons doctor`.",
)
console = Console()
app.command()(verify)

Method = Annotated[str, typer.Option(help="grpo, gmpo, grpo_sg, dr_grpo, dapo, gspo, ...: an unknown name lists all.")]
PolicyName = Annotated[str, typer.Option(help="nano, smollm2, qwen2.5-1.5b, a folder, or a hub id.")]
TaskName = Annotated[str, typer.Option(help="What is trained: an unknown name lists the tasks.")]
Setting = Annotated[list[str] | None, typer.Option("--set", help="Any TrainConfig field, as name=value; repeatable.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete the directory first if it exists.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint in the directory.")]


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Run directory: metrics, checkpoints, the trained policy.")],
    method: Method = "grpo",
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    steps: Annotated[int, typer.Option(help="Rollouts; each is prompts_per_step x group_size completions.")] = 80,
    seed: Annotated[int, typer.Option(help="The same seed on the same machine gives the same numbers.")] = 0,
    setting: Setting = None,
    eval_n: Annotated[int, typer.Option(help="Held-out problems before and after.")] = 500,
    overwrite: Overwrite = False,
    resume: Resume = False,
) -> None:
    """Train one policy with one method and say what it learned on problems it has never seen."""
    from .compare import options_for, train_and_evaluate
    from .config import TrainConfig

    given = _settings(setting)
    given["method_options"] = {**options_for(policy, method), **given.get("method_options", {})}
    config = TrainConfig.from_dict({"method": method, "steps": steps, "seed": seed, "eval_every": 10, **given})
    _check_names(policy, task)
    _prepare(out, overwrite, resume)
    threads = 0 if policy != "nano" else 1
    result = train_and_evaluate(policy, task, config, out, eval_n=eval_n, resume=resume, threads=threads)
    console.print(f"held-out before  {_percent(result['before'])}")
    console.print(f"held-out after   {_percent(result['after'])}   ({eval_n} problems, {result['seconds']} s)")
    console.print(f"run directory    {out}")


@app.command()
def evaluate(
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    n: Annotated[int, typer.Option(help="Problems.")] = 500,
    samples: Annotated[int, typer.Option(help="Completions per problem, for pass@k.")] = 1,
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = 1.0,
    split: Annotated[str, typer.Option(help="train, dev or held_out.")] = "held_out",
    seed: int = 0,
) -> None:
    """Accuracy with its 95 % interval, pass@k, and why answers were wrong."""
    from .evaluation import evaluate as run
    from .policies import load_policy
    from .tasks import get_task

    _check_names(policy, task)
    result = run(
        load_policy(policy), get_task(task), n=n, samples=samples, temperature=temperature, seed=seed, split=split
    )
    console.print(str(result))
    for k, value in result.pass_at.items():
        console.print(f"pass@{k:<3} {value:.1%}")
    total = sum(result.reasons.values())
    for reason, count in result.reasons.items():
        console.print(f"{reason:<16} {count / total:6.1%}")


@app.command()
def compare(
    methods: Annotated[str, typer.Option(help="Comma-separated names.")] = "grpo,gmpo,grpo_sg",
    seeds: Annotated[str, typer.Option(help="Comma-separated numbers, or a range such as 0-4.")] = "0",
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    steps: Annotated[int, typer.Option(help="Rollouts of each run.")] = 80,
    out: Annotated[Path, typer.Option(help="Directory of the runs, the table and the figure.")] = Path("runs/compare"),
    setting: Setting = None,
    eval_n: Annotated[int, typer.Option(help="Held-out problems before and after.")] = 500,
    jobs: Annotated[int | None, typer.Option(help="Runs at the same time; default: one per core.")] = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
) -> None:
    """Train several methods with several seeds; one table, one figure."""
    from . import compare as library
    from .config import TrainConfig

    names = [name.strip() for name in methods.split(",") if name.strip()]
    base = TrainConfig.from_dict({"steps": steps, "eval_every": 10, "eval_splits": ["held_out"], **_settings(setting)})
    configs = library.configurations(names, _seeds(seeds), base, policy=policy)
    _check_names(policy, task)
    _prepare(out, overwrite, resume)
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
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
    _print_summary(table, eval_n)
    console.print(f"figure  {figure}\nruns    {out}", soft_wrap=True)


@app.command()
def doctor() -> None:
    """What this machine can run, library versions against the tested ones, and what to install."""
    from .doctor import examine

    table = Table("what", "found", "", "advice")
    colour = {"ok": "green", "note": "yellow", "missing": "red"}
    for check in examine():
        status = Text(check.status, colour[check.status])
        table.add_row(check.what, Text(check.found), status, Text(check.advice))
    console.print(table)


def _print_summary(table, eval_n: int) -> None:
    shown = Table("method", "seeds", "before", "after [95 %]", "greedy", "worst seed", "tokens", "seconds")
    for row in table.itertuples():
        shown.add_row(
            row.method,
            str(row.seeds),
            f"{row.before:.1%}",
            f"{row.after:.1%} \\[{row.low:.1%}, {row.high:.1%}]",
            f"{row.greedy:.1%}",
            f"{row.worst_seed:.1%}",
            f"{row.length_before:.1f} -> {row.length_after:.1f}",
            f"{row.seconds:.0f}",
        )
    console.print(f"Held-out accuracy, {eval_n} problems a seed, sampled at temperature 1")
    console.print(shown)


def _check_names(policy: str, task: str) -> None:
    """Unknown names end here, before anything is deleted or trained."""
    from .policies import resolve
    from .tasks import get_task

    get_task(task)
    resolve(policy)


def _prepare(out: Path, overwrite: bool, resume: bool) -> None:
    """An existing directory is only touched if one of the two flags says so."""
    if overwrite and resume:
        raise ValueError("--overwrite deletes what --resume would go on from: give one of them")
    if out.exists() and any(out.iterdir()) and not resume:
        if not overwrite:
            raise FileExistsError(f"{out} exists and is not empty; add --resume to go on or --overwrite to begin anew")
        if not any(out.glob("run.json")) and not any(out.glob("*/run.json")):
            raise FileExistsError(f"{out} holds no run, so it is not deleted; choose another directory")
        shutil.rmtree(out)


def _settings(pairs: list[str] | None) -> dict:
    """["kl_beta=0.04", "method_options.clip_low=0.1"] -> values for TrainConfig.from_dict."""
    import json

    known = {f.name for f in fields(_config_class())}
    values: dict = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or name.split(".")[0] not in known:
            raise ValueError(f"--set {pair!r}: give name=value with one of {', '.join(sorted(known))}")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        if "." in name:
            values.setdefault("method_options", {})[name.split(".", 1)[1]] = value
        else:
            values[name] = value
    return values


def _config_class():
    from .config import TrainConfig

    return TrainConfig


def _seeds(text: str) -> list[int]:
    """ "0,1,5" or "0-4"."""
    try:
        first, dash, last = text.partition("-")
        return list(range(int(first), int(last) + 1)) if dash else [int(s) for s in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds {text!r}: give numbers such as 0,1,2 or a range such as 0-4") from None


def _percent(triple: list[float]) -> str:
    return f"{triple[0]:.1%} [{triple[1]:.1%}, {triple[2]:.1%}]".replace("[", "\\[")


def main() -> None:
    """Run the command line; what a user can mend is one sentence, not a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        console.print("\ninterrupted; the run directory can be read and resumed (--resume)")
        sys.exit(130)
    except Exception as error:
        if not _mendable(error):
            raise
        console.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)


def _mendable(error: Exception) -> bool:
    """Errors whose message was written for the user."""
    from .scoring import RewardError  # here, as they bring torch and --help shall be quick
    from .trainer import TrainingError

    return isinstance(error, (ValueError, OSError, RewardError, TrainingError))
