"""Where is the program in a completion?"""

from __future__ import annotations

from .answers import CLOSE, OPEN, extract_answer, final_part


def fenced(text: str) -> list[tuple[str, str]]:
    """(mark, body) of every closed fence of three backquotes at the beginning of a line."""
    found, mark, body = [], None, []
    for line in text.split("\n"):
        if mark is None and line.startswith("```"):
            mark, body = line[3:].strip().lower(), []
        elif mark is not None and line.rstrip() == "```":
            found.append((mark, "\n".join(body)))
            mark = None
        else:
            body.append(line)
    return found


def extract_code(completion: str) -> str | None:
    """The program in a completion: the answer block, without a fence around it; or else the one ```python fence.

    If any answer tag occurs, `extract_answer` decides alone. Without one, exactly one closed fence marked python
    or py after the last `</think>` is the program; several are no answer.
    """
    if not isinstance(completion, str):
        return None
    if OPEN in completion or CLOSE in completion:
        answer = extract_answer(completion)
        inside = fenced(answer) if answer and answer.startswith("```") and answer.endswith("\n```") else []
        return inside[0][1] if len(inside) == 1 else answer
    programs = [body for mark, body in fenced(final_part(completion)) if mark in ("python", "py", "python3")]
    return programs[0] if len(programs) == 1 else None
