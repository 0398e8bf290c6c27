"""Questions about a made-up world, with an encyclopedia to search and a calculator.

"What is the mayor of Merk?" takes one search, "What is the birthplace of the mayor of Merk?" two, and "How many years
lie between ...?" two and a subtraction. Half of the questions carry the facts in a note, so that searching is not
always right. Differs from open-domain question answering (HotpotQA and its kin) in that no model can have read the
articles.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from grpo_lessons.environments import Tools, count_calls
from grpo_lessons.tool_rollouts import ToolRollouts, sample_tool_groups
from grpo_lessons.verifiers import Verdict, extract_answer
from grpo_lessons.verifiers.text import verify_text

from .base import SPLITS, Problem
from .lookup_tools import Encyclopedia, calculate
from .world import Article, load_world

SPLIT_SEED = 2024
DEV_SHARE, HELD_OUT_SHARE = 0.1, 0.2
KINDS = ("one hop", "two hops", "difference")

PROMPT = """{note}{question}
You may search an encyclopedia by writing <call>search: words</call>, and calculate by writing \
<call>calculate: 3*(4+5)</call>. The result then stands between <result> and </result>, and you go on. You have \
{max_calls} calls. Write the answer alone, one name or number, between <answer> and </answer>."""


class LookupQA:
    """form: "en", or "compact" for the nano policies. kinds: of KINDS, drawn equally often.

    note_share: of questions that carry their facts. results: articles per search. tools: names of tools on offer.
    articles: of another world; `problems` asks about the shipped one only.
    """

    name = "lookup_qa"

    def __init__(
        self,
        form: str = "en",
        *,
        kinds: Sequence[str] = ("one hop", "two hops"),
        note_share: float = 0.5,
        results: int = 1,
        tools: Sequence[str] = ("search", "calculate"),
        max_calls: int = 4,
        articles: Sequence[Article] | None = None,
    ):
        if form not in ("en", "compact"):
            raise ValueError(f"unknown form {form!r}; forms: en, compact")
        if not kinds or set(kinds) - set(KINDS) or not 0 <= note_share <= 1:
            raise ValueError(f"kinds={kinds}, note_share={note_share}; kinds are {KINDS}, note_share is 0 to 1")
        self.form, self.kinds, self.note_share = form, tuple(kinds), note_share
        self.max_new_tokens = 320 if form == "compact" else 800
        self.articles = {article.title: article for article in articles or load_world()}
        offered: dict[str, Callable[[str], str]] = {
            "search": Encyclopedia(list(self.articles.values()), results).search,
            "calculate": calculate,
        }
        self.environment = Tools({name: offered[name] for name in tools}, max_calls=max_calls)

    def rollout(self, policy, problems, group_size: int, **options) -> ToolRollouts:
        """Sample with the tools within reach; options as in `sample_groups`."""
        return sample_tool_groups(policy, problems, group_size, self.environment, **options)

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different questions about subjects of the split, in random order; ValueError when a kind runs out."""
        rng = random.Random(f"{split}-{seed}")
        pools = {kind: rng.sample(questions(kind, split), len(questions(kind, split))) for kind in self.kinds}
        chosen = []
        for _ in range(n):
            kind = rng.choice(self.kinds)
            if not pools[kind]:
                raise ValueError(
                    f"{n} problems asked of {split!r}, whose {len(questions(kind, split))} {kind!r} ran out"
                )
            chosen.append(self.problem(*pools[kind].pop(), with_note=rng.random() < self.note_share))
        return chosen

    def problem(self, relations: tuple[str, ...], subjects: tuple[str, ...], *, with_note: bool) -> Problem:
        """A question: relations from the subject outwards, ("mayor", "birthplace") for the mayor's birthplace.

        Two subjects ask for the difference of their years of foundation.
        """
        facts, answer = self._solve(relations, subjects)
        note = f"Note: {' '.join(facts)}\n" if with_note else ""
        question = ask(relations, subjects, self.form)
        text = note + question
        if self.form == "en":
            text = PROMPT.format(note=note, question=question, max_calls=self.environment.max_calls)
        data = {"relations": relations, "subjects": subjects, "note": with_note, "hops": len(facts)}
        return Problem([{"role": "user", "content": text}], answer, data)

    def _solve(self, relations: tuple[str, ...], subjects: tuple[str, ...]) -> tuple[list[str], str]:
        """The sentences of the facts that are needed, and the answer."""
        facts, values = [], []
        for subject in subjects:
            value = subject
            for relation in relations:
                fact = self.articles[value].facts[relation]
                facts.append(f"{relation} of {value}: {fact}.")
                value = fact
            values.append(value)
        return facts, values[0] if len(values) == 1 else str(abs(int(values[0]) - int(values[1])))

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Exact match of the whole answer, case and white space aside."""
        return verify_text(completion, problem.answer)

    def strategy(self, completion: str, problem: Problem) -> str:
        """With or without a note, and how many calls: "note, 0 calls", "no note, 2 or more calls", ..."""
        calls = count_calls(completion)
        number = "2 or more calls" if calls > 1 else "1 call" if calls else "0 calls"
        return f"{'note' if problem.data['note'] else 'no note'}, {number}"


def ask(relations: tuple[str, ...], subjects: tuple[str, ...], form: str) -> str:
    """The question; the compact form is "birthplace of mayor of Merk?"."""
    if len(subjects) == 2:
        first, second = subjects
        compact = f"years from {first} to {second}?"
        return compact if form == "compact" else f"How many years lie between the foundation of {first} and {second}?"
    chain = [*reversed(relations), subjects[0]]
    if form == "compact":
        return " of ".join(chain) + "?"
    return f"What is the {' of the '.join(chain[:-1])} of {chain[-1]}?"


@cache
def questions(kind: str, split: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """(relations, subjects) of every question of a kind whose subjects belong to the split: 70, 10 and 20 %."""
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
    articles = load_world()
    subjects = random.Random(SPLIT_SEED).sample(articles, len(articles))
    dev, held_out = int(len(subjects) * DEV_SHARE), int(len(subjects) * HELD_OUT_SHARE)
    subjects = {"dev": subjects[:dev], "held_out": subjects[dev : dev + held_out], "train": subjects[dev + held_out :]}[
        split
    ]
    return questions_about(kind, subjects, {article.title: article for article in articles})


def questions_about(
    kind: str, subjects: Sequence[Article], by_title: dict[str, Article]
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """(relations, subjects) of every question of a kind; by_title holds the articles of the second hop."""
    if kind == "difference":
        towns = [a.title for a in subjects if a.kind == "town"]
        return tuple((("founded",), (a, b)) for a in towns for b in towns if a < b)
    one = [((relation,), (a.title,)) for a in subjects for relation in a.facts]
    if kind == "one hop":
        return tuple(one)
    return tuple(
        ((*relations, second), (title,))
        for relations, (title,) in one
        if (middle := by_title.get(by_title[title].facts[relations[0]]))
        for second in middle.facts
    )


def answer_f1(completion: str, expected: str) -> float:
    """Harmonic mean of precision and recall over the words of the answer (SQuAD 2016, articles not removed)."""
    said = Counter(re.findall(r"[^\W_]+", (extract_answer(completion) or "").casefold()))
    gold = Counter(re.findall(r"[^\W_]+", expected.casefold()))
    shared = sum((said & gold).values())
    return 2 * shared / (sum(said.values()) + sum(gold.values())) if shared else 0.0


class CallCost:
    """A reward function: exact match, less `cost` for every call, so that an unneeded search does not pay."""

    def __init__(self, cost: float):
        self.cost = cost
        self.__name__ = f"exact_match_less_{cost:g}_a_call"

    def __call__(self, prompts, completions, answer, **_) -> list[float]:
        return [
            verify_text(completion, expected).reward - self.cost * count_calls(completion)
            for completion, expected in zip(completions, answer, strict=True)
        ]
