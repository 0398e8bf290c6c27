"""Unsloth: faster LoRA and QLoRA. All that the library knows of it is in this file.

    load            FastLanguageModel + adapters, with the switches that our loop needs
    UnslothSampler  its own fast generation, or vLLM's, in place of our decoder
    export_gguf     one file for llama.cpp and Ollama

Tested with Unsloth 2026.10.9 on its CPU backend, where the model stays the one of transformers and our own decoder
samples. The GPU paths (patched forward passes, fast generation, vLLM) follow Unsloth's source and documentation.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path

import torch
from torch import Tensor

from grpo_lessons import sources
from grpo_lessons.adapters import LoraSpec, record_base
from grpo_lessons.four_bit import keep_trainable_layout, quantize_linears
from grpo_lessons.policies import Policy, recorded_name

BEFORE = ("trl", "transformers", "peft")  # what Unsloth patches, and must therefore be imported after it


def import_unsloth():
    """The module unsloth; ImportError with one sentence where it is absent, a warning where it comes too late."""
    if importlib.util.find_spec("unsloth") is None:
        raise ImportError(
            "backend='unsloth' needs unsloth: pip install 'grpo-lessons[unsloth]', or use backend='transformers'"
        )
    early = [name for name in BEFORE if name in sys.modules]
    if early and "unsloth" not in sys.modules:
        warnings.warn(
            f"{early[0]} was imported before unsloth, which costs speed and memory on a GPU: "
            "restart, and write `import unsloth` first",
            stacklevel=4,
        )
    import unsloth

    return unsloth


def load(
    name: str,
    lora: LoraSpec,
    quantize: str | None,
    place: torch.device,
    dtype: torch.dtype,
    max_length: int,
    fast_inference: bool,
    seed: int,
) -> Policy:
    """A policy with adapters on Unsloth's model; the arguments are those of `load_policy`, checked there.

    Raises OSError (one sentence) for missing files, ImportError without Unsloth, ValueError for vLLM without a GPU.
    """
    if fast_inference and (place.type != "cuda" or importlib.util.find_spec("vllm") is None):
        raise ValueError("fast_inference=True needs a CUDA GPU and vLLM (pip install vllm); leave it out without them")
    fast = import_unsloth().FastLanguageModel
    os.environ["UNSLOTH_RETURN_LOGITS"] = "1"  # or forward passes give no logits
    source = sources.find(name)
    if source.is_folder and sources.adapter_base(source.location):
        raise ValueError(f"{source.location} holds adapters already: load it with backend='transformers'")
    four_bit = quantize == "nf4"
    with sources.quiet(source.is_folder), torch.random.fork_rng():
        model, tokenizer = fast.from_pretrained(
            source.location,
            revision=source.revision,
            use_exact_model_name=True,  # the pinned weights, not a mirror of them
            max_seq_length=max_length,
            dtype=dtype,
            load_in_4bit=four_bit and place.type == "cuda",
            fast_inference=fast_inference,
            max_lora_rank=lora.rank,
        )
        if four_bit and place.type == "cpu":
            model = quantize_linears(model, device=place, compute_dtype=dtype)
        model = fast.get_peft_model(
            model,
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=list(lora.targets),
            use_gradient_checkpointing=False,  # TrainConfig.gradient_checkpointing decides
            random_state=seed,
        )
    tokenizer.padding_side = "left"
    record_base(model, *recorded_name(source))
    keep_trainable_layout(model)
    # In training Unsloth drops the attention mask, which is right for padding on the right; our prompts have it left.
    model.get_base_model().model._unsloth_keep_padding_mask = True
    sampler = UnslothSampler(fast, model, tokenizer, fast_inference)
    return Policy(model, tokenizer, place, name, str(source), "unsloth", sampler if place.type == "cuda" else None)


class UnslothSampler:
    """Completions by Unsloth's own generation; the switch to it and back is made here and nowhere else."""

    def __init__(self, fast, model, tokenizer, vllm: bool):
        self.fast, self.model, self.tokenizer, self.vllm = fast, model, tokenizer, vllm

    def __call__(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        group_size: int,
        max_new_tokens: int,
        temperature: float,
        seed: int,
    ) -> Tensor:
        """Token ids (P * G, T <= max_new_tokens), padded on the right. prompt_ids, prompt_mask (P, S), padded left."""
        if self.vllm:
            return self._vllm(prompt_ids, prompt_mask, group_size, max_new_tokens, temperature, seed)
        checkpointing = getattr(self.model.get_base_model().model, "gradient_checkpointing", False)
        chance = {"do_sample": True, "temperature": temperature, "top_p": 1.0, "top_k": 0}
        self.fast.for_inference(self.model)
        with torch.random.fork_rng(devices=[prompt_ids.device] if prompt_ids.is_cuda else []):
            torch.manual_seed(seed)
            output = self.model.generate(
                input_ids=prompt_ids.repeat_interleave(group_size, 0),
                attention_mask=prompt_mask.repeat_interleave(group_size, 0),
                max_new_tokens=max_new_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
                **(chance if temperature else {"do_sample": False}),
            )
        self.fast.for_training(self.model, use_gradient_checkpointing=checkpointing)
        return output[:, prompt_ids.shape[1] :]

    def _vllm(self, prompt_ids, prompt_mask, group_size, max_new_tokens, temperature, seed) -> Tensor:
        from vllm import SamplingParams

        settings = SamplingParams(n=group_size, temperature=temperature, max_tokens=max_new_tokens, seed=seed)
        prompts = [
            {"prompt_token_ids": ids[mask.bool()].tolist()} for ids, mask in zip(prompt_ids, prompt_mask, strict=True)
        ]
        with tempfile.TemporaryDirectory() as folder:  # vLLM holds its own copy of the adapters, read from a folder
            self.model.save_lora(folder)
            outputs = self.model.fast_generate(
                prompts, sampling_params=settings, lora_request=self.model.load_lora(folder), use_tqdm=False
            )
        rows = [list(answer.token_ids) for output in outputs for answer in output.outputs]
        pad = self.tokenizer.pad_token_id
        longest = max(map(len, rows))
        return torch.tensor([row + [pad] * (longest - len(row)) for row in rows], device=prompt_ids.device)


def export_gguf(policy: Policy, folder: str | os.PathLike, *, method: str = "q8_0") -> list[str]:
    """Merge the adapters in 16 bit and write a GGUF file for llama.cpp and Ollama; the paths of what was written.

    method: llama.cpp's quantisation, such as "f16", "q8_0" or "q4_k_m". Needs Unsloth on a GPU, disk space for the
    merged model, and llama.cpp in UNSLOTH_LLAMA_CPP_PATH or ~/.unsloth/llama.cpp, which Unsloth fetches if the network
    is there. Raises ValueError or OSError with one sentence where that is not so. We had no card to run it on.
    """
    otherwise = "merge with `merge_adapter`, save, and run llama.cpp's convert_hf_to_gguf.py on the folder"
    if policy.backend != "unsloth" or policy.device.type != "cuda":
        raise ValueError(f"the export is Unsloth's and needs its backend on a CUDA GPU; without, {otherwise}")
    home = os.environ.get("UNSLOTH_LLAMA_CPP_PATH") or Path.home() / ".unsloth" / "llama.cpp"
    if not Path(home).is_dir() and not sources.hub_reachable():
        raise OSError(f"the export needs llama.cpp in {home}, and without network Unsloth cannot fetch it: {otherwise}")
    policy.model.save_pretrained_gguf(str(folder), policy.tokenizer, quantization_method=method)
    return sorted(str(path) for path in Path(folder).parent.glob(f"{Path(folder).name}*/*.gguf"))
