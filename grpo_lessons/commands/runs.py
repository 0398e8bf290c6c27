"""`grpo-lessons show RUN`, `diagnose RUN` and `compare RUN...`: read from disk, also while the runs go on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from grpo_lessons.runlog import RunLog

RunDir = Annotated[
    Path, typer.Argument(help="A run directory, of a run that is finished, going on or was interrupted.")
]
SHOWN = ("reward_mean", "accuracy", "length_mean", "truncated", "dead_groups", "entropy", "grad_norm", "clip_fraction")
BLOCKS = "▁▂▃▄▅▆▇█"


def show(run: RunDir, completions: Annotated[int, typer.Option(help="How many of the last completions.")] = 4) -> None:
    """Where a run stands: state, metrics with their course, evaluations, the last completions."""
    console, log = Console(), RunLog.load(run)
    config = log.header["config"]
    console.print(f"{config['method']} on {log.header['task']}, policy {log.header['policy']}, seed {config['seed']}")
    console.print(state(log))
    if log.lines["metrics"]:
        console.print(metrics_table(log))
    for row in log.lines["evals"][-4:]:
        console.print(f"step {row['step']:>4}  {evaluation(row)}", markup=False)
    for row in log.lines["completions"][-completions:] if completions else ():
        console.rule(f"step {row['step']}  {row['reason']}  reward {row['reward']}", align="left")
        console.print(f"{row['prompt']}\n{row['completion']}", markup=False, highlight=False)


def diagnose(run: RunDir) -> None:
    """What is wrong with a run, with evidence, cause and what to try."""
    from grpo_lessons.diagnose import diagnose_command

    diagnose_command(run)


def state(log: RunLog) -> str:
    """One line: how far the run is, and whether it goes on."""
    done, total = len(log.lines["metrics"]), log.header["config"]["steps"]
    last = log.lines["events"][-1] if log.lines["events"] else {"event": "begun"}
    if last["event"] == "stopped":
        return f"stopped after {done} of {total} steps: {last['reason']}"
    if last["event"] == "finished":
        return f"finished, {done} steps"
    newest = max(path.stat().st_mtime for path in log.run_dir.glob("*.json*"))
    ago = max(0, time.time() - newest)
    return f"{done} of {total} steps, last written {ago:.0f} s ago: going on, or killed (resume it then)"


def metrics_table(log: RunLog) -> Table:
    """First, last and the course of the main metrics."""
    shown, table = Table("", "first", "last", "course"), log.table
    for name in SHOWN:
        if values := known(table, name):
            shown.add_row(name, f"{values[0]:.3g}", f"{values[-1]:.3g}", sparkline(values))
    return shown


def runs_table(run_dirs: Sequence[Path]) -> Table:
    """One row a run: how far it is, metrics of its first and last step, course of its accuracy, last evaluation."""
    shown = Table(
        "run", "method", "steps", "", "reward", "accuracy", "course", "tokens", "evaluation [95 %]", "s a step"
    )
    for run_dir in run_dirs:
        log = RunLog.load(run_dir)
        table, config, events = log.table, log.header["config"], log.lines["events"]
        change = {name: first_and_last(table, name) for name in ("reward_mean", "accuracy", "length_mean")}
        seconds = log.system.filter(like="seconds_").sum(axis=1)
        shown.add_row(
            str(run_dir),
            config["method"],
            f"{len(table)}/{config['steps']}",
            events[-1]["event"] if events and events[-1]["event"] in ("finished", "stopped") else "",
            change["reward_mean"],
            change["accuracy"],
            sparkline(known(table, "accuracy"), width=12),
            change["length_mean"],
            evaluation(log.lines["evals"][-1]) if log.lines["evals"] else "",
            f"{seconds.median():.2f}" if len(seconds) else "",
        )
    return shown


def known(table, column: str) -> list[float]:
    """A column of the table of metrics, without the steps that have no value."""
    return table[column].dropna().tolist() if column in table else []


def first_and_last(table, column: str) -> str:
    values = known(table, column)
    return f"{values[0]:.3g} -> {values[-1]:.3g}" if values else ""


def evaluation(row: dict) -> str:
    return f"{row['split']} {row['accuracy']:.1%} [{row['low']:.1%}, {row['high']:.1%}]"


def sparkline(values: list[float], width: int = 40) -> str:
    """The values as a row of blocks, lowest to highest, means of equal parts where there are more than width."""
    if not values:
        return ""
    parts = min(width, len(values))
    cuts = [i * len(values) // parts for i in range(parts + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((mean - low) * scale)] for mean in means)
