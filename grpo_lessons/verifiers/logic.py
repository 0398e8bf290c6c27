"""Knights and knaves: who is what, read from a list or from sentences (Xie et al. 2024, arXiv:2410.23123).

Differs from readers that search for "<name> is a knight": the whole answer must be understood. Any word that is
not a person, a role or one of a few joining words ("not", "if", "or", an unknown name) makes it unreadable, so
a negation or a hedge is never taken for a statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from .answers import Extractor, extract_answer, read_answer
from .base import Verdict
from .numerals import unwrap

MAX_CHARACTERS = 2000
KNIGHT, KNAVE = "knight", "knave"
ROLE_WORDS = {
    **dict.fromkeys(("knight", "knights", "cavaleiro", "cavaleiros", "cavaleira", "cavaleiras"), KNIGHT),
    **dict.fromkeys(("knave", "knaves", "patife", "patifes"), KNAVE),
    **dict.fromkeys(("vagabundo", "vagabundos", "vagabunda", "vagabundas"), KNAVE),
}
_WORDS = {
    "is": ("is", "are", "é", "são", ":", "=", "-", "->", "→", "–", "—", "("),
    "and": ("and", "e", ",", "&", "while", "whereas", "enquanto"),
    "stop": (".", ";", "\n"),
    "nobody": ("none", "nobody", "nenhum", "ninguém"),
    "": ("a", "an", "the", "both", "also", "so", "thus", "therefore", "hence", ")"),
    " ": ("um", "uma", "o", "os", "as", "ambos", "também", "logo", "portanto"),
}
_KIND = {word: kind.strip() for kind, words in _WORDS.items() for word in words}
_SHORT = {"name": "N", "role": "R", "is": "I", "and": "A", "nobody": "0", "stop": "S"}
# Two forms: "N and N are R" and "R: N, N". A name that has its own role leaves the list before it.
_STATEMENT = re.compile(r"N(?:A+N)*I?R|RI+S*(?:0|N(?:[AS]+N(?![IR]|A+N(?:A+N)*I?R))*+)|[AS]")
_BULLET = re.compile(r"(?m)^[ \t]*[-*•+][ \t]+")
_ITEM = re.compile(r"(?<!\S)\(?[0-9]{1,2}[.)]\s")  # "(1) Zoey is a knight (2) Oliver is a knave"
_TOKEN = re.compile(r"->|\n|[^\W_]+(?:['’-][^\W_]+)*|[^\s]")


def verify_knights(completion: str, roles: Mapping[str, str], *, extract: Extractor = extract_answer) -> Verdict:
    """Reward 1 if the answer gives every person the right role.

    roles: {"Zoey": "knight", "Oliver": "knave"}; Portuguese roles (cavaleiro, patife, vagabundo) are the same.
    Read are "Zoey is a knight", "Zoey: knight", "Zoey and Sam are knaves", "Knights: Zoey, Sam", in sentences,
    lists and bold. A person whose role is None is left out: `datasets` fills the rows of a dict column so.
    Raises ValueError if `roles` names nobody or holds another role, never on a completion.
    """
    gold = {_same(name): _gold_role(name, role) for name, role in roles.items() if role is not None}
    if not gold:
        raise ValueError(f"roles={roles!r} names nobody; give a role for each person, such as {{'Zoey': 'knight'}}")
    text, reason = read_answer(completion, extract)
    if text is None:
        return Verdict(0.0, reason)
    if len(text) > MAX_CHARACTERS:
        return Verdict(0.0, "too_long")
    statements = _statements(_tokens(text, list(gold)))
    if statements is None:
        return Verdict(0.0, "unreadable")
    return _judge(statements, gold)


def _judge(statements: list[tuple[str, str]], gold: dict[str, str]) -> Verdict:
    said: dict[str, str] = {}
    for name, role in statements:
        if said.setdefault(name, role) != role:
            return Verdict(0.0, "contradiction")
    if said.keys() != gold.keys():
        return Verdict(0.0, "missing_person", said)
    return Verdict(1.0, "correct", said) if said == gold else Verdict(0.0, "wrong", said)


def _gold_role(name: str, role: str) -> str:
    known = ROLE_WORDS.get(role.casefold()) if isinstance(role, str) else None
    if known is None:
        raise ValueError(f"{name!r} has the role {role!r}; roles are 'knight' and 'knave'")
    return known


def _same(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _tokens(text: str, names: list[str]) -> list[tuple[str, str]] | None:
    """(kind, value) pairs, kinds name, role, is, and, stop, nobody; None if a word is not understood."""
    text = unicodedata.normalize("NFC", unwrap(text)).replace("\r\n", "\n")
    text = re.sub(r"[*_`]+", "", _ITEM.sub("\n", _BULLET.sub("", text.replace("**", ""))))
    named = re.compile("|".join(rf"(?<!\w){re.escape(n)}(?!\w)" for n in sorted(names, key=len, reverse=True)))
    folded = {name.casefold(): name for name in names}
    tokens, position = [], 0
    while position < len(text):
        if found := named.match(text, position):
            tokens.append(("name", found.group()))
        elif found := _TOKEN.match(text, position):
            if (token := _kind(found.group(), folded)) is None:
                return None
            tokens += [token] if token[0] else []
        position = found.end() if found else position + 1  # otherwise white space
    return tokens


def _kind(word: str, names: dict[str, str]) -> tuple[str, str] | None:
    """The kind of a word; ("", word) for one that says nothing, None for one that is not understood."""
    folded = word.casefold()
    if folded in ROLE_WORDS:
        return "role", ROLE_WORDS[folded]
    if folded in _KIND:
        return _KIND[folded], word
    return ("name", names[folded]) if folded in names else None


def _statements(tokens: list[tuple[str, str]] | None) -> list[tuple[str, str]] | None:
    """(person, role) pairs of the whole answer, or None if some part of it is not a statement."""
    if tokens is None:
        return None
    kinds = "".join(_SHORT[kind] for kind, _ in tokens)
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(kinds):
        part = _STATEMENT.match(kinds, position)
        if part is None:
            return None
        chunk = tokens[position : part.end()]
        role = next((value for kind, value in chunk if kind == "role"), "")
        found += [(value, role) for kind, value in chunk if kind == "name"]
        position = part.end()
    return found
