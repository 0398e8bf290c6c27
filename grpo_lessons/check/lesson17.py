"""Checks of lesson 17: means over processes, groups that lie on two of them, and bytes of training states."""

from grpo_lessons.check.base import Exercise


def _mean(sums, counts):
    return sum(sums) / sum(counts)


whole_mean = Exercise(
    name="17.whole_mean",
    todo="return the mean over all tokens of all processes, from each one's sum and count.",
    right=_mean,
    inputs=(
        ([3.0, 1.0], [6, 2]),
        ([4.0, 1.0], [2, 8]),
        ([1.5, 0.0, 4.5], [3, 0, 9]),
        ([5.0], [4]),
    ),
    wrong=(
        (
            lambda sums, counts: sum(s / c for s, c in zip(sums, counts, strict=True) if c) / len(sums),
            "this is the mean of the processes' means: a process with two tokens gets as much say as one with eight.",
        ),
        (
            lambda sums, counts: sum(s / c for s, c in zip(sums, counts, strict=True)) / len(sums),
            "a process may hold no token at all: divide once, by the tokens of all processes together.",
        ),
        (
            lambda sums, counts: sum(s / c for s, c in zip(sums, counts, strict=True) if c),
            "the means of the processes are added: with two processes the gradient is twice too large.",
        ),
        (
            lambda sums, counts: sum(sums) / len(sums),
            "divide by the number of tokens, not by the number of processes.",
        ),
        (lambda sums, counts: sum(sums), "this is the sum; divide it by the number of tokens of all processes."),
    ),
)


def _split(prompts, group_size, processes):
    share = prompts * group_size // processes
    return [
        group
        for group in range(prompts)
        if group * group_size // share != (group * group_size + group_size - 1) // share
    ]


split_groups = Exercise(
    name="17.split_groups",
    todo="return the numbers of the groups whose rows lie on more than one process.",
    right=_split,
    inputs=((3, 8, 2), (4, 8, 2), (4, 8, 1), (2, 6, 4), (6, 4, 4), (3, 8, 3)),
    wrong=(
        (
            lambda prompts, group_size, processes: [
                g
                for g in range(prompts)
                if g * group_size // (share := prompts * group_size // processes) != (g + 1) * group_size // share
            ],
            "row (g + 1) * G is the first row of the *next* group: the last row of group g is one before it.",
        ),
        (
            lambda prompts, group_size, processes: [
                g for g in range(prompts) if (prompts * group_size // processes) % group_size
            ],
            "a process boundary inside one group does not cut all of them: look where the boundary falls.",
        ),
        (
            lambda prompts, group_size, processes: len(_split(prompts, group_size, processes)),
            "return the list of the groups' numbers, not how many they are.",
        ),
        (
            lambda prompts, group_size, processes: [g + 1 for g in _split(prompts, group_size, processes)],
            "groups are counted from 0.",
        ),
    ),
)

STATES = {"weights": 2, "gradients": 2, "optimizer": 12}
SHARED = {"ddp": (), "zero2": ("gradients", "optimizer"), "zero3": ("weights", "gradients", "optimizer")}


def _states(billions, gpus, sharding):
    return sum(billions * size / (gpus if part in SHARED[sharding] else 1) for part, size in STATES.items())


training_states = Exercise(
    name="17.training_states",
    todo="return the GB on each GPU: weights, gradients and optimizer take 2, 2 and 12 bytes a weight, "
    "shared out or not.",
    right=_states,
    inputs=((7.5, 64, "ddp"), (7.5, 64, "zero2"), (7.5, 64, "zero3"), (1.5, 8, "zero2"), (1.5, 1, "zero3")),
    wrong=(
        (
            lambda billions, gpus, sharding: 16 * billions / (1 if sharding == "ddp" else gpus),
            "ZeRO-2 keeps a whole copy of the weights on every GPU; only ZeRO-3 shares those out, too.",
        ),
        (
            lambda billions, gpus, sharding: 16 * billions,
            "this is one GPU, or DDP. ZeRO divides some of the parts by the number of GPUs.",
        ),
        (
            lambda billions, gpus, sharding: (
                {"ddp": 16.0, "zero2": 4 + 12 / gpus, "zero3": 16 / gpus}[sharding] * billions
            ),
            "with only the optimizer shared out this is ZeRO-1; ZeRO-2 shares out the gradients as well.",
        ),
        (
            lambda billions, gpus, sharding: _states(billions, gpus, sharding) / 2**30 * 1e9,
            "this is in GiB (2**30 bytes); GB are 10**9, and the number of weights is in 10**9, too.",
        ),
    ),
)
