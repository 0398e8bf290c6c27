"""Seconds and peak memory of each phase of a step."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import torch


class Clock:
    """`with clock("sample"): ...` measures a phase; `row()` is a line of the system table.

    seconds_PHASE: wall time. memory_PHASE_mb: the most memory held during the phase, in MB of 10^6 bytes: CUDA's
    allocations where there is a GPU, else the process's resident set. Linux can forget an older peak and so tells the
    phase's own; elsewhere the number is the process's peak so far.
    """

    def __init__(self):
        self.values: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str):
        forget_peak()
        begin = time.perf_counter()
        yield
        self.values[f"seconds_{phase}"] = round(time.perf_counter() - begin, 4)
        self.values[f"memory_{phase}_mb"] = round(peak_memory() / 1e6, 1)

    def row(self, step: int) -> dict[str, float]:
        return {"step": step, **self.values}


def forget_peak() -> None:
    """Start a new peak at what is held now, where the system can."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    elif sys.platform == "linux":
        with suppress(OSError):  # some containers forbid it
            Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """Bytes: the peak since `forget_peak`, or since the process began where peaks cannot be forgotten."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
