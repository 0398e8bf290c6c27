"""Word problems: the answer is that of the story, the splits share no sentence, distractors change nothing."""

import re

import pytest

from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.answer_format import correct_and_format, has_answer_block
from grpo_lessons.tasks.word_problems import apply, plot
from grpo_lessons.tasks.word_scenes import NAMES, SCENES
from grpo_lessons.verifiers import verify_number

LANGUAGES = ("en", "pt")
SPLITS = ("train", "dev", "held_out")


def skeleton(text, language):
    """The story without its numbers and names: what a template looks like."""
    return re.sub(r"\d+", "#", re.sub("|".join(NAMES[language]), "WHO", text))


def sentences(problem, language):
    return set(re.split(r"(?<=[.?!]) ", skeleton(problem.prompt[-1]["content"], language)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_of_one_split_occurs_in_another(language):
    task = get_task("word_problems", language=language)
    seen = {s: set().union(*(sentences(p, language) for p in task.problems(s, 200, 0))) for s in SPLITS}
    assert seen["train"] & seen["held_out"] == seen["train"] & seen["dev"] == seen["dev"] & seen["held_out"] == set()


@pytest.mark.parametrize(
    ("start", "kind", "number", "result"),
    [(7, "plus", 5, 12), (7, "minus", 5, 2), (7, "times", 3, 21), (12, "share", 3, 4)],
)
def test_steps_by_hand(start, kind, number, result):
    assert apply(start, kind, number) == result


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_answer_follows_from_the_numbers_in_the_text_in_their_order(language):
    task = get_task("word_problems", language=language, distractors=0)
    for problem in task.problems("held_out", 100, 1):
        numbers = [int(n) for n in re.findall(r"\d+", problem.prompt[-1]["content"])]
        count = numbers[0]
        for (kind, _), number in zip(problem.data["operations"], numbers[1:], strict=True):
            count = {"plus": count + number, "minus": count - number, "times": count * number}.get(kind, count / number)
        assert count == problem.answer and 1 <= problem.answer <= 200


def test_distractors_add_sentences_and_leave_the_answer():
    plain, full = (get_task("word_problems", steps=(2, 2), distractors=d) for d in (0, 2))
    assert all(p.data["distractors"] == 0 for p in plain.problems("train", 50, 0))
    counts = {p.data["distractors"] for p in full.problems("train", 50, 0)}
    assert counts == {0, 1, 2}
    assert all(len(p.data["operations"]) == 2 for p in full.problems("train", 50, 0))


def test_a_story_uses_each_kind_of_step_once():
    import random

    for seed in range(50):
        start, operations, end = plot(4, random.Random(seed))
        assert sorted(kind for kind, _ in operations) == ["minus", "plus", "share", "times"]
        assert 4 <= start <= 40 and 1 <= end <= 200


def test_problems_repeat_with_the_seed_and_do_not_repeat_within_it():
    task = get_task("word_problems")
    first, again, other = (task.problems("train", 80, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert len({p.prompt[-1]["content"] for p in first}) == 80


def test_the_system_prompt_is_in_the_language_of_the_story():
    for language, word in (("en", "Solve"), ("pt", "Resolva")):
        (problem,) = get_task("word_problems", language=language).problems("dev", 1, 0)
        system, user = problem.prompt
        assert system["role"] == "system" and system["content"].startswith(word) and user["role"] == "user"


def test_every_scene_has_its_placeholders():
    for scenes in SCENES.values():
        for scene in (scene for split in SPLITS for scene in scenes[split]):
            assert all("{n}" in text for text in (scene.opening, scene.plus, scene.minus, *scene.beside))
            assert "{k}" in scene.times and "{k}" in scene.share and "{n}" not in scene.question


def test_verdicts_read_numbers_as_models_write_them():
    task = get_task("word_problems")
    (problem,) = task.problems("train", 1, 0)
    right = f"so <answer>{problem.answer}</answer>"
    assert task.verify(right, problem).reason == "correct"
    assert task.verify(right.replace("</answer>", " coins</answer>"), problem).reward == 1.0
    assert task.verify(f"<answer>{problem.answer + 1}</answer>", problem).reason == "wrong"
    assert task.verify(str(problem.answer), problem).reason == "no_answer"


def test_format_and_correctness_are_paid_and_told_apart():
    reward = correct_and_format(verify_number, format_weight=0.2)
    completions = ["<answer>5</answer>", "<answer>6</answer>", "5"]
    assert reward(completions=completions, answer=[5, 5, 5]) == pytest.approx([1.2, 0.2, 0.0])
    parts = reward.parts(completions=completions, answer=[5, 5, 5])
    assert parts == {"correct": [1.0, 0.0, 0.0], "format": [1.0, 1.0, 0.0]}
    assert not has_answer_block("<answer>5</answer> and more")


@pytest.mark.parametrize(
    "options", [{"language": "fr"}, {"steps": (0, 2)}, {"steps": (3, 2)}, {"steps": (1, 5)}, {"distractors": 3}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match=r"unknown language 'fr'; known: en, pt|expected 1 <= least <= most <= 4"):
        get_task("word_problems", **options)
