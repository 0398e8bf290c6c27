"""The export to GGUF says what it lacks, and hands over what it was given."""

from types import SimpleNamespace

import pytest
import torch

from grpo_lessons import sources
from grpo_lessons.integrations.unsloth import export_gguf


def policy(backend="unsloth", device="cuda", model=None):
    return SimpleNamespace(backend=backend, device=torch.device(device), model=model, tokenizer="its tokenizer")


@pytest.mark.parametrize(("backend", "device"), [("transformers", "cuda"), ("unsloth", "cpu")])
def test_without_unsloth_or_gpu_the_other_way_is_named(tmp_path, backend, device):
    with pytest.raises(ValueError, match=r"needs its backend on a CUDA GPU; .*convert_hf_to_gguf\.py"):
        export_gguf(policy(backend, device), tmp_path)


def test_without_llama_cpp_and_network_it_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSLOTH_LLAMA_CPP_PATH", str(tmp_path / "absent"))
    monkeypatch.setattr(sources, "hub_reachable", lambda: False)
    with pytest.raises(OSError, match=r"needs llama\.cpp in .*absent, and without network"):
        export_gguf(policy(), tmp_path)


def test_it_returns_the_files_that_were_written_into_or_beside_the_folder(tmp_path, monkeypatch):
    class Model:
        def save_pretrained_gguf(self, folder, tokenizer, quantization_method):
            self.given = (tokenizer, quantization_method)
            (tmp_path / "out_gguf").mkdir()
            (tmp_path / "out_gguf" / "model.gguf").touch()

    model = Model()
    monkeypatch.setenv("UNSLOTH_LLAMA_CPP_PATH", str(tmp_path))
    assert export_gguf(policy(model=model), tmp_path / "out") == [str(tmp_path / "out_gguf" / "model.gguf")]
    assert model.given == ("its tokenizer", "q8_0")
