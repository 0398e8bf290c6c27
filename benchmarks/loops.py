"""The loops that the benchmarks compare: the same problems, the same settings, several programs.

Each runs `steps` rollouts of a `Work`, AdamW without decay at a constant learning rate, beta 0, temperature 1, calls
`checkpoint(rollouts done)` where it may be evaluated, and returns processor seconds by phase.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

import torch

import grpo_lessons.trainer
from grpo_lessons.adapters import LoraSpec
from grpo_lessons.advantages import group_advantages
from grpo_lessons.config import TrainConfig
from grpo_lessons.losses import grpo_loss
from grpo_lessons.policies import Policy, load_policy
from grpo_lessons.rollouts import completion_mask_of, encode_prompts
from grpo_lessons.tasks import Task, get_task
from grpo_lessons.tasks.instructed import Instructed
from grpo_lessons.tasks.small_sums import EXAMPLES, SmallSums
from grpo_lessons.trainer import problems_of_step, train
from grpo_lessons.update import Updater


@dataclass(frozen=True)
class Work:
    """What is trained on what, with which settings; steps and seed of the settings are given later.

    reward: a reward function with TRL's signature; None takes the task's verdict.
    """

    policy: str
    task: Task
    config: TrainConfig
    lora: LoraSpec | None = None
    dtype: str = "float32"
    reward: Callable | None = None

    def load(self) -> Policy:
        return load_policy(self.policy, lora=self.lora, dtype=self.dtype, backend="transformers", device="cpu")

    def settings(self, steps: int, seed: int) -> TrainConfig:
        return replace(self.config, steps=steps, seed=seed)


def in_turn(prompts, completions, **columns) -> list[float]:
    """1, 0, 1, 0, ...: no group is ever dead, so that ours has nothing to skip."""
    return [float(row % 2 == 0) for row in range(len(completions))]


NANO = Work("nano", get_task("addition"), TrainConfig(max_new_tokens=40))  # 32 x 8, four minibatches, rate 2e-4
SMOLLM2 = Work(
    "smollm2",
    Instructed(SmallSums(), examples=EXAMPLES),
    TrainConfig(prompts_per_step=2, group_size=4, minibatches=2, learning_rate=5e-4, max_new_tokens=16),
    lora=LoraSpec(rank=16, alpha=32),
    reward=in_turn,
)


@contextmanager
def timed(seconds: Counter, *calls: tuple[object, str, str]) -> Iterator[None]:
    """Add the processor seconds of owner.name(...) to a phase, for each (owner, name, phase)."""

    def wrapped(method, phase):
        def call(*args, **kwargs):
            begin = time.process_time()
            result = method(*args, **kwargs)
            seconds[phase] += time.process_time() - begin
            return result

        return call

    with ExitStack() as stack:
        for owner, name, phase in calls:
            stack.enter_context(patch.object(owner, name, wrapped(getattr(owner, name), phase)))
        yield


def ours(work: Work, policy: Policy, steps: int, seed: int, checkpoint: Callable[[int], None]) -> Counter:
    seconds = Counter()
    phases = [(grpo_lessons.trainer, "roll_out", "sample"), (grpo_lessons.trainer, "score", "score")]
    with timed(seconds, *phases, (Updater, "update", "update")):
        on_step = lambda log: checkpoint(len(log.lines["metrics"]))  # noqa: E731
        train(policy, work.task, work.settings(steps, seed), reward=work.reward, on_step=on_step)
    return seconds


def trl(work: Work, policy: Policy, steps: int, seed: int, checkpoint: Callable[[int], None]) -> Counter:
    """TRL's GRPOTrainer. Its gradient checkpointing, on by default, is off: without it TRL is faster here."""
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOTrainer

    class Checkpoints(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step % work.config.minibatches == 0:
                checkpoint(state.global_step // work.config.minibatches)

    dataset, correct = trl_data(work, steps, seed)
    trainer = GRPOTrainer(
        policy.model,
        work.reward or correct,
        args=trl_settings(work, steps, seed),
        train_dataset=dataset,
        processing_class=policy.tokenizer,
        callbacks=[Checkpoints()],
    )
    trainer.remove_callback(PrinterCallback)
    seconds = Counter()
    phases = [(trainer, "_generate", "sample"), (trainer, "_calculate_rewards", "score")]
    with timed(seconds, *phases, (trainer, "training_step", "whole")):
        trainer.train()
    policy.model.eval()
    return Counter({**seconds, "update": seconds.pop("whole") - seconds["sample"] - seconds["score"]})


def trl_data(work: Work, steps: int, seed: int):
    """The problems of our run as a dataset, and the task's verdict as a reward function."""
    from datasets import Dataset

    settings = work.settings(steps, seed)
    problems = [p for step in range(1, steps + 1) for p in problems_of_step(work.task, settings, step)]
    by_question = {p.prompt[-1]["content"]: p for p in problems}

    def correct(prompts, completions, **columns):
        pairs = zip(completions, prompts, strict=True)
        return [work.task.verify(c[0]["content"], by_question[p[-1]["content"]]).reward for c, p in pairs]

    return Dataset.from_list([{"prompt": p.prompt} for p in problems]), correct


def trl_settings(work: Work, steps: int, seed: int):
    from trl import GRPOConfig

    config = work.config
    return GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=config.prompts_per_step * config.group_size // config.minibatches,
        steps_per_generation=config.minibatches,
        num_generations=config.group_size,
        max_steps=steps * config.minibatches,
        max_completion_length=config.max_new_tokens,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        weight_decay=0.0,
        beta=0.0,
        temperature=1.0,
        loss_type="grpo",
        shuffle_dataset=False,
        gradient_checkpointing=False,
        bf16=False,  # no autocast: the model's weights have their own format, adapters float32, as with ours
        use_cpu=True,
        seed=seed,
        logging_steps=config.minibatches,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def naive(work: Work, policy: Policy, steps: int, seed: int, checkpoint: Callable[[int], None]) -> Counter:
    """The loop of a first afternoon: transformers' generate, whole rows, every row, every logit."""
    seconds, model, config = Counter(), policy.model, work.settings(steps, seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)
    torch.manual_seed(seed)
    for step in range(1, steps + 1):
        begin = time.process_time()
        problems = problems_of_step(work.task, config, step)
        asked = [p for p in problems for _ in range(config.group_size)]
        prompts, prompt_mask = encode_prompts(policy, asked)
        options = {"max_new_tokens": config.max_new_tokens, "do_sample": True, "top_k": 0}
        rows = model.generate(input_ids=prompts, attention_mask=prompt_mask, **options)
        completions = rows[:, prompts.shape[1] :]
        mask, _ = completion_mask_of(completions, [policy.tokenizer.eos_token_id])
        seconds["sample"] += time.process_time() - begin

        begin = time.process_time()
        texts = policy.tokenizer.batch_decode(completions, skip_special_tokens=True)
        rewards = torch.tensor([work.task.verify(t, p).reward for t, p in zip(texts, asked, strict=True)])
        advantages = group_advantages(rewards.view(-1, config.group_size)).flatten()
        seconds["score"] += time.process_time() - begin

        begin = time.process_time()
        attention = torch.cat([prompt_mask, torch.ones_like(completions)], 1)
        with torch.no_grad():
            logp_old = _whole_rows(model, rows, attention, completions)
        model.train()
        for chosen in torch.randperm(len(rows)).chunk(config.minibatches):
            logp = _whole_rows(model, rows[chosen], attention[chosen], completions[chosen])
            grpo_loss(logp, logp_old[chosen], advantages[chosen], mask[chosen]).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        seconds["update"] += time.process_time() - begin
        checkpoint(step)
    return seconds


def _whole_rows(model, rows, attention, completions):
    positions = (attention.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=rows, attention_mask=attention, position_ids=positions).logits
    T = completions.shape[1]
    return logits[:, -T - 1 : -1].log_softmax(-1).gather(-1, completions[..., None])[..., 0]
