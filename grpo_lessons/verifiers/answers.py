"""Where is the answer? Strict and lenient ways to cut it out of a completion.

Every function here takes any object, returns None or False for what is not text, and scans in linear time:
a completion comes from a model under optimisation, which finds every hole and every slow pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable

OPEN, CLOSE = "<answer>", "</answer>"

# What tokenizers leave at the end of a completion when special tokens are not skipped.
END_STRINGS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "<|eos|>",
    "<|pad|>",
    "<|fim_pad|>",
    "<|vision_pad|>",
    "<|PAD_TOKEN|>",
    "<|finetune_right_pad_id|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<｜▁pad▁｜>",
    "</s>",
    "<eos>",
    "<pad>",
    "<unk>",
    "[EOS]",
    "[PAD]",
)
_ENDING = re.compile(r"(?:\s|" + "|".join(map(re.escape, END_STRINGS)) + r")*+")
_TAGS = re.compile("</?answer>")
_BRACES = re.compile(r"\\boxed\s*+\{|\\.|[{}]", re.DOTALL)
_HASHES = re.compile(r"(?<!#)####(?!#)([^\r\n]*)")

Extractor = Callable[[str], str | None]


def strip_endings(text: str) -> str:
    """The text without white space around it and without end or padding strings after it."""
    text = text.strip()
    while ending := next((end for end in END_STRINGS if text.endswith(end)), None):
        text = text[: -len(ending)].rstrip() if len(text) < 10_000 else _cut_long_ending(text)
    return text


def _cut_long_ending(text: str) -> str:
    """One pass for a long run of padding, where cutting one string at a time would be quadratic."""
    start = len(text)
    while ending := next((end for end in END_STRINGS if text.endswith(end, 0, start)), None):
        start -= len(ending)
        while start and text[start - 1].isspace():
            start -= 1
    return text[:start]


def _strict(completion: str) -> tuple[str | None, str]:
    """The strict reading and, where it finds none, the reason."""
    opened, closed = completion.count(OPEN), completion.count(CLOSE)
    if opened == 0 or closed == 0:
        return None, "no_answer"
    if opened > 1 or closed > 1:
        return None, "two_answers"
    start, end = completion.index(OPEN) + len(OPEN), completion.index(CLOSE)
    if end < start:
        return None, "no_answer"
    after = end + len(CLOSE)
    if _ENDING.match(completion, after).end() != len(completion):
        return None, "trailing_text"
    return completion[start:end].strip() or None, "no_answer"


def extract_answer(completion: str) -> str | None:
    """The text of the one `<answer>...</answer>` block, stripped; None unless the layout is exact.

    Exact: one opening and one closing tag in the whole completion, and after the block nothing but white
    space and end or padding strings of a tokenizer. An empty block is no answer.
    """
    return _strict(completion)[0] if isinstance(completion, str) else None


def final_part(completion: str) -> str:
    """What follows the last `</think>`, up to a thought that was opened again and never closed."""
    return completion.rpartition("</think>")[2].partition("<think>")[0]


def extract_last_answer(completion: str) -> str | None:
    """The lenient twin: the last complete innermost pair of tags after the last `</think>`."""
    if not isinstance(completion, str):
        return None
    text, start, answer = final_part(completion), None, None
    for tag in _TAGS.finditer(text):
        if tag.group() == OPEN:
            start = tag.end()
        elif start is not None:
            answer, start = text[start : tag.start()], None
    return (answer or "").strip() or None


def extract_boxed(completion: str) -> str | None:
    r"""The text of the last balanced `\boxed{...}` after the last `</think>`; nested and escaped braces count."""
    if not isinstance(completion, str):
        return None
    text = final_part(completion)
    stack: list[int | None] = []  # one entry per open brace: where a box starts, or None
    best_start, best_end = -1, -1
    for token in _BRACES.finditer(text):
        symbol = token.group()
        if symbol == "{":
            stack.append(None)
        elif symbol.startswith("\\boxed"):
            stack.append(token.end())
        elif symbol == "}" and stack:
            start = stack.pop()
            if start is not None and start > best_start:
                best_start, best_end = start, token.start()
    return text[best_start:best_end].strip() or None if best_end >= 0 else None


def answer_after_hashes(completion: str) -> str | None:
    """The rest of the line after the last `####` (GSM8K's style) after the last `</think>`."""
    if not isinstance(completion, str):
        return None
    answer = None
    for found in _HASHES.finditer(final_part(completion)):
        answer = found.group(1)
    return strip_endings(answer or "") or None


def has_format(completion: str, tags: tuple[str, ...] = ("think", "answer")) -> bool:
    """True if the whole completion is `<think>...</think><answer>...</answer>`, in this order, each once.

    White space, new lines and carriage returns may stand between the blocks and around them, end and padding
    strings after them. The last block must not be empty. tags: the names of the blocks.
    """
    if not isinstance(completion, str):
        return False
    rest = completion
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        if completion.count(opening) != 1 or completion.count(closing) != 1:
            return False
        rest = rest.lstrip()
        if not rest.startswith(opening):
            return False
        content, found, rest = rest[len(opening) :].partition(closing)
        if not found:
            return False
    return bool(content.strip()) and _ENDING.fullmatch(rest) is not None


def read_answer(completion: object, extract: Extractor = extract_answer) -> tuple[str | None, str]:
    """What every verifier does first: (answer, "") or (None, the reason why there is none)."""
    if not isinstance(completion, str):
        return None, "not_text"
    answer, reason = _strict(completion) if extract is extract_answer else (extract(completion), "no_answer")
    if not isinstance(answer, str) or not answer.strip():
        return None, reason
    return answer, ""
