from grpo_lessons.chat import reply
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks import get_task


def test_a_question_and_the_same_question_as_messages_get_the_same_answer():
    policy, problem = load_policy("nano"), get_task("addition").problems("train", 1, 0)[0]
    asked = reply(policy, problem.prompt[-1]["content"], max_new_tokens=40)
    assert asked == reply(policy, problem.prompt, max_new_tokens=40)
    assert "<answer>" in asked
