"""Each loss against TRL's own loss method, to 1e-5 in value and gradient.

The trainers' `_compute_loss` runs on a stub that returns our log-probabilities; nothing of it is rewritten here.
TRL 1.16 keeps other conventions than this package; the tests stay where both agree (no fully masked row, beta 0,
one process, no accumulation, eps 1e-4 in the advantages), and this is where they part:

| subject                | TRL 1.16                                     | here                                         |
|------------------------|----------------------------------------------|----------------------------------------------|
| eps of the advantages  | 1e-4                                         | 1e-6                                         |
| equal rewards          | float noise / (noise + 1e-4)                 | exactly 0                                    |
| unscored completion    | advantage 0, its row counts in the means     | advantage 0, the trainer masks its row       |
| fully masked row, GRPO | counts in the mean over sequences            | adds 0, is not counted                       |
| fully masked row, GMPO | ratio 1: adds -A                             | adds 0, is not counted                       |
| masked inf or NaN      | times 0: NaN                                 | removed before exp                           |
| micro-batches          | mean of means (token sum / all: dapo only)   | denominators of the whole optimizer batch    |
| "bnpo"                 | token mean of the micro-batch                | dapo_loss without n_tokens                   |
| "dapo"                 | token sum / tokens of the optimizer batch    | dapo_loss with n_tokens                      |
| GSPO                   | loss_type grpo + importance_sampling_level   | gspo_loss                                    |
| default clip of GSPO   | 0.2, symmetric                               | 3e-4 / 4e-4 (the paper's)                    |
| Dr. GRPO               | scale_rewards="none" is a setting of its own | part of the method: advantage_std="none"     |
| KL                     | inside each loss, k3 of the current policy   | a function of its own, `kl_penalty`          |
| top-entropy tokens     | quantile: ties kept, clears the loss only    | exactly that share, other tokens not counted |
"""

from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch

from grpo_lessons.advantages import group_advantages
from grpo_lessons.losses import dapo_loss, dr_grpo_loss, gmpo_loss, grpo_loss, gspo_loss
from grpo_lessons.weights import high_entropy_mask

trl = pytest.importorskip("trl", reason="trl is not installed: pip install 'grpo-lessons[lab]'")
if not trl.__version__.startswith("1.16."):
    pytest.skip(f"written against trl 1.16, found {trl.__version__}", allow_module_level=True)

from trl.experimental.gmpo import GMPOTrainer  # noqa: E402
from trl.trainer.grpo_trainer import GRPOTrainer  # noqa: E402
from trl.trainer.utils import selective_log_softmax_and_entropy  # noqa: E402


def batch(seed=0, B=6, T=9, spread=0.3):
    g = torch.Generator().manual_seed(seed)
    old = -3 * torch.rand(B, T, generator=g)
    new = (old + spread * torch.randn(B, T, generator=g)).requires_grad_()
    mask = (torch.arange(T) < torch.randint(1, T + 1, (B, 1), generator=g)).long()
    return new, old, torch.randn(B, generator=g), mask


class Stub:
    """What `_compute_loss` reads of a trainer; its log-probabilities are ours."""

    def __init__(self, logp_new, loss_type="grpo", level="token", low=0.2, high=0.2, max_length=16):
        self.logp_new = logp_new
        self.loss_type, self.importance_sampling_level = loss_type, level
        self.epsilon_low, self.epsilon_high, self.max_completion_length = low, high, max_length
        self.args = SimpleNamespace(delta=None, steps_per_generation=1, use_bias_correction_kl=False)
        self.model = SimpleNamespace(training=True)
        self.accelerator = SimpleNamespace(
            num_processes=1, gather=lambda x: x, reduce=lambda x, reduction: x, pad_across_processes=lambda x, **_: x
        )
        self._metrics = {"train": defaultdict(list)}
        self.current_gradient_accumulation_steps = 1
        self.beta, self.top_entropy_quantile, self.off_policy_mask_threshold = 0.0, 1.0, None
        self.use_vllm = self.aux_loss_enabled = self._entropy_bonus_enabled = False

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        return self.logp_new, torch.zeros_like(self.logp_new), None


def trl_loss(trainer, stub, old, advantages, mask):
    inputs = {
        "prompt_ids": torch.zeros(len(mask), 1, dtype=torch.long),
        "prompt_mask": torch.ones(len(mask), 1, dtype=torch.long),
        "completion_ids": torch.zeros_like(mask),
        "completion_mask": mask,
        "advantages": advantages,
        "old_per_token_logps": old,
        "num_items_in_batch": mask.sum(),
    }
    return trainer._compute_loss(stub, None, inputs)


def assert_same(ours, theirs, logp_new):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
    gradients = [torch.autograd.grad(loss, logp_new)[0] for loss in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-5)
    assert gradients[0].abs().max() > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_grpo(seed):
    new, old, A, mask = batch(seed)
    ours = grpo_loss(new, old, A, mask)
    stub = Stub(new)
    assert_same(ours.loss, trl_loss(GRPOTrainer, stub, old, A, mask), new)
    assert stub._metrics["train"]["clip_ratio/region_mean"] == pytest.approx([ours.metrics["clip_fraction"]])


@pytest.mark.parametrize("seed", range(3))
def test_dr_grpo(seed):
    new, old, A, mask = batch(seed)
    ours = dr_grpo_loss(new, old, A, mask, max_length=16).loss
    assert_same(ours, trl_loss(GRPOTrainer, Stub(new, "dr_grpo", max_length=16), old, A, mask), new)


@pytest.mark.parametrize("loss_type", ["bnpo", "dapo"])
def test_token_mean_of_dapo_and_bnpo(loss_type):
    new, old, A, mask = batch()
    ours = dapo_loss(new, old, A, mask).loss
    assert_same(ours, trl_loss(GRPOTrainer, Stub(new, loss_type, high=0.28), old, A, mask), new)


@pytest.mark.parametrize("seed", range(3))
def test_gspo_is_trl_with_sequence_level_ratios(seed):
    new, old, A, mask = batch(seed, spread=6e-4)
    ours = gspo_loss(new, old, A, mask).loss
    stub = Stub(new, level="sequence", low=3e-4, high=4e-4)
    assert_same(ours, trl_loss(GRPOTrainer, stub, old, A, mask), new)


@pytest.mark.parametrize("seed", range(3))
def test_gmpo(seed):
    new, old, A, mask = batch(seed, spread=0.6)
    ours = gmpo_loss(new, old, A, mask)
    stub = Stub(new, low=0.4, high=0.4)
    assert_same(ours.loss, trl_loss(GMPOTrainer, stub, old, A, mask), new)
    assert stub._metrics["train"]["clip_ratio/region_mean"] == pytest.approx([ours.metrics["clip_fraction"]])


def test_advantages_with_the_std_of_trl():
    from trl.trainer.utils import nanstd

    rewards = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    theirs = (rewards - rewards.mean(1, keepdim=True)) / (nanstd(rewards, dim=1).unsqueeze(1) + 1e-4)
    torch.testing.assert_close(group_advantages(rewards, eps=1e-4), theirs, rtol=0, atol=1e-5)


def test_high_entropy_mask_without_ties():
    g = torch.Generator().manual_seed(0)
    entropy, mask = torch.rand(4, 10, generator=g), torch.ones(4, 10, dtype=torch.long)
    theirs = GRPOTrainer.get_high_entropy_mask(Stub(entropy), entropy, mask, 0.8)
    assert torch.equal(high_entropy_mask(entropy, mask, top=0.2).bool(), theirs)


def test_log_probability_and_entropy_of_logits():
    from grpo_lessons.logprobs import plain_scores

    g = torch.Generator().manual_seed(0)
    logits, targets = 5 * torch.randn(12, 50, generator=g), torch.randint(50, (12,), generator=g)
    logp, _, entropy = plain_scores(logits, targets, 0.7)
    theirs = selective_log_softmax_and_entropy(logits, targets, temperature=0.7)
    torch.testing.assert_close((logp, entropy), theirs, rtol=0, atol=1e-5)
