"""Sampling: rows, masks, padding, and log-probabilities that are those of the distribution drawn from."""

import pytest
import torch
from engine import nano, sums

from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.rollouts import completion_mask_of, draw, eos_ids, sample_groups


@pytest.fixture(scope="module")
def policy():
    return nano()


def sample(policy, problems, group_size, **options):
    return sample_groups(policy, problems, group_size, **{"max_new_tokens": 24, "seed": 3, **options})


def test_row_p_times_G_plus_g_is_completion_g_of_problem_p(policy):
    problems = sums((11, 12), (80, 90))
    rollouts = sample(policy, problems, 3, temperature=0)
    alone = [sample(policy, [problem], 1, temperature=0).texts[0] for problem in problems]
    assert rollouts.texts == [alone[0]] * 3 + [alone[1]] * 3
    assert [p.answer for p in rollouts.row_problems] == [23, 23, 23, 170, 170, 170]


def test_mask_keeps_the_first_end_token_also_when_padding_has_its_id():
    mask, finished = completion_mask_of(torch.tensor([[5, 6, 2, 2, 2], [5, 6, 7, 8, 9], [2, 2, 2, 2, 2]]), [2])
    assert mask.tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]
    assert finished.tolist() == [True, False, True]


def test_every_end_token_of_the_generation_config_ends_a_completion(policy):
    mask, finished = completion_mask_of(torch.tensor([[5, 7, 2], [2, 5, 7]]), [2, 7])
    assert mask.tolist() == [[1, 1, 0], [1, 0, 0]]
    assert finished.tolist() == [True, True]
    assert eos_ids(policy) == [policy.tokenizer.eos_token_id]


def test_a_tokenizer_whose_padding_is_its_end_token_changes_no_mask():
    problems = sums((11, 12), (3, 4))
    plain, same = nano(), nano()
    same.tokenizer.pad_token = same.tokenizer.eos_token
    assert same.tokenizer.pad_token_id == same.tokenizer.eos_token_id
    expected, found = sample(plain, problems, 4), sample(same, problems, 4)
    assert found.texts == expected.texts
    assert torch.equal(found.mask, expected.mask)


def test_padding_on_the_left_changes_neither_completions_nor_log_probabilities(policy):
    short, long = sums((3, 4), (73, 89))
    alone, together = sample(policy, [short], 4), sample(policy, [short, long], 4)
    assert together.prompt_mask[0].tolist()[:2] == [0, 0]  # "3+4=" is two tokens shorter
    assert together.texts[:4] == alone.texts
    T = alone.logp.shape[1]
    torch.testing.assert_close(together.logp[:4, :T], alone.logp, atol=1e-5, rtol=0)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_sampler_log_probabilities_are_those_of_the_training_forward(policy, temperature):
    rollouts = sample(policy, sums((3, 4), (73, 89)), 8, temperature=temperature)
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    mask = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    scores = token_logprobs(
        policy.model, ids, mask, rollouts.mask.shape[1], mask=rollouts.mask, temperature=temperature
    )
    assert rollouts.logp.min() < -0.5  # uncertain tokens are among them
    torch.testing.assert_close(rollouts.logp, scores.logp, atol=2e-5, rtol=0)
    torch.testing.assert_close(rollouts.entropy, scores.entropy, atol=1e-4, rtol=0)


def test_cache_and_leaving_rows_give_the_tokens_of_a_plain_loop(policy):
    problems, group_size = sums((3, 4), (73, 89), (15, 15)), 4
    rollouts = sample(policy, problems, group_size)
    uniforms = torch.rand(12, 24, generator=torch.Generator().manual_seed(3), dtype=torch.float64).float()
    ids, mask = rollouts.prompt_ids, rollouts.prompt_mask
    with torch.no_grad():
        for t in range(rollouts.mask.shape[1]):  # the whole text again for each token, no row leaves
            positions = (mask.cumsum(1) - 1).clamp(min=0)
            logits = policy.model(input_ids=ids, attention_mask=mask, position_ids=positions).logits[:, -1]
            cdf = logits.softmax(-1).cumsum(-1)
            token = (cdf < uniforms[:, t, None]).sum(-1, keepdim=True)
            ids, mask = torch.cat([ids, token], 1), torch.cat([mask, torch.ones_like(token)], 1)
    kept = rollouts.mask.bool()
    assert (rollouts.lengths.max() - rollouts.lengths.min()) > 3  # rows did leave early
    assert torch.equal(ids[:, -kept.shape[1] :][kept], rollouts.completion_ids[kept])


def test_draws_follow_the_distribution_after_the_temperature():
    logits, temperature, n = torch.tensor([2.0, 1.0, 0.0, -1.0, -30.0]), 0.5, 200_000
    uniforms = torch.rand(n, generator=torch.Generator().manual_seed(0))
    token, logp, entropy = draw(logits.expand(n, 5), uniforms, temperature)
    p = torch.tensor([0.864955, 0.117059, 0.015842, 0.002144])  # exp(4, 2, 0, -2) over their sum
    counts = torch.bincount(token, minlength=5).double()
    assert counts[4] == 0
    chi_square = ((counts[:4] - n * p) ** 2 / (n * p)).sum()
    assert chi_square < 16.3  # 3 degrees of freedom: 0.1 % of fair draws are worse
    torch.testing.assert_close(logp, p.log()[token], atol=1e-3, rtol=0)
    assert entropy[0] == pytest.approx(-(p * p.log()).sum().item(), abs=1e-4)


def test_a_uniform_number_at_either_end_draws_a_possible_token():
    logits = torch.tensor([[float("-inf"), 0.0, 0.0, float("-inf")]] * 2)
    token, _, _ = draw(logits, torch.tensor([0.0, 1.0 - 2**-24]), 1.0)
    assert token.tolist() == [1, 2]


def test_temperature_0_takes_the_likeliest_token():
    token, logp, _ = draw(torch.tensor([[0.0, 3.0, 1.0]]), torch.tensor([0.99]), 0)
    assert token.item() == 1
    assert logp.item() == pytest.approx(-0.169846, abs=1e-5)  # 3 - log(1 + e^3 + e)


def test_masked_positions_hold_padding_and_zeros(policy):
    rollouts = sample(policy, sums((11, 12), (80, 90)), 8)
    outside = rollouts.mask == 0
    assert outside.any()
    assert set(rollouts.completion_ids[outside].tolist()) == {policy.tokenizer.pad_token_id}
    assert rollouts.logp[outside].abs().sum() == rollouts.entropy[outside].abs().sum() == 0


def test_a_completion_that_hits_the_limit_is_not_finished(policy):
    rollouts = sample(policy, sums((80, 90)), 4, max_new_tokens=3)
    assert not rollouts.finished.any()
    assert rollouts.lengths.tolist() == [3, 3, 3, 3]


def test_seed_decides_the_completions_and_the_global_random_state_does_not(policy):
    problems = sums((45, 67))
    torch.manual_seed(1)
    first = sample(policy, problems, 8).texts
    torch.manual_seed(2)
    assert sample(policy, problems, 8).texts == first
    assert sample(policy, problems, 8, seed=4).texts != first


def test_sampling_leaves_the_mode_of_the_model(policy):
    policy.model.train()
    sample(policy, sums((1, 2)), 1)
    assert policy.model.training
    policy.model.eval()
    sample(policy, sums((1, 2)), 1)
    assert not policy.model.training


@pytest.mark.parametrize("wrong", [{"group_size": 0}, {"max_new_tokens": 0}, {"temperature": -1.0}])
def test_impossible_requests_are_refused(policy, wrong):
    group_size = wrong.pop("group_size", 2)
    with pytest.raises(ValueError, match="sample_groups needs at least one problem"):
        sample(policy, sums((1, 2)), group_size, **wrong)
    with pytest.raises(ValueError, match="got 0 problems"):
        sample(policy, [], 2)
