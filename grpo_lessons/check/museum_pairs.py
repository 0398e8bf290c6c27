"""Does a pair (completion, expected) break an exhibit of the museum? Compared with the library's own verifiers."""

import re
from functools import partial

from grpo_lessons import verifiers
from grpo_lessons.check.base import is_empty
from grpo_lessons.verifiers import museum

# exhibit -> the library's verifier for the same job
REFERENCES = {
    "substring_match": verifiers.verify_integer,
    "dot_without_newline": verifiers.verify_integer,
    "dollar_with_multiline": verifiers.verify_integer,
    "isdigit_integer": verifiers.verify_integer,
    "float_equality": verifiers.verify_number,
    "absolute_tolerance": partial(verifiers.verify_number, rel_tol=0.01),
}


def outcome(name, pair):
    """What the exhibit and the library's verifier make of a pair (completion, expected)."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return "not a pair" if pair else "nothing yet"
    completion, expected = pair
    if not re.search("<answer>.*</answer>", completion, re.DOTALL):
        return "no answer block"
    if REFERENCES[name] is verifiers.verify_integer:
        expected = int(expected)
    right = REFERENCES[name](completion, expected).reward == 1.0
    try:
        accepted = getattr(museum, name)(completion, expected)
    except Exception:
        return "broken"
    return "broken" if accepted != right else "both accept it" if right else "both reject it"


def outcomes(function, names):
    """{name: outcome of what the reader's function returns for it}, or None if it returns nothing at all."""
    pairs = {name: function(name) for name in names}
    if all(is_empty(pair) for pair in pairs.values()):
        return None
    return {name: outcome(name, None if pair is ... else pair) for name, pair in pairs.items()}


BREAKERS = {
    "substring_match": ("<answer>142</answer>", 42),
    "dot_without_newline": ("<answer>\n42\n</answer>", 42),
    "dollar_with_multiline": ("<answer>42</answer>\nor 43", 42),
    "isdigit_integer": ("<answer>-5</answer>", -5),
    "float_equality": ("<answer>9007199254740993</answer>", "9007199254740992"),
    "absolute_tolerance": ("<answer>0</answer>", "0.0001"),
}
