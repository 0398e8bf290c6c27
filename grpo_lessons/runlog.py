"""What a run did: metrics in memory, and the same lines in a run directory that can be read while it goes on.

    run.json           settings, policy, task, versions, hardware, date
    metrics.jsonl      one line a step, deterministic: the same seed on the same machine writes the same bytes
    system.jsonl       one line a step: seconds by phase, memory
    evals.jsonl        one line an evaluation
    completions.jsonl  a few completions of each step
    checkpoints/       see checkpoints.py
    policy/            the trained policy, loadable by `load_policy(run_dir / "policy")`

Every line carries `step`, the number of steps done when it was written: 1 for the first step, 0 for an evaluation
before it.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

STREAMS = ("metrics", "system", "evals", "completions")
LIBRARIES = ("grpo-lessons", "torch", "transformers", "peft", "bitsandbytes", "unsloth")


class RunLog:
    """The record of one run.

    header: the content of run.json. run_dir: where lines are also written, or None to keep them in memory only.
    """

    def __init__(self, header: dict[str, Any], run_dir: str | Path | None = None):
        self.header = header
        self.run_dir = Path(run_dir) if run_dir else None
        self.lines: dict[str, list[dict]] = {name: [] for name in STREAMS}

    @property
    def table(self):
        """DataFrame, one row a step: deterministic columns only."""
        return self._frame("metrics")

    @property
    def system(self):
        """DataFrame, one row a step: seconds_sample, seconds_score, seconds_update, memory_mb."""
        return self._frame("system")

    @property
    def evals(self):
        """DataFrame, one row an evaluation: step, split, n, accuracy, low, high."""
        return self._frame("evals")

    @property
    def completions(self):
        """DataFrame, a few rows a step: step, prompt, completion, reward, reason."""
        return self._frame("completions")

    def _frame(self, name: str):
        import pandas as pd

        frame = pd.DataFrame(self.lines[name])
        shares = [c for c in frame.columns if c.startswith(("reason_", "strategy_"))]
        return frame.fillna(dict.fromkeys(shares, 0.0))

    def add(self, stream: str, line: dict[str, Any]) -> None:
        """Append one line to a stream, and to its file at once."""
        self.lines[stream].append(line)
        if self.run_dir:
            with (self.run_dir / f"{stream}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def open_directory(self) -> None:
        """Create the run directory and its run.json."""
        self.run_dir.mkdir(parents=True, exist_ok=True)
        write_json(self.run_dir / "run.json", self.header)

    def rewind(self, step: int) -> None:
        """Forget what came after the first `step` steps, as a resumed run will do it again."""
        for name in STREAMS:
            self.lines[name] = [line for line in self.lines[name] if line["step"] <= step]
            if self.run_dir:
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines[name])
                replace_file(self.run_dir / f"{name}.jsonl", text.encode())

    @classmethod
    def load(cls, run_dir: str | Path) -> RunLog:
        """Read a run directory, finished or not. FileNotFoundError if it holds no run.json."""
        run_dir = Path(run_dir)
        if not (run_dir / "run.json").is_file():
            raise FileNotFoundError(f"{run_dir} is not a run directory: it has no run.json")
        log = cls(json.loads((run_dir / "run.json").read_text(encoding="utf-8")), run_dir)
        for name in STREAMS:
            path = run_dir / f"{name}.jsonl"
            log.lines[name] = read_lines(path) if path.is_file() else []
        return log


def read_lines(path: Path) -> list[dict]:
    """The complete lines of a JSON-lines file; a last line that a kill cut off is left out."""
    lines = []
    for text in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never a part."""
    replace_file(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write to a temporary name, flush to disk, rename."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def describe_machine() -> dict[str, str]:
    """Versions, processor, accelerator and date: what a recorded number must carry."""
    import torch

    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        **versions,
        "hardware": f"{cpu_name()}, {os.cpu_count()} cores, {device}",
        "threads": str(torch.get_num_threads()),
    }


def cpu_name() -> str:
    """The processor's name where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().split("\n"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
