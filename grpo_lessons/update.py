"""The "update" of the loop: rollouts and advantages in, moved weights and their metrics out."""

from __future__ import annotations

import math
from contextlib import contextmanager

import torch
from torch import Tensor

from .batch import Batch
from .config import TrainConfig
from .logprobs import TokenScores, token_logprobs
from .loss_scale import loss_scale, unscale
from .losses import kl_penalty
from .methods import get_method
from .packed import packable, packed_logprobs
from .policies import Policy
from .rollouts import Rollouts
from .rundir import TrainingError
from .update_record import Record, summary


class Reference:
    """The initial policy, for the KL penalty: a copy of the weights that training moves, put back for a moment."""

    def __init__(self, parameters: list[torch.nn.Parameter]):
        self.parameters = parameters
        self.initial = [p.detach().clone() for p in parameters]

    @contextmanager
    def active(self):
        """The model is the initial policy inside this block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for i, parameter in enumerate(self.parameters):
            parameter.data, self.initial[i] = self.initial[i], parameter.data


class Updater:
    """Owns the optimizer and makes the minibatch updates of one rollout."""

    def __init__(self, policy: Policy, config: TrainConfig, max_new_tokens: int):
        self.model, self.config, self.max_new_tokens = policy.model, config, max_new_tokens
        self.method = get_method(config.method, **config.method_options)
        self.parameters = [p for p in policy.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=config.learning_rate, weight_decay=0.0, fused=True)
        self.reference = Reference(self.parameters) if config.kl_beta else None
        number = next(policy.model.parameters()).dtype
        self.scale = loss_scale(number)
        self.recompute = config.old_logp == "recompute" or (config.old_logp == "auto" and number != torch.float32)
        self.packed = packable(policy)
        if config.gradient_checkpointing and not self.packed:
            policy.model.gradient_checkpointing_enable({"use_reentrant": False})

    def update(self, rollouts: Rollouts, rewards: Tensor, advantages: Tensor, step: int) -> dict[str, float]:
        """Several optimizer steps on one rollout. rewards, advantages (P, G). Returns the metrics of the updates.

        Raises TrainingError before an optimizer step whose loss or gradient is not finite, with the weights as they
        were, and after one that made the weights so.
        """
        batch = self._batch(rollouts, rewards, advantages)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate_at(step)
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + step)
        records = []
        for _ in range(self.config.epochs):
            for rows in torch.randperm(len(batch), generator=generator).chunk(self.config.minibatches):
                minibatch = batch.take(rows.to(batch.mask.device))
                for parts in self.method.prepare(
                    minibatch.mask, minibatch.logp_old, lambda m=minibatch: self._scores(m)
                ):
                    record = self._gradient(minibatch, parts)
                    self._require_finite(step, "loss", record.loss, "gradient norm", record.grad_norm)
                    self._step_optimizer()
                    records.append(record)
        weight_norm = float(torch.nn.utils.get_total_norm(self.parameters))
        self._require_finite(step, "norm of the weights", weight_norm)
        return {**summary(records), "weight_norm": weight_norm, "learning_rate": group["lr"]}

    def _gradient(self, minibatch: Batch, parts: dict[str, Tensor]) -> Record:
        """The clipped gradient of a minibatch, from micro-batches that add up to it exactly."""
        n_sequences, n_tokens = self.method.counts(parts["mask"])
        record = Record()
        self.model.train()
        for rows in self._micro_batches(minibatch, parts["mask"]):
            micro, T = minibatch.take(rows).trimmed()
            piece = {key: tensor[rows, :T] for key, tensor in parts.items()}
            scores = self._forward(micro, T, piece["mask"])
            loss, metrics = self.method.loss(
                scores.logp,
                micro.logp_old,
                micro.advantages,
                **piece,
                **self._needed(scores, micro),
                **self.method.options,
                n_sequences=n_sequences,
                n_tokens=n_tokens,
            )
            if self.reference:
                estimator = self.config.kl_estimator
                penalty = kl_penalty(
                    scores.logp, micro.logp_ref, piece["mask"], estimator=estimator, n_sequences=n_sequences
                )
                loss = loss + self.config.kl_beta * penalty
                metrics["kl_reference"] = float(penalty.detach())
            (loss * self.scale).backward()
            record.add(loss, (scores.logp - micro.logp_old)[piece["mask"] > 0], metrics)
        self.model.eval()
        unscale(self.parameters, self.scale)
        record.grad_norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm))
        return record

    def _step_optimizer(self) -> None:
        """AdamW moves on its momentum even where a minibatch of dead groups has no gradient, so give it zeros."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _require_finite(self, step: int, *names_and_values) -> None:
        if not all(map(math.isfinite, names_and_values[1::2])):
            self.optimizer.zero_grad(set_to_none=True)
            pairs = zip(names_and_values[::2], names_and_values[1::2], strict=True)
            raise TrainingError(
                f"step {step} of {self.config.method}: {', '.join(f'{n} {v}' for n, v in pairs)}: not finite. "
                "Nothing was written for this step. Try a smaller learning_rate, or resume from the last checkpoint"
            )

    def _micro_batches(self, minibatch: Batch, mask: Tensor):
        """Row indices of each forward, sorted by length so that little of it is padding.

        Rows that cannot contribute to the gradient (nothing kept, or advantage 0 and no KL term) are left out.
        """
        live = mask.bool().any(1)
        if not self.reference:
            live &= minibatch.advantages != 0
        rows = live.nonzero()[:, 0]
        rows = rows[minibatch.lengths[rows].argsort(stable=True)]
        return rows.split(self.config.micro_batch or len(rows)) if len(rows) else ()

    def _needed(self, scores: TokenScores, micro: Batch) -> dict:
        """What this method's loss asks for by keyword."""
        known = {
            "chosen_logits": lambda: scores.chosen_logit,
            "entropy": lambda: scores.entropy,
            "prob_old": lambda: micro.logp_old.exp(),
            "max_length": lambda: self.max_new_tokens,
        }
        return {name: known[name]() for name in self.method.needs}

    def _batch(self, rollouts: Rollouts, rewards: Tensor, advantages: Tensor) -> Batch:
        device = rollouts.mask.device
        keep = ~rewards.flatten().isnan().to(device)
        if self.config.mask_truncated:
            keep &= rollouts.finished
        batch = Batch(
            prompt_ids=rollouts.prompt_ids,
            prompt_mask=rollouts.prompt_mask,
            groups=torch.arange(len(keep), device=device) // rollouts.group_size,
            completion_ids=rollouts.completion_ids,
            mask=rollouts.mask * keep[:, None],
            logp_old=rollouts.logp,
            advantages=advantages.flatten().to(device),
        )
        if self.recompute:
            batch.logp_old = self._scores(batch).logp
        if self.reference:
            with self.reference.active():
                batch.logp_ref = self._scores(batch).logp
        return batch

    @torch.no_grad()
    def _scores(self, batch: Batch) -> TokenScores:
        """TokenScores of all rows, each tensor (B, T), without dropout, computed in micro-batches."""
        outputs = [torch.zeros_like(batch.logp_old) for _ in TokenScores._fields]
        for rows in torch.arange(len(batch), device=batch.mask.device).split(self.config.micro_batch or len(batch)):
            micro, T = batch.take(rows).trimmed()
            for output, values in zip(outputs, self._forward(micro, T, micro.mask), strict=True):
                output[rows, :T] = values
        return TokenScores(*outputs)

    def _forward(self, micro: Batch, T: int, mask: Tensor) -> TokenScores:
        temperature = self.config.temperature
        if self.packed:
            groups, inverse = micro.groups.unique(return_inverse=True)
            first = torch.empty_like(groups).scatter_(0, inverse, torch.arange(len(micro), device=inverse.device))
            prompts = micro.prompt_ids[first], micro.prompt_mask[first]
            options = {"temperature": temperature, "gradient_checkpointing": self.config.gradient_checkpointing}
            return packed_logprobs(self.model, *prompts, inverse, micro.completion_ids, mask, **options)
        ids = torch.cat([micro.prompt_ids, micro.completion_ids], 1)
        attention_mask = torch.cat([micro.prompt_mask, torch.ones_like(micro.completion_ids)], 1)
        return token_logprobs(self.model, ids, attention_mask, T, mask=mask, temperature=temperature)
