import pytest

from grpo_lessons.verifiers import (
    answer_after_hashes,
    extract_answer,
    extract_boxed,
    extract_last_answer,
    has_format,
    read_answer,
)
from grpo_lessons.verifiers.answers import END_STRINGS


@pytest.mark.parametrize(
    ("completion", "strict", "lenient"),
    [
        ("<answer>12</answer> wait <answer>15</answer>", None, "15"),  # T01
        ("I must use <answer> tags. <answer>7</answer>", None, "7"),  # T03
        ("<answer><answer>2</answer></answer>", None, "2"),
        ("<answer>2", None, None),
        ("42", None, None),  # T06
        ("<answer>7</answer> done", None, "7"),
        ("<answer>7</answer>\n", "7", "7"),
        ("</answer>7<answer>", None, None),
        ("<answer></answer>", None, None),
        ("<answer> \n </answer>", None, None),
        ("<answer>1</answer><answer></answer>", None, None),
        ("<think><answer>7</answer></think>", None, None),
        ("<think><answer>6</answer></think><answer>7</answer>", None, "7"),
        ("<think>so <answer>7</answer>", "7", None),
        ("<answer>\n  a\n  b\n</answer>", "a\n  b", "a\n  b"),
    ],
)
def test_which_block_is_the_answer(completion, strict, lenient):
    assert extract_answer(completion) == strict
    assert extract_last_answer(completion) == lenient


@pytest.mark.parametrize("ending", END_STRINGS)
def test_an_end_string_of_a_tokenizer_is_not_trailing_text(ending):
    assert extract_answer(f"<answer>7</answer>{ending}\n{ending}{ending}") == "7"
    assert has_format(f"<think>a</think><answer>7</answer>{ending}")
    assert answer_after_hashes(f"#### 7{ending}{ending}") == "7"


@pytest.mark.parametrize("after", [".", "<|im_start|>", "<pad", "<p<pad>ad>", "<|im_end|>x", "7"])
def test_anything_else_after_the_block_is_trailing_text(after):
    assert read_answer("<answer>7</answer>" + after) == (None, "trailing_text")


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        ("", "no_answer"),
        ("<answer></answer>", "no_answer"),
        ("</answer><answer>", "no_answer"),
        ("<answer>1</answer><answer>", "two_answers"),
        ("<answer>1</answer></answer>", "two_answers"),
        (None, "not_text"),
        (b"<answer>1</answer>", "not_text"),
    ],
)
def test_the_reason_says_why_there_is_no_answer(completion, reason):
    assert read_answer(completion) == (None, reason)


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        (r"\boxed{2} no, \boxed{\frac{1}{2}}", r"\frac{1}{2}"),  # T13
        (r"\boxed{5", None),
        (r"<answer>\boxed{42}</answer>", "42"),
        (r"\boxed{2} then \boxed{5", "2"),
        (r"\boxed{\boxed{3}}", "3"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed {7}", "7"),
        (r"{ \boxed{7} ", "7"),
        (r"} \boxed{7} }", "7"),
        (r"\boxed{}", None),
        (r"<think>\boxed{1}</think>", None),
        (r"<think>\boxed{1}</think> \boxed{2}", "2"),
        (r"<think> so \boxed{1}", None),
        (r"boxed{7}", None),
    ],
)
def test_the_last_balanced_box(completion, answer):
    assert extract_boxed(completion) == answer


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("so\n#### 42", "42"),
        ("#### 41\n#### 42\nbye", "42"),
        ("##### 42", None),
        ("#### \n42", None),
        ("#### 1,234</s>", "1,234"),
        ("<think>#### 42</think>", None),
        ("#### 42\r\n", "42"),
    ],
)
def test_the_answer_after_four_hashes_is_its_line(completion, answer):
    assert answer_after_hashes(completion) == answer


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_format_is_whole_over_several_lines_and_with_carriage_returns(end):  # T04
    unix = "<think>\na\nb\n</think>\n<answer>9</answer>" + end
    assert has_format(unix)
    assert has_format(unix.replace("\n", "\r\n"))
    assert extract_answer(unix) == "9"


@pytest.mark.parametrize(
    "completion",
    [
        "<think>a</think><answer>8</answer><think>b</think><answer>9</answer>",
        "<think>a</think>\nso\n<answer>9</answer>",
        "so <think>a</think><answer>9</answer>",
        "<think>a</think><answer>9</answer> so",
        "<think>a</think><answer></answer>",
        "<answer>9</answer><think>a</think>",
        "<think>I write <answer> soon</think><answer>9</answer>",
        "<think>a<answer>9</answer></think>",
        None,
    ],
)
def test_format_is_refused_if_any_part_is_out_of_place(completion):
    assert not has_format(completion)


def test_format_takes_other_names_for_the_blocks():
    assert has_format("<reasoning>a</reasoning><answer>9</answer>", ("reasoning", "answer"))
    assert not has_format("<think>a</think><answer>9</answer>", ("reasoning", "answer"))
