"""The command line: a thin layer over the library. `grpo-lessons --help` lists the commands."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from .commands.compare import compare
from .commands.cost import cost
from .commands.doctor import doctor
from .commands.dry_run import dry_run
from .commands.evaluate import evaluate
from .commands.launch import launch
from .commands.memory import memory
from .commands.runs import diagnose, show
from .commands.train import train
from .commands.verify import verify
from .commands.workshop import workshop

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Reinforcement learning with verifiable rewards for small language models. Start with `grpo-lessons doctor`.",
)
for command in (doctor, train, compare, evaluate, verify, show, diagnose, memory, cost, dry_run):
    app.command()(command)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(launch)
app.add_typer(workshop, name="workshop")


def main() -> None:
    """Run the command line; what a user can mend is one sentence, not a traceback."""
    console = Console(stderr=True)
    try:
        app()
    except SystemExit as end:
        if end.code == 130:  # typer's answer to Ctrl-C
            console.print("\ninterrupted; a run directory can be read, and resumed with --resume")
        raise
    except Exception as error:
        if not mendable(error):
            raise
        console.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)


def mendable(error: Exception) -> bool:
    """Whether the message of this error was written for the user."""
    from .rundir import TrainingError  # here, as it brings torch and --help shall be quick
    from .scoring import RewardError

    return isinstance(error, (ValueError, OSError, RewardError, TrainingError))
