"""Open a run directory: new or resumed, locked against a second process, with a defined end for every failure."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from .config import TrainConfig
from .machine import describe_machine, git_state
from .policies import Policy, trainable_parameters, weights_hash
from .runlog import RunLog
from .tasks import Task

LOCK = ".lock"
DISK_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
SAME_RUN = ("policy", "task", "reward", "initial_weights")


class TrainingError(RuntimeError):
    """Training cannot go on; the message names the step and what to try. `log`: the run's log up to there."""

    log: RunLog | None = None


def describe_run(policy: Policy, task: Task, config: TrainConfig, reward) -> dict:
    """The content of run.json."""
    return {
        "config": config.to_dict(),
        "policy": policy.name,
        "policy_source": policy.source,
        "backend": policy.backend,
        "task": task.name,
        "reward": "task" if reward is None else getattr(reward, "__name__", type(reward).__name__),
        "trainable_parameters": trainable_parameters(policy.model),
        "initial_weights": weights_hash(policy.model),
        "machine": describe_machine(),
        "git": git_state(),
    }


@contextmanager
def open_run(
    header: dict, run_dir: str | Path | None, resume: bool, allow_changes: Collection[str]
) -> Iterator[RunLog]:
    """Yields the log of a new or resumed run and holds the directory's lock meanwhile.

    Whatever ends the run is written to events.jsonl; a full disk becomes a TrainingError. The lock is the operating
    system's, so it ends with the process, however that ends.
    Raises FileExistsError for a directory that is in use or, without resume, not empty; ValueError for a resumed run
    with other settings.
    """
    if run_dir is None:
        if resume:
            raise ValueError("resume=True needs the run_dir to go on from")
        with recorded_end(RunLog(header)) as log:
            yield log
        return
    run_dir = Path(run_dir)
    with locked(run_dir):
        log = resumed(header, run_dir, allow_changes) if resume else None
        with recorded_end(log or begun(header, run_dir)) as log:
            yield log


@contextmanager
def recorded_end(log: RunLog) -> Iterator[RunLog]:
    """Write down how a run ended: finished, or stopped and why."""
    try:
        yield log
        log.event("finished")
    except BaseException as error:
        stopped = disk_full_error(log, error) if is_disk_full(error) else error
        if isinstance(stopped, TrainingError):
            stopped.log = log
        with suppress(OSError):  # on a full disk the directory can be read all the same
            log.event("stopped", reason=f"{type(stopped).__name__}: {stopped}")
        if stopped is error:
            raise
        raise stopped from error


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Hold the lock of a run directory, which is created if need be."""
    run_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(run_dir / LOCK, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise FileExistsError(
            f"{run_dir} is in use: another process trains there; wait for its end or choose another directory"
        ) from None
    try:
        yield
    finally:
        lock.release()


def begun(header: dict, run_dir: Path) -> RunLog:
    """The log of a new run; the directory may hold no more than what a kill at this very moment leaves."""
    if any(path.name not in (LOCK, "run.json.tmp") for path in run_dir.iterdir()):
        raise FileExistsError(f"{run_dir} exists and is not empty; resume it, or choose another directory")
    log = RunLog(header, run_dir)
    log.write_header()
    log.event("begun")
    return log


def resumed(header: dict, run_dir: Path, allow_changes: Collection[str]) -> RunLog | None:
    """The log of an interrupted run, None if there is none yet; it must be the run that was begun.

    `steps` may differ, and what allow_changes names; every difference is recorded.
    """
    if not (run_dir / "run.json").exists():
        return None
    log = RunLog.load(run_dir)
    changes = differences(log.header, header)
    refused = [text for name, text in changes.items() if name != "steps" and name not in allow_changes]
    if refused:
        raise ValueError(
            f"{run_dir} cannot be resumed with other settings: {'; '.join(refused)}. Give the old ones, or allow the "
            f"change: allow_changes={sorted(set(changes) - {'steps'} | set(allow_changes))} (on the command line "
            "--allow-change NAME)"
        )
    log.rewind(len(log.lines["metrics"]))
    log.event("resumed", changes=list(changes.values()), machine=header["machine"], git=header["git"])
    if changes:
        log.header = {**log.header, **{key: header[key] for key in ("config", *SAME_RUN)}}
        log.write_header()
    return log


def differences(old: dict, new: dict) -> dict[str, str]:
    """Name -> "name was X and is now Y", for the settings and what else makes a run this run."""
    before = {**old["config"], **{key: old.get(key) for key in SAME_RUN}}
    now = {**new["config"], **{key: new[key] for key in SAME_RUN}}
    return {
        name: f"{name} was {before.get(name)!r} and is now {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    }


def disk_full_error(log: RunLog, error: BaseException) -> TrainingError:
    return TrainingError(
        f"no space left to write in {log.run_dir} after step {len(log.lines['metrics'])}: {error}. Free some space "
        "and resume; everything up to the last checkpoint is safe"
    )


def is_disk_full(error: BaseException) -> bool:
    """Whether an OSError, or a message of safetensors, says that nothing more can be written."""
    return getattr(error, "errno", None) in DISK_FULL or any(
        text in str(error) for text in ("No space left", "File too large", "quota exceeded")
    )
