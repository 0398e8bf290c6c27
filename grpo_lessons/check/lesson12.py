"""Checks of lesson 12: predicted dead groups, the choice of a group size, and how fast sampling can be at best."""

from math import comb

from grpo_lessons.check.base import Exercise


def _dead(share):
    """The mean of share(right, samples, group size) over the problems."""
    return lambda right, samples, size: sum(share(c, samples, size) for c in right) / len(right)


def _counted(c, n, size):
    return (comb(c, size) + comb(n - c, size)) / comb(n, size)


def _plugged_in(c, n, size):
    return (c / n) ** size + (1 - c / n) ** size


dead_groups = Exercise(
    name="12.dead_groups",
    todo="for each problem (C(c, G) + C(n - c, G)) / C(n, G), with math.comb; then the mean over the problems.",
    right=_dead(_counted),
    inputs=(([8, 4, 0], 8, 4), ([1, 2, 3, 6], 6, 2), ([5, 16], 16, 8)),
    wrong=(
        (
            _dead(_plugged_in),
            "the rate c / n is put into p^G + (1-p)^G: with few samples that is biased; count groups with math.comb.",
        ),
        (
            lambda right, n, size: _plugged_in(sum(right), n * len(right), size),
            "the mean rate hides what single problems do: compute each problem's share, then take the mean.",
        ),
        (
            lambda right, n, size: _counted(sum(right), n * len(right), size),
            "all samples are thrown together: a group holds answers to one problem only.",
        ),
        (_dead(lambda c, n, size: comb(n - c, size) / comb(n, size)), "groups that are all right are dead as well."),
        (_dead(lambda c, n, size: comb(c, size) / comb(n, size)), "groups that are all wrong are dead as well."),
        (lambda right, n, size: sum(_counted(c, n, size) for c in right), "this is the sum; the share is the mean."),
        (_dead(lambda c, n, size: 1 - _counted(c, n, size)), "this is the share of groups that are alive."),
    ),
)


def _smallest(below):
    """The smallest size whose share passes `below(share, limit)`, else None."""
    return lambda predicted, limit: min((size for size, dead in predicted.items() if below(dead, limit)), default=None)


_right_size = _smallest(lambda dead, limit: dead < limit)

group_size = Exercise(
    name="12.group_size",
    todo="look at the sizes from the smallest up; return the first whose share is below the limit, None if none is.",
    right=_right_size,
    inputs=(
        ({16: 0.1, 4: 0.6, 8: 0.3}, 0.5),
        ({8: 0.3, 4: 0.5, 16: 0.2}, 0.5),
        ({4: 1.0, 8: 0.9}, 0.5),
        ({4: 0.2, 8: 0.1}, 0.15),
    ),
    wrong=(
        (
            lambda predicted, limit: min(predicted, key=predicted.get),
            "this takes the size with the fewest dead groups; the smallest size below the limit is enough.",
        ),
        (
            lambda predicted, limit: next((size for size, dead in predicted.items() if dead < limit), None),
            "this takes the first entry that is below the limit; the entries may come in any order.",
        ),
        (_smallest(lambda dead, limit: dead <= limit), "a share equal to the limit is not below it."),
        (
            _smallest(lambda dead, limit: dead > limit),
            "the comparison is turned round: wanted is a share below the limit.",
        ),
        (
            lambda predicted, limit: _right_size(predicted, limit) or max(predicted),
            "where no size is below the limit the answer is None: a larger group would not save that level.",
        ),
    ),
)


def _floor(steps):
    """Seconds when `steps(lengths, at_once)` tokens are made one after another."""
    return lambda size, bandwidth, lengths, at_once: steps(lengths, at_once) * size / bandwidth


def _rounds(lengths, at_once):
    return [lengths[i : i + at_once] for i in range(0, len(lengths), at_once)]


sampling_floor = Exercise(
    name="12.sampling_floor",
    todo="cut the lengths into batches of `at_once`; each batch takes as many steps as its longest answer has tokens, "
    "and a step takes weight_bytes / bandwidth seconds.",
    right=_floor(lambda lengths, at_once: sum(map(max, _rounds(lengths, at_once)))),
    inputs=((1e9, 2e9, [10, 30, 20, 5], 2), (3e9, 3e11, [200, 180, 40], 8), (1e9, 1e9, [7, 9, 4], 1)),
    wrong=(
        (
            _floor(lambda lengths, at_once: sum(lengths)),
            "the sequences of a batch are sampled together: a step makes one token for each of them.",
        ),
        (
            _floor(lambda lengths, at_once: max(lengths)),
            "only the longest answer of all counts here: what does not fit into one batch is sampled after it.",
        ),
        (
            _floor(lambda lengths, at_once: sum(sum(part) / len(part) for part in _rounds(lengths, at_once))),
            "a batch takes as long as its longest answer, not as its average one.",
        ),
        (
            _floor(lambda lengths, at_once: max(lengths) * len(lengths) / at_once),
            "the last batch may be smaller and the batches have longest answers of their own.",
        ),
        (
            lambda size, bandwidth, lengths, at_once: sum(map(max, _rounds(lengths, at_once))) * bandwidth / size,
            "turned round: a step takes weight_bytes / bandwidth seconds.",
        ),
    ),
)
