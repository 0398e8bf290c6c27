"""Checks of lesson 16: which tokens are trained on, what a call says, and when a search pays."""

from grpo_lessons.check.base import Exercise


def _mask(spans):
    return [float(who == "policy") for who, length in spans for _ in range(length)]


def _first_only(spans):
    """Nothing after the first result."""
    mask, before = [], True
    for who, length in spans:
        before &= who == "policy"
        mask += [float(before)] * length
    return mask


loss_mask = Exercise(
    name="16.loss_mask",
    todo="return a list of 0.0 and 1.0, one for each token: 1.0 where the policy wrote it.",
    right=_mask,
    inputs=(
        ([("policy", 3), ("environment", 2), ("policy", 1)],),
        ([("policy", 2)],),
        ([("policy", 1), ("environment", 3), ("policy", 1), ("environment", 2), ("policy", 2)],),
        ([("policy", 2), ("environment", 1)],),
    ),
    wrong=(
        (
            lambda spans: [1.0] * sum(length for _, length in spans),
            "the environment's tokens count as the policy's own: it would be rewarded for text it never chose.",
        ),
        (_first_only, "the policy's tokens after a result belong into the loss again: they use what was found."),
        (
            lambda spans: [float(who == "policy") for who, _ in spans],
            "one number for each span; the loss needs one for each token.",
        ),
        (
            lambda spans: [1.0 - m for m in _mask(spans)],
            "the mask is the wrong way round: 1.0 stands where the policy wrote.",
        ),
    ),
)


def _without_argument(text):
    """Accepts an empty tool or argument."""
    if not text.endswith("</call>") or "<call>" not in text:
        return None
    name, colon, argument = text.removesuffix("</call>").rpartition("<call>")[2].partition(":")
    return (name.strip(), argument.strip()) if colon else None


def _read(text):
    parts = _without_argument(text)
    return parts if parts and all(parts) else None


def _naive(text):
    name, argument = text.split("<call>")[1].split("</call>")[0].split(":")
    return name.strip(), argument.strip()


def _one_colon(text):
    """Refuses an argument with a colon in it."""
    read = _read(text)
    return None if read and ":" in read[1] else read


def _first_call(text):
    cut = text.find("</call>") + len("</call>")
    return _read(text[:cut]) if text.endswith("</call>") else None


def _anywhere(text):
    cut = text.rfind("</call>")
    return _read(text[: cut + len("</call>")]) if cut >= 0 else None


read_call = Exercise(
    name="16.read_call",
    todo="return (tool, argument) of the call that the text ends with, or None if it ends with no well-formed call.",
    right=_read,
    inputs=(
        ("<call>search: Merk</call>",),
        ("I look it up. <call>search: Merk</call>",),
        ("<call>calculate: 3*(4+5)</call>",),
        ("<call>search: Merk</call><result>Merk is a town.</result><call>search: Fand</call>",),
        ("<call>Merk</call>",),
        ("<call>search:</call>",),
        ("<call>search: Merk",),
        ("search: Merk</call>",),
        ("<call>search: a: b</call>",),
        ("<call>search: Merk</call> and then",),
        ("<answer>Merk</answer>",),
    ),
    wrong=(
        (
            _without_argument,
            "a call without a tool or without an argument is malformed: return None.",
        ),
        (
            _one_colon,
            "only the first colon separates the tool from its argument; others belong to the argument.",
        ),
        (
            _naive,
            "a completion under training holds every malformed call there is: one without a colon, one that is not "
            "closed. Return None for those instead of raising.",
        ),
        (_first_call, "the text may hold an earlier call that was answered already: read the last one."),
        (_anywhere, "a call counts when the text ends with it; what follows it means that it was answered or ignored."),
        (
            lambda text: (_read(text)[0], _read(text)[1].split(":")[0].strip()) if _read(text) else None,
            "only the first colon separates the tool from its argument; others belong to the argument.",
        ),
        (
            lambda text: f"{_read(text)[0]}: {_read(text)[1]}" if _read(text) else None,
            "return a pair of the tool's name and the argument.",
        ),
    ),
)


break_even = Exercise(
    name="16.break_even",
    todo="return the cost of one call at which searching and guessing have the same expected reward.",
    right=lambda with_search, without, calls: (with_search - without) / calls,
    inputs=((0.9, 0.1, 1), (0.9, 0.1, 2), (0.8, 0.8, 1), (0.5, 0.75, 1), (1.0, 0.0, 4)),
    wrong=(
        (lambda with_search, without, calls: with_search - without, "two calls cost twice: divide by their number."),
        (lambda with_search, without, calls: with_search / calls, "a guess is right sometimes as well: subtract that."),
        (
            lambda with_search, without, calls: (with_search - without) * calls,
            "with more calls each must be cheaper: divide by their number.",
        ),
        (
            lambda with_search, without, calls: max(0.0, (with_search - without) / calls),
            "a negative answer says something: searching would have to be paid for. Leave it negative.",
        ),
        (
            lambda with_search, without, calls: (without - with_search) / calls,
            "the sign is the wrong way round: searching gains where it is right more often.",
        ),
    ),
)
