"""Why does my run not learn? Findings with evidence, cause and advice, from the run's log alone.

The thresholds were set on runs of the nano policy (data/recorded/), healthy and sick, and are meant to be silent on a
run that learns. A finding is a reason to look, not a proof; "the loss is 0" and "no ratio is ever clipped" name no
fault but answer a question that they raise.
"""

from __future__ import annotations

from pathlib import Path

from .runlog import RunLog
from .symptoms import policy, rewards, updates
from .symptoms.view import Finding, RunView

__all__ = ["Finding", "diagnose", "diagnose_command"]

# In the order in which to look: a reward that ranks nothing explains most of what follows.
SYMPTOMS = (
    updates.not_finite,
    rewards.constant_reward,
    rewards.unscored,
    rewards.truncated,
    rewards.dead_groups,
    rewards.hacked_reward,
    rewards.memorised,
    updates.learning_rate_too_high,
    updates.learning_rate_too_low,
    policy.entropy_collapse,
    policy.length_explosion,
    updates.kl_explosion,
    updates.sampler_gap,
    policy.evaluation_noise,
    updates.zero_loss,
    updates.nothing_to_clip,
)


def diagnose(run: RunLog | str | Path) -> list[Finding]:
    """What is wrong with a run, the most basic first; an empty list for a run without a finding.

    run: a log, or a run directory, also of a run that is still going on or was interrupted.
    """
    view = RunView(run if isinstance(run, RunLog) else RunLog.load(run))
    symptoms = SYMPTOMS if view.steps else (updates.not_finite,)
    return [finding for symptom in symptoms if (finding := symptom(view))]


def diagnose_command(run_dir: str | Path) -> None:
    """Print the findings of a run directory."""
    from rich.console import Console

    console, findings = Console(), diagnose(run_dir)
    for finding in findings:
        console.print(f"[bold]{finding.name}[/bold]")
        for label, text in (("evidence", finding.evidence), ("cause", finding.cause), ("try", finding.advice)):
            console.print(f"  {label:<9}{text}", markup=False, highlight=False)
    if not findings:
        console.print("no finding")
