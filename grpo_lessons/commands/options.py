"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

Method = Annotated[str, typer.Option(help="grpo, gmpo, grpo_sg, dr_grpo, dapo, gspo, ...: an unknown name lists all.")]
PolicyName = Annotated[str, typer.Option(help="nano, smollm2, qwen2.5-1.5b, a folder, or a hub id.")]
TaskName = Annotated[str, typer.Option(help="What is trained: an unknown name lists the tasks.")]
Steps = Annotated[int, typer.Option(help="Rollouts; each is prompts_per_step x group_size completions.")]
Setting = Annotated[list[str] | None, typer.Option("--set", help="Any TrainConfig field, as name=value; repeatable.")]
EvalN = Annotated[int, typer.Option(help="Held-out problems before and after.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete the directory first if it exists.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint in the directory.")]
AllowChange = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-change", help="With --resume: a setting that may differ from the interrupted run; repeatable."
    ),
]


def check_names(policy: str, task: str) -> None:
    """Unknown names end here, before anything is deleted or trained."""
    from grpo_lessons.sources import resolve
    from grpo_lessons.tasks import get_task

    get_task(task)
    resolve(policy)


def prepare(out: Path, overwrite: bool, resume: bool) -> None:
    """An existing directory is only touched if one of the two flags says so, and only deleted if it holds a run."""
    if overwrite and resume:
        raise ValueError("--overwrite deletes what --resume would go on from: give one of them")
    if resume or not (out.exists() and any(out.iterdir())):
        return
    if not overwrite:
        raise FileExistsError(f"{out} exists and is not empty; add --resume to go on or --overwrite to begin anew")
    if not (any(out.glob("run.json")) or any(out.glob("*/run.json"))):
        raise FileExistsError(f"{out} holds no run, so it is not deleted; choose another directory")
    shutil.rmtree(out)


def settings(pairs: list[str] | None) -> dict[str, Any]:
    """["kl_beta=0.04", "method_options.clip_low=0.1"] -> values for TrainConfig.from_dict."""
    from grpo_lessons.config import TrainConfig

    known = {f.name for f in fields(TrainConfig)}
    values: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        name, _, option = name.partition(".")
        if not equals or name not in known or (option and name != "method_options"):
            raise ValueError(f"--set {pair!r}: give name=value with one of {', '.join(sorted(known))}")
        if option:
            values.setdefault(name, {})[option] = value_of(text)
        else:
            values[name] = value_of(text)
    return values


def value_of(text: str) -> Any:
    """A JSON value where the text is one, else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def seed_list(text: str) -> list[int]:
    """ "0,1,5" or "0-4"."""
    try:
        first, dash, last = text.partition("-")
        return list(range(int(first), int(last) + 1)) if dash else [int(s) for s in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds {text!r}: give numbers such as 0,1,2 or a range such as 0-4") from None
