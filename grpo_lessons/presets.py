"""One name in, everything else follows: task levels, adapters, settings and card of the lessons on real models.

    setup = choose()                      nano on a CPU, Qwen2.5-1.5B where there is a GPU
    setup = choose("smollm2")             or what GRPO_LESSONS_POLICY says
    policy = setup.load()

The settings for nano and SmolLM2 were tried on a CPU. Those for Qwen2.5-1.5B fit their card by the memory calculator,
and their learning rate is a usual one for LoRA; no run on a card stands behind them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from .adapters import LoraSpec
from .config import TrainConfig
from .memory import MemoryEstimate, estimate_memory
from .tasks import Task, get_task
from .verifiers import verify_integer

STAND_IN_FOR = "qwen2.5-1.5b"


@dataclass(frozen=True)
class Card:
    """Settings for a GPU of that many GiB, for a model of 1.5 B parameters; see `CARDS`."""

    gib: int
    quantize: str | None
    prompts_per_step: int
    micro_batch: int
    completion_tokens: int

    def estimate(self, model: str, group_size: int, prompt_tokens: int = 192) -> MemoryEstimate:
        """Predicted bytes with these settings."""
        return estimate_memory(
            model,
            quantize=self.quantize,
            group_size=group_size,
            prompt_tokens=prompt_tokens,
            completion_tokens=self.completion_tokens,
            micro_batch=self.micro_batch,
            prompts_per_step=self.prompts_per_step,
        )


# Each leaves a tenth of its card free with groups of 16, by the calculator (a test holds it).
CARDS = {
    8: Card(8, "nf4", prompts_per_step=4, micro_batch=1, completion_tokens=256),
    12: Card(12, "nf4", prompts_per_step=8, micro_batch=2, completion_tokens=256),
    16: Card(16, None, prompts_per_step=8, micro_batch=2, completion_tokens=384),
    24: Card(24, None, prompts_per_step=16, micro_batch=4, completion_tokens=384),
}


@dataclass(frozen=True)
class Setup:
    """What a lesson runs.

    levels: a task from easy to hard. n, survey_n: problems of an evaluation and of a survey. reward: of training, None
    for the task's verdict. card: None on a CPU.
    """

    policy: str
    levels: Mapping[str, Task]
    config: TrainConfig
    lora: LoraSpec
    n: int
    survey_n: int
    reward: Callable | None = None
    card: Card | None = None

    @property
    def batch(self) -> int:
        """Sequences sampled at once in an evaluation."""
        return 64 if self.card else 256

    def load(self, *, seed: int = 0):
        """The policy with fresh adapters, through Unsloth where it is installed, else through transformers."""
        from .policies import load_policy

        gc.collect()  # a model that a notebook has just dropped still lies on the card until then
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        quantize = self.card.quantize if self.card else None
        return load_policy(self.policy, lora=self.lora, quantize=quantize, seed=seed)

    def training(self, level: str, group_size: int, **changes: Any) -> TrainConfig:
        """The settings of a run on a level with groups of that size; about as many completions a step in any case."""
        prompts = max(2, self.config.prompts_per_step * self.config.group_size // group_size)
        budget = self.levels[level].max_new_tokens
        return replace(self.config, group_size=group_size, prompts_per_step=prompts, max_new_tokens=budget, **changes)

    def line(self, policy) -> str:
        """What runs here, in one sentence; for a stand-in also that it is one."""
        where = torch.cuda.get_device_name() if policy.device.type == "cuda" else "the CPU"
        says = f"Here runs {policy.name} through {policy.backend} on {where}."
        if self.policy != STAND_IN_FOR:
            says += f" It stands in for {STAND_IN_FOR}: no number below says anything about that model."
        return says


def choose(policy: str | None = None, *, card_gib: int = 8, task: str | None = None, steps: int | None = None) -> Setup:
    """The setup for a policy; None takes GRPO_LESSONS_POLICY, else Qwen2.5-1.5B with a GPU and nano without one.

    card_gib: 8, 12, 16 or 24, used with a GPU only. task: a name of `get_task` in place of the policy's own levels.
    steps: of training, None for the policy's own number. Raises ValueError for an unknown card.
    """
    if card_gib not in CARDS:
        raise ValueError(f"no preset for a card of {card_gib} GiB; there are {', '.join(map(str, CARDS))}")
    gpu = torch.cuda.is_available()
    name = policy or os.environ.get("GRPO_LESSONS_POLICY") or (STAND_IN_FOR if gpu else "nano")
    card = CARDS[card_gib] if gpu and name not in OWN else None
    setup = OWN[name]() if name in OWN else real_model(name, card or CARDS[card_gib])
    changes: dict[str, Any] = {"card": card}
    if task is not None:
        changes |= {"levels": {task: get_task(task)}, "reward": None}
    if steps is not None:
        changes["config"] = replace(setup.config, steps=steps)
    return replace(setup, **changes)


def nano() -> Setup:
    """The pupil: sums of two digits, which its homework had, and of three, which it never met."""
    levels = {f"{digits} digits": get_task("addition", digits=digits) for digits in (2, 3)}
    config = TrainConfig(steps=20, prompts_per_step=32, group_size=8, minibatches=4, learning_rate=2e-3)
    return Setup("nano", levels, config, LoraSpec(rank=8, alpha=16), n=400, survey_n=60)


def smollm2() -> Setup:
    """SmolLM2-135M: small sums, asked bare and after two worked examples; the layout pays a little."""
    from .smollm2_study import RANK, SHOWN
    from .tasks.answer_format import correct_and_format
    from .tasks.instructed import Instructed
    from .tasks.small_sums import EXAMPLES, SmallSums

    bare, shown = Instructed(SmallSums(), max_new_tokens=24), Instructed(SmallSums(), examples=EXAMPLES)
    levels = {"two examples": shown, "question alone": bare}
    lora, reward = LoraSpec(rank=RANK, alpha=2 * RANK), correct_and_format(verify_integer)
    return Setup("smollm2", levels, replace(SHOWN, steps=6), lora, n=40, survey_n=8, reward=reward)


def real_model(name: str, card: Card) -> Setup:
    """Any instruct model: word problems of one to four steps, settings of the card."""
    from .tasks.word_problems import WordProblems

    shapes = {"1 step": ((1, 1), 0), "2 steps": ((2, 2), 1), "2 to 4 steps": ((2, 4), 2), "4 steps": ((4, 4), 2)}
    levels = {}
    for level, (steps, distractors) in shapes.items():
        levels[level] = WordProblems(steps=steps, distractors=distractors)
        levels[level].max_new_tokens = card.completion_tokens
    config = TrainConfig(
        steps=100,
        prompts_per_step=card.prompts_per_step,
        minibatches=2,  # with one update a rollout GRPO and GMPO would be the same
        micro_batch=card.micro_batch,
        learning_rate=1e-5,
        warmup_steps=5,
    )
    return Setup(name, levels, config, LoraSpec(), n=200, survey_n=24)


OWN = {"nano": nano, "smollm2": smollm2}
