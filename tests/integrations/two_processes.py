"""Started by the tests through accelerate: GRPO on nano, with rollouts that do not depend on the number of processes.

Every process samples all rows of the global batch with the same seed and keeps its own. A global batch is three groups
of eight; on two processes the second group is split between them.
"""

import argparse
import json
from pathlib import Path

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback

from grpo_lessons.config import TrainConfig
from grpo_lessons.integrations.trl_run import build
from grpo_lessons.policies import Policy, load_policy
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import Problem, get_task

GROUP = 8
CONFIG = {"prompts_per_step": 3, "group_size": GROUP, "minibatches": 1, "epochs": 2, "learning_rate": 0.05}


def same_for_everyone(prompts, trainer):
    everyone = gather_object(prompts)
    policy = Policy(trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class, torch.device("cpu"), "")
    rollouts = sample_groups(
        policy,
        [Problem(prompt, None) for prompt in everyone[::GROUP]],
        GROUP,
        max_new_tokens=trainer.max_completion_length,
        seed=trainer.state.global_step,
    )
    first = len(prompts) * trainer.accelerator.process_index
    mine = range(first, first + len(prompts))
    kept = rollouts.mask.bool()
    return {
        "prompt_ids": [rollouts.prompt_ids[i][rollouts.prompt_mask[i].bool()].tolist() for i in mine],
        "completion_ids": [rollouts.completion_ids[i][kept[i]].tolist() for i in mine],
        "logprobs": [rollouts.logp[i][kept[i]].tolist() for i in mine],
    }


class StopAfter(TrainerCallback):
    def __init__(self, update):
        self.update = update

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.update:
            control.should_training_stop = control.should_save = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--method", default="gmpo")
    parser.add_argument("--stop-after", type=int, default=None)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    config = TrainConfig(method=options.method, steps=2, checkpoint_every=0, **CONFIG)
    trainer = build(
        load_policy("nano", device="cpu"),
        get_task("addition"),
        config,
        options.out,
        rollout_func=same_for_everyone,
        callbacks=[StopAfter(options.stop_after)],
        changed={"optim": "sgd", "logging_steps": 1, "save_strategy": "steps", "save_steps": 1000},
    )
    trainer.train(resume_from_checkpoint=options.resume)
    if trainer.accelerator.is_main_process:
        trainer.accelerator.unwrap_model(trainer.model).save_pretrained(options.out / "policy")
    history = options.out / f"history-{trainer.accelerator.process_index}.json"
    history.write_text(json.dumps(trainer.state.log_history))


if __name__ == "__main__":
    main()
