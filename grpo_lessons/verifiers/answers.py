"""Where is the answer? Strict and lenient ways to cut it out of a completion.

Every function here takes any object, returns None or False for what is not text, and scans in linear time:
a completion comes from a model under optimisation, which finds every hole and every slow pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable

OPEN, CLOSE = "<answer>", "</answer>"
MAX_SCAN = 100_000  # characters from the end that a search for boxes or free numbers looks at

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
    "<|padding|>",
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
_END = re.compile("|".join(map(re.escape, END_STRINGS)))
_BRACES = re.compile(r"\\boxed\s*+\{|\\.|[{}]", re.DOTALL)
_HASHES = re.compile(r"(?<!#)####(?!#)([^\r\n]*)")

Extractor = Callable[[str], str | None]


def only_endings(text: str) -> bool:
    """True if the text is nothing but white space and end or padding strings of a tokenizer."""
    for end in END_STRINGS:
        text = text.replace(end, " ")
    return not text.strip()


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
    if not only_endings(completion[end + len(CLOSE) :]):
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
    text = final_part(completion)
    start = text.rfind(OPEN, 0, max(text.rfind(CLOSE), 0))  # the last opening tag that has a closing one after it
    if start < 0:
        return None
    return text[start + len(OPEN) : text.index(CLOSE, start)].strip() or None


def extract_boxed(completion: str) -> str | None:
    r"""The text of the last balanced `\boxed{...}` after the last `</think>`, braces nested to any depth.

    `\{` and `\}` are not braces. Looks at the last 100 000 characters only.
    """
    if not isinstance(completion, str):
        return None
    text = final_part(completion)[-MAX_SCAN:]
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
    """The line after the last `####` (GSM8K's style) after the last `</think>`, up to an end string."""
    if not isinstance(completion, str):
        return None
    answer = None
    for found in _HASHES.finditer(final_part(completion)):
        answer = found.group(1)
    return _END.split(answer or "", maxsplit=1)[0].strip() or None


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
    return bool(content.strip()) and only_endings(rest)


def read_answer(completion: object, extract: Extractor = extract_answer) -> tuple[str | None, str]:
    """What every verifier does first: (answer, "") or (None, the reason why there is none)."""
    if not isinstance(completion, str):
        return None, "not_text"
    answer, reason = _strict(completion) if extract is extract_answer else (extract(completion), "no_answer")
    if not isinstance(answer, str) or not answer.strip():
        return None, reason
    return answer, ""
