"""Talk to a policy: one question, one answer."""

from __future__ import annotations

from collections.abc import Sequence

from .tasks import Problem


def reply(
    policy, messages: str | Sequence[dict], *, max_new_tokens: int, temperature: float = 0.0, seed: int = 0
) -> str:
    """The policy's answer to a question, or to a chat that ends with the user's message.

    messages: a question, or chat messages as in `Problem.prompt`. temperature 0: the likeliest token each time.
    """
    from .rollouts import sample_groups

    prompt = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    options = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed}
    return sample_groups(policy, [Problem(prompt, None)], 1, **options).texts[0]
