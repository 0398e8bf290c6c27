"""How a knights-and-knaves puzzle is told: in English, in Brazilian Portuguese, or in a few characters."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .knights_logic import Puzzle, Statement

Words = dict[str, str]


@dataclass(frozen=True)
class Language:
    """The words of a language. women, men: names; the others are sentences and patterns.

    words: a pattern for each kind of statement, knight and knave in both genders, and "I am".
    says: patterns of who says what. intro: ways to begin. question: the end, with the form of the answer.
    """

    women: tuple[str, ...]
    men: tuple[str, ...]
    words: Words
    says: tuple[str, ...]
    intro: tuple[str, ...]
    met: str
    last: str
    question: str


ENGLISH = Language(
    women=("Agnes", "Beth", "Clara", "Daphne", "Edith", "Flora", "Greta", "Helen", "Imogen", "Judith"),
    men=("Arthur", "Basil", "Cedric", "Dennis", "Edgar", "Felix", "Gordon", "Hugh", "Ivan", "Jasper"),
    words={
        "knight": "a knight",
        "knave": "a knave",
        "is": "{name} is {role}",
        "self": "I am {role}",
        "not": "it is not true that {0}",
        "and": "{0} and {1}",
        "or": "{0} or {1}",
        "if": "if {0}, then {1}",
        "iff": "{0} if and only if {1}",
    },
    says=('{name} says: "{text}."', '"{text}," says {name}.', '{name} claims: "{text}."'),
    intro=(
        "Everybody on this island is either a knight, who always tells the truth, or a knave, who always lies.",
        "On an island live knights, whose every statement is true, and knaves, whose every statement is false.",
    ),
    met="You meet {names}.",
    last=" and ",
    question=(
        "Who is a knight and who is a knave? Think it through, then write one line for each person between "
        "<answer> and </answer>, in the form Name: knight or Name: knave."
    ),
)

PORTUGUESE = Language(
    women=("Alice", "Beatriz", "Cecília", "Débora", "Elisa", "Fernanda", "Helena", "Júlia", "Lívia", "Marina"),
    men=("André", "Bruno", "Caetano", "Danilo", "Fábio", "Gustavo", "Heitor", "João", "Leandro", "Murilo"),
    words={
        "knight": "um cavaleiro",
        "knave": "um patife",
        "knight, she": "uma cavaleira",
        "knave, she": "uma patife",
        "is": "{name} é {role}",
        "self": "eu sou {role}",
        "not": "não é verdade que {0}",
        "and": "{0} e {1}",
        "or": "{0} ou {1}",
        "if": "se {0}, então {1}",
        "iff": "{0} se e somente se {1}",
    },
    says=('{name} diz: "{text}."', '"{text}", afirma {name}.', '{name} declara: "{text}."'),
    intro=(
        "Nesta ilha, cada pessoa é cavaleiro, que sempre diz a verdade, ou patife, que sempre mente.",
        "Numa ilha vivem cavaleiros, que só dizem a verdade, e patifes, que só dizem mentiras.",
    ),
    met="Você encontra {names}.",
    last=" e ",
    question=(
        "Quem é cavaleiro e quem é patife? Pense com calma e depois escreva uma linha para cada pessoa entre "
        "<answer> e </answer>, na forma Nome: cavaleiro ou Nome: patife."
    ),
)

LANGUAGES = {"en": ENGLISH, "pt": PORTUGUESE}
SIGNS = {"and": "&", "or": "|", "if": ">", "iff": "="}


def draw_names(form: str, people: int, rng: random.Random) -> tuple[str, ...]:
    """Names of different people, or the letters A, B, C, ... for the compact form."""
    if form == "compact":
        return tuple("ABCDEFGH"[:people])
    language = LANGUAGES[form]
    return tuple(rng.sample(language.women + language.men, people))


def tell(puzzle: Puzzle, form: str, rng: random.Random) -> str:
    """The text of a puzzle; form is "en", "pt" or "compact". rng picks among ways to say the same."""
    if form == "compact":
        return compact(puzzle)
    language = LANGUAGES[form]
    names = ", ".join(puzzle.names[:-1]) + language.last * (len(puzzle.names) > 1) + puzzle.names[-1]
    spoken = [
        rng.choice(language.says).format(name=name, text=sentence(statement, speaker, puzzle.names, language))
        for speaker, (name, statement) in enumerate(zip(puzzle.names, puzzle.statements, strict=True))
    ]
    return " ".join([rng.choice(language.intro), language.met.format(names=names), *spoken, language.question])


def sentence(statement: Statement, speaker: int, names: tuple[str, ...], language: Language) -> str:
    """What the speaker says, with a capital letter; parts that have parts of their own stand in brackets."""

    def clause(kind, *parts):
        if kind in ("knight", "knave"):
            she = f"{kind}, she" if names[parts[0]] in language.women else kind
            role = language.words.get(she, language.words[kind])
            return language.words["self" if parts[0] == speaker else "is"].format(name=names[parts[0]], role=role)
        inside = [clause(*part) if part[0] in ("knight", "knave") else f"({clause(*part)})" for part in parts]
        text = language.words[kind].format(*inside)
        for another in inside[2:]:  # and, or with more than two parts
            text = language.words[kind].format(text, another)
        return text

    text = clause(*statement)
    return text[0].upper() + text[1:]


def compact(puzzle: Puzzle) -> str:
    """ "A:B-;B:!(A+&B-)?": + knight, - knave, & and, | or, > if-then, = if and only if, ! not."""
    name: Callable[[int], str] = puzzle.names.__getitem__

    def write(kind, *parts):
        if kind in ("knight", "knave"):
            return name(parts[0]) + ("+" if kind == "knight" else "-")
        if kind == "not":
            return f"!({write(*parts[0])})"
        return SIGNS[kind].join(write(*p) if p[0] in ("knight", "knave") else f"({write(*p)})" for p in parts)

    spoken = zip(puzzle.names, puzzle.statements, strict=True)
    return ";".join(f"{speaker}:{write(*statement)}" for speaker, statement in spoken) + "?"
