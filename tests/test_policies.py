"""Loading policies by name."""

import pytest
import torch

from grpo_lessons.paths import data_dir
from grpo_lessons.policies import load_policy, trainable_parameters, weights_hash


@pytest.fixture
def nano():
    return load_policy("nano", device="cpu")


def test_nano_answers_in_chat_and_every_weight_can_be_trained(nano):
    assert nano.name == "nano" and nano.device == torch.device("cpu")
    assert nano.tokenizer.padding_side == "left"
    assert trainable_parameters(nano.model) == sum(p.numel() for p in nano.model.parameters())
    prompt = nano.tokenizer.apply_chat_template(
        [{"role": "user", "content": "27+48="}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    out = nano.model.generate(**prompt, max_new_tokens=40, do_sample=False)
    assert out[0, -1] == nano.tokenizer.eos_token_id


def test_a_folder_is_a_policy(nano):
    policy = load_policy(str(data_dir() / "nano"), device="cpu")
    assert weights_hash(policy.model) == weights_hash(nano.model)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown policy 'nanoo'; known: nano, smollm2, qwen2.5-1.5b"):
        load_policy("nanoo")


@pytest.mark.parametrize(("option", "value"), [("quantize", "int8"), ("backend", "vllm")])
def test_unknown_option_names_the_choices(option, value):
    with pytest.raises(ValueError, match=f"unknown {option} '{value}'"):
        load_policy("nano", **{option: value})


def test_folder_without_a_model_says_so_in_one_sentence(tmp_path):
    with pytest.raises(OSError, match=r"has no config\.json") as error:
        load_policy(str(tmp_path))
    assert "\n" not in str(error.value)


def test_data_folder_that_does_not_exist_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_LESSONS_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"absent.*pip install -e"):
        load_policy("nano")
