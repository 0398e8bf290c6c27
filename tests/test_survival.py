"""What a run survives: kills, a full disk, a second process. The long form of the kills is `make soak`."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from engine import config, nano, parity

from grpo_lessons.checkpoints import list_checkpoints, read_checkpoint
from grpo_lessons.runlog import RunLog
from grpo_lessons.tasks.addition import Addition
from grpo_lessons.trainer import TrainingError, train

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def run(run_dir, **options):
    settings = config(steps=4, checkpoint_every=1, keep_checkpoints=5)
    return train(nano(), Addition(), settings, reward=parity, run_dir=run_dir, **options)


def readable(run_dir):
    """The log of a directory whose checkpoints are all whole."""
    for path in list_checkpoints(run_dir):
        read_checkpoint(path)
    return RunLog.load(run_dir)


@contextmanager
def file_size_limit(limit):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@posix
def test_a_file_that_cannot_grow_stops_the_run_with_a_message_and_resumes_later(tmp_path):
    run(tmp_path / "whole")
    with (
        file_size_limit(1_000_000),
        pytest.raises(TrainingError, match=r"no space left to write in .*cut after step 1"),
    ):
        run(tmp_path / "cut")  # the weights of a checkpoint are larger
    log = readable(tmp_path / "cut")
    assert len(log.table) == 1 and list_checkpoints(tmp_path / "cut") == []
    assert log.lines["events"][-1]["reason"].startswith("TrainingError: no space left")
    run(tmp_path / "cut", resume=True)
    assert (tmp_path / "cut" / "metrics.jsonl").read_bytes() == (tmp_path / "whole" / "metrics.jsonl").read_bytes()


@posix
def test_a_full_disk_while_a_metrics_line_is_written_leaves_a_readable_directory(tmp_path):
    run_dir = tmp_path / "run"

    def fill(log):
        if len(log.lines["metrics"]) == 2:  # 100 bytes of the next line fit
            import resource

            size = (run_dir / "metrics.jsonl").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))

    with file_size_limit(resource_infinity()), pytest.raises(TrainingError, match="after step 2"):
        run(run_dir, on_step=fill)
    log = readable(run_dir)
    assert log.table["step"].tolist() == [1, 2]
    assert run(run_dir, resume=True).table["step"].tolist() == [1, 2, 3, 4]


def resource_infinity():
    import resource

    return resource.RLIM_INFINITY


@posix
def test_the_lock_of_another_process_refuses_the_run_and_dies_with_that_process(tmp_path):
    lock = repr(str(tmp_path / ".lock"))
    code = f"from filelock import FileLock; lock = FileLock({lock}); lock.acquire(); print('held', flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    with pytest.raises(FileExistsError, match="is in use: another process trains there"):
        run(tmp_path, resume=True)
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert len(run(tmp_path, resume=True).table) == 4


@pytest.mark.slow
@posix
def test_twenty_kills_also_in_the_middle_of_checkpoints_change_nothing():
    command = [sys.executable, "-m", "benchmarks.soak", "--kills", "20"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("20 kills")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk, which needs root")
def test_a_full_disk_stops_the_run_and_keeps_the_checkpoints_before(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(TrainingError, match="no space left to write"):
            run(disk / "run")  # a checkpoint has 4 MB
        log = readable(disk / "run")
        assert [path.name for path in list_checkpoints(disk / "run")] == ["step-000001", "step-000002"]
        assert len(log.table) == 3
    finally:
        subprocess.run(["umount", str(disk)], check=True)
