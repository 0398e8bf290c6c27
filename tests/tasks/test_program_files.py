import json

import pytest

from grpo_lessons.paths import data_dir
from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.program_files import WrittenPrograms, load_programs

MBPP = {
    "task_id": 7,
    "text": "Write a function twice(n).",
    "code": "def twice(n):\n    return 2 * n\n",
    "test_setup_code": "",
    "test_list": ["assert twice(2) == 4", "assert twice(0) == 0"],
    "challenge_test_list": ["assert twice(-1) == -2"],
}
HUMAN_EVAL = {
    "task_id": "HumanEval/900",
    "prompt": 'def twice(n):\n    """Two times n."""\n',
    "entry_point": "twice",
    "canonical_solution": "    return 2 * n\n",
    "test": "METADATA = {}\n\ndef check(candidate):\n    assert candidate(2) == 4, 'two'\n    assert True\n"
    "    assert abs(candidate(0.5) - 1.0) < 1e-6\n",
}


def written(tmp_path, *rows):
    path = tmp_path / "problems.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_mbpp_lines_show_one_test_and_hide_the_rest(tmp_path):
    (problem,) = load_programs(written(tmp_path, MBPP, ""))
    text = problem.prompt[0]["content"]
    assert "assert twice(2) == 4" in text and "twice(0)" not in text and "twice(-1)" not in text
    assert problem.data == {
        "task_id": "7",
        "tests": ["assert twice(2) == 4", "assert twice(0) == 0", "assert twice(-1) == -2"],
    }


def test_set_up_code_of_mbpp_goes_before_each_test(tmp_path):
    row = {**MBPP, "test_setup_code": "import math", "test_list": ["assert math.isclose(twice(2), 4)"]}
    (problem,) = load_programs(written(tmp_path, row))
    assert problem.data["tests"][0] == "import math\nassert math.isclose(twice(2), 4)"


def test_human_eval_lines_name_the_function_and_keep_assertions_only(tmp_path):
    (problem,) = load_programs(written(tmp_path, HUMAN_EVAL))
    assert problem.data["tests"] == ["assert twice(2) == 4", "assert abs(twice(0.5) - 1.0) < 1e-06"]
    assert problem.answer == 'def twice(n):\n    """Two times n."""\n    return 2 * n\n'


def test_both_kinds_are_graded_by_hidden_tests(tmp_path):
    path = written(tmp_path, MBPP, HUMAN_EVAL)
    task = WrittenPrograms(path)
    mbpp, human_eval = task.all
    completions = [f"<answer>{p.answer}</answer>" for p in (mbpp, human_eval)]
    only_the_shown = "<answer>def twice(n):\n    return 4</answer>"
    verdicts = task.verify_batch([*completions, only_the_shown], [mbpp, human_eval, mbpp])
    assert [v.reason for v in verdicts] == ["correct", "correct", "wrong"]


def test_problems_whose_tests_are_programs_are_left_out_and_counted(tmp_path):
    loop = {
        **HUMAN_EVAL,
        "task_id": "HumanEval/901",
        "test": "def check(candidate):\n    for n in range(9):\n        assert candidate(n) == 2 * n\n",
    }
    with pytest.warns(UserWarning, match=r"1 of 2 problems of .* are left out.*HumanEval/901"):
        problems = load_programs(written(tmp_path, MBPP, loop))
    assert [p.data["task_id"] for p in problems] == ["7"]


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "line 2 is not JSON"),
        ('{"question": "?"}', r"line 2 has the keys \['question'\]"),
        ("[1]", "line 2 has the keys"),
        (json.dumps({**MBPP, "test_list": []}), "a test_list that is not empty"),
    ],
)
def test_other_lines_are_refused_with_their_number(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        load_programs(written(tmp_path, MBPP, line))


def test_each_of_our_60_reference_programs_passes_its_tests():
    task = get_task("written_programs")
    assert len(task.all) == 60
    verdicts = task.verify_batch([f"<answer>{p.answer}</answer>" for p in task.all], task.all)
    assert {p.data["task_id"]: v.reason for p, v in zip(task.all, verdicts, strict=True) if v.reward < 1} == {}


def test_an_answer_copied_from_the_shown_test_passes_none_of_our_60_problems():
    task = get_task("written_programs")
    constants = []
    for problem in task.all:
        call, _, expected = problem.data["tests"][0].removeprefix("assert ").partition(" == ")
        constants.append(f"<answer>def {call.partition('(')[0]}(*_):\n    return {expected}</answer>")
    assert not any(verdict.reward for verdict in task.verify_batch(constants, task.all))


def test_our_problems_split_into_36_6_and_18():
    task = WrittenPrograms(data_dir() / "programs.jsonl")
    drawn = {
        s: {p.data["task_id"] for p in task.problems(s, n, 0)} for s, n in (("train", 36), ("dev", 6), ("held_out", 18))
    }
    assert len(set.union(*drawn.values())) == 60
    with pytest.raises(ValueError, match="7 problems asked of 'dev', which has 6"):
        task.problems("dev", 7, seed=0)
