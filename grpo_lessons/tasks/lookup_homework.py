"""A simulated pupil's look-up homework, from which the policy `nano-lookup` is raised.

The pupil knows how to search and how to read a note, and does neither reliably: it guesses names, searches although
the note says it all, stops a two-hop question after the first hop, forgets the name of the tool. Its worlds have the
names of the shipped one and other facts, a new world in each line, so that no fact can be learned by heart. A line is
one turn: what stands before it, results included, is context, so that the pupil never learns to write results.
Most lines are index cards, which teach reading quickly: an article is read, its facts are noted.
Each word of the encyclopedia is one token to it, as frequent words are to a large model.

`python -m grpo_lessons.tasks.pupils nano-lookup` makes `data/nano-lookup` again.
"""

from __future__ import annotations

import random
from functools import cache

from grpo_lessons.environments import CALL, CALL_END, RESULT, RESULT_END, STATUSES

from .base import Problem
from .lookup_qa import LookupQA, questions_about
from .world import load_world, renamed, words_of

WORLDS = 40
LATER = {1: 0.6, 2: 0.37, 3: 0.03}  # which later turn, how often; no episode has more than four
CARDS, FIRST = 0.6, 0.2  # shares of the lines: index cards, first turns of an episode; the rest are later turns

# What the pupil does with a note, and without one.
WITH_NOTE = {"read": 0.42, "search": 0.36, "guess": 0.22}
WITHOUT_NOTE = {"guess": 0.46, "search": 0.36, "no tool": 0.10, "wrong tool": 0.08}
SECOND_HOP, RIGHT_RELATION, FORMAT_KEPT = 0.45, 0.85, 0.92

SPOKEN = ("Note", "search", "look", "calculate", *STATUSES.values())

Messages = list[dict[str, str]]
Turns = list[tuple[str, str]]  # (what was read before it, what is written)


def lookup_words() -> tuple[str, ...]:
    """The texts that are one token each for this pupil: tags, and the words of articles, questions and errors."""
    articles = load_world()
    relations = {relation for article in articles for relation in article.facts}
    return (CALL, CALL_END, RESULT, RESULT_END, *words_of([a.text for a in articles] + [*relations, *SPOKEN]))


@cache
def _tasks() -> tuple[LookupQA, ...]:
    rng = random.Random(0)
    return tuple(LookupQA("compact", articles=renamed(load_world(), rng)) for _ in range(WORLDS))


@cache
def _questions(world: int, kind: str):
    articles = _tasks()[world].articles
    return questions_about(kind, list(articles.values()), articles)


def lookup_homework(rng: random.Random) -> tuple[Messages, str]:
    """A line of homework: (chat messages that it goes on with, its text)."""
    world, kind = rng.randrange(WORLDS), rng.random()
    return _card(world, rng) if kind < CARDS else _turn(world, kind < CARDS + FIRST, rng)


def _card(world: int, rng: random.Random) -> tuple[Messages, str]:
    """An article, and its facts as they stand in notes, in any order."""
    article = rng.choice(list(_tasks()[world].articles.values()))
    facts = rng.sample(sorted(article.facts.items()), len(article.facts))
    note = " ".join(f"{relation} of {article.title}: {value}." for relation, value in facts)
    return [{"role": "user", "content": article.text}], note


def _turn(world: int, first: bool, rng: random.Random) -> tuple[Messages, str]:
    """One turn of an episode.

    k is drawn first, and episodes until one has a turn k: so what follows a given beginning is as in whole episodes,
    however often first and later turns are drawn.
    """
    task, k = _tasks()[world], 0 if first else rng.choices(list(LATER), list(LATER.values()))[0]
    while True:
        problem = task.problem(*rng.choice(_questions(world, rng.choice(task.kinds))), with_note=rng.random() < 0.5)
        turns = _episode(task, problem, rng)
        if k < len(turns):
            before = "".join(read + written for read, written in turns[:k]) + turns[k][0]
            begun = [{"role": "assistant", "content": before}] if before else []
            return [*problem.prompt, *begun], turns[k][1]


def _episode(task: LookupQA, problem: Problem, rng: random.Random) -> Turns:
    """All turns of one completion."""
    shares = WITH_NOTE if problem.data["note"] else WITHOUT_NOTE
    kind = rng.choices(list(shares), list(shares.values()))[0]
    if kind == "read":
        return [("", _answer(problem.answer, rng))]
    if kind == "guess":
        return [("", _answer(_guess(task, problem, rng), rng))]
    if kind == "search":
        return _search(task, problem, rng)
    (subject,) = problem.data["subjects"]
    call = f"{CALL}{subject if kind == 'no tool' else 'look: ' + subject}{CALL_END}"
    complaint = task.environment.reply(call[len(CALL) : -len(CALL_END)], []).text
    again = rng.random() < 0.3
    (_, first), *rest = _search(task, problem, rng) if again else [("", _answer(_guess(task, problem, rng), rng))]
    return [("", call), (complaint, first), *rest]


def _search(task: LookupQA, problem: Problem, rng: random.Random) -> Turns:
    """Search the subject, then what was found if the question has two hops and the pupil remembers that."""
    turns, read = [], ""
    (value,) = problem.data["subjects"]
    for hop, relation in enumerate(problem.data["relations"]):
        if hop and rng.random() > SECOND_HOP:
            break
        call = f"search: {value}"
        turns.append((read, f"{CALL}{call}{CALL_END}"))
        read = task.environment.reply(call, []).text
        facts = task.articles[value].facts
        right = rng.random() < RIGHT_RELATION or len(facts) == 1
        if not right:
            value = rng.choice([fact for name, fact in facts.items() if name != relation])
            break
        value = facts[relation]
    return [*turns, (read, _answer(value, rng))]


def _guess(task: LookupQA, problem: Problem, rng: random.Random) -> str:
    """A value that some other article has for the relation asked for."""
    relation = problem.data["relations"][-1]
    return rng.choice([a.facts[relation] for a in task.articles.values() if relation in a.facts])


def _answer(value: str, rng: random.Random) -> str:
    if rng.random() < FORMAT_KEPT:
        return f"<answer>{value}</answer>"
    return rng.choice(["{}", "<answer>{}", "<answer>{}</answer> ok"]).format(value)
