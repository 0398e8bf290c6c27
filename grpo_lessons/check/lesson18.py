"""Checks of lesson 18: the plan before a run, a task of one's own, and the sentence after it."""

from functools import partial
from math import comb

import numpy as np

from grpo_lessons import planning
from grpo_lessons.advantages import dead_group_probability
from grpo_lessons.check.base import Exercise, Raised, is_empty
from grpo_lessons.check.contract import task_faults
from grpo_lessons.check.sentence import sentence_faults
from grpo_lessons.check.tasks_of_others import (
    LeakingProducts,
    LooseProducts,
    Products,
    RaisingProducts,
    TextProducts,
    UnseededProducts,
)

COUNTS = [0, 3, 8, 16, 9]  # right ones of 16 samples, for five problems


def _dead_share(counts, samples, group_size):
    correct = np.arange(samples) < np.asarray(counts)[:, None]
    return planning.dead_group_share(correct, group_size)


def _missed(counts, n, size):
    """Per problem: the chance that a group has no right one, and that it has no wrong one."""
    return [(comb(n - c, size) / comb(n, size), comb(c, size) / comb(n, size)) for c in counts]


dead_share = Exercise(
    name="18.dead_share",
    todo="per problem C(n-c, G)/C(n, G) (all wrong) plus C(c, G)/C(n, G) (all right); then the mean over problems.",
    right=_dead_share,
    inputs=((COUNTS, 16, 4), (COUNTS, 16, 8), ([1, 15], 16, 2), ([8, 8], 16, 16)),
    wrong=(
        (
            lambda counts, n, size: dead_group_probability(sum(counts) / len(counts) / n, size),
            "this takes one pass rate for all problems; average the dead share of each problem instead.",
        ),
        (
            lambda counts, n, size: np.mean([dead_group_probability(c / n, size) for c in counts]),
            "p^G with p = c/n draws with repetition, which is biased; count the choices: C(c, G) / C(n, G).",
        ),
        (
            lambda counts, n, size: np.mean([wrong for wrong, _ in _missed(counts, n, size)]),
            "a group that is all right has no signal either: add C(c, G) / C(n, G).",
        ),
        (
            lambda counts, n, size: np.mean([right for _, right in _missed(counts, n, size)]),
            "a group that is all wrong has no signal either: add C(n-c, G) / C(n, G).",
        ),
        (
            lambda counts, n, size: 1 - _dead_share(counts, n, size),
            "this is the share of groups that have a signal; the dead ones were asked for.",
        ),
        (
            lambda counts, n, size: len(counts) * _dead_share(counts, n, size),
            "this is the sum over problems: divide by their number.",
        ),
    ),
)

LENGTHS = [12, 30, 25, 64, 28, 27, 26, 64, 31, 33, 29, 22, 24, 23, 21, 64, 35, 20, 19, 18]
FINISHED = [length < 64 for length in LENGTHS]


def _quantile_of(lengths, cut_off):
    return sorted(lengths)[len(lengths) - 1 - int(len(lengths) * cut_off + 1e-9)]


def _of_finished(lengths, finished):
    return [length for length, done in zip(lengths, finished, strict=True) if done]


budget = Exercise(
    name="18.budget",
    todo="the smallest length that at most that share of the completions exceeds; one that never ended exceeds any.",
    right=lambda lengths, finished, cut_off: planning.token_budget(lengths, finished, cut_off=cut_off),
    inputs=(
        (LENGTHS, FINISHED, 0.2),
        (LENGTHS, FINISHED, 0.15),
        (LENGTHS, FINISHED, 0.1),
        (LENGTHS, FINISHED, 0.5),
    ),
    wrong=(
        (
            lambda lengths, finished, cut_off: _quantile_of(_of_finished(lengths, finished), cut_off),
            "the completions that never ended are left out here; they are the ones that no budget so far has covered.",
        ),
        (
            lambda lengths, finished, cut_off: max(_of_finished(lengths, finished)),
            "this covers every completion that ended; a share cut_off of all may be cut off.",
        ),
        (
            lambda lengths, finished, cut_off: _quantile_of(lengths, cut_off),
            "where too many never ended no budget is known: return None, not the limit they were sampled with.",
        ),
        (
            lambda lengths, finished, cut_off: max(lengths),
            "this is the limit that the sampling had, not an answer to it.",
        ),
        (
            lambda lengths, finished, cut_off: sum(lengths) / len(lengths),
            "this is the mean: about half of the completions would be cut off.",
        ),
        (
            lambda lengths, finished, cut_off: (
                None
                if sum(not done for done in finished) > len(lengths) * cut_off
                else _quantile_of(lengths, 1 - cut_off)
            ),
            "this budget cuts off the share 1 - cut_off: take the long end of the sorted lengths.",
        ),
    ),
)


def _faults_of(make, seed: int = 0) -> list[str] | None:
    """The faults of the task that `make()` returns, looked at with `seed`; None for one that is not filled in."""
    task = make()
    if is_empty(task) or (hasattr(task, "items") and _is_stub(task.items)):
        return None
    return task_faults(task, seed)


def _is_stub(function) -> bool:
    try:
        return is_empty(function())
    except NotImplementedError as error:
        return is_empty(Raised(error))


own_task = Exercise(
    name="18.own_task",
    todo="give items(), problem(item) and verify(completion, problem), then hand over the class.",
    right=Products,
    inputs=((),),
    measure=_faults_of,
    wrong=(
        (LeakingProducts, "3*4 and 4*3 may stand on two sides of the split: key(item) must be the same for both."),
        (RaisingProducts, "verify raises on text that is no number; whatever a policy writes must get a verdict."),
        (
            LooseProducts,
            "the verifier looks for the answer anywhere; cut it out with read_answer, or use a verify_* function.",
        ),
        (UnseededProducts, "the draw does not depend on the seed alone: use random.Random(seed)."),
        (TextProducts, "a problem is Problem([{'role': 'user', 'content': question}], answer), not a text."),
    ),
)

FACTS = (
    {
        "task": "dates some weeks later",
        "verifier": "verify_date",
        "before": 0.41,
        "after": 0.962,
        "low": 0.93,
        "high": 0.98,
        "n": 280,
        "tokens": 40,
        "steps": 50,
        "runs": 1,
    },
    {
        "task": "pounds to kilograms",
        "verifier": "verify_number",
        "before": 0.127,
        "after": 0.18,
        "low": 0.152,
        "high": 0.211,
        "n": 650,
        "tokens": 256,
        "steps": 300,
        "runs": 3,
    },
)


def _sentence(f, *, leave_out: str = "", tail: str = "") -> str:
    """The sentence, without the part called `leave_out`."""
    parts = {
        "where": f"On {f['task']}, after {f['steps']} steps of training",
        "runs": f" ({f['runs']} {'run' if f['runs'] == 1 else 'runs'})",
        "verifier": f", {f['verifier']} accepts",
        "after": f" {100 * f['after']:.1f} %",
        "interval": f" [{100 * f['low']:.1f}, {100 * f['high']:.1f}]",
        "before": f", against {100 * f['before']:.1f} % before training",
        "n": f", on {f['n']} held-out problems",
        "budget": f" with {f['tokens']} tokens",
    }
    return "".join(part for name, part in parts.items() if name != leave_out) + tail + "."


sentence = Exercise(
    name="18.sentence",
    todo="return one sentence with all of `facts`; put the numbers in with an f-string, since they change.",
    right=_sentence,
    inputs=tuple((facts,) for facts in FACTS),
    measure=lambda write, facts: text if is_empty(text := write(facts)) else sentence_faults(str(text), facts),
    wrong=(
        (
            partial(_sentence, leave_out="interval"),
            "a share without its interval: the reader cannot tell 96 % from 90 %.",
        ),
        (partial(_sentence, leave_out="n"), "how many problems was it measured on?"),
        (partial(_sentence, leave_out="verifier"), "who says that an answer is right? Name the verifier."),
        (partial(_sentence, leave_out="budget"), "with which token budget? Another budget is another ruler."),
        (partial(_sentence, leave_out="before"), "against what? The base's accuracy is missing."),
        (partial(_sentence, leave_out="runs"), "how many runs? One run is one run, and must be called so."),
        (
            partial(_sentence, tail=", so the model has learned to calculate"),
            "'learned to' is more than was measured: a verifier accepts more answers, that is all.",
        ),
        (lambda facts: _sentence(FACTS[0]), "the numbers are typed in: take them from `facts`, which change."),
    ),
)
