"""A made-up world of 330 short articles, so that no model can know the answers: towns, people, rivers and ships.

Everything follows from a seed: names from syllables, facts drawn so that they fit together (a teacher is older than
the pupil, a mayor is a person with an article), sentences from one template for each kind.
`python -m grpo_lessons.tasks.world` writes `data/world.jsonl` again.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grpo_lessons.paths import data_dir

SIZES = {"town": 90, "person": 180, "river": 30, "ship": 30}
TEMPLATES = {
    "town": "{title} is a town on the river {river}, founded in {founded}. Its mayor is {mayor}. It makes {product}.",
    "person": "{title} is a {trade} born in {birthplace}. {title} learnt from {teacher}.",
    "river": "{title} is a river that rises on Mount {source} and ends in Lake {mouth}.",
    "ship": "{title} is a ship of {port}. Its captain is {captain}.",
}
FIRST_TEACHERS = 12  # the oldest people, who learnt by themselves
# fmt: off
TRADES = ("baker", "brewer", "carver", "cooper", "dyer", "farrier", "glazier", "hatter", "mason", "miller", "potter",
          "saddler", "tanner", "weaver")
PRODUCTS = ("barrels", "bells", "boots", "bricks", "candles", "cheese", "cloth", "clocks", "flutes", "glass", "honey",
            "ink", "nails", "paper", "rope", "salt")
ONSETS = ("b", "br", "d", "dr", "f", "g", "gr", "h", "j", "k", "kl", "l", "m", "n", "p", "pr", "r", "s", "st", "t",
          "tr", "v", "w", "z")
VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
CODAS = ("d", "g", "k", "l", "lm", "m", "n", "nd", "r", "rk", "rn", "s", "sk", "t", "th")
# fmt: on


@dataclass(frozen=True)
class Article:
    """title: a name that no other article has. kind: a key of TEMPLATES. facts: relation -> value."""

    title: str
    kind: str
    text: str
    facts: dict[str, str]


def make_world(seed: int = 7) -> list[Article]:
    """The articles of a seed, towns first."""
    rng = random.Random(seed)
    names = new_names(sum(SIZES.values()) + 45, rng)
    titles = {kind: [names.pop() for _ in range(size)] for kind, size in SIZES.items()}
    mountains, lakes = names[:30], names[30:45]
    mayors = rng.sample(titles["person"], SIZES["town"])
    captains = rng.sample(titles["person"], SIZES["ship"])
    facts: dict[str, list[dict[str, str]]] = {
        "town": [
            {
                "river": rng.choice(titles["river"]),
                "founded": str(rng.randint(400, 999)),
                "mayor": mayor,
                "product": rng.choice(PRODUCTS),
            }
            for mayor in mayors
        ],
        "person": [
            {"trade": rng.choice(TRADES), "birthplace": rng.choice(titles["town"])}
            | ({"teacher": rng.choice(titles["person"][:i])} if i >= FIRST_TEACHERS else {})
            for i in range(SIZES["person"])  # from the oldest to the youngest
        ],
        "river": [{"source": mountain, "mouth": rng.choice(lakes)} for mountain in mountains],
        "ship": [{"captain": captain, "port": rng.choice(titles["town"])} for captain in captains],
    }
    return [
        Article(title, kind, TEMPLATES[kind].format(title=title, **{"teacher": "nobody", **known}), known)
        for kind in SIZES
        for title, known in zip(titles[kind], facts[kind], strict=True)
    ]


def new_names(count: int, rng: random.Random) -> list[str]:
    """Different names of one or two syllables, 4 to 7 letters, none of them a word of the templates."""
    taken = {word.lower() for word in " ".join([*TEMPLATES.values(), *TRADES, *PRODUCTS, "nobody"]).split()}
    names: list[str] = []
    while len(names) < count:
        first = rng.choice(ONSETS) + rng.choice(VOWELS)
        name = first + rng.choice(CODAS) + rng.choice(["", rng.choice(VOWELS) + rng.choice(CODAS)])
        if 4 <= len(name) <= 7 and name not in taken:
            taken.add(name)
            names.append(name.capitalize())
    return names


def load_world(path: str | Path | None = None) -> list[Article]:
    """The articles of a file, by default `data/world.jsonl`."""
    lines = Path(path or data_dir() / "world.jsonl").read_text(encoding="utf-8").splitlines()
    return [Article(**json.loads(line)) for line in lines]


def renamed(articles: Sequence[Article], rng: random.Random) -> list[Article]:
    """The same names and sentences with other facts: titles change places within their kind, other names as well."""
    groups: dict[str, list[str]] = {}
    for article in articles:
        groups.setdefault(article.kind, []).append(article.title)
    groups["source"] = [a.facts["source"] for a in articles if a.kind == "river"]
    groups["mouth"] = sorted({a.facts["mouth"] for a in articles if a.kind == "river"})
    new: dict[str, str] = {}
    for names in groups.values():
        new.update(zip(names, rng.sample(names, len(names)), strict=True))

    def rename(text: str) -> str:
        return re.sub(r"[A-Z]\w+", lambda word: new.get(word[0], word[0]), text)

    return [
        Article(new[a.title], a.kind, rename(a.text), {relation: rename(value) for relation, value in a.facts.items()})
        for a in articles
    ]


def words_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Every word of two letters and more, once, in alphabetical order."""
    return tuple(sorted({word for text in texts for word in re.findall(r"[^\W\d_]{2,}", text)}))


if __name__ == "__main__":
    with (data_dir() / "world.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(article)) + "\n" for article in make_world())
