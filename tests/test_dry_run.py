"""The whole path on a real architecture with random weights."""

import pytest
import torch
import typer
from typer.testing import CliRunner

from grpo_lessons import dry_run as dry_run_module
from grpo_lessons.adapters import LoraSpec
from grpo_lessons.dry_run import dry_run, number_format
from grpo_lessons.memory import estimate_memory

pytest.importorskip("bitsandbytes")


def test_every_phase_runs_and_every_method_moves_the_adapters():
    run = dry_run("nano", lora=LoraSpec(rank=2), group_size=2, max_new_tokens=4, device="cpu")
    names = ["build", "quantise", "adapters", "sample", "update grpo", "update gmpo", "update grpo_sg"]
    assert [phase.name for phase in run.phases] == names
    dtype = str(run.dtype).removeprefix("torch.")
    assert run.weights == estimate_memory("nano", quantize="nf4", lora_rank=2, dtype=dtype).weights
    assert 4 * run.trainable == estimate_memory("nano", quantize="nf4", lora_rank=2).adapters
    assert set(run.grad_norms) == {"grpo", "gmpo", "grpo_sg"} and min(run.grad_norms.values()) > 0
    assert 0 < run.tokens <= 2 * 4


def test_an_unknown_method_ends_before_anything_is_built():
    with pytest.raises(ValueError, match="unknown method"):
        dry_run("qwen2.5-1.5b", methods=["grpo", "gropo"])


@pytest.mark.parametrize(("can", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_a_cpu_without_bfloat16_products_takes_float32(can, dtype, monkeypatch):
    monkeypatch.setattr(dry_run_module, "cpu_multiplies_bfloat16", lambda: can)
    assert number_format(torch.device("cpu")) == dtype


@pytest.mark.slow
def test_the_full_qwen_goes_through_all_phases():
    run = dry_run("qwen2.5-1.5b", group_size=2, max_new_tokens=8, device="cpu")
    assert run.parameters == 1_543_714_304
    # As on a GPU, or with the 233,518,592 weights outside the matrices in float32.
    assert run.weights == {torch.bfloat16: 1_143_140_752, torch.float32: 1_610_177_936}[run.dtype]
    assert run.trainable == 18_464_768  # rank 16 on the seven matrices of 28 layers
    assert min(run.grad_norms.values()) > 0


def test_the_command_prints_seconds_and_bytes_by_phase():
    from grpo_lessons.commands.dry_run import dry_run as command

    app = typer.Typer()
    app.command()(command)
    options = ["--policy", "nano", "--methods", "grpo", "--lora-rank", "2", "--max-new-tokens", "3"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0
    assert "update grpo" in done.output and "trainable" in done.output
