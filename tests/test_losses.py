"""Expected values by hand, or by `by_loops`: the same objectives written with Python floats and loops."""

import math

import pytest
import torch

from grpo_lessons.logprobs import TokenScores
from grpo_lessons.losses import (
    ar_loss,
    dapo_loss,
    dr_grpo_loss,
    gmpo_loss,
    grpo_loss,
    grpo_sg_loss,
    gspo_loss,
    kl_penalty,
)
from grpo_lessons.methods import METHODS, get_method

E = math.exp


def batch_from_log_ratios(rows):
    """(logp_new with gradient, logp_old, mask) for ragged rows of log-ratios, padded on the right with 0."""
    T = max(map(len, rows))
    log_ratio = torch.tensor([row + [0.0] * (T - len(row)) for row in rows])
    mask = torch.tensor([[1.0] * len(row) + [0.0] * (T - len(row)) for row in rows])
    logp_old = torch.full_like(log_ratio, -1.0)
    return (logp_old + log_ratio).requires_grad_(), logp_old, mask


def random_batch(seed=0, B=8, T=7):
    """logp_new, logp_old, advantages, mask, chosen_logits; rows of 1 to T tokens, the clip is active."""
    g = torch.Generator().manual_seed(seed)
    logp_old = -3 * torch.rand(B, T, generator=g)
    logp_new = logp_old + 0.5 * torch.randn(B, T, generator=g)
    lengths = torch.randint(1, T + 1, (B, 1), generator=g)
    mask = (torch.arange(T) < lengths).float()
    return (
        logp_new.requires_grad_(),
        logp_old,
        torch.randn(B, generator=g),
        mask,
        12 + 8 * torch.randn(B, T, generator=g),
    )


def loss_and_gradient(loss, logp_new, *args, **options):
    value = loss(logp_new, *args, **options).loss
    return value, torch.autograd.grad(value, logp_new)[0]


# Golden values


@pytest.mark.parametrize("advantage, expected", [(1.0, -0.85), (-1.0, 1.15)])
def test_grpo_takes_the_pessimistic_branch(advantage, expected):
    # ratios 1.5 and 0.5. A = 1: min(1.5, 1.2), min(0.5, 0.8); A = -1: min(-1.5, -1.2), min(-0.5, -0.8)
    new, old, mask = batch_from_log_ratios([[math.log(1.5), math.log(0.5)]])
    assert grpo_loss(new, old, torch.tensor([advantage]), mask).loss.item() == pytest.approx(expected, abs=1e-6)


def test_metrics_by_hand():
    new, old, mask = batch_from_log_ratios([[math.log(1.5), math.log(0.5)]])
    metrics = grpo_loss(new, old, torch.tensor([1.0]), mask).metrics
    # of the two tokens only 1.5 loses its gradient to the clip; kl: mean of (0.5 - ln 1.5) and (-0.5 + ln 2)
    assert metrics["ratio_min"] == pytest.approx(0.5)
    assert metrics["ratio_max"] == pytest.approx(1.5)
    assert metrics["clip_fraction"] == 0.5
    assert metrics["approx_kl"] == pytest.approx(0.143841, abs=1e-5)


@pytest.mark.parametrize("loss, ratio", [(grpo_loss, 1.5), (gmpo_loss, 2.0), (gspo_loss, 1.5)])
def test_clip_fraction_counts_only_tokens_that_lose_their_gradient(loss, ratio):
    high, low = math.log(ratio), -math.log(ratio)
    new, old, mask = batch_from_log_ratios([[high, high], [high, high], [low], [high], [low]])
    A = torch.tensor([1.0, -1.0, -1.0, 0.0, 0.0])
    # of 7 tokens: the 2 too high with A > 0 and the 1 too low with A < 0
    assert loss(new, old, A, mask).metrics["clip_fraction"] == pytest.approx(3 / 7)


def test_clip_higher_of_dapo_gives_rare_tokens_more_room():
    new, old, mask = batch_from_log_ratios([[math.log(1.5)], [math.log(1.25)]])
    # 1.5 is cut at 1.28, 1.25 is not; two tokens
    assert dapo_loss(new, old, torch.ones(2), mask).loss.item() == pytest.approx(-(1.28 + 1.25) / 2, abs=1e-6)


@pytest.mark.parametrize("advantage, expected", [(1.0, -1.0004), (-1.0, E(0.001))])
def test_gspo_clips_the_sequence_ratio(advantage, expected):
    # log-ratios 0.004, -0.002: mean 0.001
    new, old, mask = batch_from_log_ratios([[0.004, -0.002]])
    assert gspo_loss(new, old, torch.tensor([advantage]), mask).loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("advantage, expected, gradient", [(1.0, -E(-0.3), [0, 1]), (-1.0, E(0.3), [1, 0])])
def test_gmpo_clips_one_side_by_the_sign_of_the_advantage(advantage, expected, gradient):
    # A > 0: (min(1, 0.4) - 1) / 2 = -0.3; A < 0: (1 + max(-1, -0.4)) / 2 = 0.3
    new, old, mask = batch_from_log_ratios([[1.0, -1.0]])
    out = gmpo_loss(new, old, torch.tensor([advantage]), mask)
    out.loss.backward()
    assert out.loss.item() == pytest.approx(expected, abs=1e-6)
    assert (new.grad != 0).int().tolist() == [gradient]
    assert out.metrics["clip_fraction"] == 0.5


@pytest.mark.parametrize("log_ratio, expected", [(-0.02, 0.9802), (0.02, 1.0202)])
def test_gmpo_of_ten_thousand_tokens_stays_in_float32(log_ratio, expected):
    new, old = torch.full((1, 10_000), log_ratio - 1.0), torch.full((1, 10_000), -1.0)
    loss = gmpo_loss(new, old, torch.ones(1), torch.ones(1, 10_000)).loss
    assert loss.item() == pytest.approx(-expected, abs=5e-5)


def test_grpo_sg_weights_each_token():
    # h = 18 weighs 2 * (sigmoid(2) - 0.25) = 1.261594, h = 0 weighs 1; ratio 1, A = 1
    new, old, mask = batch_from_log_ratios([[0.0, 0.0]])
    out = grpo_sg_loss(new, old, torch.ones(1), mask, torch.tensor([[18.0, 0.0]]))
    assert out.loss.item() == pytest.approx(-(1.261594 + 1) / 2, abs=1e-6)
    assert out.metrics["mean_weight"] == pytest.approx((1.261594 + 1) / 2, abs=1e-6)


def test_ar_scales_the_advantage_with_the_old_probability():
    new, old, mask = batch_from_log_ratios([[0.0, 0.0]])
    # 0.2 * 0.5 + 0.8 = 0.9 and 0.2 * 1 + 0.8 = 1
    loss = ar_loss(new, old, torch.ones(1), mask, torch.tensor([[0.5, 1.0]])).loss
    assert loss.item() == pytest.approx(-0.95, abs=1e-6)


def test_lengths_2_and_8_separate_the_three_averages():
    new, old, mask = batch_from_log_ratios([[0.0] * 2, [0.0] * 8])
    A = torch.tensor([1.0, -1.0])
    assert grpo_loss(new, old, A, mask).loss.item() == 0.0
    assert dapo_loss(new, old, A, mask).loss.item() == pytest.approx(0.6)
    assert dr_grpo_loss(new, old, A, mask, max_length=10).loss.item() == pytest.approx(0.3)


def test_loss_is_zero_at_ratio_one_while_its_gradient_is_not():
    new, old, mask = batch_from_log_ratios([[0.0] * 3] * 4)
    A = METHODS["grpo"].advantages([[1.0, 0.0, 0.0, 0.0]]).flatten()
    loss, gradient = loss_and_gradient(grpo_loss, new, old, A, mask)
    assert abs(loss.item()) < 1e-6
    assert gradient.norm() > 0.1


@pytest.mark.parametrize("other", [gmpo_loss, gspo_loss])
def test_at_ratio_one_geometric_and_sequence_ratios_have_the_gradient_of_grpo(other):
    _, old, A, mask, _ = random_batch()
    new = old.clone().requires_grad_()
    _, expected = loss_and_gradient(grpo_loss, new, old, A, mask)
    _, actual = loss_and_gradient(other, new, old, A, mask)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-7)


# An independent formula


def by_loops(name, new, old, A, mask, logits):
    """The objective of a method over Python floats; returns the loss."""
    new, old, A, logits = new.tolist(), old.tolist(), A.tolist(), logits.tolist()
    lengths = [int(row.sum()) for row in mask]

    def clip(x, low, high):
        return max(low, min(high, x))

    def token(i, t, high=1.2):
        rho = E(new[i][t] - old[i][t])
        return min(rho * A[i], clip(rho, 0.8, high) * A[i])

    total = 0.0
    for i, length in enumerate(lengths):
        d = [new[i][t] - old[i][t] for t in range(length)]
        if name == "grpo":
            total += sum(token(i, t) for t in range(length)) / length / len(A)
        elif name == "dr_grpo":
            total += sum(token(i, t) for t in range(length)) / 10 / len(A)
        elif name == "dapo":
            total += sum(token(i, t, 1.28) for t in range(length)) / sum(lengths)
        elif name == "gspo":
            s = E(sum(d) / length)
            total += min(s * A[i], clip(s, 1 - 3e-4, 1 + 4e-4) * A[i]) / len(A)
        elif name == "gmpo":
            product = 1.0
            for x in d:
                product *= min(E(x), E(0.4)) if A[i] > 0 else max(E(x), E(-0.4))
            total += A[i] * product ** (1 / length) / len(A)
        elif name == "grpo_sg":
            w = [clip(2 * (1 / (1 + E(-logits[i][t] / 9)) - 0.25), 1, 1.4) for t in range(length)]
            total += sum(w[t] * token(i, t) for t in range(length)) / length / len(A)
    return -total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "gspo", "gmpo", "grpo_sg"])
def test_loss_agrees_with_loops_over_python_floats(name, seed):
    new, old, A, mask, logits = random_batch(seed)
    extra = {"chosen_logits": logits} if name == "grpo_sg" else {"max_length": 10} if name == "dr_grpo" else {}
    loss = METHODS[name].loss(new, old, A, mask, **extra).loss
    assert loss.item() == pytest.approx(by_loops(name, new, old, A, mask, logits), abs=1e-6)


# GRPO-SG


def test_grpo_sg_with_unit_weights_is_grpo_to_the_bit():
    new, old, A, mask, logits = random_batch()
    expected, gradient = loss_and_gradient(grpo_loss, new, old, A, mask)
    for unit in ({"chosen_logits": logits, "low": 1.0, "high": 1.0}, {"chosen_logits": logits.sigmoid()}):
        actual, actual_gradient = loss_and_gradient(grpo_sg_loss, new, old, A, mask, **unit)
        assert torch.equal(actual, expected) and torch.equal(actual_gradient, gradient)


def test_no_gradient_flows_into_the_weights_or_the_old_policy():
    new, old, A, mask, logits = random_batch()
    old.requires_grad_(), logits.requires_grad_()
    grpo_sg_loss(new, old, A, mask, logits, normalize=True).loss.backward()
    grpo_sg_loss(new, old, A, mask, None, token_weights=logits).loss.backward()
    assert old.grad is None and logits.grad is None and new.grad is not None


def test_normalised_weights_have_mean_one_in_the_metrics():
    new, old, A, mask, logits = random_batch()
    assert grpo_sg_loss(new, old, A, mask, logits).metrics["mean_weight"] > 1.02
    normalised = grpo_sg_loss(new, old, A, mask, logits, normalize=True)
    assert normalised.metrics["mean_weight"] == pytest.approx(1.0, abs=1e-6)


# Batches, masks, padding


def accumulated(method, batch, splits):
    """Loss and gradient of a method summed over micro-batches of the given sizes, as the trainer does it."""
    new, old, A, mask, logits = batch
    needed = {"chosen_logits": logits, "prob_old": old.exp()}
    scores = TokenScores(old, logits, (new - old).detach().abs())
    total, gradient = 0.0, torch.zeros_like(new)
    for parts in method.prepare(mask, old, lambda: scores):
        n_sequences, n_tokens = method.counts(parts["mask"])
        for rows in torch.arange(len(mask)).split(splits):
            by_row = {key: value[rows] for key, value in needed.items() if key in method.needs}
            constant = {"max_length": 10} if "max_length" in method.needs else {}
            out = method.loss(
                logp_new=new[rows],
                logp_old=old[rows],
                advantages=A[rows],
                **{key: value[rows] for key, value in parts.items()},
                **by_row,
                **constant,
                **method.options,
                n_sequences=n_sequences,
                n_tokens=n_tokens,
            )
            total += out.loss.item()
            gradient += torch.autograd.grad(out.loss, new)[0]
    return total, gradient


@pytest.mark.parametrize("splits", [[1, 7], [3, 5], [2, 2, 4], [1] * 8])
@pytest.mark.parametrize("name", [*METHODS, "grpo_sg normalised"])
def test_any_split_into_micro_batches_sums_to_the_same_loss_and_gradient(name, splits):
    method = get_method("grpo_sg", normalize=True) if name == "grpo_sg normalised" else METHODS[name]
    batch = random_batch(seed=3)
    batch[3][2] = 0.0  # a masked row must not disturb the denominators
    whole, whole_gradient = accumulated(method, batch, [8])
    total, gradient = accumulated(method, batch, splits)
    assert total == pytest.approx(whole, abs=1e-6)
    torch.testing.assert_close(gradient, whole_gradient, rtol=1e-5, atol=1e-7)


LOSSES = {
    "grpo": grpo_loss,
    "dr_grpo": lambda *a, **k: dr_grpo_loss(*a, max_length=10, **k),
    "dapo": dapo_loss,
    "gspo": gspo_loss,
    "gmpo": gmpo_loss,
    "grpo_sg": lambda *a, **k: grpo_sg_loss(*a, torch.full(a[3].shape, 20.0), **k),
    "ar": lambda *a, **k: ar_loss(*a, torch.full(a[3].shape, 0.5), **k),
}


@pytest.mark.parametrize("junk", [float("inf"), -float("inf"), float("nan"), 1e30])
@pytest.mark.parametrize("name", LOSSES)
def test_masked_positions_may_hold_anything(name, junk):
    new, old, A, mask, _ = random_batch()
    expected, gradient = loss_and_gradient(LOSSES[name], new, old, A, mask)
    new_junk = torch.where(mask.bool(), new.detach(), junk).requires_grad_()
    old_junk = torch.where(mask.bool(), old, junk)
    actual, actual_gradient = loss_and_gradient(LOSSES[name], new_junk, old_junk, A, mask)
    assert torch.equal(actual, expected) and torch.equal(actual_gradient, gradient)


@pytest.mark.parametrize("name", LOSSES)
def test_a_ratio_beyond_float32_is_clipped_where_a_clip_acts_and_an_infinite_loss_where_none_does(name):
    new, old, mask = batch_from_log_ratios([[200.0], [0.1]])
    loss, gradient = loss_and_gradient(LOSSES[name], new, old, torch.tensor([1.0, 1.0]), mask)
    clipped, _ = loss_and_gradient(LOSSES[name], new - 199.0 * torch.eye(2)[:, :1], old, torch.ones(2), mask)
    assert loss == clipped and gradient[0] == 0 and gradient.isfinite().all()  # as at log-ratio 1
    metrics = LOSSES[name](new, old, torch.ones(2), mask).metrics
    assert metrics["approx_kl"] > 1e30 and all(map(math.isfinite, metrics.values()))
    assert LOSSES[name](new, old, -torch.ones(2), mask).loss == math.inf


@pytest.mark.parametrize("name", LOSSES)
def test_a_fully_masked_row_adds_nothing_and_is_not_counted(name):
    new, old, A, mask, _ = random_batch()
    options = {"n_sequences": 8} if name == "dr_grpo" else {}  # by default Dr. GRPO divides by all rows
    expected = LOSSES[name](new, old, A, mask, **options).loss
    nan_row = torch.full((1, 7), float("nan"))
    longer = LOSSES[name](
        torch.cat([new, nan_row]),
        torch.cat([old, nan_row]),
        torch.cat([A, torch.tensor([float("nan")])]),
        torch.cat([mask, torch.zeros(1, 7)]),
        **options,
    )
    torch.testing.assert_close(longer.loss, expected, rtol=1e-6, atol=1e-7)


def test_dr_grpo_counts_masked_rows_unless_told_otherwise():
    new, old, mask = batch_from_log_ratios([[0.0] * 2, [0.0] * 8])
    mask[1] = 0
    assert dr_grpo_loss(new, old, torch.ones(2), mask, max_length=10).loss.item() == pytest.approx(-2 / 20)


@pytest.mark.parametrize("name", LOSSES)
def test_an_all_masked_batch_has_loss_zero_and_gradient_zero(name):
    new, old, A, mask, _ = random_batch()
    out = LOSSES[name](new, old, A, torch.zeros_like(mask))
    out.loss.backward()
    assert out.loss.item() == 0.0 and torch.equal(new.grad, torch.zeros_like(new))
    assert [out.metrics[k] for k in ("ratio_min", "ratio_max", "clip_fraction", "approx_kl")] == [1, 1, 0, 0]


@pytest.mark.parametrize("dtype", [torch.bool, torch.long])
@pytest.mark.parametrize("left, right", [(0, 3), (3, 0), (2, 2)])
@pytest.mark.parametrize("name", LOSSES)
def test_padding_left_or_right_changes_nothing(name, left, right, dtype):
    new, old, A, mask, _ = random_batch()

    def pad(x):
        return torch.nn.functional.pad(x, (left, right), value=0.0)

    expected = LOSSES[name](new, old, A, mask)
    padded = LOSSES[name](pad(new), pad(old), A, pad(mask).to(dtype))
    torch.testing.assert_close(padded.loss, expected.loss, rtol=1e-6, atol=1e-7)
    assert padded.metrics == pytest.approx(expected.metrics, abs=1e-6)


def test_metrics_look_at_kept_tokens_only():
    new, old, _ = batch_from_log_ratios([[0.1, 5.0, -5.0]])
    metrics = grpo_loss(new, old, torch.ones(1), torch.tensor([[1.0, 0.0, 0.0]])).metrics
    assert (metrics["ratio_min"], metrics["ratio_max"]) == pytest.approx((E(0.1), E(0.1)))


def test_log_ratio_quantiles_leave_the_outlier_out():
    new, old, mask = batch_from_log_ratios([[x / 100 for x in range(201)]])
    new.data[0, -1] += 50
    metrics = grpo_loss(new, old, torch.ones(1), mask).metrics
    assert (metrics["log_ratio_q01"], metrics["log_ratio_q99"]) == pytest.approx((0.02, 1.98), abs=1e-5)


# Shapes


def test_one_advantage_per_token_equals_one_per_sequence_when_they_are_the_same():
    new, old, A, mask, _ = random_batch()
    for loss in (grpo_loss, dapo_loss):
        per_token = loss(new, old, A[:, None].expand_as(mask), mask).loss
        assert torch.equal(per_token, loss(new, old, A, mask).loss)


@pytest.mark.parametrize("loss", [gmpo_loss, gspo_loss])
def test_sequence_methods_refuse_token_advantages(loss):
    new, old, A, mask, _ = random_batch()
    with pytest.raises(ValueError, match=r"\(8, 7\).*expected \(8,\)"):
        loss(new, old, A[:, None].expand_as(mask), mask)


@pytest.mark.parametrize("length", [7, 3])
def test_advantages_of_another_length_are_refused_and_not_broadcast(length):
    new, old, _, mask, _ = random_batch()
    with pytest.raises(ValueError, match=rf"advantages \({length},\)"):
        grpo_loss(new, old, torch.ones(length), mask)


def test_log_probabilities_of_another_shape_are_refused():
    new, old, A, mask, _ = random_batch()
    with pytest.raises(ValueError, match=r"logp_old \(8, 6\)"):
        grpo_loss(new, old[:, :6], A, mask)


# KL: 20 one-token sequences hold the six outcomes in exactly the policy's proportions, so means are expectations

COUNTS = torch.tensor([1, 2, 3, 4, 5, 5])
OUTCOMES = torch.arange(6).repeat_interleave(COUNTS)[:, None]
REF = torch.tensor([0.1, 0.1, 0.2, 0.3, 0.2, 0.1]).log()


def penalty_and_exact(estimator, direction):
    """Value and gradient in the logits of the estimate and of the exact KL of two categoricals."""
    results = []
    for exact in (False, True):
        logits = (COUNTS / 20).log().requires_grad_()
        logp = logits.log_softmax(0)
        if exact:
            p, q, weight = (logp, REF, logp.exp()) if direction == "reverse" else (REF, logp, REF.exp())
            value = (weight * (p - q)).sum()
        else:
            value = kl_penalty(logp[OUTCOMES], REF[OUTCOMES], torch.ones(20, 1), estimator=estimator)
        results += [value.item(), torch.autograd.grad(value, logits)[0]]
    return results


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_k1_and_k3_are_the_reverse_kl_in_expectation(estimator):
    estimate, _, exact, _ = penalty_and_exact(estimator, "reverse")
    assert estimate == pytest.approx(exact, abs=1e-6)


def test_k2_is_biased():
    estimate, _, exact, _ = penalty_and_exact("k2", "reverse")
    assert abs(estimate - exact) > 0.01


def test_gradient_of_k1_is_none():
    _, gradient, _, _ = penalty_and_exact("k1", "reverse")
    assert gradient.abs().max() < 1e-6


@pytest.mark.parametrize("estimator, direction", [("k2", "reverse"), ("k3", "forward")])
def test_gradient_of_k2_is_the_reverse_and_of_k3_the_forward_kl(estimator, direction):
    _, gradient, _, exact = penalty_and_exact(estimator, direction)
    torch.testing.assert_close(gradient, exact, rtol=1e-4, atol=1e-6)


def test_kl_penalty_averages_tokens_then_sequences_and_skips_masked_ones():
    new = torch.tensor([[0.0, 0.0], [0.0, float("nan")], [1.0, 1.0]])
    ref = torch.tensor([[-1.0, -3.0], [-4.0, float("inf")], [0.0, 0.0]])
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    assert kl_penalty(new, ref, mask, estimator="k1").item() == 3.0  # (2 + 4) / 2
    assert kl_penalty(new, ref, mask, estimator="k2").item() == 5.25  # ((0.5 + 4.5) / 2 + 8) / 2
    assert kl_penalty(new, ref, mask, estimator="k1", n_sequences=6).item() == 1.0


def test_no_gradient_flows_into_the_reference():
    new, ref = torch.zeros(1, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)
    kl_penalty(new, ref, torch.ones(1, 1)).backward()
    assert ref.grad is None and new.grad.item() == pytest.approx(1 - math.e)


def test_unknown_kl_estimator_is_refused():
    with pytest.raises(ValueError, match="k4"):
        kl_penalty(torch.zeros(1, 1), torch.zeros(1, 1), torch.ones(1, 1), estimator="k4")
