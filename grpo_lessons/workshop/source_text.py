"""What can be read from the source of a cell: definitions, imports, the call of the check, text without some links."""

from __future__ import annotations

import ast
import re

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")  # to a file beside the lesson
DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def definitions(source: str) -> str:
    """Imports, functions and classes, as they are written: without the call of the check, prints and the like."""
    lines, kept = source.splitlines(), []
    for statement in ast.parse(source).body:
        if isinstance(statement, DEFINES):
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
            kept.append("\n".join(lines[first - 1 : statement.end_lineno]))
    return "\n\n\n".join(kept)


def without_file_links(markdown: str) -> str:
    """Links to files as their words alone: outside the lesson's folder they lead nowhere."""
    return LINK.sub(r"\1", markdown)


def check_call(source: str) -> tuple[str, str]:
    """'check.lesson04.masked_mean' and 'my_masked_mean', from the call in the cell; ValueError if it is not there."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and re.fullmatch(r"check\.\w+\.\w+", ast.unparse(node.func)) and node.args:
            return ast.unparse(node.func), ast.unparse(node.args[0])
    raise ValueError(f"an exercise calls its check, as in check.lesson04.masked_mean(my_masked_mean); here:\n{source}")


def imports_of(source: str) -> dict[str, str]:
    """The names that a cell's imports bind: name -> a line that imports it alone."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0)
                found[alias.asname or alias.name.split(".")[0]] = ast.unparse(one)
    return found


def names_in(source: str) -> set[str]:
    """All names that the code mentions."""
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
