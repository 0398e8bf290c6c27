"""Cost on many GPUs: the ZeRO paper's own example, limits worked out by hand, and what must shrink or grow."""

from dataclasses import replace

import pytest
from torch.utils.flop_counter import FlopCounterMode

from grpo_lessons.architecture import Architecture
from grpo_lessons.commands.cost import cost
from grpo_lessons.many_gpus import DEVICES, Device, Workload, bytes_per_gpu, operations, step_seconds
from grpo_lessons.policies import load_policy

WORK = Workload()
UNIT = Device("unit", 1, flops=1.0, bandwidth=1.0, link=1.0, training=1.0, decoding=1.0, linking=1.0)


class Counted(Architecture):
    """An architecture that claims a number of parameters."""

    parameters = 7.5e9


@pytest.mark.parametrize(("sharding", "gigabytes"), [("ddp", 120), ("zero2", 16.6), ("zero3", 1.9)])
def test_training_states_are_those_of_the_zero_paper(sharding, gigabytes):
    """Figure 1 of arXiv 1910.02054: 7.5 billion parameters on 64 GPUs."""
    architecture = Counted(**vars(Architecture.of("qwen2.5-1.5b")))
    states = bytes_per_gpu(architecture, 64, sharding, WORK).states
    assert states / 1e9 == pytest.approx(gigabytes, abs=0.06)


def test_one_gpu_holds_sixteen_bytes_a_weight_whatever_the_sharding():
    n = Architecture.of("qwen2.5-1.5b").parameters
    for sharding in ("ddp", "zero2", "zero3"):
        assert bytes_per_gpu("qwen2.5-1.5b", 1, sharding, WORK).states == 16 * n


def test_sampler_copy_is_shared_by_its_gpus():
    alone, four = (bytes_per_gpu("qwen2.5-1.5b", 8, "zero2", WORK, sampler_gpus=k).sampler for k in (1, 4))
    assert alone == 4 * four == 2 * Architecture.of("qwen2.5-1.5b").parameters


def test_cache_of_a_gpu_is_that_of_its_prompts():
    eight, one = (bytes_per_gpu("qwen2.5-1.5b", n, "ddp", WORK).kv_cache for n in (8, 1))
    assert one == 8 * eight


@pytest.mark.parametrize(("gpus", "sharding"), [(0, "ddp"), (129, "ddp"), (8, "zero1")])
def test_impossible_splits_are_refused(gpus, sharding):
    with pytest.raises(ValueError, match=f"{gpus} GPUs for 128 prompts; use ddp, zero2, zero3"):
        bytes_per_gpu("nano", gpus, sharding, WORK)


def test_operations_of_a_forward_are_those_that_torch_counts():
    policy = load_policy("nano", device="cpu")
    policy.model.set_attn_implementation("eager")
    ids = policy.tokenizer("12+34", return_tensors="pt").input_ids.repeat(3, 4)
    with FlopCounterMode(display=False) as counter:
        policy.model(ids, use_cache=False)
    tokens = ids.numel()
    # A full attention matrix, as eager attention computes it: every token looks on all of its row.
    counted = counter.get_total_flops()
    assert operations(Architecture.of("nano"), tokens, ids.shape[1]) == pytest.approx(counted, rel=1e-4)  # but for RoPE


def test_decoding_one_row_reads_the_weights_once_a_token():
    work = Workload(prompts=1, group_size=1, prompt_tokens=1, completion_tokens=2)
    fast = replace(UNIT, flops=1e30)
    a = Architecture.of("nano")
    cache = 2 * 2 * a.layers * a.key
    assert step_seconds("nano", 1, "ddp", work, fast).decode == pytest.approx(2 * (2 * a.parameters + 2 * cache))


def test_decoding_many_rows_is_bound_by_arithmetic():
    work = Workload(prompts=64, group_size=8, prompt_tokens=4, completion_tokens=4)
    wide = replace(UNIT, bandwidth=1e30)
    expected = 4 * operations(Architecture.of("nano"), 512, 6)
    assert step_seconds("nano", 1, "ddp", work, wide).decode == pytest.approx(expected)


def test_training_is_three_forwards_and_four_with_checkpointing():
    plain, again = (
        step_seconds("nano", 1, "ddp", replace(WORK, gradient_checkpointing=c), UNIT) for c in (False, True)
    )
    assert plain.training == pytest.approx(3 * plain.scoring)
    assert again.training == pytest.approx(4 * plain.scoring)


def test_one_gpu_talks_to_nobody_and_zero3_talks_most():
    assert step_seconds("nano", 1, "zero3", WORK, UNIT).communication == 0
    talk = {s: step_seconds("nano", 8, s, WORK, UNIT).communication for s in ("ddp", "zero2", "zero3")}
    assert talk["ddp"] == talk["zero2"] < talk["zero3"]
    n = Architecture.of("nano").parameters
    assert talk["ddp"] == pytest.approx((2 * 4 + 1) * 2 * n * 7 / 8)


def test_more_gpus_never_take_longer_on_the_work_itself():
    device = DEVICES["H100 80GB"]
    times = [step_seconds("qwen2.5-1.5b", n, "zero2", WORK, device) for n in (1, 2, 4, 8)]
    for name in ("prefill", "decode", "scoring", "training"):
        parts = [getattr(t, name) for t in times]
        assert parts == sorted(parts, reverse=True)


@pytest.mark.parametrize(("name", "billions"), [("qwen2.5-1.5b", 1.54), ("qwen2.5-7b", 7.61), ("qwen2.5-32b", 32.8)])
def test_sizes_of_the_family_are_those_that_ship(name, billions):
    """The model cards say 1.54, 7.61 and 32.5 billion; the last one counts 32.76 from its own config.json."""
    assert Architecture.of(name).parameters / 1e9 == pytest.approx(billions, abs=0.05)


def test_command_prints_what_fits_and_says_that_nothing_was_measured(capsys):
    cost("qwen2.5-7b", gpus=8, device="H100 80GB")
    out = " ".join(capsys.readouterr().out.split())
    assert "ddp" in out and "zero3" in out and "Not measured" in out
    with pytest.raises(ValueError, match="known: RTX 4090, A100 80GB, H100 80GB"):
        cost("qwen2.5-7b", device="TPU")
