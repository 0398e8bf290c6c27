"""The loops that benchmarks/engine.py compares: the same problems, the same settings, three programs.

Each runs `steps` rollouts of 32 x 8 completions of nano on addition, four minibatches of 64, AdamW at 2e-4 without
decay, beta 0, temperature 1, at most 40 tokens, and calls `checkpoint(rollouts done)` where it may be evaluated.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable

import torch

from grpo_lessons.advantages import group_advantages
from grpo_lessons.config import TrainConfig
from grpo_lessons.losses import grpo_loss
from grpo_lessons.rollouts import completion_mask_of, encode_prompts
from grpo_lessons.trainer import problems_of_step, train

MAX_NEW_TOKENS, LEARNING_RATE, GROUP, MINIBATCHES, PROMPTS = 40, 2e-4, 8, 4, 32


def settings(steps: int, seed: int) -> TrainConfig:
    return TrainConfig(steps=steps, seed=seed, max_new_tokens=MAX_NEW_TOKENS, learning_rate=LEARNING_RATE)


def ours(policy, task, steps: int, seed: int, checkpoint: Callable[[int], None]) -> Counter:
    """Seconds by phase."""
    log = train(policy, task, settings(steps, seed), on_step=lambda log: checkpoint(len(log.lines["metrics"])))
    return Counter(
        {name.removeprefix("seconds_"): log.system[name].sum() for name in log.system.filter(like="seconds")}
    )


def trl(policy, task, steps: int, seed: int, checkpoint: Callable[[int], None]) -> Counter:
    """TRL's GRPOTrainer with its gradient checkpointing and bf16 switched off, which makes it faster here."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    problems = [p for step in range(1, steps + 1) for p in problems_of_step(task, settings(steps, seed), step)]
    by_question = {p.prompt[0]["content"]: p for p in problems}

    def correct(prompts, completions, **columns):
        pairs = zip(completions, prompts, strict=True)
        return [task.verify(c[0]["content"], by_question[p[0]["content"]]).reward for c, p in pairs]

    class Checkpoints(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step % MINIBATCHES == 0:
                checkpoint(state.global_step // MINIBATCHES)

    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=PROMPTS * GROUP // MINIBATCHES,
        steps_per_generation=MINIBATCHES,
        num_generations=GROUP,
        max_steps=steps * MINIBATCHES,
        max_completion_length=MAX_NEW_TOKENS,
        learning_rate=LEARNING_RATE,
        lr_scheduler_type="constant",
        weight_decay=0.0,
        beta=0.0,
        temperature=1.0,
        loss_type="grpo",
        shuffle_dataset=False,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        seed=seed,
        logging_steps=MINIBATCHES,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        policy.model,
        correct,
        args=config,
        train_dataset=Dataset.from_list([{"prompt": p.prompt} for p in problems]),
        processing_class=policy.tokenizer,
        callbacks=[Checkpoints()],
    )
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    seconds = Counter()
    _timed(trainer, "_generate", "sample", seconds)
    _timed(trainer, "_calculate_rewards", "score", seconds)
    _timed(trainer, "training_step", "whole", seconds)
    trainer.train()
    policy.model.eval()
    return Counter({**seconds, "update": seconds.pop("whole") - seconds["sample"] - seconds["score"]})


def _timed(owner, name: str, phase: str, seconds: Counter) -> None:
    method = getattr(owner, name)

    def wrapped(*args, **kwargs):
        begin = time.perf_counter()
        result = method(*args, **kwargs)
        seconds[phase] += time.perf_counter() - begin
        return result

    setattr(owner, name, wrapped)


def naive(policy, task, steps: int, seed: int, checkpoint: Callable[[int], None]) -> Counter:
    """The loop of a first afternoon: transformers' generate, whole rows, every row, every logit."""
    seconds, model = Counter(), policy.model
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    torch.manual_seed(seed)
    for step in range(1, steps + 1):
        begin = time.perf_counter()
        problems = problems_of_step(task, settings(steps, seed), step)
        prompts, prompt_mask = (t.repeat_interleave(GROUP, 0) for t in encode_prompts(policy, problems))
        model.eval()
        rows = model.generate(
            input_ids=prompts, attention_mask=prompt_mask, max_new_tokens=MAX_NEW_TOKENS, do_sample=True, top_k=0
        )
        completions = rows[:, prompts.shape[1] :]
        mask, _ = completion_mask_of(completions, [policy.tokenizer.eos_token_id])
        seconds["sample"] += time.perf_counter() - begin

        begin = time.perf_counter()
        texts = policy.tokenizer.batch_decode(completions, skip_special_tokens=True)
        asked = [p for p in problems for _ in range(GROUP)]
        rewards = torch.tensor([task.verify(t, p).reward for t, p in zip(texts, asked, strict=True)])
        advantages = group_advantages(rewards.view(-1, GROUP)).flatten()
        seconds["score"] += time.perf_counter() - begin

        begin = time.perf_counter()
        attention = torch.cat([prompt_mask, torch.ones_like(completions)], 1)
        with torch.no_grad():
            logp_old = _whole_rows(model, rows, attention, completions)
        model.train()
        for chosen in torch.randperm(len(rows)).chunk(MINIBATCHES):
            logp = _whole_rows(model, rows[chosen], attention[chosen], completions[chosen])
            grpo_loss(logp, logp_old[chosen], advantages[chosen], mask[chosen]).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        seconds["update"] += time.perf_counter() - begin
        checkpoint(step)
    return seconds


def _whole_rows(model, rows, attention, completions):
    positions = (attention.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=rows, attention_mask=attention, position_ids=positions).logits
    T = completions.shape[1]
    return logits[:, -T - 1 : -1].log_softmax(-1).gather(-1, completions[..., None])[..., 0]
