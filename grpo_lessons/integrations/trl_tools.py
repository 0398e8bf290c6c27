"""Our tools and environments in TRL's GRPOTrainer: as functions for `tools=`, or whole, as a `rollout_func=`.

`tools=` lets TRL write and parse the calls (JSON, in the chat template of the model, which must know tool calls);
`rollout_func=` keeps our `<call>search: Merk</call>` and our loop, with results masked by TRL's `env_mask`. Both hooks
are marked as experimental by TRL; seen with TRL 1.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grpo_lessons.environments import STATUSES, Environment, Tool, ToolError
from grpo_lessons.policies import Policy
from grpo_lessons.tasks import Problem
from grpo_lessons.tool_rollouts import sample_tool_groups


def trl_tools(tools: Mapping[str, Tool], descriptions: Mapping[str, str]) -> list[Callable[[str], str]]:
    """Functions for GRPOTrainer's `tools=`: named, typed and documented as chat templates need it.

    descriptions: what each tool does, one sentence; ValueError if one is missing. An argument that a tool refuses,
    or that it finds nothing for, is answered in words, as in `environments`.
    """
    if missing := sorted(set(tools) - set(descriptions)):
        raise ValueError(f"no description of {', '.join(missing)}; a model is told what a tool does by its description")
    return [_function(name, tool, descriptions[name]) for name, tool in tools.items()]


def _function(name: str, tool: Tool, description: str) -> Callable[[str], str]:
    def call(argument: str) -> str:
        try:
            return tool(argument) or STATUSES["empty"]
        except ToolError:
            return STATUSES["refused"]

    call.__name__ = call.__qualname__ = name
    call.__annotations__ = {"argument": str, "return": str}
    call.__doc__ = (
        f"{description}\n\nArgs:\n    argument: What the tool works on.\n\nReturns:\n    The result, as text."
    )
    return call


def trl_rollout(environment: Environment) -> Callable[[list, Any], dict[str, list]]:
    """A `rollout_func=` for GRPOTrainer: one completion for each prompt it is given, calls answered by `environment`.

    The trainer repeats each prompt `num_generations` times itself. max_completion_length counts results too.
    """

    def rollout(prompts: list, trainer) -> dict[str, list]:
        model = trainer.accelerator.unwrap_model(trainer.model)
        policy = Policy(model, trainer.processing_class, trainer.accelerator.device, "trl")
        rollouts = sample_tool_groups(
            policy,
            [Problem(prompt, None) for prompt in prompts],
            1,
            environment,
            max_new_tokens=trainer.max_completion_length,
            temperature=trainer.temperature,
            seed=trainer.args.seed * 1_000_003 + trainer.state.global_step,
        )
        episodes = rollouts.episodes
        return {
            "prompt_ids": [episode.prompt for episode in episodes],
            "completion_ids": [episode.ids for episode in episodes],
            "logprobs": [episode.logp for episode in episodes],
            "env_mask": [episode.mask for episode in episodes],
        }

    return rollout
