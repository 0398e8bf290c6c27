"""Every quiz of the course keeps the rules, and each rule catches a file that breaks it."""

import copy

import pytest
import yaml

from grpo_lessons import quiz
from grpo_lessons.paths import data_dir
from grpo_lessons.quiz.files import shuffled

FILES = sorted((data_dir() / "quizzes").glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_quiz_of_the_course_keeps_the_rules(path):
    assert quiz.read(path).lesson == path.stem


def place_of(letter, question_id):
    """Where an option of three must stand in the file so that readers see it under this letter."""
    return shuffled(range(3), question_id)["abc".index(letter)]


def good():
    """A quiz that keeps every rule; after the shuffling, the right letters are a b c a b."""
    questions = []
    for i in range(5):
        options = [{"text": f"wrong {name}", "misunderstanding": name} for name in ("one", "two")]
        options.insert(place_of("abcab"[i], f"42.{i + 1}"), {"text": "right one", "right": True})
        kind = ["predict", "fault", "reason"][i % 3]
        questions.append({"id": f"42.{i + 1}", "kind": kind, "ask": "What?", "options": options, "why": "So."})
    seen = {"says": "A.", "truth": "B.", "uncover": "C?", "source": "https://example.org/thread"}
    return {"lesson": "42", "misunderstandings": {"one": seen, "two": dict(seen)}, "questions": questions}


def write(content, folder):
    path = folder / "42.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def test_a_good_quiz_is_read(tmp_path):
    read = quiz.read(write(good(), tmp_path))
    assert [question.id for question in read.questions] == ["42.1", "42.2", "42.3", "42.4", "42.5"]
    assert [m.name for m in read.usual] == ["one", "two"]
    assert [question.right_letter for question in read.questions] == ["a", "b", "c", "a", "b"]
    assert all(question.lettered[question.right_letter].text == "right one" for question in read.questions)


def test_letters_are_the_same_on_every_machine():
    assert "".join(shuffled("ABCD", "04.1")) == "DBCA"
    assert "".join(shuffled("ABCD", "04.2")) == "BADC"


def change(question=0, **entries):
    return lambda content: content["questions"][question].update(entries)


def same_letter(content):
    for entry in content["questions"]:
        right = next(item for item in entry["options"] if "right" in item)
        entry["options"].remove(right)
        entry["options"].insert(place_of("a", entry["id"]), right)


def right_option(content, question=0):
    return next(item for item in content["questions"][question]["options"] if "right" in item)


def both_right_and_wrong(content):
    right_option(content)["misunderstanding"] = "one"


def not_right(content):
    right_option(content)["right"] = False


def option_twice(content):
    for item in content["questions"][0]["options"]:
        item["text"] = "right"


def undefined(content):
    next(item for item in content["questions"][0]["options"] if "right" not in item)["misunderstanding"] = "three"


def shortest(content):
    for i in range(5):
        right_option(content, i)["text"] = "r"


def longest(content):
    for i in range(5):
        right_option(content, i)["text"] = "right by a long explanation"


BAD = {
    "a missing part": (lambda c: c.pop("questions"), "exactly the keys lesson, misunderstandings, questions"),
    "a list of misunderstandings": (lambda c: c.update(misunderstandings=[]), "must be a mapping"),
    "another lesson": (lambda c: c.update(lesson="41"), 'write lesson: "42"'),
    "a lesson without quotes": (lambda c: c.update(lesson=42), "lesson is 42, the file is named 42.yaml"),
    "four questions": (lambda c: c["questions"].pop(), "they must be 42.1, 42.2, 42.3, 42.4, 42.5"),
    "another id": (change(id="42.9"), "the questions are 42.9, 42.2"),
    "an id without quotes": (change(id=42.1), "question 1: id is 42.1; it must be a text, so put it in quotes"),
    "a question without why": (lambda c: c["questions"][0].pop("why"), "question 1 needs ask, id, kind, why"),
    "no options": (change(options=None), "question 1 needs a list of options"),
    "an unknown kind": (change(kind="recall"), "kind is 'recall'; known: predict, fault, reason"),
    "no fault to find": (lambda c: [change(i, kind="predict")(c) for i in range(5)], "no question of kind fault"),
    "two options": (lambda c: c["questions"][0]["options"].pop(), "42.1 has 2 options"),
    "two right ones": (change(options=[{"text": t, "right": True} for t in "xyz"]), "42.1 has 3 options marked right"),
    "no right one": (not_right, "needs misunderstanding, text; it has: text, right"),
    "right and misunderstood": (both_right_and_wrong, "the right one, needs text; it has: text, misunderstanding"),
    "an option twice": (option_twice, "has the option 'right' 3 times"),
    "an undefined misunderstanding": (undefined, "misunderstanding three is not defined"),
    "an unused misunderstanding": (
        lambda c: c["misunderstandings"].update(three={"says": "A.", "truth": "B."}),
        "three is behind no option and has no source",
    ),
    "one source": (lambda c: c["misunderstandings"].update(two={"says": "A.", "truth": "B."}), "1 misunderstandings"),
    "hearsay": (lambda c: c["misunderstandings"]["one"].update(source="a colleague"), "source of one: an address"),
    "nothing that uncovers": (lambda c: c["misunderstandings"]["one"].pop("uncover"), "come together"),
    "a telling letter": (same_letter, "after the shuffling, a is right in 42.1, 42.2, 42.3, 42.4, 42.5"),
    "a telling shortness": (shortest, "the right option is the shortest in 42.1, 42.2, 42.3, 42.4, 42.5"),
    "a telling length": (longest, "the right option is the longest in 42.1"),
    "a raw tag": (change(ask="Ends with </answer>?"), "42.1: </answer> outside code marks"),
    "a raw tag in a truth": (lambda c: c["misunderstandings"]["one"].update(truth="<think> counts."), "one: <think>"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_broken_rule_is_named_with_its_place(fault, tmp_path):
    spoil, expected = BAD[fault]
    content = copy.deepcopy(good())
    spoil(content)
    with pytest.raises(ValueError, match=r"^42.yaml breaks \d+ of the rules for quizzes:\n- ") as error:
        quiz.read(write(content, tmp_path))
    assert expected in str(error.value)


@pytest.mark.parametrize("ask", ["Ends with `</answer>`?", "If $a<b$ and $c>d$?", "```python\nprint('<answer>')\n```"])
def test_tags_in_code_and_formulas_are_fine(ask, tmp_path):
    content = good()
    content["questions"][0]["ask"] = ask
    assert quiz.read(write(content, tmp_path)).questions[0].ask == ask


def test_a_file_that_is_not_yaml_says_where(tmp_path):
    with pytest.raises(ValueError, match=r"(?s)42.yaml is not YAML in UTF-8: .*line \d, column \d"):
        quiz.read(write("lesson: [", tmp_path))


def test_an_unknown_lesson_lists_those_with_a_quiz():
    with pytest.raises(ValueError, match=r"lesson '99' has no quiz; lessons with one: "):
        quiz.load("99")
