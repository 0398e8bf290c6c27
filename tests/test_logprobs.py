"""Against the definition: full logits of the model, log_softmax, gather."""

import pytest
import torch

from grpo_lessons import logprobs
from grpo_lessons.logprobs import plain_scores, score_hidden, token_logprobs

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

V, S, T = 41, 4, 5


def tiny(kind="qwen2", *, tied=True, seed=0, **changes):
    torch.manual_seed(seed)
    size = {"vocab_size": V, "tie_word_embeddings": tied, "attn_implementation": "eager"}
    if kind == "gpt2":
        config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, **size, **changes)
    else:
        family = {"qwen2": transformers.Qwen2Config, "llama": transformers.LlamaConfig}[kind]
        config = family(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            **size,
            **changes,
        )
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():  # larger weights: log-probabilities far from uniform
        for p in model.parameters():
            p.mul_(4.0)
    return model.eval()


def tokens(seed=0, B=3):
    """ids and attention mask, (B, S + T): prompts of S, S-1 and S-2 tokens, padded on the left."""
    ids = torch.randint(V, (B, S + T), generator=torch.Generator().manual_seed(seed))
    attention = torch.ones_like(ids)
    for row in range(B):
        attention[row, :row] = 0
    return ids, attention


def definition(model, ids, attention, temperature=1.0):
    positions = (attention.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=attention, position_ids=positions).logits.float()
    logits, targets = logits[:, -T - 1 : -1], ids[:, -T:]
    logp_all = (logits / temperature).log_softmax(-1)
    logp = logp_all.gather(-1, targets[..., None])[..., 0]
    chosen = logits.gather(-1, targets[..., None])[..., 0]
    return logp, chosen, torch.distributions.Categorical(logits=logits / temperature).entropy()


@pytest.fixture(params=["plain", "recomputed"])
def path(request, monkeypatch):
    """Run a test on the one-chunk path, and in chunks of 4 tokens with recomputation."""
    if request.param == "recomputed":
        monkeypatch.setattr(logprobs, "PLAIN_LIMIT", 0)
    return request.param


def gradients(model, logp):
    weights = torch.linspace(-1, 2, logp.numel()).view_as(logp)
    parameters = [p for p in model.parameters() if p.requires_grad]
    return torch.autograd.grad((weights * logp).sum(), parameters, allow_unused=True)


def assert_same(model, ids, attention, temperature=1.0, tolerance=1e-5):
    expected = definition(model, ids, attention, temperature)
    actual = token_logprobs(model, ids, attention, T, temperature=temperature, chunk=4)
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    ours, theirs = gradients(model, actual.logp), gradients(model, expected[0])
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-4, atol=tolerance * max(1.0, b.abs().max().item()))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", ["qwen2", "llama", "gpt2"])
def test_values_and_gradients_are_those_of_the_definition(kind, tied, path):
    assert_same(tiny(kind, tied=tied), *tokens())


@pytest.mark.parametrize("temperature", [0.5, 1.7])
def test_temperature_divides_logits_and_leaves_the_chosen_logit_raw(temperature, path):
    assert_same(tiny(), *tokens(), temperature=temperature)


@pytest.mark.parametrize("targets", [["q_proj", "v_proj"], ["q_proj", "lm_head"]])
def test_lora_adapters_get_the_gradient_of_the_definition(targets, path):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    config = peft.LoraConfig(r=2, target_modules=targets, init_lora_weights=False)
    model = peft.get_peft_model(tiny(tied=False), config).eval()
    assert_same(model, *tokens())
    found = gradients(model, token_logprobs(model, *tokens(), T, chunk=4).logp)
    assert all(g is not None and g.abs().max() > 0 for g in found)


def test_disabled_adapters_give_the_reference_policy(path):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    base = tiny()
    expected = token_logprobs(base, *tokens(), T).logp.detach()
    model = peft.get_peft_model(base, peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False))
    with model.eval().disable_adapter():
        torch.testing.assert_close(token_logprobs(model, *tokens(), T).logp, expected)
    assert not torch.allclose(token_logprobs(model, *tokens(), T).logp, expected)


def test_bfloat16_model_gives_float32_scores_close_to_the_definition(path):
    model = tiny().to(torch.bfloat16)
    ids, attention = tokens()
    actual = token_logprobs(model, ids, attention, T, chunk=4)
    assert all(value.dtype == torch.float32 for value in actual)
    for ours, theirs in zip(actual, definition(model, ids, attention), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_recomputation_repeats_the_autocast_of_the_forward(monkeypatch):
    monkeypatch.setattr(logprobs, "PLAIN_LIMIT", 0)
    model, dtypes = tiny(tied=False), []
    model.lm_head.register_forward_hook(lambda module, inputs, output: dtypes.append(output.dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logp = token_logprobs(model, *tokens(), T, chunk=8).logp
    logp.sum().backward()  # outside autocast, as usual
    assert dtypes == [torch.bfloat16] * 4


def test_left_padding_changes_nothing(path):
    model, (ids, attention) = tiny(), tokens(B=1)
    expected = token_logprobs(model, ids, attention, T)
    pads = torch.zeros(1, 6, dtype=torch.long)
    padded = token_logprobs(model, torch.cat([pads, ids], 1), torch.cat([pads, attention], 1), T)
    for a, b in zip(padded, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_a_mask_skips_positions_and_leaves_the_others_as_they_are(path):
    model, (ids, attention) = tiny(), tokens()
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]])
    full = token_logprobs(model, ids, attention, T, chunk=4)
    some = token_logprobs(model, ids, attention, T, mask=mask, chunk=4)
    for a, b in zip(some, full, strict=True):
        torch.testing.assert_close(a, b * mask, rtol=1e-5, atol=1e-6)
    for a, b in zip(gradients(model, some.logp), gradients(model, full.logp * mask), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_a_mask_that_keeps_nothing_gives_zeros_on_the_graph(path):
    model, (ids, attention) = tiny(), tokens()
    scores = token_logprobs(model, ids, attention, T, mask=torch.zeros(3, T))
    scores.logp.sum().backward()
    assert all(value.shape == (3, T) and not value.any() for value in scores)


@pytest.mark.parametrize("trained_head", [True, False])
def test_only_logp_is_on_the_graph(trained_head, path):
    model = tiny(tied=False)
    model.lm_head.requires_grad_(trained_head)
    scores = token_logprobs(model, *tokens(), T)
    assert [value.requires_grad for value in scores] == [True, False, False]


def test_the_head_never_sees_more_than_a_chunk_and_never_the_prompt(monkeypatch):
    monkeypatch.setattr(logprobs, "PLAIN_LIMIT", 0)
    model, rows = tiny(), []
    model.lm_head.register_forward_hook(lambda module, inputs, output: rows.append(len(inputs[0])))
    token_logprobs(model, *tokens(), T, chunk=4).logp.sum().backward()
    assert rows == [4, 4, 4, 3] * 2  # 3 x 5 completion tokens, forward and backward


def test_a_frozen_head_runs_once(monkeypatch):
    monkeypatch.setattr(logprobs, "PLAIN_LIMIT", 0)
    model, rows = tiny(tied=False), []
    model.lm_head.requires_grad_(False).register_forward_hook(lambda module, inputs, output: rows.append(len(output)))
    token_logprobs(model, *tokens(), T, chunk=4).logp.sum().backward()
    assert rows == [4, 4, 4, 3]


def test_a_frozen_head_passes_the_gradient_of_the_definition(path):
    model = tiny(tied=False)
    model.lm_head.requires_grad_(False)
    assert_same(model, *tokens(), temperature=0.7)


def test_without_gradient_nothing_is_kept(path):
    with torch.no_grad():
        scores = token_logprobs(tiny(), *tokens(), T, chunk=4)
    assert not any(value.requires_grad for value in scores)


def test_extreme_logits_stay_finite():
    head = torch.nn.Linear(2, 3, bias=False)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1e4, 0.0], [-1e4, 0.0], [0.0, 1.0]]))
    hidden, targets = torch.tensor([[1.0, 0.0], [1.0, 0.0]], requires_grad=True), torch.tensor([0, 1])
    recomputed = logprobs.RecomputedHead.apply(head, 1.0, 1, targets, hidden, head.weight)
    frozen = logprobs.FrozenHead.apply(head, 1.0, 1, targets, hidden)
    for scores in (recomputed, frozen, plain_scores(head(hidden), targets, 1.0)):
        assert [value.tolist() for value in scores] == [[0.0, -2e4], [1e4, -1e4], [0.0, 0.0]]
        (gradient,) = torch.autograd.grad(scores[0].sum(), hidden)
        assert gradient.tolist() == [[0.0, 0.0], [-2e4, 0.0]]


def test_logit_softcapping_is_refused_by_name():
    config = transformers.Gemma2Config(
        vocab_size=V, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config)
    with pytest.raises(ValueError, match=r"final_logit_softcapping=30"):
        token_logprobs(model, *tokens(), T)


def test_a_head_with_dropout_is_refused_when_it_would_be_repeated(monkeypatch):
    monkeypatch.setattr(logprobs, "PLAIN_LIMIT", 0)
    head = torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(2, V))
    head.out_features = V
    with pytest.raises(ValueError, match="dropout"):
        score_hidden(head, torch.ones(3, 2), torch.zeros(3, dtype=torch.long), temperature=1.0, chunk=2)


@pytest.mark.parametrize("length", [0, S + T])
def test_a_completion_without_a_prompt_token_is_refused(length):
    with pytest.raises(ValueError, match=f"completion_len is {length}"):
        token_logprobs(tiny(), *tokens(), length)
