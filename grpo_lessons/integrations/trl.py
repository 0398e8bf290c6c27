"""The methods of this package in TRL's trainer: `MethodGRPOTrainer(model, reward_funcs, args, method="gmpo", ...)`.

TRL samples (also through vLLM), scores, logs, saves, and hands the model to accelerate: DDP, FSDP, DeepSpeed. The rule
of the advantages, the weights of the tokens and the loss come from `methods`.

What stays TRL's way, and differs from `trainer.train`:
- eps of the advantages is 1e-4 (here 1e-6);
- a completion without a reward has advantage 0 but counts in the means (here its row is masked);
- a truncated completion that is masked also leaves the attention (here the loss only, with the same gradient);
- rows with advantage 0 take their forward like all others, and rows of all lengths share one padded forward.
The KL penalty is the plain k3 of `losses`, without TRL's factor for the ratio.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer
from trl import __version__ as trl_version

from grpo_lessons.logprobs import TokenScores, plain_scores
from grpo_lessons.losses import kl_penalty
from grpo_lessons.methods import get_method

from .trl_refusals import SCALE_REWARDS, require_hooks, require_supported


class MethodGRPOTrainer(GRPOTrainer):
    """TRL's GRPOTrainer with a method of this package.

    args: as for GRPOTrainer; its settings of the stock losses must be left alone, and `loss_type` is not looked at.
        gradient_accumulation_steps * per_device_train_batch_size * processes rows are one optimizer batch:
        the denominators of the loss are those of all its rows, wherever they were computed.
    method, method_options: as in TrainConfig.
    Raises ValueError for a setting, a method or a version of TRL with which the loss would not be the method's.
    """

    def __init__(
        self,
        model,
        reward_funcs,
        args: GRPOConfig,
        *,
        method: str = "grpo",
        method_options: dict | None = None,
        **others,
    ):
        self.method = get_method(method, **(method_options or {}))
        require_hooks(GRPOTrainer, trl_version)
        require_supported(self.method, args)
        args = copy.copy(args)
        args.loss_type, args.scale_rewards = "grpo", SCALE_REWARDS[self.method.advantage_std]
        super().__init__(model, reward_funcs, args, **others)
        if getattr(self, "aux_loss_enabled", False):
            raise ValueError("the auxiliary loss of a mixture of experts is not added here; set router_aux_loss_coef=0")

    def _prepare_inputs(self, generation_batch):
        """TRL's micro-batch; at the first one of an optimizer step, what must see the whole optimizer batch."""
        inputs = super()._prepare_inputs(generation_batch)
        if not self.model.training:
            self._open_batch([inputs])
        else:
            index, length = self._step % self.args.steps_per_generation, self.args.gradient_accumulation_steps
            if index % length == 0:
                self._open_batch(self._buffered_inputs[index : index + length])
        return inputs

    def _open_batch(self, parts: list[dict]) -> None:
        """Give every micro-batch of an optimizer batch its token weights and the denominators of all of them."""
        mask = torch.cat([kept_tokens(part) for part in parts])
        (plan,) = self.method.prepare(mask, torch.empty(0), lambda: self._scores_of(parts))
        counts = torch.tensor(self.method.counts(plan["mask"]), device=mask.device)
        n_sequences, n_tokens = self.accelerator.reduce(counts, reduction="sum").tolist()
        sizes = [len(part["completion_ids"]) for part in parts]
        pieces = zip(*(tensor.split(sizes) for tensor in plan.values()), strict=True)
        for part, tensors in zip(parts, pieces, strict=True):
            part["of_method"] = dict(zip(plan, tensors, strict=True))
            part["denominators"] = {"n_sequences": n_sequences, "n_tokens": n_tokens}

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The method's loss of a micro-batch. Summed over the optimizer batch it is the loss of the whole."""
        scores = self._scores(model, inputs)
        logp_old = inputs.get("old_per_token_logps")
        logp_old = scores.logp.detach() if logp_old is None else logp_old
        of_method, denominators = inputs["of_method"], inputs["denominators"]
        loss, metrics = self.method.loss(
            scores.logp,
            logp_old,
            inputs["advantages"],
            **of_method,
            **self._needed(scores, logp_old),
            **self.method.options,
            **denominators,
        )
        if self.beta != 0.0:
            penalty = kl_penalty(
                scores.logp,
                inputs["ref_per_token_logps"],
                of_method["mask"],
                n_sequences=denominators["n_sequences"],
            )
            loss = loss + self.beta * penalty
            metrics["kl"] = float(penalty.detach())
        self._log_method(metrics, scores.entropy, of_method["mask"])
        # Processes average their gradients; the denominators above want the sum.
        return loss * self.accelerator.num_processes

    def _needed(self, scores: TokenScores, logp_old: Tensor) -> dict:
        known = {
            "chosen_logits": lambda: scores.chosen_logit,
            "entropy": lambda: scores.entropy,
            "prob_old": lambda: logp_old.exp(),
            "max_length": lambda: self.max_completion_length,
        }
        return {name: known[name]() for name in self.method.needs}

    def _scores(self, model, inputs: dict) -> TokenScores:
        """Log-probabilities (with gradient), chosen logits and entropies, each (B, T), of a micro-batch.

        TRL's own forward where that is enough. It keeps no logits, so GRPO-SG, which needs the chosen one, calls the
        model itself and holds (B, T, V) logits: with a large vocabulary take a small micro-batch.
        """
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        attention_mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        T = inputs["completion_ids"].shape[1]
        if "chosen_logits" not in self.method.needs:
            score = self._get_per_token_logps_and_entropies
            logp, entropy = score(model, ids, attention_mask, T, compute_entropy=True)[:2]
            return TokenScores(logp, torch.empty(0), entropy)
        with self.accelerator.autocast():
            logits = model(input_ids=ids, attention_mask=attention_mask, logits_to_keep=T + 1, use_cache=False).logits
        logits = logits[:, :-1].float()
        values = plain_scores(logits.flatten(0, 1), inputs["completion_ids"].flatten(), self.temperature)
        return TokenScores(*(value.view(-1, T) for value in values))

    @torch.no_grad()
    def _scores_of(self, parts: list[dict]) -> TokenScores:
        scores = [self._scores(self.model, part) for part in parts]
        return TokenScores(*map(torch.cat, zip(*scores, strict=True)))

    def _log_method(self, metrics: dict, entropy: Tensor, mask: Tensor) -> None:
        """Metrics over all processes: means weighted by tokens, extremes as they are."""
        n = int(mask.sum())
        metrics = {**metrics, "entropy": float((entropy.detach() * mask).sum()) / max(n, 1)}
        extremes = {"ratio_min": torch.amin, "ratio_max": torch.amax}
        values = torch.tensor([n, *metrics.values()], dtype=torch.float64, device=mask.device)
        counts, *columns = self.accelerator.gather(values[None]).T
        mode = "train" if self.model.training else "eval"
        for name, column in zip(metrics, columns, strict=True):
            reduce = extremes.get(name, lambda c: (c * counts).sum() / counts.sum().clamp(min=1))
            self._metrics[mode][name].append(float(reduce(column)))


def kept_tokens(inputs: dict) -> Tensor:
    """(B, T): 1 on the tokens that the policy wrote and that are not masked as truncated."""
    mask = inputs["completion_mask"]
    return mask * inputs["tool_mask"] if "tool_mask" in inputs else mask
