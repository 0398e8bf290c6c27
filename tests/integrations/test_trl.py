"""MethodGRPOTrainer against our own trainer and against stock TRL: same rollouts, same loss, same gradients."""

from types import SimpleNamespace

import pytest
import torch

trl = pytest.importorskip("trl", reason="trl is not installed: pip install 'grpo-lessons[scale]'")

from peft import LoraConfig  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

from grpo_lessons.adapters import LoraSpec  # noqa: E402
from grpo_lessons.advantages import group_advantages  # noqa: E402
from grpo_lessons.batch import Batch  # noqa: E402
from grpo_lessons.config import TrainConfig  # noqa: E402
from grpo_lessons.integrations.trl import MethodGRPOTrainer  # noqa: E402
from grpo_lessons.integrations.trl_refusals import require_hooks, require_supported  # noqa: E402
from grpo_lessons.methods import METHODS, get_method  # noqa: E402
from grpo_lessons.policies import load_policy  # noqa: E402
from grpo_lessons.tasks import as_dataset, get_task, task_reward  # noqa: E402
from grpo_lessons.update import Updater  # noqa: E402

TASK = get_task("addition")
TOKENS = 24
ONE_UPDATE = [name for name, method in METHODS.items() if method.updates == 1]


class Record(TrainerCallback):
    """Weights and gradient of each optimizer step, before the gradient is applied."""

    def __init__(self):
        self.weights, self.gradients = [], []

    def on_pre_optimizer_step(self, args, state, control, model, **kwargs):
        self.weights.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        self.gradients.append({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})


def config(folder, **changes):
    settings = {
        "output_dir": str(folder),
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 2,
        "steps_per_generation": 4,
        "num_generations": 4,
        "max_steps": 2,
        "max_completion_length": TOKENS,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "weight_decay": 0.0,
        "max_grad_norm": 1e9,
        "beta": 0.0,
        "temperature": 1.0,
        "gradient_checkpointing": False,
        "bf16": False,
        "use_cpu": True,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
    }
    return GRPOConfig(**{**settings, **changes})


def trained(folder, method, options=None, settings=None, policy=None, trainer=MethodGRPOTrainer, **others):
    """Two optimizer steps on one rollout: at the second one the ratios have left 1."""
    policy, record = policy or load_policy("nano", device="cpu"), Record()
    if method is not None:
        others |= {"method": method, "method_options": options}
    trainer = trainer(
        policy.model,
        task_reward(TASK),
        config(folder, **(settings or {})),
        train_dataset=as_dataset(TASK, "train", 8, 0),
        processing_class=policy.tokenizer,
        callbacks=[record],
        **others,
    )
    trainer.train()
    return trainer, record


def our_gradient(trainer, weights, step, config, lora=None):
    """The gradient by our own trainer of the same optimizer batch at the same weights."""
    policy = load_policy("nano", device="cpu", lora=lora)
    policy.model.load_state_dict(weights)
    parts = trainer._buffered_inputs[2 * step : 2 * step + 2]
    names = {"prompt_ids", "prompt_mask", "completion_ids", "advantages"}
    batch = Batch(
        **{name: torch.cat([part[name] for part in parts]) for name in names},
        groups=torch.arange(16),
        mask=torch.cat([part["completion_mask"] for part in parts]),
        logp_old=torch.cat([part["old_per_token_logps"] for part in parts]),
    )
    if config.kl_beta:
        batch.logp_ref = torch.cat([part["ref_per_token_logps"] for part in parts])
    updater = Updater(policy, config, TOKENS)
    (plan,) = updater.method.prepare(batch.mask, batch.logp_old, lambda: updater._scores(batch))
    updater._gradient(batch, plan)
    return {n: p.grad for n, p in policy.model.named_parameters() if p.grad is not None}


def assert_same_gradients(theirs, ours):
    assert theirs.keys() == ours.keys()
    largest = max(gradient.abs().max() for gradient in ours.values())
    assert largest > 1e-3
    for name in ours:
        torch.testing.assert_close(theirs[name], ours[name], rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_UPDATE)
def test_gradients_of_both_optimizer_batches_are_ours(name, tmp_path):
    options = {"normalize": True} if name == "grpo_sg" else {}
    trainer, record = trained(tmp_path, name, options)
    settings = TrainConfig(method=name, method_options=options, max_grad_norm=1e9)
    for step in (0, 1):
        expected = our_gradient(trainer, record.weights[step], step, settings)
        assert_same_gradients(record.gradients[step], expected)


def test_lora_and_a_penalty_give_our_gradient(tmp_path):
    policy = load_policy("nano", device="cpu")
    lora = LoraSpec(rank=4, alpha=8)
    others = {"peft_config": LoraConfig(r=4, lora_alpha=8, target_modules=list(lora.targets), task_type="CAUSAL_LM")}
    trainer, record = trained(tmp_path, "grpo_sg", None, {"beta": 0.1}, policy, **others)
    settings = TrainConfig(method="grpo_sg", max_grad_norm=1e9, kl_beta=0.1)
    expected = our_gradient(trainer, record.weights[1], 1, settings, lora)
    assert_same_gradients(record.gradients[1], expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grpo", "dapo", "gmpo", "dr_grpo"])
def test_splits_of_an_optimizer_batch_give_the_same_gradient(name, tmp_path):
    gradients = []
    for rows in (16, 8, 4):
        settings = {
            "per_device_train_batch_size": rows,
            "gradient_accumulation_steps": 16 // rows,
            "steps_per_generation": 32 // rows,
            "mask_truncated_completions": True,
        }
        gradients.append(trained(tmp_path, name, None, settings)[1].gradients[1])
    for other in gradients[1:]:
        assert_same_gradients(other, gradients[0])


@pytest.mark.slow
def test_a_rollout_is_used_again_in_a_second_iteration(tmp_path):
    settings = {"num_iterations": 2, "max_steps": 4}
    trainer, record = trained(tmp_path, "gmpo", None, settings)
    config = TrainConfig(method="gmpo", max_grad_norm=1e9)
    expected = our_gradient(trainer, record.weights[3], 1, config)  # the second half, for the second time
    assert_same_gradients(record.gradients[3], expected)


STOCK = {
    "grpo": {"loss_type": "grpo"},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none"},
    "gspo": {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STOCK)
def test_one_micro_batch_gives_the_gradient_of_stock_trl(name, tmp_path):
    whole = {"per_device_train_batch_size": 16, "gradient_accumulation_steps": 1, "steps_per_generation": 2}
    theirs = trained(tmp_path, None, None, {**whole, **STOCK[name]}, trainer=GRPOTrainer)[1]
    ours = trained(tmp_path, name, None, whole)[1]
    for step in (0, 1):
        assert_same_gradients(ours.gradients[step], theirs.gradients[step])


def test_metrics_are_the_methods_and_advantages_are_those_of_the_group(tmp_path):
    trainer, _ = trained(tmp_path, "gmpo")
    first, second = [line for line in trainer.state.log_history if "ratio_max" in line]
    assert first["ratio_max"] == 1.0 and second["ratio_max"] > 1.0
    assert {"ratio_min", "clip_fraction", "approx_kl", "entropy"} <= set(second)
    rewards = torch.tensor(list(trainer._logs["rewards"]["addition"])).view(-1, 4)
    expected = group_advantages(rewards, eps=1e-4).flatten()
    torch.testing.assert_close(torch.tensor(list(trainer._logs["advantages"])), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [
        ("lopti", {}, "2 optimizer steps"),
        ("gmpo", {"epsilon": 0.1}, "epsilon=0.1 is a setting of TRL's own losses"),
        ("dapo", {"epsilon_high": 0.28}, "clip_low, clip_high"),
        ("grpo", {"importance_sampling_level": "sequence"}, "importance_sampling_level"),
        ("grpo", {"scale_rewards": "batch"}, "scale_rewards='batch'"),
        ("dr_grpo", {"scale_rewards": "batch"}, "has 'none'"),
        ("grpo", {"use_vllm": True}, "vllm_importance_sampling_correction"),
        ("grpo", {"gradient_accumulation_steps": 3, "per_device_train_batch_size": 4}, "no multiple"),
    ],
)
def test_settings_that_would_not_act_are_refused(method, settings, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        require_supported(get_method(method), config(tmp_path, **settings))


def test_batch_statistics_are_refused_on_several_processes(tmp_path):
    args = config(tmp_path)
    args.distributed_state = SimpleNamespace(num_processes=2)
    require_supported(get_method("grpo_sg"), args)
    with pytest.raises(ValueError, match="not shared between the 2 processes"):
        require_supported(get_method("grpo_sg", normalize=True), args)
    with pytest.raises(ValueError, match="high_entropy"):
        require_supported(get_method("high_entropy"), args)


def test_another_trainer_another_version_or_a_moved_hook_is_refused():
    class Moved(GRPOTrainer):
        def _prepare_inputs(self, batch): ...

    Moved.__module__ = GRPOTrainer.__module__
    require_hooks(GRPOTrainer, "1.16.0")
    with pytest.raises(ValueError, match=r"found trl 1\.17\.0"):
        require_hooks(GRPOTrainer, "1.17.0")
    with pytest.raises(ValueError, match=r"_prepare_inputs\(\.\.\., generation_batch"):
        require_hooks(Moved, "1.16.0")
    Moved.__module__ = "unsloth_compiled_cache.UnslothGRPOTrainer"
    with pytest.raises(ValueError, match="Unsloth replaces it"):
        require_hooks(Moved, "1.16.0")


def test_rewards_and_rows_of_a_task(tmp_path):
    rows = as_dataset(TASK, "dev", 3, 7)
    problems = TASK.problems("dev", 3, 7)
    assert rows["answer"] == [str(problem.answer) for problem in problems]
    right = [[{"role": "assistant", "content": f"<answer>{p.answer}</answer>"}] for p in problems]
    reward = task_reward(TASK)
    assert reward(prompts=rows["prompt"], completions=right, problem=rows["problem"]) == [1.0, 1.0, 1.0]
    assert reward(completions=["<answer>-1</answer>"], problem=[rows["problem"][0]]) == [0.0]


@pytest.mark.parametrize(
    "name", sorted({"addition", "countdown", "knights_knaves", "programs", "small_sums", "word_problems"})
)
def test_every_task_that_ships_is_a_dataset_and_a_reward(name):
    task = get_task(name)
    rows = as_dataset(task, "train", 4, 0)
    assert set(rows.column_names) == {"prompt", "answer", "problem"}
    nothing = task_reward(task)(completions=["I do not know."] * 4, problem=rows["problem"])
    assert nothing == [0.0] * 4
