"""The methods of this package as policy losses of verl, and its tasks as verl's data and rewards.

    actor_rollout_ref.model.external_lib=grpo_lessons.integrations.verl_losses     every worker imports it
    actor_rollout_ref.actor.policy_loss.loss_mode=lessons_gmpo                or another of NAMES

verl hands a policy loss log-probabilities only. GRPO-SG needs the logit of the chosen token, so two functions of verl
are wrapped: the one that turns logits into log-probabilities keeps the chosen logits beside them, and the one that
calls the loss hands them on. Both are looked up at `register()`, which names what is missing in another version.

Differs from verl's own losses: GMPO's mean runs over the sequences of the whole mini-batch (`global_batch_size`), so a
split into micro-batches changes nothing (verl's "geo_mean" takes the mean of each micro-batch); the negative side has
no second clip ("dual clip"); no factor for the mismatch of sampler and trainer, which is refused by name.
"""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grpo_lessons.methods import Method, get_method
from grpo_lessons.tasks import Problem, Task

METHODS = ("grpo", "gmpo", "grpo_sg", "dapo", "gspo")
NAMES = tuple(f"lessons_{name}" for name in METHODS)
_chosen_logits: contextvars.ContextVar[Tensor | None] = contextvars.ContextVar("chosen_logits", default=None)


def register(**options: dict[str, Any]) -> None:
    """Add the losses to verl's registry and give them the chosen logits.

    options: for each method, changed settings: register(grpo_sg={"tau": 4.0}). Call it from a module of your own and
    name that one in external_lib. Raises ImportError if verl is missing or has moved what is wrapped.
    """
    try:
        from verl.trainer.ppo.core_algos import register_policy_loss
        from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
        from verl.workers.utils import losses

        outputs, loss = FSDPEngineWithLMHead.prepare_model_outputs, losses.ppo_loss
    except (ImportError, AttributeError) as error:
        raise ImportError(f"this needs verl 0.9 (pip install verl==0.9.1), with what it wraps: {error}") from error
    for name in METHODS:
        register_policy_loss(f"lessons_{name}")(policy_loss(get_method(name, **options.get(name, {}))))
    if not hasattr(outputs, "keeps_chosen_logits"):
        FSDPEngineWithLMHead.prepare_model_outputs = keeping_chosen_logits(outputs)
        losses.ppo_loss = handing_chosen_logits(loss)
        if workers := sys.modules.get("verl.workers.engine_workers"):  # it has imported the name already
            workers.ppo_loss = losses.ppo_loss


def policy_loss(method: Method) -> Callable[..., tuple[Tensor, dict[str, float]]]:
    """A method's loss with verl's signature. ValueError where verl asks for what the method does not do."""
    if method.updates > 1 or (method.plan and method.options.get("normalize", True)):
        raise ValueError(f"{method.name} needs more than one micro-batch can tell; verl's losses see one at a time")

    def loss(
        old_log_prob, log_prob, advantages, response_mask, loss_agg_mode=None, config=None, rollout_is_weights=None
    ):
        if rollout_is_weights is not None:
            raise ValueError(f"{method.name} carries no rollout correction; switch rollout_correction off")
        info = dict(getattr(config, "global_batch_info", None) or {})
        mask = response_mask.to(log_prob.dtype)
        one_each = (advantages * mask).sum(1) / mask.sum(1).clamp(min=1)  # verl repeats it over the tokens
        value, metrics = method.loss(
            log_prob,
            old_log_prob,
            one_each,
            mask,
            **needed(method, old_log_prob),
            **method.options,
            n_sequences=info.get("global_batch_size") or None,
            n_tokens=info.get("batch_num_tokens") or None,
        )
        names = {"clip_fraction": "actor/pg_clipfrac", "approx_kl": "actor/ppo_kl"}
        return value * (info.get("dp_size") or 1), {names.get(k, f"actor/{k}"): v for k, v in metrics.items()}

    loss.__name__ = f"lessons_{method.name}"
    return loss


def needed(method: Method, old_log_prob: Tensor) -> dict[str, Tensor]:
    """What the loss takes by keyword besides."""
    known = {"chosen_logits": _handed, "prob_old": lambda: old_log_prob.exp()}
    return {name: known[name]() for name in method.needs}


def _handed() -> Tensor:
    logits = _chosen_logits.get()
    if logits is None:
        raise ValueError(
            "grpo_sg needs the logits of the chosen tokens, and none were kept: use the FSDP engine, "
            "with use_fused_kernels=False"
        )
    return logits


def keeping_chosen_logits(prepare: Callable) -> Callable:
    """FSDPEngineWithLMHead.prepare_model_outputs that adds "chosen_logits", a nested tensor like "log_probs"."""

    @functools.wraps(prepare)
    def wrapped(self, output, output_args, micro_batch, logits_processor_func):
        chosen = None
        if getattr(output, "logits", None) is not None:
            chosen = chosen_logits(self, output.logits, output_args, micro_batch)
        result = prepare(self, output, output_args, micro_batch, logits_processor_func)
        return result if chosen is None else {**result, "chosen_logits": chosen}

    wrapped.keeps_chosen_logits = True
    return wrapped


@torch.no_grad()
def chosen_logits(engine, logits: Tensor, output_args: dict, micro_batch) -> Tensor:
    """The raw logit of each next token, nested by sequence, in the layout of verl's log-probabilities."""
    if hasattr(logits, "full_tensor"):
        logits = logits.full_tensor()
    offsets, labels = micro_batch["input_ids"].offsets(), output_args["input_ids_rmpad_rolled"]
    packed = logits.shape[0] == 1 and logits.shape[1] == labels.numel()
    if not packed:  # one row a sequence, padded on the right
        lengths = offsets.diff().tolist()
        logits = torch.cat([row[:length] for row, length in zip(logits, lengths, strict=True)])
    values = logits.reshape(-1, logits.shape[-1]).gather(-1, labels.reshape(-1, 1))[:, 0]
    if packed:
        values = engine._gather_and_unpad_packed(values, output_args["pad_size"])
    return torch.nested.nested_tensor_from_jagged(values.float(), offsets)


def handing_chosen_logits(ppo_loss: Callable) -> Callable:
    """verl's ppo_loss that lets the policy loss see the chosen logits of its micro-batch, (rows, response length)."""
    from verl.workers.utils.padding import no_padding_2_padding

    @functools.wraps(ppo_loss)
    def wrapped(config, model_output, data, dp_group=None):
        chosen = model_output.get("chosen_logits")
        token = _chosen_logits.set(None if chosen is None else no_padding_2_padding(chosen, data))
        try:
            return ppo_loss(config, model_output, data, dp_group)
        finally:
            _chosen_logits.reset(token)

    return wrapped


def rows(task: Task, split: str, n: int, seed: int) -> list[dict[str, Any]]:
    """n problems as rows of a parquet file for verl, to be graded by `compute_score`.

    pandas.DataFrame(rows(task, "train", 1000, 0)).to_parquet("train.parquet")
    """
    return [
        {
            "data_source": task.name,
            "prompt": problem.prompt,
            "reward_model": {"style": "rule", "ground_truth": str(problem.answer)},
            "extra_info": {"split": split, "n": n, "seed": seed, "index": index},
        }
        for index, problem in enumerate(task.problems(split, n, seed))
    ]


@functools.lru_cache(maxsize=16)
def _problems(name: str, split: str, n: int, seed: int) -> tuple[Task, list[Problem]]:
    from grpo_lessons.tasks import get_task

    task = get_task(name)
    return task, task.problems(split, n, seed)


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict, **_: Any) -> float:
    """verl's custom reward function: the verdict of the task on one completion.

    The row names its problem by split, number and seed; it is drawn again here, so any task of the library works.
    """
    at = extra_info
    task, problems = _problems(data_source, at["split"], int(at["n"]), int(at["seed"]))
    return task.verify(solution_str, problems[int(at["index"])]).reward
