"""The rules that a quiz file keeps, each with a sentence that says how to mend a file that breaks it.

`complaints(content, lesson, right_letter)` is the whole of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

KINDS = ("predict", "fault", "reason")
QUESTIONS, OPTIONS, SOURCED = 5, (3, 4), 2
SAME_LETTER, LONGEST, SHORTEST = 2, 2, 3  # of five: more would tell the answer to somebody who only looks at the form
SOURCE = re.compile(r"https?://\S+|trial reading of the lesson, \d{4}-\d\d")
MARKED = re.compile(r"```.*?```|(`+)(?!`).+?(?<!`)\1(?!`)|\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)  # code and formulas
TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")


def complaints(content: object, lesson: str, right_letter: Callable[[dict], str]) -> list[str]:
    """Everything that is wrong with a quiz file; empty if nothing is.

    content: what YAML made of the file. lesson: the number in its name. right_letter: question -> the letter that
    readers see on its right option. Later rules are looked at only where the shape is right.
    """
    return list(_shape(content)) or [
        *_head(content, lesson),
        *_misunderstandings(content),
        *(text for question in content["questions"] for text in _question(question, content["misunderstandings"])),
        *_telling(content["questions"], right_letter),
        *_tags(content),
    ]


def _shape(content: object) -> Iterator[str]:
    """Keys and types, so that the other rules can rely on them."""
    if not isinstance(content, dict) or set(content) != {"lesson", "misunderstandings", "questions"}:
        keys = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        yield f"the file needs exactly the keys lesson, misunderstandings, questions; it has {keys}"
        return
    if not isinstance(content["misunderstandings"], dict) or not isinstance(content["questions"], list):
        yield "misunderstandings must be a mapping from names, questions a list"
        return
    for name, entry in content["misunderstandings"].items():
        yield from _texts(entry, f"misunderstanding {name}", needed={"says", "truth"}, more={"uncover", "source"})
    for place, question in enumerate(content["questions"], 1):
        where = f"question {place}"
        options = question.get("options") if isinstance(question, dict) else None
        if not isinstance(options, list):
            yield f"{where} needs a list of options"
            continue
        texts = {key: value for key, value in question.items() if key != "options"}
        yield from _texts(texts, where, needed={"id", "kind", "ask", "why"})
        for option in options:
            yield from _option(option, f"an option of {where}")


def _option(option: object, where: str) -> Iterator[str]:
    """`text` with either `right: true` or the name of a misunderstanding."""
    if isinstance(option, dict) and option.get("right") is True:
        texts = {key: value for key, value in option.items() if key != "right"}
        yield from _texts(texts, f"{where}, the right one,", needed={"text"})
    else:
        yield from _texts(option, where, needed={"text", "misunderstanding"})


def _texts(
    entry: object, where: str, *, needed: set[str], more: frozenset[str] | set[str] = frozenset()
) -> Iterator[str]:
    if not isinstance(entry, dict) or not needed <= set(entry) <= needed.union(more):
        keys = ", ".join(map(str, entry)) if isinstance(entry, dict) else repr(entry)
        optional = f" (and may have {', '.join(sorted(more))})" if more else ""
        yield f"{where} needs {', '.join(sorted(needed))}{optional}; it has: {keys}"
        return
    for key, value in entry.items():
        if not isinstance(value, str) or not value.strip():
            yield f"{where}: {key} is {value!r}; it must be a text, so put it in quotes"


def _head(content: dict, lesson: str) -> Iterator[str]:
    if content["lesson"] != lesson:
        yield f'lesson is {content["lesson"]!r}, the file is named {lesson}.yaml: write lesson: "{lesson}"'
    ids = [question["id"] for question in content["questions"]]
    wanted = [f"{lesson}.{i}" for i in range(1, QUESTIONS + 1)]
    if ids != wanted:
        yield f"the questions are {', '.join(ids)}; they must be {', '.join(wanted)}"
    kinds = Counter(question["kind"] for question in content["questions"])
    for kind in ("predict", "fault"):
        if not kinds[kind]:
            yield f"no question of kind {kind}; each lesson has at least one"


def _misunderstandings(content: dict) -> Iterator[str]:
    chosen = {option.get("misunderstanding") for question in content["questions"] for option in question["options"]}
    entries = content["misunderstandings"]
    for name, entry in entries.items():
        if name not in chosen and "source" not in entry:
            yield f"misunderstanding {name} is behind no option and has no source: use it, give its source, or drop it"
        if "source" in entry and not SOURCE.fullmatch(entry["source"].strip()):
            yield f"source of {name}: an address (https://...) or 'trial reading of the lesson, YYYY-MM'"
        if ("source" in entry) != ("uncover" in entry):
            yield f"misunderstanding {name}: source and uncover (the question that uncovers it) come together"
    sourced = sum("source" in entry for entry in entries.values())
    if sourced < SOURCED:
        yield f"{sourced} misunderstandings have a source; at least {SOURCED} must"


def _question(question: dict, defined: dict) -> Iterator[str]:
    name, options = question["id"], question["options"]
    if question["kind"] not in KINDS:
        yield f"{name}: kind is {question['kind']!r}; known: {', '.join(KINDS)}"
    if len(options) not in OPTIONS:
        yield f"{name} has {len(options)} options; three or four"
    right = sum("right" in option for option in options)
    if right != 1:
        yield f"{name} has {right} options marked right: true; exactly one"
    for option in options:
        unknown = option.get("misunderstanding")
        if unknown is not None and unknown not in defined:
            yield f"{name}: misunderstanding {unknown} is not defined; defined: {', '.join(defined)}"
    for text, times in Counter(option["text"].strip() for option in options).items():
        if times > 1:
            yield f"{name} has the option {text!r} {times} times"


def _telling(questions: list[dict], right_letter: Callable[[dict], str]) -> Iterator[str]:
    """Neither the length of an option nor its letter may tell that it is the right one."""
    proper = [question for question in questions if sum("right" in option for option in question["options"]) == 1]
    letters = {question["id"]: right_letter(question) for question in proper}
    for letter, times in Counter(letters.values()).items():
        if times > SAME_LETTER:
            where = ", ".join(name for name in letters if letters[name] == letter)
            yield (
                f"after the shuffling, {letter} is right in {where}; at most {SAME_LETTER} of five: "
                "in one of these move the right option to another place of its list"
            )
    for word, most, choose in (("longest", LONGEST, max), ("shortest", SHORTEST, min)):
        telling = [question["id"] for question in proper if _right_is(choose, question["options"])]
        if len(telling) > most:
            where = ", ".join(telling)
            yield f"the right option is the {word} in {where}; at most {most} of five: shorten or lengthen"


def _right_is(choose: Callable, options: list[dict]) -> bool:
    """Whether the right option alone has the greatest (max) or smallest (min) number of characters."""
    lengths = {"right" in option: [] for option in options}
    for option in options:
        lengths["right" in option].append(len(option["text"].strip()))
    (right,), wrong = lengths[True], lengths[False]
    return right not in wrong and right == choose(right, *wrong)


def _tags(content: dict) -> Iterator[str]:
    texts = {name: " ".join(entry.values()) for name, entry in content["misunderstandings"].items()}
    for question in content["questions"]:
        texts[question["id"]] = "\n\n".join(
            [question["ask"], *(option["text"] for option in question["options"]), question["why"]]
        )
    for where, text in texts.items():
        for tag in TAG.findall(MARKED.sub(" ", text)):
            yield f"{where}: {tag} outside code marks vanishes when the text is rendered; put it in backticks"
