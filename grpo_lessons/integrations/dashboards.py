"""Send a run's numbers to TensorBoard, trackio or wandb while it goes on, through their own libraries.

    train(policy, task, config, run_dir=run_dir, on_step=tensorboard(run_dir / "tensorboard"))

Each function returns a callback for `train(on_step=...)`; `close()` it at the end. The run directory stays the record:
a dashboard gets copies. A resumed run sends its earlier rows again, so that none is missing that a kill swallowed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from grpo_lessons.runlog import RunLog

INSTALL = {"torch.utils.tensorboard": "tensorboard", "trackio": "trackio", "wandb": "wandb"}


class Dashboard:
    """Hands each new row of metrics and evaluations to write(step, {name: number}), once.

    Names are those of `RunLog.table` below "train/", and "eval/SPLIT" for accuracies. close: ends the writer.
    """

    def __init__(self, write: Callable[[int, dict[str, float]], None], close: Callable[[], None]):
        self.write, self.close = write, close
        self.sent = {"metrics": 0, "evals": 0}

    def __call__(self, log: RunLog) -> None:
        for row in self._new(log, "evals"):
            self.write(row["step"], {f"eval/{row['split']}": row["accuracy"]})
        for row in self._new(log, "metrics"):
            numbers = {name: value for name, value in row.items() if name != "step" and value is not None}
            self.write(row["step"], {f"train/{name}": value for name, value in numbers.items()})

    def _new(self, log: RunLog, stream: str) -> list[dict]:
        rows = log.lines[stream][self.sent[stream] :]
        self.sent[stream] += len(rows)
        return rows


def tensorboard(folder: str | Path) -> Dashboard:
    """Event files in a folder; see them with `tensorboard --logdir FOLDER`."""
    writer = _library("torch.utils.tensorboard").SummaryWriter(str(folder))

    def write(step: int, numbers: dict[str, float]) -> None:
        for name, value in numbers.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return Dashboard(write, writer.close)


def trackio(project: str, **options) -> Dashboard:
    """A local trackio project; options: those of trackio.init (name, config, ...)."""
    return _run_of("trackio", project, options)


def wandb(project: str, **options) -> Dashboard:
    """A Weights & Biases run; options: those of wandb.init (name, config, mode="offline", ...)."""
    return _run_of("wandb", project, options)


def _run_of(name: str, project: str, options: dict) -> Dashboard:
    run = _library(name).init(project=project, **options)
    return Dashboard(lambda step, numbers: run.log(numbers, step=step), run.finish)


def _library(name: str):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this dashboard needs {INSTALL[name]}: pip install {INSTALL[name]}") from error
