"""One small task written rightly, and as readers tend to write it: what the check of `18.own_task` tells apart."""

import random

from grpo_lessons.tasks import Problem
from grpo_lessons.tasks.finite import FiniteTask
from grpo_lessons.verifiers import Verdict, verify_integer


class Products(FiniteTask):
    """x*y for 2 to 20; both orders are one problem."""

    name, max_new_tokens = "products", 24

    def items(self):
        return [(x, y) for x in range(2, 21) for y in range(2, 21)]

    def key(self, item):
        return tuple(sorted(item))

    def problem(self, item):
        x, y = item
        return Problem([{"role": "user", "content": f"{x}*{y}="}], x * y)

    def verify(self, completion, problem):
        return verify_integer(completion, problem.answer)


class LeakingProducts(Products):
    """Each order is a problem of its own."""

    def key(self, item):
        return item


class RaisingProducts(Products):
    """int() on whatever stands in the block."""

    def verify(self, completion, problem):
        right = int(completion.split("<answer>")[1].split("</answer>")[0]) == problem.answer
        return Verdict(float(right), "correct" if right else "wrong")


class LooseProducts(Products):
    """The answer anywhere in the text."""

    def verify(self, completion, problem):
        right = str(problem.answer) in str(completion)
        return Verdict(float(right), "correct" if right else "wrong")


class UnseededProducts(Products):
    """Drawn with the global generator."""

    def problems(self, split, n, seed):
        if n > len(self.pool(split)):
            raise ValueError(f"{split} has only {len(self.pool(split))} problems")
        return [self.problem(item) for item in random.sample(self.pool(split), n)]


class TextProducts(Products):
    """A problem as a bare text."""

    def problem(self, item):
        return f"{item[0]}*{item[1]}="
