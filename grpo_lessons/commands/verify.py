"""`grpo-lessons verify`: a verifier against labelled completions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verify(
    verifier: Annotated[
        str, typer.Option(help="verify_number, or one of your own: my_task.py:verify_it or module:name.")
    ],
    cases: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="A JSON-lines file of labelled cases.")],
    rows: Annotated[int, typer.Option(help="How many failing rows to print.")] = 20,
) -> None:
    """Print a verifier's confusion matrix, error rates and failing rows; exit status 1 if a row fails."""
    from grpo_lessons.verifiers.report import print_report, verify_cases

    try:
        report = verify_cases(verifier, cases)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    print_report(report, rows=rows)
    if report.failures:
        raise typer.Exit(code=1)
