"""The loop: ask, sample, verify, compare, update.

    for each step:
        draw P problems, sample G completions of each from the policy        (rollouts.py)
        reward every completion with the verifier                            (scoring.py)
        compare within each group: the advantages                            (advantages.py)
        for each minibatch: one optimizer step on the method's loss          (losses.py)

How it differs from the papers: no distributed sampling and no value network; the reference policy, where kl_beta
asks for one, stays the initial policy; sequences whose advantage is exactly 0 take no forward pass when kl_beta is 0,
since they add 0 to the gradient (they still count in the denominators).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import psutil
import torch

from .checkpoints import load_latest, prune, save_checkpoint
from .config import TrainConfig
from .evaluation import evaluate
from .methods import get_method
from .policies import Policy, trainable_parameters, weights_hash
from .progress import progress_bar
from .rollouts import sample_groups
from .runlog import RunLog, describe_machine
from .scoring import Scores, score, warn_unscored
from .tasks import Problem, Task
from .update import Reference, Updater


class TrainingError(RuntimeError):
    """Training cannot go on; the message names the step, the method and what to try."""


def train(
    policy: Policy,
    task: Task,
    config: TrainConfig,
    *,
    reward: Callable | None = None,
    run_dir: str | Path | None = None,
    resume: bool = False,
    on_step: Callable[[RunLog], None] | None = None,
) -> RunLog:
    """Train a policy in place; returns the run's log.

    reward: a callable with TRL's signature (prompts, completions, **columns) -> list of float or None; by default
    the task's verifier. run_dir: where metrics, checkpoints and the final policy are written. resume: go on from the
    newest checkpoint there. on_step: called with the log after each step and evaluation.
    Raises ValueError before step 1 for a policy without trainable parameters, FileExistsError for a run directory in
    use, TrainingError for a loss or gradient that is not finite, RewardError for a broken reward function.
    """
    if trainable_parameters(policy.model) == 0:
        raise ValueError(
            f"policy {policy.name!r} has 0 trainable parameters: load it with lora=LoraSpec(), or without quantize"
        )
    log, start = _open(policy, task, config, run_dir, resume)
    method = get_method(config.method, **config.method_options)
    reference = Reference(policy.model) if config.kl_beta else None  # copied before a checkpoint is loaded
    updater = Updater(policy, method, config, reference, max_new_tokens=config.max_new_tokens or task.max_new_tokens)
    if resume:
        start = load_latest(log.run_dir, policy.model, updater.optimizer)
        log.rewind(start)
    on_step = on_step or (lambda log: None)
    if start == 0:
        _evaluate(policy, task, config, log, 0)
        on_step(log)
    with progress_bar(config.steps, start, config.method) as advance:
        for step in range(start + 1, config.steps + 1):
            metrics, system = _step(policy, task, config, method, updater, reward, step, log)
            log.add("metrics", metrics)
            log.add("system", system)
            _evaluate(policy, task, config, log, step)
            _checkpoint(policy, config, log, updater, step)
            on_step(log)
            advance(metrics)
    if log.run_dir:
        policy.model.save_pretrained(log.run_dir / "policy")
        policy.tokenizer.save_pretrained(log.run_dir / "policy")
    return log


def _step(policy, task, config, method, updater, reward, step, log) -> tuple[dict, dict]:
    """One pass through the loop. Returns (metrics, system), a row of each table."""
    torch.manual_seed(config.seed * 1_000_003 + step)  # dropout, if the policy has any
    clock = Clock()
    with clock("sample"):
        problems = problems_of_step(task, config, step)
        rollouts = sample_groups(
            policy,
            problems,
            config.group_size,
            max_new_tokens=config.max_new_tokens or task.max_new_tokens,
            temperature=config.temperature,
            seed=config.seed * 1_000_003 + step,
        )
    with clock("score"):
        scores = score(rollouts, task, reward)
        warn_unscored(scores.rewards)
    advantages = method.advantages(scores.rewards)
    with clock("update"):
        updates = updater.update(rollouts, scores.rewards, advantages, step)
    if not all(map(torch.isfinite, map(torch.tensor, (updates["loss"], updates["grad_norm"])))):
        raise TrainingError(
            f"step {step} of {config.method}: loss {updates['loss']}, gradient norm {updates['grad_norm']} are not "
            "finite; that optimizer step was not taken. Try a smaller learning_rate, or resume from a checkpoint"
        )
    for row in _samples(rollouts, scores, step):
        log.add("completions", row)
    return _metrics(rollouts, scores, advantages, updates, step), clock.row(step, rollouts)


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


def _metrics(rollouts, scores: Scores, advantages, updates: dict, step: int) -> dict:
    rewards, lengths = scores.rewards[~scores.rewards.isnan()], rollouts.lengths
    finished = lengths[rollouts.finished]
    return {
        "step": step,
        "reward_mean": float(rewards.mean()) if len(rewards) else 0.0,
        "reward_std": float(rewards.std(correction=0)) if len(rewards) else 0.0,
        "accuracy": scores.accuracy,
        "dead_groups": float((advantages == 0).all(1).float().mean()),
        "truncated": float((~rollouts.finished).float().mean()),
        "length_mean": float(lengths.mean()),
        "length_finished": float(finished.mean()) if len(finished) else None,
        "entropy": float(rollouts.entropy.sum() / rollouts.mask.sum()),
        **updates,
        "tokens": int(lengths.sum()),
        **{f"reason_{code}": share for code, share in scores.reasons.items()},
        **{f"strategy_{name}": share for name, share in scores.strategies.items()},
    }


def _samples(rollouts, scores: Scores, step: int, problems: int = 2, each: int = 2) -> list[dict]:
    """The first completions of the first problems, for people to read."""
    rows = [p * rollouts.group_size + g for p in range(min(problems, len(rollouts.problems))) for g in range(each)]
    return [
        {
            "step": step,
            "prompt": rollouts.row_problems[row].prompt[-1]["content"],
            "completion": rollouts.texts[row],
            "reward": _or_none(float(scores.rewards.view(-1)[row])),
            "reason": scores.verdicts[row],
        }
        for row in rows
    ]


def _or_none(value: float) -> float | None:
    return None if value != value else value


def _evaluate(policy, task, config: TrainConfig, log: RunLog, step: int) -> None:
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
        row = {
            "step": step,
            "split": split,
            "n": config.eval_n,
            "accuracy": report.accuracy,
            "low": low,
            "high": high,
        }
        log.add("evals", row)


def _checkpoint(policy, config: TrainConfig, log: RunLog, updater: Updater, step: int) -> None:
    due = (config.checkpoint_every and step % config.checkpoint_every == 0) or step == config.steps
    if log.run_dir is None or not due:
        return
    dev = [row["accuracy"] for row in log.lines["evals"] if row["split"] == "dev" and row["step"] == step]
    save_checkpoint(log.run_dir, step, policy.model, updater.optimizer, dev_accuracy=dev[-1] if dev else None)
    prune(log.run_dir, config.keep_checkpoints)


def _open(policy, task, config: TrainConfig, run_dir, resume: bool) -> tuple[RunLog, int]:
    """The log of a new or resumed run, and how many steps are done as far as the log knows."""
    header = {
        "config": config.to_dict(),
        "policy": policy.name,
        "task": task.name,
        "trainable_parameters": trainable_parameters(policy.model),
        "initial_weights": weights_hash(policy.model),
        "machine": describe_machine(),
    }
    if run_dir is None:
        if resume:
            raise ValueError("resume=True needs the run_dir to go on from")
        return RunLog(header), 0
    run_dir = Path(run_dir)
    if resume and (run_dir / "run.json").exists():
        log = RunLog.load(run_dir)
        _check_same(log.header, header, run_dir)
        return log, 0
    if run_dir.exists() and any(run_dir.iterdir()):
        raise FileExistsError(f"{run_dir} exists and is not empty; resume it, or choose another directory")
    log = RunLog(header, run_dir)
    log.open_directory()
    return log, 0


def _check_same(old: dict, new: dict, run_dir: Path) -> None:
    """A resumed run must be the run that was begun; only its number of steps may grow."""
    differences = [
        f"{key} was {old['config'].get(key)!r} and is now {value!r}"
        for key, value in new["config"].items()
        if key != "steps" and old["config"].get(key) != value
    ]
    for key in ("policy", "task", "initial_weights"):
        if old[key] != new[key]:
            differences.append(f"{key} was {old[key]!r} and is now {new[key]!r}")
    if differences:
        raise ValueError(f"{run_dir} cannot be resumed with other settings: {'; '.join(differences)}")


class Clock:
    """Seconds by phase of one step."""

    def __init__(self):
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str):
        begin = time.perf_counter()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - begin

    def row(self, step: int, rollouts) -> dict:
        """A line of the system table; memory is the process's resident set, or CUDA's peak."""
        cuda = torch.cuda.is_available()
        memory = torch.cuda.max_memory_allocated() if cuda else psutil.Process().memory_info().rss
        return {
            "step": step,
            **{f"seconds_{phase}": round(s, 4) for phase, s in self.seconds.items()},
            "memory_mb": round(memory / 1e6, 1),
        }
