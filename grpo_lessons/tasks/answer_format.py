"""What real models are told about the answer, and a reward that pays a little for the layout alone."""

from __future__ import annotations

from collections.abc import Callable

from grpo_lessons.verifiers import extract_answer, reward_function, weighted_sum

SYSTEM_PROMPTS = {
    "en": (
        "Solve the problem. Think in a few short steps. "
        "Then write the result, a number and nothing else, between <answer> and </answer>."
    ),
    "pt": (
        "Resolva o problema. Pense em poucos passos curtos. "
        "Depois escreva o resultado, um número e mais nada, entre <answer> e </answer>."
    ),
}


def chat(question: str, language: str = "en") -> list[dict[str, str]]:
    """The prompt of a question: system message, user message. Raises ValueError for an unknown language."""
    if language not in SYSTEM_PROMPTS:
        raise ValueError(f"unknown language {language!r}; known: {', '.join(SYSTEM_PROMPTS)}")
    return [{"role": "system", "content": SYSTEM_PROMPTS[language]}, {"role": "user", "content": question}]


def has_answer_block(completion: str) -> bool:
    """Whether the completion ends in exactly one `<answer>` block that is not empty, whatever it says."""
    return extract_answer(completion) is not None


def correct_and_format(verify: Callable, *, format_weight: float = 0.2):
    """1 for a correct answer + format_weight for the layout: a first reward for a model that is never right at first.

    verify: a verifier whose argument `expected` is the problem's answer. The two parts come apart through `.parts()`,
    and the run log's accuracy is the task's verdict alone, without the bonus.
    """
    return weighted_sum(
        correct=(1.0, reward_function(verify, expected="answer")),
        format=(format_weight, reward_function(has_answer_block)),
    )
