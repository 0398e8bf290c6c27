"""The "update" of the loop: rollouts and advantages in, moved weights and their metrics out."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from .config import TrainConfig
from .logprobs import TokenScores, token_logprobs
from .losses import kl_penalty
from .methods import Method
from .policies import Policy
from .rollouts import Rollouts


@dataclass
class Batch:
    """Rows of a rollout as the loss needs them: prompts (B, S), the rest (B, T), advantages (B,).

    mask leaves out completions without a reward, and truncated ones if the settings say so.
    """

    prompt_ids: Tensor
    prompt_mask: Tensor
    completion_ids: Tensor
    mask: Tensor
    logp_old: Tensor
    advantages: Tensor
    logp_ref: Tensor | None = None

    def __len__(self) -> int:
        return len(self.advantages)

    def take(self, rows: Tensor) -> Batch:
        """These rows, in this order."""
        return Batch(**{key: None if t is None else t[rows] for key, t in vars(self).items()})

    def trimmed(self) -> tuple[Batch, int]:
        """Without the columns in which every row is padding, and the number of completion columns left."""
        skip = int((self.prompt_mask == 0).sum(1).min())
        T = max(1, int(self.lengths.max()))
        prompts = {"prompt_ids": self.prompt_ids[:, skip:], "prompt_mask": self.prompt_mask[:, skip:]}
        rest = {
            key: None if (t := getattr(self, key)) is None else t[:, :T]
            for key in ("completion_ids", "mask", "logp_old", "logp_ref")
        }
        return Batch(**prompts, **rest, advantages=self.advantages), T

    @property
    def lengths(self) -> Tensor:
        """Columns up to the last kept token of each row: (B,)."""
        columns = torch.arange(1, self.mask.shape[1] + 1, device=self.mask.device)
        return ((self.mask > 0) * columns).amax(1)


class Reference:
    """The initial policy, for the KL penalty: the base with adapters off, or a frozen copy where there are none."""

    def __init__(self, model):
        self.shared = hasattr(model, "disable_adapter")
        self.model = model if self.shared else copy.deepcopy(model).requires_grad_(False)

    @contextmanager
    def active(self):
        """The model that plays the reference."""
        if self.shared:
            with self.model.disable_adapter():
                yield self.model
        else:
            yield self.model


class Updater:
    """Owns the optimizer and makes the minibatch updates of one rollout."""

    def __init__(
        self,
        policy: Policy,
        method: Method,
        config: TrainConfig,
        reference: Reference | None,
        max_new_tokens: int,
    ):
        self.model, self.method, self.config, self.reference = policy.model, method, config, reference
        self.max_length = max_new_tokens
        self.parameters = [p for p in policy.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=config.learning_rate, weight_decay=0.0)
        self.recompute = config.old_logp == "recompute" or (
            config.old_logp == "auto" and next(policy.model.parameters()).dtype != torch.float32
        )
        if config.gradient_checkpointing:
            policy.model.gradient_checkpointing_enable()

    def update(self, rollouts: Rollouts, rewards: Tensor, advantages: Tensor, step: int) -> dict[str, float]:
        """Several optimizer steps on one rollout. rewards, advantages (P, G). Returns the metrics of the updates.

        Stops before the optimizer step, with the weights as they were, if loss or gradient are not finite.
        """
        self.model.train()
        batch = self._batch(rollouts, rewards, advantages)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * min(1.0, step / max(1, self.config.warmup_steps))
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + step)
        records: list[dict[str, float]] = []
        for _ in range(self.config.epochs):
            for rows in torch.randperm(len(batch), generator=generator).chunk(self.config.minibatches):
                minibatch = batch.take(rows.to(batch.mask.device))
                for parts in self.method.prepare(
                    minibatch.mask, minibatch.logp_old, lambda m=minibatch: self._scores(m)
                ):
                    records.append(self._optimizer_step(minibatch, parts))
                    if not (records[-1]["grad_norm"] < float("inf") and abs(records[-1]["loss"]) < float("inf")):
                        return self._summary(records)
        self.model.eval()
        return self._summary(records)

    def _optimizer_step(self, minibatch: Batch, parts: dict[str, Tensor]) -> dict[str, float]:
        """One update of the weights on a minibatch, in micro-batches that add up to it exactly."""
        n_sequences, n_tokens = self.method.counts(parts["mask"])
        metrics: list[tuple[int, dict[str, float]]] = []
        loss, gap = 0.0, 0.0
        for rows in self._micro_batches(minibatch, parts["mask"]):
            micro, T = minibatch.take(rows).trimmed()
            piece = {key: tensor[rows, :T] for key, tensor in parts.items()}
            scores = self._forward(self.model, micro, T, piece["mask"])
            result = self.method.loss(
                scores.logp,
                micro.logp_old,
                micro.advantages,
                **piece,
                **self._needed(scores, micro),
                **self.method.options,
                n_sequences=n_sequences,
                n_tokens=n_tokens,
            )
            total = result.loss
            if self.reference:
                penalty = kl_penalty(
                    scores.logp,
                    micro.logp_ref,
                    piece["mask"],
                    estimator=self.config.kl_estimator,
                    n_sequences=n_sequences,
                )
                total = total + self.config.kl_beta * penalty
                result.metrics["kl_reference"] = float(penalty.detach())
            total.backward()
            loss += float(total.detach())
            gap = max(gap, float(((scores.logp.detach() - micro.logp_old).abs() * (piece["mask"] > 0)).max()))
            metrics.append((int(piece["mask"].sum()), result.metrics))
        grad_norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm))
        if grad_norm < float("inf") and abs(loss) < float("inf"):
            self._step_optimizer()
        self.optimizer.zero_grad(set_to_none=True)
        return {"loss": loss, "grad_norm": grad_norm, "gap": gap, **merged(metrics)}

    def _step_optimizer(self) -> None:
        """AdamW moves on its momentum even where a minibatch of dead groups has no gradient, so give it zeros."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.optimizer.step()

    def _micro_batches(self, minibatch: Batch, mask: Tensor):
        """Row indices of each forward, sorted by length so that little of it is padding.

        Rows that cannot contribute to the gradient (nothing kept, or advantage 0 and no KL term) are left out.
        """
        live = mask.bool().any(1)
        if not self.reference:
            live &= minibatch.advantages != 0
        rows = live.nonzero()[:, 0]
        rows = rows[minibatch.lengths[rows].argsort(stable=True)]
        return rows.split(self.config.micro_batch or max(1, len(rows))) if len(rows) else ()

    def _needed(self, scores: TokenScores, micro: Batch) -> dict:
        """What this method's loss asks for by keyword."""
        known = {
            "chosen_logits": lambda: scores.chosen_logit,
            "entropy": lambda: scores.entropy,
            "prob_old": lambda: micro.logp_old.exp(),
            "max_length": lambda: self.max_length,
        }
        return {name: known[name]() for name in self.method.needs}

    def _batch(self, rollouts: Rollouts, rewards: Tensor, advantages: Tensor) -> Batch:
        keep = ~rewards.flatten().isnan()
        if self.config.mask_truncated:
            keep &= rollouts.finished.cpu()
        device = rollouts.mask.device
        batch = Batch(
            prompt_ids=rollouts.prompt_ids,
            prompt_mask=rollouts.prompt_mask,
            completion_ids=rollouts.completion_ids,
            mask=rollouts.mask * keep.to(device)[:, None],
            logp_old=rollouts.logp,
            advantages=advantages.flatten().to(device),
        )
        if self.recompute:
            batch.logp_old = self._scores(batch).logp
        if self.reference:
            with self.reference.active() as model:
                batch.logp_ref = self._scores(batch, model).logp
        return batch

    @torch.no_grad()
    def _scores(self, batch: Batch, model=None) -> TokenScores:
        """TokenScores of all rows, each tensor (B, T), computed in micro-batches."""
        outputs = [torch.zeros_like(batch.logp_old) for _ in TokenScores._fields]
        for rows in torch.arange(len(batch), device=batch.mask.device).split(self.config.micro_batch or len(batch)):
            micro, T = batch.take(rows).trimmed()
            for output, values in zip(outputs, self._forward(model or self.model, micro, T, micro.mask), strict=True):
                output[rows, :T] = values
        return TokenScores(*outputs)

    def _forward(self, model, micro: Batch, T: int, mask: Tensor) -> TokenScores:
        ids = torch.cat([micro.prompt_ids, micro.completion_ids], 1)
        attention_mask = torch.cat([micro.prompt_mask, torch.ones_like(micro.completion_ids)], 1)
        return token_logprobs(model, ids, attention_mask, T, mask=mask, temperature=self.config.temperature)

    def _summary(self, records: list[dict[str, float]]) -> dict[str, float]:
        """One row for the log. log_ratio_*: over all live tokens of all updates (q01, q99: of the last update)."""
        mean = lambda key: sum(r.get(key, 0.0) for r in records) / len(records)  # noqa: E731
        row = {
            "loss": mean("loss"),
            "grad_norm": mean("grad_norm"),
            "grad_norm_max": max(r["grad_norm"] for r in records),
            "log_ratio_min": min(r["log_ratio_min"] for r in records),
            "log_ratio_max": max(r["log_ratio_max"] for r in records),
            "log_ratio_q01": records[-1]["log_ratio_q01"],
            "log_ratio_q99": records[-1]["log_ratio_q99"],
            "clip_fraction": mean("clip_fraction"),
            "approx_kl": mean("approx_kl"),
            "sampler_gap": records[0]["gap"],
            "learning_rate": self.optimizer.param_groups[0]["lr"],
        }
        for extra in ("kl_reference", "mean_weight"):
            if any(extra in r for r in records):
                row[extra] = mean(extra)
        return row


def merged(metrics: list[tuple[int, dict[str, float]]]) -> dict[str, float]:
    """Metrics of a minibatch from those of its micro-batches (tokens, metrics): extremes, and means by token.

    A minibatch without live rows has ratio 1 and changes nothing.
    """
    if not metrics:
        return {
            "log_ratio_min": 0.0,
            "log_ratio_max": 0.0,
            "log_ratio_q01": 0.0,
            "log_ratio_q99": 0.0,
            "clip_fraction": 0.0,
            "approx_kl": 0.0,
        }
    tokens = sum(n for n, _ in metrics)
    mean = lambda key: sum(n * m[key] for n, m in metrics) / tokens  # noqa: E731
    log = lambda value: float(torch.tensor(value).log())  # noqa: E731
    row = {key: mean(key) for key in ("clip_fraction", "approx_kl", "log_ratio_q01", "log_ratio_q99")}
    row["log_ratio_min"] = log(min(m["ratio_min"] for _, m in metrics))
    row["log_ratio_max"] = log(max(m["ratio_max"] for _, m in metrics))
    if "mean_weight" in metrics[0][1]:
        row["mean_weight"] = mean("mean_weight")
    if "kl_reference" in metrics[0][1]:
        row["kl_reference"] = sum(m["kl_reference"] for _, m in metrics)
    return row
