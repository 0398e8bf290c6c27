"""Kill training again and again; the run must end as if nothing had happened.

    python -m benchmarks.soak [--kills 200] [--seed 0] [--record]

A small run on nano is trained once without interruption. Then the same run is trained in child processes that get
SIGKILL: two of three at a random moment, the third as soon as a half-written checkpoint is seen. After each kill the
directory must be readable, hold every metric up to its last checkpoint, and no damaged checkpoint; the next child
resumes. A run that reaches its end must have the same metrics, evaluations and completions, byte for byte, and the
same weights as the uninterrupted one; then the next run begins, until the kills are used up. --record writes
the outcome to benchmarks/results/soak.md. POSIX only (fork).
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import torch

from grpo_lessons.checkpoints import list_checkpoints, read_checkpoint
from grpo_lessons.config import TrainConfig
from grpo_lessons.machine import describe_machine
from grpo_lessons.policies import load_policy
from grpo_lessons.runlog import RunLog
from grpo_lessons.tasks import get_task
from grpo_lessons.trainer import train

RESULTS = Path(__file__).parent / "results" / "soak.md"
SETTINGS = TrainConfig(
    steps=8,
    prompts_per_step=4,
    group_size=4,
    minibatches=2,
    kl_beta=0.01,
    eval_every=2,
    eval_n=8,
    checkpoint_every=2,
)
SAME = ("metrics.jsonl", "evals.jsonl", "completions.jsonl", "policy/model.safetensors")


def child(run_dir: Path, policy) -> int:
    """Process id of a fork that trains or resumes run_dir."""
    pid = os.fork()
    if pid == 0:
        try:
            train(copy.deepcopy(policy), get_task("addition"), SETTINGS, run_dir=run_dir, resume=True)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return pid


def half_written(run_dir: Path) -> set[tuple[int, int]]:
    """Checkpoints that are being written, or were when a kill came: by inode and time, as names come again."""
    found = set()
    for path in (run_dir / "checkpoints").glob("writing-*"):
        with suppress(FileNotFoundError):  # renamed in between
            found.add((path.stat().st_ino, path.stat().st_ctime_ns))
    return found


def kill(pid: int, run_dir: Path, delay: float, at_checkpoint: bool, leftovers: set) -> bool:
    """SIGKILL after a delay, or when a checkpoint besides the leftovers is half written; False if the child had ended
    by then."""
    begin = time.perf_counter()
    while True:
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            return False
        if (at_checkpoint and half_written(run_dir) - leftovers) or time.perf_counter() - begin > delay:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return True
        time.sleep(0.0005)


def check(run_dir: Path) -> None:
    """What must hold after every kill."""
    if not (run_dir / "run.json").exists():
        return
    log = RunLog.load(run_dir)
    paths = list_checkpoints(run_dir)
    steps = [read_checkpoint(path)[0]["step"] for path in paths]
    done = [line["step"] for line in log.lines["metrics"]]
    if done != list(range(1, len(done) + 1)) or len(done) < max(steps, default=0):
        raise AssertionError(f"{run_dir}: metrics of steps {done}, checkpoints {steps}")


def soak(kills: int, seed: int, folder: Path) -> Counter:
    """Counts of kills, kills that left a half-written checkpoint, and runs that ended as the uninterrupted one."""
    policy, rng, count = load_policy("nano", device="cpu"), random.Random(seed), Counter()
    whole, run_dir = folder / "whole", folder / "killed"
    begin = time.perf_counter()
    if os.waitstatus_to_exitcode(os.waitpid(child(whole, policy), 0)[1]):
        raise AssertionError("the uninterrupted run failed")
    duration = time.perf_counter() - begin
    while count["kills"] < kills:
        at_checkpoint = count["kills"] % 3 == 2
        delay = 2 * duration if at_checkpoint else rng.uniform(0, duration)
        leftovers = half_written(run_dir)
        if kill(child(run_dir, policy), run_dir, delay, at_checkpoint, leftovers):
            count["kills"] += 1
            count["half-written checkpoints"] += bool(half_written(run_dir) - leftovers)
            check(run_dir)
            continue
        different = [name for name in SAME if (run_dir / name).read_bytes() != (whole / name).read_bytes()]
        if different:
            raise AssertionError(f"{run_dir} differs from the uninterrupted run in {', '.join(different)}")
        count["equal runs"] += 1
        shutil.rmtree(run_dir)
    return count


def record(count: Counter, seed: int) -> None:
    """Write what happened, where and when; processor time includes the children that were killed."""
    machine, spent = describe_machine(), os.times()
    lines = [
        "# Killed again and again",
        "",
        f"`make soak`: a run of {SETTINGS.steps} steps, a checkpoint every {SETTINGS.checkpoint_every}, SIGKILL at "
        "random moments and while a checkpoint is written, resumed each time. After every kill the directory was "
        "readable and held each metric up to its last checkpoint; every run that reached its end was equal to the "
        f"uninterrupted one, byte for byte: {', '.join(SAME)}.",
        "",
        "| kills | of them with a half-written checkpoint | runs that ended equal | runs that ended otherwise | seed |",
        "|---|---|---|---|---|",
        f"| {count['kills']} | {count['half-written checkpoints']} | {count['equal runs']} | 0 | {seed} |",
        "",
        f"{sum(spent[:4]):.0f} s of processor time. {machine['hardware']}, torch {machine['torch']}, "
        f"{machine['date']}. A run that ends otherwise stops the soak with an error, and nothing is recorded.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write benchmarks/results/soak.md")
    args = parser.parse_args()
    torch.set_num_threads(1)  # a fork of a process with threads can hang
    with tempfile.TemporaryDirectory() as folder:
        count = soak(args.kills, args.seed, Path(folder))
    print(", ".join(f"{number} {name}" for name, number in count.items()))
    if not count["half-written checkpoints"] or not count["equal runs"]:
        sys.exit("the kills never met a checkpoint being written, or no run reached its end: give more kills")
    if args.record:
        record(count, args.seed)


if __name__ == "__main__":
    main()
