"""What a run did: metrics in memory, and the same lines in a run directory that can be read while it goes on.

    run.json           settings, policy, task, versions, hardware, state of the code
    metrics.jsonl      one line a step, deterministic: the same seed on the same machine writes the same bytes
    system.jsonl       one line a step: seconds and peak memory by phase
    evals.jsonl        one line an evaluation
    completions.jsonl  a few completions of each step
    events.jsonl       begun, resumed, stopped (with the reason), finished
    checkpoints/       see checkpoints.py
    policy/            the trained policy, loadable by `load_policy(run_dir / "policy")`

Every line carries `step`, the number of steps done when it was written: 1 for the first step, 0 for an evaluation
before it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

STREAMS = ("metrics", "system", "evals", "completions")


class RunLog:
    """The record of one run.

    header: the content of run.json. run_dir: where lines are also written, or None to keep them in memory only.
    """

    def __init__(self, header: dict[str, Any], run_dir: str | Path | None = None):
        self.header = header
        self.run_dir = Path(run_dir) if run_dir else None
        self.lines: dict[str, list[dict]] = {name: [] for name in (*STREAMS, "events")}

    @property
    def table(self):
        """DataFrame, one row a step: deterministic columns only.

        reward_mean, reward_std, unscored, accuracy, dead_groups, truncated: shares and means over the rollout;
        length_mean, length_finished, length_right, length_wrong (by the task's verifier): tokens;
        entropy: nats a token, of the sampling distribution;
        loss, grad_norm (before clipping), clip_fraction, approx_kl: means over the step's updates; grad_norm_max;
        log_ratio_min, _max: over the tokens of all updates, log_ratio_q01, _q99: of the last one;
        sampler_gap: largest difference of log-probabilities between sampler and first training forward;
        weight_norm: of the trainable weights after the step; learning_rate; tokens; kl_reference and mean_weight where
        the method has them; reason_CODE and strategy_NAME: shares of the completions.
        Tokens of rows that took no forward pass (advantage 0) are not among those of the ratios.
        """
        return self._frame("metrics")

    @property
    def system(self):
        """DataFrame, one row a step: seconds_PHASE and memory_PHASE_mb of sample, score and update (see clock.py)."""
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
        """Append one line to a stream, and to its file at once. ValueError for NaN and infinity."""
        text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        if self.run_dir:
            with (self.run_dir / f"{stream}.jsonl").open("a", encoding="utf-8") as file:
                file.write(text)
        self.lines[stream].append(line)

    def event(self, event: str, **details: Any) -> None:
        """Append to events.jsonl, with the number of steps done."""
        self.add("events", {"step": len(self.lines["metrics"]), "event": event, **details})

    def sync(self) -> None:
        """Flush every stream to the disk, so that a checkpoint never outlives the lines before it."""
        for path in self.run_dir.glob("*.jsonl"):
            with path.open("rb+") as file:
                os.fsync(file.fileno())

    def write_header(self) -> None:
        """Create the run directory, if need be, and its run.json."""
        self.run_dir.mkdir(parents=True, exist_ok=True)
        write_json(self.run_dir / "run.json", self.header)

    def rewind(self, step: int) -> None:
        """Forget what came after the first `step` steps, as a resumed run will do it again; -1 forgets everything.

        Events stay. Every file is written anew, without the last line that a kill may have cut off.
        """
        for name, lines in self.lines.items():
            kept = self.lines[name] = [line for line in lines if line["step"] <= step or name == "events"]
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
            replace_file(self.run_dir / f"{name}.jsonl", text.encode())

    @classmethod
    def load(cls, run_dir: str | Path) -> RunLog:
        """Read a run directory, finished or not. FileNotFoundError if it holds no run.json."""
        run_dir = Path(run_dir)
        if not (run_dir / "run.json").is_file():
            raise FileNotFoundError(f"{run_dir} is not a run directory: it has no run.json")
        log = cls(json.loads((run_dir / "run.json").read_text(encoding="utf-8")), run_dir)
        for name in log.lines:
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
