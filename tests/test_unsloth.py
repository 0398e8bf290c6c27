"""Unsloth on its CPU backend: the same numbers as transformers, and the whole loop (make test-unsloth)."""

import subprocess
import sys

import pytest

unsloth = pytest.importorskip("unsloth")  # before transformers, as it asks

import torch  # noqa: E402

from grpo_lessons.adapters import LoraSpec, adapter_hash, merge_adapter, save_adapter, trainable_parameters  # noqa: E402
from grpo_lessons.config import TrainConfig  # noqa: E402
from grpo_lessons.decoder import CacheDecoder, FastDecoder, fast_decodable  # noqa: E402
from grpo_lessons.four_bit import is_four_bit  # noqa: E402
from grpo_lessons.integrations.unsloth import UnslothSampler  # noqa: E402
from grpo_lessons.logprobs import token_logprobs  # noqa: E402
from grpo_lessons.policies import load_policy  # noqa: E402
from grpo_lessons.rollouts import sample_groups  # noqa: E402
from grpo_lessons.tasks import get_task  # noqa: E402
from grpo_lessons.trainer import train  # noqa: E402
from grpo_lessons.update import Updater  # noqa: E402

pytestmark = pytest.mark.unsloth

SPEC = LoraSpec(rank=4, alpha=8)
TASK = get_task("addition")


def load(backend, **options):
    return load_policy("nano", lora=SPEC, backend=backend, device="cpu", **options)


@pytest.fixture
def pair():
    """The same adapters on Unsloth's model and on that of transformers."""
    theirs, ours = load("unsloth"), load("transformers")
    generator = torch.Generator().manual_seed(0)
    for (name, a), (same, b) in zip(adapters(theirs), adapters(ours), strict=True):
        assert name == same and a.shape == b.shape
        with torch.no_grad():
            a.copy_(0.05 * torch.randn(a.shape, generator=generator))
            b.copy_(a)
    return theirs, ours


def adapters(policy):
    return sorted((name, p) for name, p in policy.model.named_parameters() if p.requires_grad)


def logp(policy):
    ids = policy.tokenizer(["27+48=7+8=15, 2+4=6"], return_tensors="pt").input_ids
    with torch.no_grad():
        return token_logprobs(policy.model, ids, torch.ones_like(ids), 12).logp


def test_auto_takes_unsloth_where_adapters_are_asked_for():
    assert load("auto").backend == "unsloth"
    assert load_policy("nano", device="cpu").backend == "transformers"


def test_log_probabilities_and_trainable_parameters_are_those_of_transformers(pair):
    theirs, ours = pair
    assert trainable_parameters(theirs.model) == trainable_parameters(ours.model)
    torch.testing.assert_close(logp(theirs), logp(ours), atol=1e-5, rtol=1e-5)


def test_our_decoder_computes_the_patched_model(pair):
    theirs, _ = pair
    base = theirs.model.get_base_model()
    assert fast_decodable(base, 32)
    ids, mask = torch.tensor([[5, 6, 7, 8], [0, 0, 9, 10]]), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    fast, slow = FastDecoder(base, 8), CacheDecoder(theirs.model, 8)
    torch.testing.assert_close(fast.prefill(ids, mask), slow.prefill(ids, mask), atol=1e-4, rtol=1e-4)
    for decoder in (fast, slow):
        decoder.expand(2)
    tokens = torch.tensor([20, 21, 22, 23])
    torch.testing.assert_close(fast.step(tokens), slow.step(tokens), atol=1e-4, rtol=1e-4)


def test_its_own_generation_finds_the_same_tokens(pair):
    theirs, _ = pair
    problems = TASK.problems("train", 3, 0)
    ours = sample_groups(theirs, problems, 2, max_new_tokens=12, temperature=0, seed=0)
    theirs.sampler = UnslothSampler(unsloth.FastLanguageModel, theirs.model, theirs.tokenizer, vllm=False)
    own = sample_groups(theirs, problems, 2, max_new_tokens=12, temperature=0, seed=0)
    assert own.texts == ours.texts
    torch.testing.assert_close(own.logp, ours.logp, atol=1e-4, rtol=0)


def test_one_update_moves_both_to_the_same_adapters(pair):
    rollouts = sample_groups(pair[1], TASK.problems("train", 4, 0), 4, max_new_tokens=20, seed=0)
    rewards = torch.tensor([[1.0, 0.0, 0.0, 1.0]] * 4)
    config = TrainConfig(prompts_per_step=4, group_size=4, minibatches=2, learning_rate=1e-3)
    for policy in pair:
        updater = Updater(policy, config, 20)
        updater.update(rollouts, rewards, updater.method.advantages(rewards), 1)
    for (name, a), (_, b) in zip(*map(adapters, pair), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-3, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("quantize", [None, "nf4"])
def test_the_trainer_runs_and_its_adapters_load_elsewhere(tmp_path, quantize):
    policy = load("unsloth", quantize=quantize)
    assert is_four_bit(policy.model) == bool(quantize)
    before = adapter_hash(policy.model)
    config = TrainConfig(steps=2, prompts_per_step=4, group_size=4, minibatches=2, learning_rate=1e-3)
    log = train(policy, TASK, config)
    assert len(log.table) == 2 and log.table.grad_norm.max() > 0
    assert adapter_hash(policy.model) != before
    again = load_policy(str(save_adapter(policy, tmp_path)), quantize=quantize, backend="transformers", device="cpu")
    assert adapter_hash(again.model) == adapter_hash(policy.model)
    torch.testing.assert_close(logp(again), logp(policy), atol=1e-4, rtol=0)
    merged = merge_adapter(policy, dtype=torch.float32)
    torch.testing.assert_close(logp(merged), logp(policy), atol=1e-4, rtol=0)


def test_loading_leaves_the_random_state_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    load("unsloth")
    assert torch.equal(torch.rand(1), expected)


def test_whoever_imported_transformers_first_is_told():
    code = (
        "import transformers, warnings\n"
        "warnings.simplefilter('error', UserWarning)\n"
        "from grpo_lessons.integrations.unsloth import import_unsloth\n"
        "try: import_unsloth()\n"
        "except UserWarning as warning: print(warning)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1].startswith("transformers was imported before unsloth")


def test_without_the_order_problem_nobody_is_bothered():
    code = (
        "import sys, warnings\n"
        "from grpo_lessons.policies import LoraSpec, load_policy\n"
        "assert 'transformers' not in sys.modules, 'our own modules came first'\n"
        "warnings.filterwarnings('error', message='.*imported before unsloth.*')\n"
        "print(load_policy('nano', lora=LoraSpec(rank=2), device='cpu').backend)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "unsloth", done.stderr[-500:]
