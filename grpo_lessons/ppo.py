"""PPO: the loop of trainer.py with a learned critic in place of the group, for comparison.

    draw P*G problems, sample ONE completion of each                         (rollouts.py)
    reward every completion with the verifier                                (scoring.py)
    the critic says what to expect before each token; GAE compares           (critics.py, gae.py)
    for each minibatch: the clipped surrogate, and the critic's regression   (losses.py, gae.py)

How it differs from the papers (PPO, arXiv 1707.06347; for language models InstructGPT, arXiv 2203.02155): the reward is
the verifier's, given at the last token, without a KL term per token and without a reward model; the value loss is not
clipped, there is no entropy bonus, and the critic gets no training of its own beforehand. The policy's loss is
`grpo_loss` (mean over sequences of token means), so that only the advantages differ from GRPO; they are whitened
over the rollout. A truncated completion counts as ended.

One completion each of P*G different problems, and not G of P: a critic needs no group, so PPO may spend the same number
of completions on more problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from .clock import Clock
from .config import TrainConfig
from .critics import Rows, log_probabilities, make_critic, states
from .gae import at_last_token, explained_variance, gae, value_loss, whiten
from .losses import grpo_loss
from .policies import Policy, trainable_parameters
from .progress import progress_bar
from .rollouts import roll_out
from .rundir import TrainingError, describe_run, recorded_end
from .runlog import RunLog
from .scoring import score, warn_unscored
from .step_record import sample_rows, step_metrics
from .tasks import Task
from .trainer import problems_of_step, record_evaluation
from .update_record import Record, summary

# Settings of TrainConfig that this file does not know; another value than the default is refused.
UNUSED = (
    *("method", "method_options", "kl_beta", "micro_batch", "mask_truncated"),
    *("gradient_checkpointing", "old_logp"),
)


@dataclass(frozen=True)
class PPOSettings:
    """What PPO has beyond TrainConfig.

    gamma: discount per token. lam: GAE's dial, from the critic alone (0) to the outcome alone (1).
    critic_learning_rate: of the value head and of a separate critic's body. value_weight: of the value loss in the sum.
    On 800 dev sums after 30 steps of nano, one seed, rates of 3e-4, 1e-3 and 3e-3, lam 0.95 and 1, and weights of 0.1
    and 0.5 gave 94.9 to 97.4 %, 1.3 points either way: one seed does not rank them, and these are the middle ones.
    """

    gamma: float = 1.0
    lam: float = 1.0
    critic_learning_rate: float = 1e-3
    value_weight: float = 0.5


def train_ppo(
    policy: Policy,
    task: Task,
    config: TrainConfig,
    *,
    critic: str | nn.Module = "separate",
    settings: PPOSettings | None = None,
    reward: Callable | None = None,
    on_step: Callable[[RunLog], None] | None = None,
) -> RunLog:
    """Train policy and critic in place with as many completions a step as `train`; returns the run's log.

    critic: "separate", "shared" or "none" (see `make_critic`), or a critic made by it, to look at afterwards.
    reward, on_step: as for `train`. The log's table has the columns of `RunLog.table` that PPO has a meaning for, and
    `value_loss` (mean over the updates), `value_mean` (over the tokens) and `explained_variance` (see there).
    Raises ValueError for settings that only `train` knows or a policy without trainable parameters, TrainingError for
    a loss that is not finite, RewardError for a broken reward function.
    """
    require_known(config)
    if trainable_parameters(policy.model) == 0:
        raise ValueError(f"policy {policy.name!r} has 0 trainable parameters: load it with lora=LoraSpec()")
    critic = make_critic(policy, critic) if isinstance(critic, str) else critic
    settings, on_step = settings or PPOSettings(), on_step or (lambda log: None)
    learner = Learner(policy, critic, config, settings)
    header = describe_run(policy, task, config, reward)
    header["ppo"] = {**asdict(settings), "critic": critic.kind, "critic_parameters": trainable_parameters(critic)}
    devices = [policy.device] if policy.device.type == "cuda" else []
    with torch.random.fork_rng(devices), recorded_end(RunLog(header)) as log:
        record_evaluation(policy, task, config, log, 0)
        on_step(log)
        with progress_bar(config.steps, 0, f"ppo, critic {critic.kind}") as advance:
            for step in range(1, config.steps + 1):
                ppo_step(learner, task, reward, step, log)
                record_evaluation(policy, task, config, log, step)
                on_step(log)
                advance(log.lines["metrics"][-1])
    return log


def ppo_step(learner: Learner, task: Task, reward: Callable | None, step: int, log: RunLog) -> None:
    """One pass through the loop: moves policy and critic and writes a line of each table."""
    config, clock = learner.config, Clock()
    seed = config.seed * 1_000_003 + step
    torch.manual_seed(seed)
    with clock("sample"):
        one_each = replace(config, prompts_per_step=config.prompts_per_step * config.group_size)
        rollouts = roll_out(
            learner.policy,
            task,
            problems_of_step(task, one_each, step),
            1,
            max_new_tokens=config.max_new_tokens or task.max_new_tokens,
            temperature=config.temperature,
            seed=seed,
        )
    with clock("score"):
        scores = score(rollouts, task, reward)
        warn_unscored(scores.rewards)
    with clock("update"):
        rows, critic_metrics = learner.compare(Rows.of(rollouts), scores.rewards.flatten())
        updates = {**learner.update(rows, step), **critic_metrics}
    for row in sample_rows(rollouts, scores, step):
        log.add("completions", row)
    log.add("system", clock.row(step))
    log.add("metrics", step_metrics(rollouts, scores, rows.advantages.abs().amax(1, keepdim=True), updates, step))


class Learner:
    """Owns the optimizer of policy and critic."""

    def __init__(self, policy: Policy, critic: nn.Module, config: TrainConfig, settings: PPOSettings):
        self.policy, self.critic, self.config, self.settings = policy, critic, config, settings
        rates = {policy.model: config.learning_rate, critic: settings.critic_learning_rate}
        groups = [
            {"params": [p for p in module.parameters() if p.requires_grad], "lr": rate, "full_lr": rate}
            for module, rate in rates.items()
        ]
        self.optimizer = torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=0.0)

    def compare(self, rows: Rows, rewards: Tensor) -> tuple[Rows, dict[str, float]]:
        """The rows with whitened advantages and returns, and what the critic knew. rewards (B,), NaN: not scored."""
        rows = replace(rows, mask=rows.mask * ~rewards.isnan().to(rows.mask.device)[:, None])
        rewards = rewards.nan_to_num(0.0).to(rows.mask.device)
        with torch.no_grad():
            values = self.critic(rows)
        advantages = gae(at_last_token(rewards, rows.mask), values, rows.mask, self.settings.gamma, self.settings.lam)
        metrics = {
            "value_mean": float((values * rows.mask).sum() / rows.mask.sum().clamp(min=1)),
            "explained_variance": explained_variance(values, rewards, rows.mask),
        }
        returns = (advantages + values) * rows.mask
        return replace(rows, advantages=whiten(advantages, rows.mask), returns=returns), metrics

    def update(self, rows: Rows, step: int) -> dict[str, float]:
        """Minibatch steps on one rollout; returns the metrics of the updates."""
        rate = self.config.learning_rate_at(step)
        for group in self.optimizer.param_groups:
            group["lr"] = group["full_lr"] * rate / self.config.learning_rate
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + step)
        records, value_losses = [], []
        for _ in range(self.config.epochs):
            for part in torch.randperm(len(rows.mask), generator=generator).chunk(self.config.minibatches):
                record, loss = self.minibatch(rows.take(part.to(rows.mask.device)), step)
                records.append(record)
                value_losses.append(loss)
        weight_norm = float(torch.nn.utils.get_total_norm(self.optimizer.param_groups[0]["params"]))
        extras = {"weight_norm": weight_norm, "learning_rate": rate}
        return {**summary(records), **extras, "value_loss": sum(value_losses) / len(value_losses)}

    def minibatch(self, rows: Rows, step: int) -> tuple[Record, float]:
        """One optimizer step of policy and critic."""
        hidden = states(self.policy, rows)
        logp = log_probabilities(self.policy, hidden, rows, self.config.temperature)
        policy_loss = grpo_loss(logp, rows.logp_old, rows.advantages, rows.mask)
        regression = value_loss(self.critic(rows, hidden), rows.returns, rows.mask)
        loss = policy_loss.loss + self.settings.value_weight * regression
        if not math.isfinite(float(loss.detach())):
            raise TrainingError(f"step {step} of ppo: the loss is not finite; try smaller learning rates")
        loss.backward()
        norms = [clip_grad_norm_(g["params"], self.config.max_grad_norm) for g in self.optimizer.param_groups]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        record = Record()
        record.add(policy_loss.loss, (logp - rows.logp_old)[rows.mask > 0], policy_loss.metrics)
        record.grad_norm = float(norms[0])
        return record, float(regression.detach())


def require_known(config: TrainConfig) -> None:
    """ValueError for settings that PPO here would silently ignore."""
    usual = TrainConfig()
    changed = [name for name in UNUSED if getattr(config, name) != getattr(usual, name)]
    if changed:
        raise ValueError(f"train_ppo has no {', '.join(changed)}; leave them at their defaults, or use `train`")
