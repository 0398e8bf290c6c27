import random

import pytest
import torch
from transformers.utils import get_json_schema

from grpo_lessons.environments import Tools
from grpo_lessons.integrations.trl_tools import trl_rollout, trl_tools
from grpo_lessons.nano import make_nano
from grpo_lessons.tasks.lookup_tools import calculate

DESCRIPTIONS = {"calculate": "Compute an expression.", "find": "Find a word."}


def test_tools_have_the_name_schema_and_words_that_a_chat_template_needs():
    find, compute = trl_tools({"find": lambda word: "", "calculate": calculate}, DESCRIPTIONS)
    assert compute("3*(4+5)") == "27"
    assert compute("1/0") == "error: the tool cannot do this"
    assert find("x") == "nothing found"
    schema = get_json_schema(compute)["function"]
    assert (schema["name"], schema["description"]) == ("calculate", "Compute an expression.")
    assert schema["parameters"]["required"] == ["argument"]


def test_a_tool_without_a_description_is_refused():
    with pytest.raises(ValueError, match="no description of calculate"):
        trl_tools({"calculate": calculate}, {})


@pytest.mark.slow
def test_trl_trains_on_our_rollouts_and_masks_the_results(tmp_path):
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    asked, told = "<call>calculate: 2+3</call>", "<result>5</result>"
    lines = [("", asked), (asked + told, "<answer>5</answer>")]

    def homework(rng: random.Random):
        before, after = rng.choice(lines)
        begun = [{"role": "assistant", "content": before}] if before else []
        return [{"role": "user", "content": "2+3"}, *begun], after

    words = ("<call>", "</call>", "<result>", "</result>")
    model, tokenizer = make_nano(
        homework, steps=100, hidden=32, layers=1, batch_size=12, learning_rate=1e-2, words=words
    )
    seen = []

    def reward(prompts, completions, **_):
        seen.extend(completion[0]["content"] for completion in completions)
        return [float(i % 2) for i in range(len(completions))]

    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": "2+3"}]}] * 4),
        rollout_func=trl_rollout(Tools({"calculate": calculate})),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=1,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=60,
            temperature=1.0,
            report_to=[],
            use_cpu=True,
            bf16=False,
        ),
    )
    masks = []
    compute = trainer._compute_loss
    trainer._compute_loss = lambda model, inputs: masks.append(inputs) or compute(model, inputs)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    trainer.train()
    (inputs,) = masks
    kept = [
        tokenizer.decode(ids[mask.bool()])
        for ids, mask in zip(inputs["completion_ids"], inputs["tool_mask"] * inputs["completion_mask"], strict=True)
    ]
    assert any("<result>5</result>" in text for text in seen)
    assert not any("<result>" in text for text in kept)
    assert any(not torch.equal(p, before[name]) for name, p in model.named_parameters())
