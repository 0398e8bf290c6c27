"""What lesson 11 says in words about its recorded runs, and about the pupil's memory."""

import pytest

from grpo_lessons.memory import estimate_memory
from grpo_lessons.studies import load_recorded


@pytest.fixture(scope="module")
def results():
    return load_recorded("lora").results


def of(results, label, column):
    return results[results["label"] == label].set_index("seed")[column]


@pytest.mark.parametrize("label", ["LoRA, rank 8", "LoRA, rank 1", "QLoRA, rank 8"])
def test_adapters_do_not_keep_the_pupil_from_learning(results, label):
    assert (of(results, label, "low") > of(results, label, "accuracy_before") + 0.1).all()


def test_four_bits_cost_processor_time_in_every_seed(results):
    assert (of(results, "QLoRA, rank 8", "cpu_seconds") > of(results, "LoRA, rank 8", "cpu_seconds")).all()


def test_the_base_of_every_adapter_is_the_same_but_for_quantisation(results):
    plain, four_bit = (of(results, f"{way}, rank 8", "accuracy_before") for way in ("LoRA", "QLoRA"))
    assert plain.equals(of(results, "every weight", "accuracy_before"))
    assert (plain - four_bit).abs().max() < 0.1


def test_what_four_bits_save_on_the_pupil_is_nothing_beside_its_activations():
    run = {"group_size": 8, "prompts_per_step": 32, "prompt_tokens": 8, "completion_tokens": 32, "micro_batch": 64}
    plain, four_bit = (
        estimate_memory("nano", dtype="float32", lora_rank=8, quantize=quantize, **run) for quantize in (None, "nf4")
    )
    assert 0 < plain.weights - four_bit.weights < 0.03 * plain.activations
