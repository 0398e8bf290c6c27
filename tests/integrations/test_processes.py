"""Two processes do what one does: the same losses, the same weights, one writer, and no hang when one of them dies."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from grpo_lessons.config import TrainConfig

pytest.importorskip("trl", reason="trl is not installed: pip install 'grpo-lessons[scale]'")

from grpo_lessons.integrations.trl_run import Split, split_of, trl_config

ROOT = Path(__file__).parents[2]
SCRIPT, TWO = Path(__file__).with_name("two_processes.py"), ROOT / "configs" / "cpu_2.yaml"
ACCELERATE = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(TWO)]


def start(processes, out, *options):
    command = [*(ACCELERATE if processes == 2 else [sys.executable]), str(SCRIPT), str(out), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def weights(out):
    return load_file(out / "policy" / "model.safetensors")


def assert_same_weights(one, other):
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=0, atol=1e-5)


def losses(out, process=0):
    return [line["loss"] for line in json.loads((out / f"history-{process}.json").read_text()) if "loss" in line]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    out = tmp_path_factory.mktemp("one")
    start(1, out)
    return out


@pytest.mark.slow
def test_two_processes_give_the_losses_and_weights_of_one(one, tmp_path):
    done = start(2, tmp_path)
    assert losses(tmp_path, process=1) == losses(tmp_path) != []
    assert_same_weights(weights(one), weights(tmp_path))
    initial = load_file(ROOT / "data" / "nano" / "model.safetensors")
    assert max((weights(one)[name] - tensor).abs().max() for name, tensor in initial.items()) > 1e-3
    assert len(losses(one)) == 4
    assert losses(tmp_path) == pytest.approx(losses(one), abs=1e-5)
    rewards = [
        [line["reward"] for line in json.loads((out / "history-0.json").read_text()) if "reward" in line]
        for out in (one, tmp_path)
    ]
    assert rewards[0] == pytest.approx(rewards[1], abs=1e-6)
    assert done.stdout.count("'reward'") == len(rewards[1])  # only one process prints


@pytest.mark.slow
def test_a_checkpoint_of_two_processes_is_continued_by_one(one, tmp_path):
    start(2, tmp_path, "--stop-after", "2")
    assert [folder.name for folder in tmp_path.glob("checkpoint-*")] == ["checkpoint-2"]
    start(1, tmp_path, "--resume")
    assert_same_weights(weights(one), weights(tmp_path))


@pytest.mark.slow
def test_a_killed_process_ends_the_run_with_a_message(tmp_path):
    code, options = "from grpo_lessons.cli import main; main()", ["--out", str(tmp_path), "--steps", "500"]
    command = [sys.executable, "-c", code, "launch", "--config", str(TWO), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            if "'reward'" in line:
                break
        second = [p for p in psutil.Process(run.pid).children(recursive=True) if p.environ().get("RANK") == "1"]
        os.kill(second[0].pid, signal.SIGKILL)
        _, errors = run.communicate(timeout=120)
    assert run.returncode not in (0, None)
    assert "the run ended with exit status" in errors
    assert not [p for p in second if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def test_rows_are_shared_out():
    config = TrainConfig(prompts_per_step=32, group_size=8, minibatches=4)
    assert split_of(config, 1) == Split(64, 1, 4)
    assert split_of(config, 2) == Split(32, 1, 4)
    assert split_of(TrainConfig(prompts_per_step=32, group_size=8, minibatches=4, micro_batch=16), 2) == Split(16, 2, 8)


def test_rows_that_cannot_be_shared_out_are_refused():
    with pytest.raises(ValueError, match="64 completions cannot be split over 3 processes"):
        split_of(TrainConfig(), 3)
    with pytest.raises(ValueError, match="forwards of 24 rows"):
        split_of(TrainConfig(micro_batch=24), 1)


def test_settings_without_a_counterpart_are_refused(tmp_path):
    with pytest.raises(ValueError, match="eval_every: not a setting of a run on TRL"):
        trl_config(TrainConfig(eval_every=5), 40, tmp_path, processes=1, on_cpu=True)


def test_learning_rate_falls_to_its_share(tmp_path):
    args = trl_config(TrainConfig(steps=10, decay_to=0.1), 40, tmp_path, processes=1, on_cpu=True)
    assert (args.max_steps, args.lr_scheduler_kwargs["lr_end"]) == (40, pytest.approx(2e-5))


@pytest.mark.parametrize("name", ["one_gpu", "gpus_fsdp2", "gpus_zero2", "nodes_fsdp2"])
def test_files_that_nobody_ran_say_so_at_the_top(name):
    text = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8")
    assert "Nobody of this project has" in text[:200]


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_reads_every_file(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes >= 1 and config.mixed_precision in ("no", "bf16")
