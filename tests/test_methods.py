import inspect

import pytest
import torch

from grpo_lessons import losses
from grpo_lessons.logprobs import TokenScores
from grpo_lessons.methods import METHODS, get_method

MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
LOGP = torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.45, 0.1]]).log()


def no_scoring():
    raise AssertionError("this method must not ask for a scoring pass")


def scores():
    return TokenScores(
        LOGP,
        chosen_logit=torch.tensor([[18.0, 0.0, 0.0], [0.0, 18.0, 99.0]]),
        entropy=torch.tensor([[5.0, 1.0, 4.0], [3.0, 2.0, 9.0]]),
    )


def test_the_six_methods_of_the_contract_are_there_with_their_names():
    assert {"grpo", "dr_grpo", "dapo", "gspo", "gmpo", "grpo_sg"} <= set(METHODS)
    assert all(name == method.name for name, method in METHODS.items())


@pytest.mark.parametrize("name", METHODS)
def test_every_option_and_need_is_an_argument_of_the_loss(name):
    method = METHODS[name]
    arguments = set(inspect.signature(method.loss).parameters)
    if method.loss is losses.ar_loss:  # hands its other options on
        arguments |= set(inspect.signature(losses.grpo_loss).parameters)
    assert set(method.options) | method.needs <= arguments
    assert method.needs <= {"chosen_logits", "entropy", "prob_old", "max_length"}


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "gspo", "gmpo", "grpo_sg"])
def test_options_repeat_the_defaults_of_the_loss(name):
    method = METHODS[name]
    defaults = inspect.signature(method.loss).parameters
    assert {key: defaults[key].default for key in method.options} == dict(method.options)


@pytest.mark.parametrize("name", METHODS)
def test_prepare_gives_one_mask_per_update(name):
    method = METHODS[name]
    parts = method.prepare(MASK, LOGP, scores)
    assert len(parts) == method.updates
    assert all(part["mask"].shape == MASK.shape for part in parts)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "high_entropy"])
def test_methods_without_batch_statistics_ask_for_no_scoring_pass(name):
    METHODS[name].prepare(MASK, LOGP, no_scoring)


def test_dr_grpo_only_centres_and_the_others_divide():
    assert METHODS["dr_grpo"].advantages([[1, 0, 0, 0]]).tolist() == [[0.75, -0.25, -0.25, -0.25]]
    assert METHODS["gmpo"].advantages([[1, 0, 0, 0]])[0, 0].item() == pytest.approx(1.5, abs=1e-5)


def test_counts_of_rows_and_tokens_and_the_exception_of_dr_grpo():
    mask = torch.tensor([[1, 1], [1, 0], [0, 0]])
    assert METHODS["grpo"].counts(mask) == (2, 3)
    assert METHODS["dr_grpo"].counts(mask) == (3, 3)


def test_lopti_updates_on_unlikely_tokens_first():
    unlikely, rest = METHODS["lopti"].prepare(MASK, LOGP, no_scoring)
    assert unlikely["mask"].tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert rest["mask"].tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]


def test_ar_with_lopti_takes_the_constants_of_the_pair():
    method = METHODS["ar_lopti"]
    assert (method.options["alpha"], method.batch_options["eta"], method.updates) == (0.3, 0.5, 2)
    assert METHODS["ar"].options["alpha"] == 0.2


def test_high_entropy_keeps_the_top_of_the_batch():
    (parts,) = get_method("high_entropy", top=0.4).prepare(MASK, LOGP, scores)
    assert parts["mask"].tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_normalised_grpo_sg_gets_the_weights_of_the_whole_minibatch():
    (parts,) = get_method("grpo_sg", normalize=True).prepare(MASK, LOGP, scores)
    # raw weights 1.261594, 1, 1 / 1, 1.261594: mean 1.1046376
    expected = torch.tensor([[1.1420885, 0.9052743, 0.9052743], [0.9052743, 1.1420885, 0.0]])
    torch.testing.assert_close(parts["token_weights"], expected, rtol=0, atol=1e-6)


def test_clipping_the_sequence_of_gmpo_is_gspo_in_its_range():
    method = METHODS["gmpo_sequence_clip"]
    old = torch.zeros(2, 2)
    out = method.loss(
        torch.tensor([[3.0, 1.0], [-1.0, -2.0]]), old, torch.tensor([1.0, -1.0]), old + 1, **method.options
    )
    # e^0.4 for the first row, -e^-0.4 for the second
    assert out.loss.item() == pytest.approx(-(1.4918247 - 0.67032005) / 2, abs=1e-6)


def test_gmpo_without_clipping_takes_the_whole_geometric_mean():
    method = METHODS["gmpo_no_clip"]
    old = torch.zeros(1, 2)
    loss = method.loss(torch.tensor([[3.0, 1.0]]), old, torch.ones(1), old + 1, **method.options).loss
    assert loss.item() == pytest.approx(-7.389056, abs=1e-5)


def test_get_method_changes_options_of_a_copy():
    assert get_method("grpo", clip_high=0.28).options == {"clip_low": 0.2, "clip_high": 0.28}
    assert get_method("lopti", eta=0.1).batch_options == {"eta": 0.1}
    assert METHODS["grpo"].options["clip_high"] == 0.2 and METHODS["lopti"].batch_options["eta"] == 0.4


def test_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'ppo'.*grpo, dr_grpo, dapo, gspo, gmpo, grpo_sg"):
        get_method("ppo")


def test_unknown_option_is_refused_by_name_with_the_known_ones():
    with pytest.raises(ValueError, match=r"gmpo has no option clip; it has: clip_low, clip_high"):
        get_method("gmpo", clip=0.3)
