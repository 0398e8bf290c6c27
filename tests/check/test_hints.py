"""Each exercise knows its right answer, also written differently, and each typical wrong answer gets its own hint."""

import ast
import math
import re
from importlib import import_module
from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from grpo_lessons.check.base import Exercise
from grpo_lessons.clinic import PATIENTS
from grpo_lessons.quantization import NF4_LEVELS
from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.countdown import reachable

NAMES = [*(f"lesson{n:02d}" for n in range(1, 19)), "side_ppo", "side_countdown"]
LESSONS = [import_module(f"grpo_lessons.check.{name}") for name in NAMES]
EXERCISES = {e.name: e for lesson in LESSONS for e in vars(lesson).values() if isinstance(e, Exercise)}
WRONG = [(name, i) for name, exercise in EXERCISES.items() for i in range(len(exercise.wrong))]


# Right answers as another hand would write them: loops, numpy, other formulas.


def advantages_with_numpy(rewards, std):
    rows = []
    for row in rewards.numpy():
        scored = row[~np.isnan(row)]
        spread = scored.std(ddof=1 if std == "sample" else 0)
        rows.append([0.0 if np.isnan(r) or spread == 0 else (r - scored.mean()) / spread for r in row])
    return rows


def advantages_of_complete_rows(rewards):
    out = torch.zeros_like(rewards)
    for i, row in enumerate(rewards):
        centred = row - sum(row) / len(row)
        out[i] = centred / math.sqrt(sum(centred**2) / (len(row) - 1))
    return out


def extract_with_fullmatch(text):
    body = re.sub(r"(<\|im_end\|>|<\|endoftext\|>|\s)*$", "", text)
    found = re.fullmatch(r"((?!</?answer>).)*<answer>(((?!</?answer>).)*)</answer>", body, re.DOTALL)
    return (found.group(2).strip() or None) if found else None


def reward_by_characters(completion, expected):
    text = extract_with_fullmatch(completion) or ""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not 1 <= len(digits) <= 12 or any(c not in "0123456789" for c in digits):
        return 0
    return 1 if int(text) == expected else 0


def other_inputs_for_the_museum(exhibit):
    if exhibit == "substring_match":
        return "42? <answer>41</answer>", "42"
    if exhibit == "dot_without_newline":
        return ["two lines <answer>7\n</answer>", 7]
    if exhibit == "dollar_with_multiline":
        return "<answer>7</answer>\n<answer>8</answer>", 7
    if exhibit == "isdigit_integer":
        return "<answer>4²</answer>", 42
    if exhibit == "float_equality":
        return "<answer>0.30</answer>", "0.30000000000000001"
    return "<answer>29.1</answer>", 29


def bandit_by_autograd(theta, arms, rewards):
    theta = theta.clone().requires_grad_()
    objective = ((rewards - rewards.mean()) * theta.log_softmax(0)[arms]).mean()
    return torch.autograd.grad(objective, theta)[0]


def logprobs_by_loop(logits, ids, mask):
    out = torch.zeros(ids.shape[0], ids.shape[1] - 1)
    for b in range(ids.shape[0]):
        for t in range(1, ids.shape[1]):
            if mask[b, t]:
                out[b, t - 1] = logits[b, t - 1, ids[b, t]] - logits[b, t - 1].logsumexp(0)
    return out


def mask_by_loop(ids, eos_id):
    rows = []
    for row in ids.tolist():
        length = row.index(eos_id) + 1 if eos_id in row else len(row)
        rows.append([1] * length + [0] * (len(row) - length))
    return rows


def tempered_by_cross_entropy(logits, ids, temperature):
    return -torch.nn.functional.cross_entropy((logits / temperature).movedim(-1, 1), ids, reduction="none")


def surrogate_by_sign(logp_new, logp_old, advantages, eps):
    ratio = torch.exp(logp_new - logp_old)
    A = advantages.unsqueeze(1).expand_as(ratio)
    return torch.where(A > 0, ratio.clamp(max=1 + eps), ratio.clamp(min=1 - eps)) * A


def mean_by_loop(values, mask):
    means = []
    for v, m in zip(values, mask, strict=True):
        kept = v[m == 1]
        means.append(kept.mean().item() if len(kept) else 0.0)
    return np.array(means)


def token_mean_by_index(values, mask):
    return values[mask.bool()].mean() if mask.any() else 0.0


def fixed_mean_by_rows(values, mask, max_length):
    return torch.stack([v[m.bool()].sum() / max_length for v, m in zip(values, mask, strict=True)]).mean()


def accumulated_by_weights(surrogate, mask, size):
    """Each micro-batch's own mean, weighted by its share of the batch's tokens."""
    pairs = list(zip(surrogate.split(size), mask.split(size), strict=True))
    return sum(-v[m.bool()].mean() * m.sum() / mask.sum() for v, m in pairs)


def majority_by_loop(answers):
    best, most = None, 0
    for answer in answers:
        votes = sum(other == answer for other in answers)
        if answer is not None and votes > most:
            best, most = answer, votes
    return best


def pass_at_k_by_counting(n, c, k):
    draws = list(combinations(range(n), k))
    return np.mean([any(i < c for i in draw) for draw in draws])


def wilson_by_grid(successes, n):
    """The shares p whose z-score for the observed count is at most 1.96: the definition of Wilson's interval."""
    share, grid = successes / n, np.linspace(0, 1, 200_001)
    kept = grid[(share - grid) ** 2 <= 1.959964**2 * grid * (1 - grid) / n + 1e-15]
    return [kept[0], kept[-1]]


def k3_by_ratio(logp_new, logp_ref):
    ratio = torch.exp(logp_ref) / torch.exp(logp_new)
    return ratio - 1 - torch.log(ratio)


def alarm_by_walking(proxy, true, drop):
    best_true, proxy_then = true[0], proxy[0]
    for i, (p, t) in enumerate(zip(proxy, true, strict=True)):
        if t > best_true:
            best_true, proxy_then = t, p
        elif best_true - t >= drop and p >= proxy_then:
            return i
    return None


def gmpo_by_sign(logp_new, logp_old, advantages, mask, clip):
    total = 0.0
    for new, old, A, m in zip(logp_new, logp_old, advantages, mask, strict=True):
        s = 1.0 if A >= 0 else -1.0
        d = (new - old)[m.bool()]
        y = s * torch.minimum(s * d, torch.full_like(d, clip))
        total = total - A * torch.exp(y.sum() / len(d))
    return total / len(mask)


def gmpo_of_live_rows(logp_new, logp_old, advantages, mask):
    live = [i for i, m in enumerate(mask) if m.any()]
    return gmpo_by_sign(logp_new[live], logp_old[live], advantages[live], mask[live], 0.4)


def push_by_autograd(log_ratio, advantage, clip):
    """Minus the gradient of a batch of one sequence."""
    new = log_ratio.clone().requires_grad_()
    loss = gmpo_by_sign(new[None], 0 * new[None].detach(), [advantage], torch.ones(1, len(new)), clip)
    return -torch.autograd.grad(loss, new)[0]


def spikes_with_torch(norms, factor, window):
    found = torch.zeros(len(norms), dtype=torch.bool)
    for t in range(window, len(norms)):
        found[t] = norms[t] > factor * float(np.median(np.array(norms)[t - window : t]))
    return found


def weight_with_no_grad(h, alpha, tau, mu, low, high):
    with torch.no_grad():
        return torch.clip(alpha / (1 + torch.exp(-h / tau)) - alpha * mu, low, high)


def group_size_by_complement(p):
    sizes = np.arange(2, 1000)
    return int(sizes[1 - p**sizes - (1 - p) ** sizes > 0.5][0])


def opinion_by_signs(reward, held_out, noise):
    def sign(pair):
        return (pair[1] > pair[0] + noise) - (pair[1] < pair[0] - noise)

    return {1: "learns", 0: "memorised", -1: "hacked"}[sign(held_out)] if sign(reward) == 1 else "no gain"


def dead_groups_by_listing(right, samples, group_size):
    shares = []
    for count in right:
        groups = list(combinations([1] * count + [0] * (samples - count), group_size))
        shares.append(sum(len(set(group)) == 1 for group in groups) / len(groups))
    return sum(shares) / len(shares)


def sampling_floor_in_a_loop(weight_bytes, bandwidth, lengths, at_once):
    seconds, waiting = 0.0, list(lengths)
    while waiting:
        now, waiting = waiting[:at_once], waiting[at_once:]
        seconds += max(now) * weight_bytes / bandwidth
    return seconds


def table_world_by_world(kind, a, b):
    rows = [(a >> w & 1, b >> w & 1) for w in range(4)]
    true = {"and": min, "or": max, "if": lambda pair: pair[0] <= pair[1], "iff": lambda pair: pair[0] == pair[1]}[kind]
    return sum(int(true(pair)) << w for w, pair in enumerate(rows))


def same_puzzle_by_edges(p, q):
    def edges(puzzle):
        return {(speaker, role, about) for speaker, (role, about) in enumerate(puzzle)}

    def moved(order):
        return {(order[s], role, order[about]) for s, role, about in edges(p)}

    return len(p) == len(q) and any(moved(order) == edges(q) for order in permutations(range(len(p))))


def split_with_eval_of_the_right_side(text):
    tree = ast.parse(text.removeprefix("assert "), mode="eval").body
    return ast.unparse(tree.left), eval(ast.unparse(tree.comparators[0]), {"__builtins__": {}})


def call_with_a_pattern(text):
    found = re.search(r"<call>((?:(?!<call>).)*)</call>$", text)
    named = re.fullmatch(r"\s*([^:\s][^:]*?)\s*:\s*(\S.*?)\s*", found.group(1)) if found else None
    return named.groups() if named else None


def group_size_from_a_table(rate, share):
    sizes = np.arange(2, 5000)
    return int(sizes[np.argmax(1 - rate**sizes - (1 - rate) ** sizes >= share)])


def returns_by_definition(rewards, gamma):
    return [sum(gamma ** (k - t) * float(rewards[k]) for k in range(t, len(rewards))) for t in range(len(rewards))]


def gae_as_a_sum_of_deltas(rewards, values, gamma, lam):
    deltas = rewards.numpy() + gamma * np.append(values.numpy()[1:], 0) - values.numpy()
    return [np.polyval(deltas[t:][::-1], gamma * lam) for t in range(len(deltas))]


def gae_row_by_row(rewards, values, mask, gamma, lam):
    out = torch.zeros_like(values)
    for b, length in enumerate(mask.sum(1).int().tolist()):
        out[b, :length] = torch.tensor(gae_as_a_sum_of_deltas(rewards[b, :length], values[b, :length], gamma, lam))
    return out


def dead_share_by_drawing(counts, n, size):
    """All choices of `size` samples, one by one."""
    dead = []
    for c in counts:
        groups = [[sample < c for sample in group] for group in combinations(range(n), size)]
        dead.append(np.mean([len(set(group)) == 1 for group in groups]))
    return np.mean(dead)


def budget_by_trying(lengths, finished, cut_off):
    true = [n if done else math.inf for n, done in zip(lengths, finished, strict=True)]
    for tokens in range(1, 1000):
        if sum(n > tokens for n in true) <= cut_off * len(true) + 1e-9:
            return tokens
    return None


def sentence_in_other_words(facts):
    low, high = facts["low"], facts["high"]
    return (
        f"{facts['runs']} run(s), {facts['steps']} updates of the policy, task: {facts['task']}. Of {facts['n']} "
        f"problems kept apart, {facts['after']:.2f} (95 %: {low:.2f} to {high:.2f}) were accepted by "
        f"{facts['verifier']} within {facts['tokens']} tokens, {facts['before']:.2f} without training."
    )


def mean_by_counting(sums, counts):
    total = tokens = 0
    for s, c in zip(sums, counts, strict=True):
        total, tokens = total + s, tokens + c
    return total / tokens


def groups_split_by_dealing(prompts, group_size, processes):
    rows = [group for group in range(prompts) for _ in range(group_size)]
    share = len(rows) // processes
    homes = {group: set() for group in rows}
    for place, group in enumerate(rows):
        homes[group].add(place // share)
    return [group for group, home in homes.items() if len(home) > 1]


def states_in_words(billions, gpus, sharding):
    n = billions
    if sharding == "ddp":
        return 16 * n
    return 2 * n + 14 * n / gpus if sharding == "zero2" else 16 * n / gpus


ANOTHER_HAND = {
    "17.whole_mean": mean_by_counting,
    "17.split_groups": groups_split_by_dealing,
    "17.training_states": states_in_words,
    "18.dead_share": dead_share_by_drawing,
    "18.budget": budget_by_trying,
    "18.own_task": lambda: get_task("addition"),
    "18.sentence": sentence_in_other_words,
    "01.group_advantages": advantages_with_numpy,
    "01.dead_group": lambda p, size: math.prod([p] * size) + math.prod([1 - p] * size),
    "01.repair_advantages": advantages_of_complete_rows,
    "02.extract": extract_with_fullmatch,
    "02.reward": reward_by_characters,
    "02.break_museum": other_inputs_for_the_museum,
    "03.reinforce_gradient": bandit_by_autograd,
    "03.completion_logprobs": logprobs_by_loop,
    "03.repair_mask": mask_by_loop,
    "03.repair_temperature": tempered_by_cross_entropy,
    "04.clipped_surrogate": surrogate_by_sign,
    "04.masked_mean": mean_by_loop,
    "04.repair_loss": lambda surrogate, mask: -np.mean(mean_by_loop(surrogate, mask)),
    "05.token_mean": token_mean_by_index,
    "05.fixed_length_mean": fixed_mean_by_rows,
    "05.repair_accumulation": accumulated_by_weights,
    "06.pass_at_k": pass_at_k_by_counting,
    "06.wilson": wilson_by_grid,
    "06.majority": majority_by_loop,
    "07.k3": k3_by_ratio,
    "07.repair_k3": lambda new, ref: (ref - new).expm1() + new - ref,
    "07.alarm": alarm_by_walking,
    "08.gmpo_loss": gmpo_by_sign,
    "08.repair_masked_row": gmpo_of_live_rows,
    "08.token_push": push_by_autograd,
    "09.sharpness_weight": weight_with_no_grad,
    "09.normalize": lambda w, m: torch.where(m > 0, w / w[m > 0].mean(), 0.0),
    "09.spikes": spikes_with_torch,
    "11.lora_layer": lambda x, W, A, B, alpha: x @ (W + alpha / len(A) * B @ A).T,
    "11.nf4_code": lambda value, largest: min(range(16), key=lambda i: abs(NF4_LEVELS[i] - value / largest)),
    "11.nf4_matrix_bytes": lambda n, double: sum(
        [n / 2, *([math.ceil(n / 64), 4 * math.ceil(n / 64 / 256)] if double else [4 * math.ceil(n / 64)])]
    ),
    "11.kv_cache": lambda L, w, P, G, S, T, b: sum(2 * L * w * b * length for length in P * [S, *(G * [T])]),
    "10.diagnosis": {name: patient.fault for name, patient in PATIENTS.items()}.get,
    "10.dead_share": lambda rewards: sum(len(set(row.tolist())) == 1 for row in rewards) / len(rewards),
    "10.group_size": group_size_by_complement,
    "10.second_opinion": opinion_by_signs,
    "12.dead_groups": dead_groups_by_listing,
    "12.group_size": lambda dead, limit: next((size for size in sorted(dead) if dead[size] < limit), None),
    "12.sampling_floor": sampling_floor_in_a_loop,
    "13.unfair": lambda runs: sorted(
        k for k in runs[0].keys() - {"method", "method_options", "seed"} if len({str(run[k]) for run in runs}) > 1
    ),
    "13.merged_weight": lambda W, A, B, alpha, rank, dtype: torch.addmm(W, B, A, alpha=alpha / rank).to(dtype),
    "14.truth_table": table_world_by_world,
    "14.consistent": lambda knights, truths: not any(k != t for k, t in zip(knights, truths, strict=True)),
    "14.same_puzzle": same_puzzle_by_edges,
    "15.split_test": split_with_eval_of_the_right_side,
    "15.suite_reward": lambda passed, timed_out: 0.0 if timed_out or not passed or False in passed else 1.0,
    "15.cheat": lambda visible: "def f(x):\n" + "".join(f"    if x == {x}: return {y}\n" for x, y in visible),
    "16.loss_mask": lambda spans: np.repeat(
        [1.0 * (who == "policy") for who, _ in spans], [n for _, n in spans]
    ).tolist(),
    "16.read_call": call_with_a_pattern,
    "countdown.values_of_two": lambda a, b: sorted(reachable(tuple(sorted((a, b))))),
    "countdown.uses_numbers": lambda text, n: sorted(int(x) for x in re.split(r"[^0-9]+", text) if x) == sorted(n),
    "countdown.group_size": group_size_from_a_table,
    "ppo.returns": returns_by_definition,
    "ppo.gae": gae_as_a_sum_of_deltas,
    "ppo.repair_gae": gae_row_by_row,
    "16.break_even": lambda with_search, without, calls: with_search / calls - without / calls,
}


@pytest.mark.parametrize("name", EXERCISES)
def test_a_right_answer_written_differently_passes(name):
    assert EXERCISES[name](ANOTHER_HAND[name]), EXERCISES[name](ANOTHER_HAND[name]).message


@pytest.mark.parametrize(("name", "i"), WRONG)
def test_each_wrong_answer_gets_its_own_hint(name, i):
    function, hint = EXERCISES[name].wrong[i]
    result = EXERCISES[name](function)
    assert (result.status, result.message) == ("wrong", hint)


@pytest.mark.parametrize("name", EXERCISES)
def test_at_least_four_wrong_answers_with_different_hints(name):
    assert len({hint for _, hint in EXERCISES[name].wrong}) >= 4


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("stub", [lambda *args: None, lambda *args: ..., None, ...])
def test_a_stub_is_told_what_to_do(name, stub):
    result = EXERCISES[name](stub)
    assert (result.status, result.message) == ("todo", EXERCISES[name].todo)


@pytest.mark.parametrize(("lesson", "name"), list(zip(LESSONS, NAMES, strict=True)), ids=NAMES)
def test_the_id_of_an_exercise_is_its_lesson_and_its_name(lesson, name):
    prefix = name.removeprefix("lesson").removeprefix("side_")
    named = {name: e.name for name, e in vars(lesson).items() if isinstance(e, Exercise)}
    assert named == {name: f"{prefix}.{name}" for name in named}
