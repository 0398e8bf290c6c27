import random
import re

import pytest

from grpo_lessons.environments import ToolError
from grpo_lessons.nano import build_tokenizer
from grpo_lessons.tasks.lookup_homework import lookup_homework, lookup_words
from grpo_lessons.tasks.lookup_qa import CallCost, Encyclopedia, LookupQA, answer_f1, ask, calculate, questions
from grpo_lessons.tasks.world import Article

TASK = LookupQA("compact")
TOWN, PERSON = (
    Article("Merk", "town", "Merk is a town. Its mayor is Fand.", {"mayor": "Fand"}),
    Article("Fand", "person", "Fand is a baker born in Merk.", {"trade": "baker", "birthplace": "Merk"}),
)


def test_a_title_counts_more_than_the_text():
    book = Encyclopedia([TOWN, PERSON])
    assert book.search("Merk") == TOWN.text
    assert book.search("Fand") == PERSON.text
    assert book.search("baker") == PERSON.text


def test_several_results_are_ranked():
    assert Encyclopedia([TOWN, PERSON], results=2).search("who is Fand?") == f"{PERSON.text} {TOWN.text}"


@pytest.mark.parametrize("query", ["", "!?", "unheard", "NEAR(", '"', "title:", "*", "x" * 10_000])
def test_queries_without_a_known_word_find_nothing(query):
    assert Encyclopedia([TOWN]).search(query) == ""


@pytest.mark.parametrize(
    "query",
    ["Merk'; DROP TABLE articles; --", 'Merk" OR "', "Merk) UNION SELECT 1 --", "NOT Merk", "Merk AND unheard"],
)
def test_sql_and_operators_in_a_query_are_words(query):
    book = Encyclopedia([TOWN, PERSON])
    assert book.search(query) == TOWN.text
    assert book.search("Fand") == PERSON.text


@pytest.mark.parametrize("expression, value", [("3*(4+5)", "27"), ("7/2", "7/2"), ("640-436", "204"), ("2×3", "6")])
def test_the_calculator_is_exact(expression, value):
    assert calculate(expression) == value


@pytest.mark.parametrize("expression", ["1/0", "2**9", "__import__('os')", "", "9" * 1000])
def test_the_calculator_refuses_everything_else(expression):
    with pytest.raises(ToolError):
        calculate(expression)


def test_every_article_of_the_world_is_found_by_its_title():
    for article in TASK.articles.values():
        assert TASK.environment.reply(f"search: {article.title}", []).text == f"<result>{article.text}</result>"


def test_questions_in_words():
    assert ask(("mayor",), ("Merk",), "compact") == "mayor of Merk?"
    assert ask(("mayor", "birthplace"), ("Merk",), "en") == "What is the birthplace of the mayor of Merk?"
    assert ask(("founded",), ("Merk", "Fand"), "compact") == "years from Merk to Fand?"


def test_answers_follow_the_articles_of_both_hops():
    for problem in LookupQA("compact", kinds=("two hops",), note_share=1.0).problems("dev", 20, seed=0):
        first, second = problem.data["relations"]
        (subject,) = problem.data["subjects"]
        middle = TASK.articles[subject].facts[first]
        assert problem.answer == TASK.articles[middle].facts[second]
        note, question = problem.prompt[0]["content"].split("\n")
        assert note == f"Note: {first} of {subject}: {middle}. {second} of {middle}: {problem.answer}."
        assert question == f"{second} of {first} of {subject}?"


def test_differences_subtract_years():
    problem = TASK.problem(("founded",), ("Paskuk", "Graisen"), with_note=False)
    assert problem.answer == "221"  # 436 and 657, see data/world.jsonl


def test_half_of_the_questions_carry_a_note():
    problems = LookupQA("en").problems("train", 400, seed=0)
    notes = [p for p in problems if p.data["note"]]
    assert 160 < len(notes) < 240
    assert all(p.answer in p.prompt[0]["content"].split("\n")[0] for p in notes)
    assert not any(p.prompt[0]["content"].startswith("Note") for p in problems if not p.data["note"])


def test_splits_share_no_subject_and_no_question():
    subjects = {
        split: {
            s for kind in ("one hop", "two hops", "difference") for _, names in questions(kind, split) for s in names
        }
        for split in ("train", "dev", "held_out")
    }
    assert not subjects["train"] & subjects["held_out"] | subjects["train"] & subjects["dev"]
    assert not subjects["dev"] & subjects["held_out"]
    asked = [p.prompt[0]["content"].split("\n")[-1] for p in TASK.problems("held_out", 300, seed=0)]
    assert len(set(asked)) == 300


def test_problems_repeat_with_the_seed_and_run_out_with_an_error():
    assert TASK.problems("dev", 9, seed=1) == TASK.problems("dev", 9, seed=1)
    with pytest.raises(ValueError, match="whose 98 'one hop' ran out"):
        TASK.problems("dev", 500, seed=0)
    with pytest.raises(ValueError, match="unknown split"):
        TASK.problems("test", 1, seed=0)
    with pytest.raises(ValueError, match="kinds"):
        LookupQA(kinds=("three hops",))
    with pytest.raises(ValueError, match="unknown form"):
        LookupQA("latin")


def test_exact_match_ignores_calls_and_results():
    problem = TASK.problem(("product",), ("Paskuk",), with_note=False)
    searched = "<call>search: Paskuk</call><result>... It makes boots.</result>"
    assert TASK.verify(f"{searched}<answer>Boots</answer>", problem).reason == "correct"
    assert TASK.verify(f"{searched}<answer>bricks</answer>", problem).reason == "wrong"
    assert TASK.verify(searched, problem).reason == "no_answer"
    assert TASK.strategy(f"{searched}<answer>boots</answer>", problem) == "no note, 1 call"


def test_f1_of_words():
    assert answer_f1("<answer>the town Merk</answer>", "Merk") == pytest.approx(0.5)  # precision 1/3, recall 1
    assert answer_f1("<answer>merk</answer>", "Merk") == 1.0
    assert answer_f1("<answer>Fand</answer>", "Merk") == 0.0
    assert answer_f1("Merk", "Merk") == 0.0


def test_a_call_costs_whether_it_helps_or_not():
    reward = CallCost(0.1)
    once = "<call>search: Merk</call><result>x</result>"
    completions = ["<answer>a</answer>", f"{once}<answer>a</answer>", f"{once}{once}<answer>b</answer>"]
    assert reward(prompts=None, completions=completions, answer=["a"] * 3) == pytest.approx([1.0, 0.9, -0.2])
    assert reward.__name__ == "exact_match_less_0.1_a_call"


def test_homework_goes_on_with_what_the_environment_said_and_never_writes_it():
    rng = random.Random(0)
    lines = [lookup_homework(rng) for _ in range(400)]
    assert not any("<result>" in written for _, written in lines)
    later = [messages for messages, _ in lines if messages[-1]["role"] == "assistant"]
    assert later and all(messages[-1]["content"].endswith("</result>") for messages in later)


def test_homework_knows_the_names_of_the_world_and_not_its_facts():
    """A pair of names agrees with the shipped world now and then by chance."""
    rng = random.Random(0)
    notes = [messages[0]["content"].split("\n")[0] for messages, _ in (lookup_homework(rng) for _ in range(800))]
    facts = [re.match(r"Note: (\w+) of (\w+): (\w+)", note) for note in notes]
    facts = [match.groups() for match in facts if match]
    assert len(facts) > 100 and {subject for _, subject, _ in facts} <= set(TASK.articles)
    known = [TASK.articles[subject].facts.get(relation) == value for relation, subject, value in facts]
    assert sum(known) / len(known) < 0.1


def test_words_of_the_task_are_single_tokens_and_every_text_survives():
    tokenizer = build_tokenizer(lookup_words())
    for problem in TASK.problems("held_out", 50, seed=0):
        text = problem.prompt[0]["content"] + TASK.environment.reply(f"search: {problem.data['subjects'][0]}", []).text
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == text
        assert tokenizer.convert_tokens_to_ids(problem.data["subjects"][0]) in ids
