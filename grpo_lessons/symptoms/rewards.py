"""Symptoms of the reward: nothing to learn from, or the wrong thing."""

from __future__ import annotations

from grpo_lessons.advantages import dead_group_probability

from .view import Finding, RunView, percent

REASONS = {
    "no_answer": "the completions hold no <answer> block",
    "two_answers": "the completions hold more than one <answer> block",
    "trailing_text": "something stands after </answer>",
    "unreadable": "what stands in the <answer> block is not what the verifier reads",
    "too_long": "the answers are longer than the verifier accepts",
    "wrong": "the answers are well formed and wrong",
}


def constant_reward(run: RunView) -> Finding | None:
    """Every completion of every step got the same reward."""
    if not run.has("reward_mean") or run.table["reward_std"].max() > 0 or run.table["reward_mean"].nunique() > 1:
        return None
    reward = run.first("reward_mean")
    truncated, reasons = run.table["truncated"].mean(), run.table.filter(like="reason_").mean()
    shown = ", ".join(f"{name[7:]} {percent(share)}" for name, share in reasons.nlargest(3).items() if share)
    evidence = f"reward {reward:g} for every completion of {run.steps} steps; truncated {percent(truncated)}; {shown}"
    if truncated > 0.5:
        cause = "most completions are cut off before they can give an answer"
        advice = "raise max_new_tokens until few are truncated, or show the model a shorter form of answer"
    elif len(reasons) and reasons.idxmax()[7:] not in ("wrong", "correct"):
        cause = REASONS.get(reasons.idxmax()[7:], f"the verifier says {reasons.idxmax()[7:]!r}") + ": the form fails"
        advice = "read a few completions; put the expected form into the prompt, or fine-tune on it first"
    else:
        cause = "a reward that never differs ranks nothing: all advantages are 0 and no weight moves"
        advice = "test the reward function on a right and a wrong answer by hand; then look for easier problems"
    return Finding("the reward never differs", evidence, cause, advice)


def unscored(run: RunView) -> Finding | None:
    """The reward function returned None or NaN for more than one completion in twenty."""
    share = run.table["unscored"].mean() if run.has("unscored") else 0.0
    if share <= 0.05:
        return None
    return Finding(
        "completions without a reward",
        f"{percent(share)} of all completions got None or NaN",
        "they are left out of statistics and loss, so the policy is trained on the rest only",
        "make the reward function return a number for every completion; 0 for one that it cannot read",
    )


def dead_groups(run: RunView) -> Finding | None:
    """More than 80 % of the groups taught nothing while there was still something to learn."""
    dead, reward = run.beginning("dead_groups"), run.beginning("reward_mean")
    groups = run.config.prompts_per_step * max(1, run.steps // 3)
    if dead <= 0.8 or groups < 16 or run.table["reward_std"].max() == 0:
        return None
    p, G = run.beginning("accuracy"), run.config.group_size
    expected = dead_group_probability(p, G)
    wider = next((g for g in (4, 8, 16, 32, 64, 128) if dead_group_probability(p, g) <= 0.5), None)
    evidence = (
        f"in the first third {percent(dead)} of the groups had equal rewards (mean reward {reward:.2f}); with pass "
        f"rate p = {p:.3f} and G = {G}, p^G + (1-p)^G = {percent(expected)} would be if all problems were alike"
    )
    return Finding("dead groups", evidence, *_why_dead(run, p, expected, wider))


def _why_dead(run: RunView, p: float, expected: float, wider: int | None) -> tuple[str, str]:
    """Cause and advice. Where the pass rate does not explain the dead groups, a low temperature may."""
    if expected < 0.5 and run.config.temperature < 0.7:
        return (
            f"at temperature {run.config.temperature:g} the completions of a group are nearly the same",
            "temperature=1.0; a larger G would only add more copies",
        )
    side = "easy" if p > 0.5 else "hard"
    larger = f"G = {wider} would leave at most half of them dead" if wider and wider > run.config.group_size else ""
    return (
        f"the problems are too {side} for this policy: a group with equal rewards has advantage 0",
        f"choose problems with a pass rate between 0.2 and 0.8; {larger or 'a larger G helps little'}",
    )


def truncated(run: RunView) -> Finding | None:
    """More than three in ten completions are cut off from the start."""
    share = run.first("truncated")
    if share <= 0.3 or constant_reward(run):
        return None
    return Finding(
        "completions are cut off",
        f"{percent(share)} of the first completions hit max_new_tokens",
        "a cut-off completion is judged on an answer that it could not give",
        "raise max_new_tokens, or set mask_truncated=True so that cut-off completions do not count as wrong",
    )


def hacked_reward(run: RunView) -> Finding | None:
    """The reward rises and true accuracy falls, on the training or on held-out problems."""
    if run.steps < 6 or not run.has("reward_mean"):
        return None
    gain = run.last("reward_mean") - run.first("reward_mean")
    change = run.last("accuracy") - run.first("accuracy")
    evidence = f"reward {run.first('reward_mean'):.2f} -> {run.last('reward_mean'):.2f}, true accuracy "
    evidence += f"{percent(run.first('accuracy'))} -> {percent(run.last('accuracy'))}"
    fell = change < -max(0.05, run.chance)
    for split in ("held_out", "dev"):
        evals = run.evaluations(split)
        if len(evals) > 1 and evals[-1]["high"] < evals[0]["low"]:
            fell = True
            evidence += f", {split} {percent(evals[0]['accuracy'])} -> {percent(evals[-1]['accuracy'])}"
    if gain < max(0.1, run.chance) or not fell:
        return None
    return Finding(
        "the reward is hacked",
        evidence,
        "the policy learns what the reward function pays for, and that is not what the task asks",
        "read completions that get a high reward, close the hole in the verifier, start again from the first policy",
    )


def memorised(run: RunView) -> Finding | None:
    """Accuracy on a small training set runs away from held-out accuracy."""
    evals = run.evaluations("held_out") or run.evaluations("dev")
    if run.config.train_problems is None or not evals:
        return None
    gap = run.last("accuracy") - evals[-1]["high"]
    if gap < max(0.1, run.chance):
        return None
    return Finding(
        "the training problems are memorised",
        f"accuracy {percent(run.last('accuracy'))} on {run.config.train_problems} training problems, "
        f"{percent(evals[-1]['accuracy'])} [{percent(evals[-1]['low'])}, {percent(evals[-1]['high'])}] on unseen ones",
        "the policy sees the same few problems again and again",
        "train on more problems, take fewer steps, or keep the checkpoint that is best on dev",
    )
