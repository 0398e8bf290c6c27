"""`grpo-lessons launch`: a run on TRL's engine, on as many processes as a file says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

RUN = "grpo_lessons.integrations.trl_run"


def launch(
    context: typer.Context,
    config: Annotated[Path, typer.Option(help="A file of accelerate, such as configs/cpu_2.yaml.")],
) -> None:
    """Train on several processes: `accelerate launch` with a file of configs/.

    All other options go to the run: `--out`, `--method`, `--policy`, `--task`, `--steps`, `--seed`, `--lora-rank`,
    `--set`, `--resume`.
    """
    if not config.is_file():
        raise FileNotFoundError(f"no such file: {config}; configs/ of the repository holds ready ones")
    accelerate = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(config), "-m", RUN]
    code = subprocess.run([*accelerate, *context.args], check=False).returncode
    if code:
        print(
            f"the run ended with exit status {code}, and all its processes with it; what it printed is above. "
            "After the first checkpoint the same command with --resume goes on",
            file=sys.stderr,
        )
    sys.exit(code)
