"""The loop: ask, sample, verify, compare, update.

    for each step:
        draw P problems, sample G completions of each from the policy        (rollouts.py)
        reward every completion with the verifier                            (scoring.py)
        compare within each group: the advantages                            (advantages.py)
        for each minibatch: one optimizer step on the method's loss          (update.py, losses.py)

How it differs from the papers: no distributed sampling and no value network; the reference policy, where kl_beta
asks for one, stays the initial policy; sequences whose advantage is exactly 0 take no forward pass when kl_beta is 0,
since they add 0 to the gradient (they still count in the denominators).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from pathlib import Path

import torch

from .checkpoints import load_latest, prune, save_checkpoint, save_policy
from .clock import Clock
from .config import TrainConfig
from .evaluation import evaluate
from .policies import Policy, trainable_parameters
from .progress import progress_bar
from .rollouts import roll_out
from .rundir import TrainingError, describe_run, open_run
from .runlog import RunLog
from .scoring import score, warn_unscored
from .step_record import sample_rows, step_metrics
from .tasks import Problem, Task
from .update import Updater

__all__ = ["TrainingError", "problems_of_step", "record_evaluation", "train"]


def train(
    policy: Policy,
    task: Task,
    config: TrainConfig,
    *,
    reward: Callable | None = None,
    run_dir: str | Path | None = None,
    resume: bool = False,
    allow_changes: Collection[str] = (),
    on_step: Callable[[RunLog], None] | None = None,
) -> RunLog:
    """Train a policy in place; returns the run's log.

    reward: a callable with TRL's signature (prompts, completions, **columns) -> list of float or None; by default
    the task's verifier. run_dir: where metrics, checkpoints and the final policy are written. resume: go on from the
    newest checkpoint there, or begin if there is none; the policy must be the initial one, as for a new run.
    allow_changes: settings that a resumed run may have changed. on_step: called with the log after each step and
    evaluation. The caller's torch random state is left as it was.
    Raises ValueError before step 1 for a policy without trainable parameters or a resumed run with other settings,
    FileExistsError for a run directory in use, TrainingError for loss, gradient or weights that are not finite and
    for a full disk, RewardError for a broken reward function. Whatever stops a run, its directory can be resumed.
    """
    if trainable_parameters(policy.model) == 0:
        raise ValueError(
            f"policy {policy.name!r} has 0 trainable parameters: load it with lora=LoraSpec(), or without quantize"
        )
    on_step = on_step or (lambda log: None)
    devices = [policy.device] if policy.device.type == "cuda" else []
    header = describe_run(policy, task, config, reward)
    with torch.random.fork_rng(devices), open_run(header, run_dir, resume, allow_changes) as log:
        updater = Updater(policy, config, config.max_new_tokens or task.max_new_tokens)
        start = load_latest(log.run_dir, policy.model, updater.optimizer) if resume else 0
        if resume:
            log.rewind(start or -1)
        if start == 0:
            record_evaluation(policy, task, config, log, 0)
            on_step(log)
        with progress_bar(config.steps, start, config.method) as advance:
            for step in range(start + 1, config.steps + 1):
                _step(policy, task, config, updater, reward, step, log)
                record_evaluation(policy, task, config, log, step)
                _checkpoint(policy, config, log, updater, step)
                on_step(log)
                advance(log.lines["metrics"][-1])
        if log.run_dir:
            save_policy(log.run_dir / "policy", policy)
    return log


def _step(policy, task, config, updater, reward, step, log) -> None:
    """One pass through the loop: moves the weights and writes a line of each table."""
    seed = config.seed * 1_000_003 + step  # all randomness of a step comes from the run's seed and its number
    torch.manual_seed(seed)  # for dropout, if the policy has any
    clock = Clock()
    with clock("sample"):
        rollouts = roll_out(
            policy,
            task,
            problems_of_step(task, config, step),
            config.group_size,
            max_new_tokens=updater.max_new_tokens,
            temperature=config.temperature,
            seed=seed,
        )
    with clock("score"):
        scores = score(rollouts, task, reward)
        warn_unscored(scores.rewards)
    with clock("update"):
        advantages = updater.method.advantages(scores.rewards)
        updates = updater.update(rollouts, scores.rewards, advantages, step)
    for row in sample_rows(rollouts, scores, step):
        log.add("completions", row)
    log.add("system", clock.row(step))
    log.add("metrics", step_metrics(rollouts, scores, advantages, updates, step))


def problems_of_step(task: Task, config: TrainConfig, step: int) -> list[Problem]:
    """The problems of one step, a function of the seed and the step's number alone.

    With train_problems=N they come from the first N problems of the train split, in shuffled passes over them.
    """
    count, seed = config.prompts_per_step, config.seed
    if config.train_problems is None:
        return task.problems("train", count, seed * 1_000_003 + step)
    pool = task.problems("train", config.train_problems, seed)
    positions = range((step - 1) * count, step * count)
    order = {turn: _shuffled(len(pool), f"{seed}-{turn}") for turn in {i // len(pool) for i in positions}}
    return [pool[order[i // len(pool)][i % len(pool)]] for i in positions]


def _shuffled(n: int, seed: str) -> list[int]:
    return random.Random(seed).sample(range(n), n)


def record_evaluation(policy, task, config: TrainConfig, log: RunLog, step: int) -> None:
    due = config.eval_every and (step % config.eval_every == 0 or step == config.steps)
    for split in config.eval_splits if due else ():
        report = evaluate(
            policy,
            task,
            n=config.eval_n,
            temperature=config.temperature,
            seed=config.seed,
            split=split,
            max_new_tokens=config.max_new_tokens,
        )
        low, high = report.interval
        row = {"step": step, "split": split, "n": config.eval_n, "accuracy": report.accuracy, "low": low, "high": high}
        log.add("evals", row)


def _checkpoint(policy, config: TrainConfig, log: RunLog, updater: Updater, step: int) -> None:
    due = (config.checkpoint_every and step % config.checkpoint_every == 0) or step == config.steps
    if log.run_dir is None or not due:
        return
    log.sync()
    dev = [row["accuracy"] for row in log.lines["evals"] if row["split"] == "dev" and row["step"] == step]
    save_checkpoint(log.run_dir, step, policy.model, updater.optimizer, dev_accuracy=dev[-1] if dev else None)
    prune(log.run_dir, config.keep_checkpoints)
