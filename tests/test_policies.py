"""Loading policies by name."""

import httpx
import pytest
import torch

from grpo_lessons import policies
from grpo_lessons.paths import data_dir
from grpo_lessons.policies import LoraSpec, adapter_hash, load_policy, trainable_parameters, weights_hash


@pytest.fixture
def nano():
    return load_policy("nano", device="cpu")


def ids(policy, text="7+8="):
    return policy.tokenizer(text, return_tensors="pt").input_ids


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


OFFLINE = (
    "policy 'nobody/absent' is neither in the local cache nor within reach: connect to the internet "
    "and fetch it once with `hf download nobody/absent`, or use 'nano', which ships with the course"
)


def test_offline_hub_policy_is_one_sentence_without_a_request(monkeypatch):
    def no_request():
        raise AssertionError("HF_HUB_OFFLINE is set, and yet a request was made")

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(policies, "get_session", no_request)
    with pytest.raises(OSError) as error:
        load_policy("nobody/absent")
    assert str(error.value) == OFFLINE


def test_no_connection_is_one_sentence_after_one_request(monkeypatch):
    requests = []

    class Session:
        def head(self, url, timeout):
            requests.append(url)
            raise httpx.ConnectError("Name or service not known")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(policies, "get_session", Session)
    with pytest.raises(OSError) as error:
        load_policy("nobody/absent")
    assert str(error.value) == OFFLINE
    assert len(requests) == 1


def test_hub_policies_are_pinned_to_a_commit():
    assert all(len(revision) == 40 for _, revision in policies.HUB_POLICIES.values())


def test_lora_starts_as_the_base_model_and_trains_adapters_only(nano):
    policy = load_policy("nano", lora=LoraSpec(rank=4, alpha=8, targets=("q_proj", "v_proj")), device="cpu")
    # per layer and target: A is rank x 96, B is 96 x rank; 3 layers, 2 targets
    assert trainable_parameters(policy.model) == 3 * 2 * 2 * 4 * 96
    with torch.no_grad():
        assert torch.equal(policy.model(ids(nano)).logits, nano.model(ids(nano)).logits)


def test_lora_seed_decides_the_adapters():
    def adapters(seed):
        return adapter_hash(load_policy("nano", lora=LoraSpec(rank=2), seed=seed, device="cpu").model)

    assert adapters(0) == adapters(0) != adapters(1)


def test_weights_hash_sees_one_changed_weight(nano):
    before = weights_hash(nano.model)
    with torch.no_grad():
        next(nano.model.parameters())[0, 0] += 1.0
    assert weights_hash(nano.model) != before


def test_adapter_hash_without_adapters_is_an_error(nano):
    with pytest.raises(ValueError, match="no LoRA weights"):
        adapter_hash(nano.model)


def test_nf4_gradients_agree_before_and_after_generate():
    """bitsandbytes 0.50 repacks CPU weights at the first forward without gradients; the guard stops it."""
    pytest.importorskip("bitsandbytes")
    policy = load_policy("nano", quantize="nf4", lora=LoraSpec(rank=4), device="cpu")

    def gradient():
        policy.model.zero_grad()
        policy.model(ids(policy), labels=ids(policy)).loss.backward()
        return torch.cat([p.grad.flatten() for p in policy.model.parameters() if p.requires_grad])

    before = gradient()
    policy.model.generate(ids(policy), max_new_tokens=3, do_sample=False)
    assert before.abs().max() > 0
    torch.testing.assert_close(gradient(), before)


def test_nf4_layers_keep_the_layout_that_can_be_trained():
    bnb = pytest.importorskip("bitsandbytes")
    policy = load_policy("nano", quantize="nf4", device="cpu")
    linear = [m for m in policy.model.modules() if isinstance(m, bnb.nn.Linear4bit)]
    assert len(linear) == 3 * 7
    assert not any(m.support_avx512bf16_for_cpu for m in linear)
    assert trainable_parameters(policy.model) == 0


def test_data_folder_that_does_not_exist_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_LESSONS_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"absent.*pip install -e"):
        load_policy("nano")
