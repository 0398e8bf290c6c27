"""A full-size run without its weights: the real architecture with random numbers, every phase once.

It answers whether memory and time of a machine are enough before three gigabytes are downloaded, and it runs the whole
path (NF4, adapters, sampling, one update with each method) where no weights can be had. What is sampled is noise, so
the rewards are made up: the first completion of each group gets 1, the others 0.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil
import torch

from .adapters import LoraSpec, add_lora, trainable_parameters, weights_hash
from .architecture import config_path
from .config import TrainConfig
from .four_bit import quantize_linears, weight_bytes
from .machine import cpu_multiplies_bfloat16
from .methods import get_method
from .nano import build_tokenizer
from .policies import Policy, dtype_for, place_of
from .rollouts import sample_groups
from .tasks import get_task
from .update import Updater


@dataclass(frozen=True)
class Phase:
    """memory: bytes; the peak of the phase on a GPU, on a CPU the resident set of the process at its end."""

    name: str
    seconds: float
    memory: int


@dataclass
class DryRun:
    """phases in order; parameters: all and trainable; weights: bytes of weights and quantisation state; dtype: of those
    outside 4 bits."""

    device: str
    phases: list[Phase] = field(default_factory=list)
    parameters: int = 0
    trainable: int = 0
    weights: int = 0
    dtype: torch.dtype = torch.float32
    tokens: int = 0
    grad_norms: dict[str, float] = field(default_factory=dict)


def dry_run(
    name: str = "qwen2.5-1.5b",
    *,
    methods: Sequence[str] = ("grpo", "gmpo", "grpo_sg"),
    lora: LoraSpec = LoraSpec(),  # noqa: B008  (frozen)
    quantize: str | None = "nf4",
    prompts: int = 1,
    group_size: int = 4,
    max_new_tokens: int = 16,
    device: str = "auto",
    seed: int = 0,
) -> DryRun:
    """Build, quantise, add adapters, sample, and take one update with each method.

    name: a policy whose config.json ships with the course, or a folder that holds one. quantize: "nf4" or None.
    The weights outside 4 bits are bfloat16, float16 on a GPU that does not compute bfloat16, float32 on such a CPU.
    Raises ValueError for an unknown name or method, before anything is built.
    """
    for method in methods:
        get_method(method)
    place = place_of(device)
    run = DryRun(str(place))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        policy = _policy(run, name, lora, quantize, place, seed)
    policy.model.eval()
    problems = get_task("addition").problems("train", prompts, seed)
    with _phase(run, "sample", place):
        rollouts = sample_groups(policy, problems, group_size, max_new_tokens=max_new_tokens, seed=seed)
    run.tokens = int(rollouts.mask.sum())
    rewards = torch.zeros(prompts, group_size)
    rewards[:, 0] = 1.0
    for method in methods:
        _update(run, policy, method, rollouts, rewards, max_new_tokens, place)
    return run


def number_format(place: torch.device) -> torch.dtype:
    """Of the weights outside 4 bits, as on a GPU where the CPU can."""
    if place.type == "cuda":
        return dtype_for("auto", place, trains_all=False)
    return torch.bfloat16 if cpu_multiplies_bfloat16() else torch.float32


def _policy(run: DryRun, name: str, lora: LoraSpec, quantize: str | None, place: torch.device, seed: int) -> Policy:
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(config_path(name).parent)
    dtype = run.dtype = number_format(place)
    with _phase(run, "build", place):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
        run.parameters = sum(p.numel() for p in model.parameters())
    with _phase(run, "quantise" if quantize else "move", place):
        model = quantize_linears(model, device=place, compute_dtype=dtype) if quantize else model.to(place)
        run.weights = weight_bytes(model)
    with _phase(run, "adapters", place):
        model = add_lora(model, lora, seed=seed)
        run.trainable = trainable_parameters(model)
    tokenizer = build_tokenizer()  # any tokens will do: the weights are noise
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return Policy(model, tokenizer, place, f"{name} (random weights)")


def _update(run: DryRun, policy, method: str, rollouts, rewards, max_new_tokens: int, place: torch.device) -> None:
    config = TrainConfig(
        method=method, prompts_per_step=len(rewards), group_size=rewards.shape[1], minibatches=1, learning_rate=1e-5
    )
    before = weights_hash(policy.model)
    with _phase(run, f"update {method}", place):
        updater = Updater(policy, config, max_new_tokens)
        advantages = updater.method.advantages(rewards)
        run.grad_norms[method] = updater.update(rollouts, rewards, advantages, 1)["grad_norm"]
    if weights_hash(policy.model) == before:
        raise RuntimeError(f"the update of {method} changed no adapter")


@contextmanager
def _phase(run: DryRun, name: str, place: torch.device):
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)
    begin = time.perf_counter()
    yield
    if place.type == "cuda":
        torch.cuda.synchronize(place)
    seconds = time.perf_counter() - begin
    memory = torch.cuda.max_memory_allocated(place) if place.type == "cuda" else psutil.Process().memory_info().rss
    run.phases.append(Phase(name, seconds, memory))
