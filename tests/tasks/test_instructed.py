from grpo_lessons.tasks import Problem, get_task
from grpo_lessons.tasks.instructed import Instructed

TASK = get_task("addition")


def test_instructions_stand_before_the_question_and_change_nothing_else():
    task = Instructed(TASK, system="Add.", examples=[("1+2=", "<answer>3</answer>")])
    (plain,), (instructed,) = TASK.problems("dev", 1, 5), task.problems("dev", 1, 5)
    assert instructed == Problem(
        [
            {"role": "system", "content": "Add."},
            {"role": "user", "content": "1+2="},
            {"role": "assistant", "content": "<answer>3</answer>"},
            *plain.prompt,
        ],
        plain.answer,
        plain.data,
    )
    assert task.verify(f"<answer>{plain.answer}</answer>", instructed).reward == 1.0


def test_without_instructions_it_is_the_task_and_the_length_may_be_another():
    task = Instructed(TASK, max_new_tokens=7)
    assert task.problems("train", 3, 0) == TASK.problems("train", 3, 0)
    assert task.max_new_tokens == 7 and Instructed(TASK).max_new_tokens == TASK.max_new_tokens
    assert task.name == "addition, instructed"
