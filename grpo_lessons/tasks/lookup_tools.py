"""The two tools of the look-up task: a search engine over articles, and a calculator."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from grpo_lessons.environments import ToolError
from grpo_lessons.verifiers.countdown import evaluate

from .world import Article

QUERY_WORDS = 8  # of a query that are looked for


class Encyclopedia:
    """Full-text search (SQLite FTS5, ranked by BM25) over articles; a hit in the title counts ten times."""

    def __init__(self, articles: Sequence[Article], results: int = 1):
        self.results = results
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        self.database.execute("CREATE VIRTUAL TABLE articles USING fts5(title, text)")
        self.database.executemany("INSERT INTO articles VALUES (?, ?)", [(a.title, a.text) for a in articles])
        self.database.execute("PRAGMA query_only = ON")

    def search(self, query: str) -> str:
        """The texts of the best articles that hold any word of the query, or "".

        Only words are looked for, each in quotes: operators and SQL in a query mean nothing.
        """
        words = re.findall(r"[^\W_]+", query)[:QUERY_WORDS]
        if not words:
            return ""
        rows = self.database.execute(
            "SELECT text FROM articles WHERE articles MATCH ? ORDER BY bm25(articles, 10.0, 1.0), rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), self.results),
        )
        return " ".join(text for (text,) in rows)


def calculate(expression: str) -> str:
    """The exact value of an expression of integers, + - * / and brackets: "7/2" for 7/2. ToolError otherwise."""
    value, reason = evaluate(expression)
    if value is None:
        raise ToolError(f"{expression!r} cannot be calculated: {reason}")
    return str(value)
