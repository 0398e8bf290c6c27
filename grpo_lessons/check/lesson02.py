"""Checks of lesson 02: the strict extractor, the reward that stands on it, and inputs that break the museum."""

import re

from grpo_lessons import verifiers
from grpo_lessons.check.base import Exercise
from grpo_lessons.check.museum_pairs import BREAKERS, REFERENCES, outcomes

BLOCK = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def _first(text):
    found = BLOCK.search(text)
    return found.group(1).strip() or None if found else None


def _last(text):
    found = BLOCK.findall(text)
    return found[-1].strip() or None if found else None


def _greedy(text):
    found = re.search(r"<answer>(.*)</answer>", text, re.DOTALL)
    return found.group(1).strip() or None if found and verifiers.extract_last_answer(text) else None


def _nothing_after(text):
    """One block at the very end, end strings not allowed for."""
    return verifiers.extract_answer(text) if text.rstrip().endswith("</answer>") else None


def _may_trail(text):
    return _first(text) if text.count("<answer>") == text.count("</answer>") == 1 else None


def _not_stripped(text):
    if verifiers.extract_answer(text) is None:
        return None
    return BLOCK.search(text).group(1)


def _empty_is_text(text):
    return "" if re.fullmatch(r"[^<]*<answer>\s*</answer>\s*", text) else verifiers.extract_answer(text)


def _last_number(text):
    found = re.findall(r"-?\d+", text)
    return found[-1] if found else None


def _unguarded(text):
    return text.split("<answer>")[1].split("</answer>")[0].strip()


extract = Exercise(
    name="02.extract",
    todo="return the text between `<answer>` and `</answer>`, or None if the completion is not exactly right.",
    right=verifiers.extract_answer,
    inputs=(
        ("27 + 35 = 62 <answer>62</answer>",),
        ("<answer> 62\n</answer>\n",),
        ("I considered 42, my answer is 40.",),
        ("<answer>62</answer> or maybe 63",),
        ("<answer>61</answer> wait, <answer>62</answer>",),
        ("<answer>62</answer><|im_end|>",),
        ("<answer>62</answer><|im_end|><|endoftext|>",),
        ("<answer></answer>",),
        ("</answer>62<answer>",),
        ("<answer>62",),
        ("<answer><answer>62</answer>",),
        ("<answer>twelve</answer>",),
    ),
    wrong=(
        (_first, "a second block slipped through: 'exactly one' means that a completion cannot try two answers."),
        (_last, "the last of several blocks was taken: 'exactly one' means that a completion cannot try two answers."),
        (_greedy, "`.*` is greedy: with two blocks it returns everything between the first and the last tag."),
        (_may_trail, "text after the block slipped through: nothing may follow it, or the answer can be taken back."),
        (
            _nothing_after,
            "the end strings of a tokenizer, such as `<|im_end|>`, may follow the block: strip them first.",
        ),
        (_not_stripped, "white space around the answer stays in: strip it."),
        (_empty_is_text, "an empty block is no answer: return None, not an empty string."),
        (_last_number, "this looks for a number anywhere; 'I considered 42' is not an answer: read the tags only."),
        (_unguarded, "without a block this fails or reads the wrong part: return None, a verifier must never raise."),
    ),
)


def _strict_reward(completion, expected):
    return verifiers.verify_integer(completion, expected).reward


def _read(completion, expected, reads):
    """1.0 if `reads(answer text)` equals the expected number, 0.0 where there is no answer or it cannot be read."""
    text = verifiers.extract_answer(completion)
    try:
        return float(text is not None and reads(text) == expected)
    except ValueError:
        return 0.0


reward = Exercise(
    name="02.reward",
    todo="extract the answer, demand an optional sign and 1 to 12 of the digits 0-9, compare as int; 1.0 or 0.0.",
    right=_strict_reward,
    inputs=(
        ("<answer>42</answer>", 42),
        ("<answer>+42</answer>", 42),
        ("<answer>042</answer>", 42),
        ("<answer>41</answer>", 42),
        ("I considered 42. <answer>40</answer>", 42),
        ("the answer is 42", 42),
        ("<answer>4_2</answer>", 42),
        ("<answer>٤٢</answer>", 42),
        ("<answer>42.0</answer>", 42),
        ("<answer>" + "0" * 20 + "42</answer>", 42),
        ("<answer>42 or 43</answer>", 42),
        ("<answer>-7</answer>", -7),
    ),
    wrong=(
        (
            lambda completion, expected: float(str(expected) in completion),
            "'42' anywhere in the text earns the reward, as in 'I considered 42'; read the one block only.",
        ),
        (
            lambda completion, expected: float(str(expected) in (verifiers.extract_answer(completion) or "")),
            "the block only has to contain the number: '42 or 43' earns the reward; the whole text must be it.",
        ),
        (
            lambda completion, expected: float(verifiers.extract_answer(completion) == str(expected)),
            "the texts are compared, so +42 and 042 lose; compare the numbers.",
        ),
        (
            lambda completion, expected: _read(completion, expected, int),
            "int() reads more than it seems: '4_2' and Arabic digits pass; check with a pattern of [0-9] first.",
        ),
        (
            lambda completion, expected: _read(completion, expected, float),
            "float() accepts 42.0, 4_2 and other ways to write it; the rule asks for digits with an optional sign.",
        ),
        (
            lambda completion, expected: _read(
                completion, expected, lambda text: int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
            ),
            "the number of digits is not limited: allow 1 to 12, or a completion can send you a million of them.",
        ),
        (
            lambda completion, expected: _read(
                completion, expected, lambda text: int(text) if re.fullmatch(r"[+-]?\d{1,12}", text) else None
            ),
            r"`\d` also matches digits of other scripts, such as ٤٢; write [0-9].",
        ),
    ),
)


break_museum = Exercise(
    name="02.break_museum",
    todo="for each exhibit return a pair (completion, expected) that it judges wrongly.",
    right=BREAKERS.get,
    inputs=((tuple(REFERENCES),),),
    wrong=(
        (
            lambda name: ("<answer>42</answer>", 42),
            "exhibit and library both accept that; it needs a right answer that the exhibit refuses, or a wrong one "
            "that it accepts.",
        ),
        (
            lambda name: ("<answer>41</answer>", 42),
            "exhibit and library both reject that; it needs a wrong answer that the exhibit accepts, or a right one "
            "that it refuses.",
        ),
        (
            lambda name: ("I considered 42, it is <answer>40</answer>", 42),
            "one input does not break them all: every exhibit has a fault of its own, and its docstring names it.",
        ),
        (
            lambda name: ("42", 42),
            "put the answer into a block, `<answer>...</answer>`: break the reading, not the rule.",
        ),
        (lambda name: "<answer>142</answer>", "return a pair: the completion, and the number that is expected."),
    ),
    measure=outcomes,
)
