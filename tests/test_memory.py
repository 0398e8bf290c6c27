"""The memory calculator against real tensors and against what autograd keeps."""

import json
from functools import cache

import pytest
import torch
from tiny import CPU, tiny_policy
from transformers import AutoConfig, AutoModelForCausalLM
from typer.testing import CliRunner

from grpo_lessons.adapters import LoraSpec, add_lora
from grpo_lessons.architecture import Architecture
from grpo_lessons.decoder import FastDecoder
from grpo_lessons.four_bit import quantize_linears, weight_bytes
from grpo_lessons.logprobs import PLAIN_LIMIT, token_logprobs
from grpo_lessons.memory import GIB, estimate_memory
from grpo_lessons.memory_parts import DTYPE_BYTES, one_layer, outside_layers
from grpo_lessons.packed import packed_logprobs
from grpo_lessons.paths import data_dir


def folder(name):
    return data_dir() / "nano" if name == "nano" else data_dir() / "configs" / name


@cache
def model_of(name, *, layers=None, dtype=torch.float32, lora=None, quantize=None, device="cpu", vocabulary=None):
    config = AutoConfig.from_pretrained(folder(name))
    config.vocab_size = vocabulary or config.vocab_size
    if layers:
        config.num_hidden_layers, config.layer_types = layers, ["full_attention"] * layers
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
        if quantize:
            model = quantize_linears(model, device=CPU, compute_dtype=dtype)
        return add_lora(model, LoraSpec(rank=lora)) if lora else model


def nbytes(tensors):
    return sum({id(t): t.nbytes for t in tensors}.values())


@pytest.mark.parametrize("name", ["nano", "smollm2", "qwen2.5-1.5b"])
@pytest.mark.parametrize(("dtype", "number"), [(torch.float32, "float32"), (torch.bfloat16, "bfloat16")])
def test_weights_and_adapters_are_those_of_the_real_architecture(name, dtype, number):
    model = model_of(name, dtype=dtype, device="meta")
    plain = nbytes(model.parameters())
    assert plain == estimate_memory(name, lora_rank=None, dtype=number).weights
    adapted = model_of(name, dtype=dtype, lora=8, device="meta")
    estimate = estimate_memory(name, lora_rank=8, dtype=number)
    assert nbytes(adapted.parameters()) == estimate.weights + estimate.adapters
    assert nbytes(p for p in adapted.parameters() if p.requires_grad) == estimate.adapters


def test_qwen_has_the_parameters_that_its_card_states():
    assert Architecture.of("qwen2.5-1.5b").parameters == 1_543_714_304  # "1.54B"
    assert Architecture.of("smollm2").parameters == 134_515_008  # "135M"


@pytest.mark.parametrize("name", ["nano", "smollm2"])
def test_quantised_weights_are_those_of_the_tensors(name):
    pytest.importorskip("bitsandbytes")
    model = model_of(name, layers=2, dtype=torch.bfloat16, quantize="nf4", vocabulary=2048)
    estimate = estimate_memory(model, quantize="nf4", lora_rank=4)
    assert estimate.weights == weight_bytes(model)


@pytest.mark.slow
def test_the_full_qwen_quantised_here_has_the_predicted_bytes():
    """Weights with their quantisation state, adapters, gradients, AdamW's states, and the KV cache of a rollout."""
    pytest.importorskip("bitsandbytes")
    model = model_of("qwen2.5-1.5b", dtype=torch.bfloat16, quantize="nf4", lora=16)
    estimate = estimate_memory("qwen2.5-1.5b", quantize="nf4", lora_rank=16, **ROLLOUT)
    own = [p for p in model.parameters() if p.requires_grad]
    assert nbytes(own) == estimate.adapters
    assert weight_bytes(model) - nbytes(own) == estimate.weights == 1_143_140_752
    assert adamw_bytes(own) == (estimate.optimizer, estimate.gradients)
    assert cache_bytes(model.get_base_model()) == estimate.kv_cache


def adamw_bytes(parameters):
    """(states, gradients) after one step."""
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer = torch.optim.AdamW(parameters)
    optimizer.step()
    states = sum(t.nbytes for state in optimizer.state.values() for t in state.values())
    return states, sum(p.grad.nbytes for p in parameters)


@pytest.mark.parametrize("lora", [None, 4])
def test_optimizer_and_gradients_are_those_of_adamw(lora):
    policy = tiny_policy("llama", lora=lora)
    estimate = estimate_memory(policy.model, lora_rank=lora, dtype="float32")
    parameters = [p for p in policy.model.parameters() if p.requires_grad]
    assert adamw_bytes(parameters) == (estimate.optimizer, estimate.gradients)


ROLLOUT = {"group_size": 4, "prompts_per_step": 2, "prompt_tokens": 5, "completion_tokens": 7}


def cache_bytes(model):
    """Of the decoder, for ROLLOUT."""
    ids = torch.randint(3, 200, (2, 5))
    decoder = FastDecoder(model, 5 + 7)
    decoder.prefill(ids, torch.ones_like(ids))
    decoder.expand(4)
    return sum(t.nbytes for cache in decoder.caches for t in cache)


@pytest.mark.parametrize("name", ["nano", "smollm2"])
def test_kv_cache_is_that_of_the_decoder(name):
    model = model_of(name, layers=2, vocabulary=2048)
    assert cache_bytes(model) == estimate_memory(model, lora_rank=None, dtype="float32", **ROLLOUT).kv_cache


def kept_by_autograd(model, forward):
    """Bytes of the tensors that backward would need, parameters left out, counted by hooks."""
    own = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers()]}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    model.train()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        assert forward().logp.requires_grad
    return sum(size for size, _ in kept.values())


def packed_forward(model, prompts, rows, S, T):
    ids, mask = torch.randint(3, 200, (prompts, S)), torch.ones(prompts, S)
    mask[0, 0] = 0
    completions = torch.randint(3, 200, (rows, T))
    return lambda: packed_logprobs(model, ids, mask, torch.arange(rows) % prompts, completions, torch.ones(rows, T))


def estimate_of(model, dtype, lora, quantize, prompts, rows, S, T, **settings):
    return estimate_memory(
        model,
        quantize=quantize,
        lora_rank=lora,
        group_size=rows // prompts,
        prompts_per_step=prompts,
        prompt_tokens=S,
        completion_tokens=T,
        dtype=dtype,
        **settings,
    )


KINDS = [
    ("nano", "float32", None, None),
    ("nano", "float32", 8, None),
    ("smollm2", "bfloat16", 16, None),
    ("smollm2", "float32", 16, "nf4"),
    ("smollm2", "bfloat16", None, None),
]


def small(name, dtype, lora, quantize):
    if quantize:
        pytest.importorskip("bitsandbytes")
    options = {"lora": lora, "quantize": quantize, "vocabulary": 2048}
    return model_of(name, layers=2, dtype=getattr(torch, dtype), **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 4, 12, 28), (2, 4, 12, 28), (1, 1, 30, 20), (2, 2, 30, 60)])
def test_activations_are_within_a_fifth_of_what_autograd_keeps(kind, shape):
    model = small(*kind)
    kept = kept_by_autograd(model, packed_forward(model, *shape))
    assert estimate_of(model, *kind[1:], *shape).activations == pytest.approx(kept, rel=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_checkpointing_computes_again_is_within_a_fifth_of_what_it_keeps(kind):
    model, (rows, S, T) = small(*kind), (4, 12, 28)
    ids, mask = torch.randint(3, 200, (rows, S + T)), torch.ones(rows, S + T)
    mask[0, :4] = 0
    kept = kept_by_autograd(model, lambda: token_logprobs(model, ids, mask, T))
    run = estimate_of(model, *kind[1:], 1, rows, S, T, gradient_checkpointing=True).shape
    number = DTYPE_BYTES[kind[1]]
    assert 2 * one_layer(run, number) + outside_layers(run, number) == pytest.approx(kept, rel=0.2)


@pytest.mark.slow  # minutes on a CPU without bfloat16 products
def test_activations_with_so_many_logits_that_they_come_in_chunks():
    rows, T, vocabulary = 5, 80, 49_152
    assert rows * T * vocabulary > PLAIN_LIMIT
    model = model_of("smollm2", layers=1, dtype=torch.bfloat16, lora=16)
    kept = kept_by_autograd(model, packed_forward(model, 1, rows, 12, T))
    estimate = estimate_of(model, "bfloat16", 16, None, 1, rows, 12, T)
    assert estimate.activations == pytest.approx(kept, rel=0.2)


def test_checkpointing_keeps_one_input_a_layer():
    settings = {"lora_rank": 16, "prompt_tokens": 200, "completion_tokens": 300, "micro_batch": 2}
    without = estimate_memory("qwen2.5-1.5b", **settings)
    checkpointed = estimate_memory("qwen2.5-1.5b", gradient_checkpointing=True, **settings)
    tokens = 2 * 499  # every row with its prompt
    assert checkpointed.activations < 0.1 * without.activations
    assert checkpointed.activations > 28 * tokens * 1536 * 2
    assert checkpointed.updating < without.updating


# --- the answers ---


def run(**settings):
    base = {"quantize": "nf4", "lora_rank": 16, "group_size": 8, "prompts_per_step": 4}
    return estimate_memory("qwen2.5-1.5b", **{**base, "prompt_tokens": 256, "completion_tokens": 512, **settings})


def test_total_is_the_larger_phase_and_the_stated_constants():
    e = run(micro_batch=4)
    held = e.weights + e.adapters + e.optimizer
    assert e.sampling == held + e.kv_cache + e.sampling_logits
    assert e.updating == held + e.gradients + e.activations + max(e.logits, e.workspace)
    assert e.phase == "updating"
    assert e.total == e.updating + int(0.08 * e.updating) + 500 * 2**20


def test_fits_compares_with_gib():
    e = run(micro_batch=1)
    assert e.fits(e.total / GIB) and not e.fits((e.total - 1) / GIB)


def test_the_cheapest_setting_that_is_enough_is_lowered_first():
    assert run(micro_batch=1).first_to_lower(24) is None
    assert run(micro_batch=4).first_to_lower(8) == "micro_batch"
    assert run(micro_batch=1).first_to_lower(5) == "gradient_checkpointing"
    sampling = run(micro_batch=1, prompts_per_step=64, gradient_checkpointing=True)
    assert sampling.phase == "sampling" and sampling.first_to_lower(8.5) == "prompts_per_step"
    assert run(quantize=None, micro_batch=1, gradient_checkpointing=True).first_to_lower(4) == "quantize"


def test_where_nothing_is_enough_the_setting_that_frees_most_comes_first():
    e = run(micro_batch=32)
    assert e.first_to_lower(1) == "micro_batch"  # most of it is 32 sequences' activations
    assert run(quantize=None, micro_batch=1, gradient_checkpointing=True).first_to_lower(1) == "quantize"


@pytest.mark.parametrize("gpu", [8, 12, 24])
def test_longest_completion_fits_and_one_token_more_does_not(gpu):
    longest = run(micro_batch=4).longest_completion(gpu)
    assert longest > 0
    assert run(micro_batch=4, completion_tokens=longest).fits(gpu)
    assert not run(micro_batch=4, completion_tokens=longest + 1).fits(gpu)


def test_longest_completion_is_zero_on_a_card_too_small_and_ends_at_the_models_window():
    assert run().longest_completion(1) == 0
    assert estimate_memory("nano", prompt_tokens=20).longest_completion(1000) == 512 - 20


def test_a_reference_policy_costs_a_copy_of_what_is_trained():
    assert run(kl_beta=0.04).reference == run().adapters
    assert estimate_memory("smollm2", lora_rank=None, kl_beta=0.04).reference == 4 * 134_515_008


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"quantize": "int8"}, "use None or 'nf4'"),
        ({"lora_rank": None, "quantize": "nf4"}, "cannot be trained: give lora_rank"),
        ({"completion_tokens": 0}, "must be at least 1"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        run(**settings)


def test_unknown_models_are_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"no config\.json for 'gpt-9'; give nano, qwen2\.5-1\.5b, qwen2\.5-32b, "):
        estimate_memory("gpt-9")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(ValueError, match="type 'mamba' is not known; known: qwen2, llama, mistral"):
        estimate_memory(str(tmp_path))


def test_the_command_prints_the_parts_and_the_answer():
    import typer

    from grpo_lessons.commands.memory import memory

    app = typer.Typer()
    app.command()(memory)
    done = CliRunner().invoke(app, ["--model", "qwen2.5-1.5b", "--gpu", "8"])
    assert done.exit_code == 0
    assert "1,090.2" in done.output  # MiB of weights: 1,143,140,752 bytes
    assert "It fits:" in done.output
    assert "To mend it" in CliRunner().invoke(app, ["--model", "qwen2.5-1.5b", "--gpu", "2"]).output
