"""Our losses in verl's registry against verl's own functions; runs where verl is installed (make test-verl)."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

verl = pytest.importorskip("verl", reason="verl is not installed: make test-verl")

from omegaconf import OmegaConf  # noqa: E402
from tensordict import TensorDict  # noqa: E402
from verl.trainer.ppo import core_algos  # noqa: E402
from verl.utils import tensordict_utils as tu  # noqa: E402
from verl.workers.config import ActorConfig  # noqa: E402
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead  # noqa: E402
from verl.workers.utils import losses as verl_losses  # noqa: E402

from grpo_lessons.integrations import verl as ours  # noqa: E402
from grpo_lessons.losses import grpo_sg_loss  # noqa: E402
from grpo_lessons.methods import get_method  # noqa: E402
from grpo_lessons.tasks import get_task  # noqa: E402

ours.register()


def actor(**changes):
    settings = {"strategy": "fsdp", "rollout_n": 4, "ppo_micro_batch_size_per_gpu": 2, "clip_ratio": 0.2}
    return ActorConfig(**{**settings, **changes})


def batch(seed=0, B=6, T=9, spread=0.3):
    g = torch.Generator().manual_seed(seed)
    old = -3 * torch.rand(B, T, generator=g)
    new = (old + spread * torch.randn(B, T, generator=g)).requires_grad_()
    mask = (torch.arange(T) < torch.randint(1, T + 1, (B, 1), generator=g)).long()
    return new, old, torch.randn(B, 1, generator=g) * mask, mask


def assert_same(one, other, new):
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    gradients = [torch.autograd.grad(loss, new, retain_graph=True)[0] for loss in (one, other)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-5)
    assert gradients[0].abs().max() > 1e-3


def registered(name, *tensors, config=None, **others):
    loss = core_algos.get_policy_loss_fn(f"lessons_{name}")
    new, old, advantages, mask = tensors
    return loss(old_log_prob=old, log_prob=new, advantages=advantages, response_mask=mask, config=config, **others)


@pytest.mark.parametrize("seed", range(3))
def test_grpo_is_vanilla_without_its_second_clip(seed):
    new, old, A, mask = tensors = batch(seed)
    config = actor(clip_ratio_c=1e6)
    theirs, metrics = core_algos.get_policy_loss_fn("vanilla")(
        old_log_prob=old, log_prob=new, advantages=A, response_mask=mask,
        loss_agg_mode="seq-mean-token-mean", config=config,
    )  # fmt: skip
    mine, my_metrics = registered("grpo", *tensors, config=config)
    assert_same(mine, theirs, new)
    assert my_metrics["actor/pg_clipfrac"] == pytest.approx(metrics["actor/pg_clipfrac"], abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_gmpo_is_geo_mean_on_one_micro_batch(seed):
    new, old, A, mask = tensors = batch(seed, spread=0.6)
    config = actor(clip_ratio_low=0.4, clip_ratio_high=0.4)
    theirs, _ = core_algos.get_policy_loss_fn("geo_mean")(
        old_log_prob=old, log_prob=new, advantages=A, response_mask=mask, config=config
    )
    assert_same(registered("gmpo", *tensors, config=config)[0], theirs, new)


def test_dapo_is_vanilla_with_the_token_mean():
    new, old, A, mask = tensors = batch()
    config = actor(clip_ratio_low=0.2, clip_ratio_high=0.28, clip_ratio_c=1e6)
    theirs, _ = core_algos.get_policy_loss_fn("vanilla")(
        old_log_prob=old, log_prob=new, advantages=A, response_mask=mask, loss_agg_mode="token-mean", config=config
    )
    assert_same(registered("dapo", *tensors, config=config)[0], theirs, new)


@pytest.mark.parametrize("name", ["gmpo", "grpo", "dapo"])
def test_micro_batches_of_two_processes_add_up_to_the_mini_batch(name):
    tensors = batch()
    new, mask = tensors[0], tensors[-1]
    whole, _ = registered(name, *tensors, config=actor())
    config = actor()
    config.global_batch_info.update(dp_size=2, global_batch_size=6, batch_num_tokens=int(mask.sum()))
    parts = [registered(name, *(t[rows] for t in tensors), config=config)[0] for rows in (slice(0, 1), slice(1, 6))]
    assert_same(sum(parts) / 2, whole, new)  # verl averages over its two processes


def test_verls_geo_mean_depends_on_the_split():
    """What the loss above avoids; if verl mends it, this fails and the docstring is to be changed."""
    new, old, A, mask = batch()
    theirs = core_algos.get_policy_loss_fn("geo_mean")
    config = actor()
    config.global_batch_info.update(dp_size=1, global_batch_size=6, batch_num_tokens=int(mask.sum()))
    call = lambda rows: theirs(  # noqa: E731
        old_log_prob=old[rows], log_prob=new[rows], advantages=A[rows], response_mask=mask[rows], config=config
    )[0]
    assert not torch.isclose(call(slice(0, 1)) + call(slice(1, 6)), call(slice(0, 6)), atol=1e-3)


def test_grpo_sg_without_logits_says_what_to_switch():
    with pytest.raises(ValueError, match="use_fused_kernels=False"):
        registered("grpo_sg", *batch(), config=actor())


def test_a_rollout_correction_is_refused():
    with pytest.raises(ValueError, match="switch rollout_correction off"):
        registered("gmpo", *batch(), config=actor(), rollout_is_weights=torch.ones(6, 9))


@pytest.mark.parametrize("name", ["lopti", "high_entropy"])
def test_what_a_micro_batch_cannot_tell_is_refused(name):
    with pytest.raises(ValueError, match="one at a time"):
        ours.policy_loss(get_method(name))


def nested(rows):
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_grpo_sg_gets_the_raw_logits_of_the_chosen_tokens(packed, temperature):
    """verl's own functions from logits to the loss, on three sequences of different lengths."""
    g = torch.Generator().manual_seed(0)
    prompts, responses, V = [3, 2, 4], [5, 3, 1], 11
    ids = [torch.randint(V, (p + r,), generator=g) for p, r in zip(prompts, responses, strict=True)]
    logits = [5 * torch.randn(len(row), V, generator=g) for row in ids]
    flat, offsets = torch.cat(logits), nested(ids).offsets()
    data = TensorDict(
        {
            "input_ids": nested(ids),
            "prompts": nested([row[:p] for row, p in zip(ids, prompts, strict=True)]),
            "responses": nested([row[p:] for row, p in zip(ids, prompts, strict=True)]),
            "response_mask": nested([torch.ones(r) for r in responses]),
            "old_log_probs": nested([torch.full((r,), -1.0) for r in responses]),
            "advantages": nested([torch.full((r,), a) for r, a in zip(responses, (1.0, -0.5, 0.3), strict=True)]),
        },
        batch_size=3,
    )
    tu.assign_non_tensor(data, use_remove_padding=packed, dp_size=1, batch_num_tokens=9, global_batch_size=3)
    arguments = {
        "input_ids_rmpad_rolled": torch.roll(torch.cat(ids), -1),
        "temperature": torch.full((3,), temperature),
        "temperature_rmpad": torch.full((len(flat),), temperature),
        "pad_size": 0,
    }
    whole = flat[None] if packed else torch.nn.utils.rnn.pad_sequence(logits, batch_first=True)
    engine = object.__new__(FSDPEngineWithLMHead)
    engine.use_ulysses_sp = False
    output = engine.prepare_model_outputs(SimpleNamespace(logits=whole.clone()), arguments, data, None)
    loss, _ = verl_losses.ppo_loss(actor(policy_loss={"loss_mode": "lessons_grpo_sg"}), output, data)

    T = max(responses)
    logp, chosen, mask = torch.zeros(3, T), torch.zeros(3, T), torch.zeros(3, T)
    for i, (p, r) in enumerate(zip(prompts, responses, strict=True)):
        z, y = logits[i][p - 1 : p + r - 1], ids[i][p:]
        logp[i, :r] = (z / temperature).log_softmax(-1).gather(1, y[:, None])[:, 0]
        chosen[i, :r], mask[i, :r] = z.gather(1, y[:, None])[:, 0], 1
    A = torch.tensor([1.0, -0.5, 0.3])
    expected = grpo_sg_loss(logp, torch.full((3, T), -1.0), A, mask, chosen).loss
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-5)
    plain = grpo_sg_loss(logp, torch.full((3, T), -1.0), A, mask, torch.zeros(3, T)).loss
    assert abs(float(expected - plain)) > 1e-3
    assert offsets[-1] == 18


def test_rows_are_graded_by_the_task_that_made_them():
    task = get_task("addition")
    row, other = ours.rows(task, "dev", 2, 3)
    right = f"<answer>{row['reward_model']['ground_truth']}</answer>"
    grade = lambda text, r: ours.compute_score(  # noqa: E731
        r["data_source"], text, r["reward_model"]["ground_truth"], r["extra_info"]
    )
    assert (grade(right, row), grade(right, other)) == (1.0, 0.0)


def test_options_of_the_recipe_are_verls():
    """Each key of recipes/verl_qwen2.5_7b/run.sh stands in the configuration that verl ships."""
    root = Path(__file__).parents[2]
    script = (root / "recipes" / "verl_qwen2.5_7b" / "run.sh").read_text(encoding="utf-8")
    keys = re.findall(r"^\s+([a-z_.]+)=", script, re.MULTILINE)
    config = OmegaConf.load(Path(verl.__file__).parent / "trainer" / "config" / "_generated_ppo_trainer.yaml")
    known = OmegaConf.to_container(config)
    assert len(keys) > 20
    for key in keys:
        place = known
        for name in key.split("."):
            assert name in place, key
            place = place[name]


def test_pool_of_the_recipe_is_large_enough():
    assert len(ours.rows(get_task("word_problems"), "train", 4096, 0)) == 4096
