"""What answers a policy's calls: tools by name, the form of a call, and a reason for every call that fails.

A policy calls a tool by writing `<call>search: Velmar</call>`; the environment answers with
`<result>...</result>`. Differs from the JSON calls of chat models in its length, which suits a policy that writes one
character at a time; the loop around it (`tool_rollouts`) is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

CALL, CALL_END = "<call>", "</call>"
RESULT, RESULT_END = "<result>", "</result>"
MAX_CALL = 200  # characters of a call

# What can come of a call, and what the policy is told; only "ok" carries a tool's text.
STATUSES = {
    "ok": "the tool's text",
    "empty": "nothing found",
    "refused": "error: the tool cannot do this",
    "malformed": "error: write a call as tool: argument",
    "unknown_tool": "error: no such tool",
    "too_long": "error: the call is too long",
    "repeated": "error: the same call as before",
}

Tool = Callable[[str], str]


class ToolError(ValueError):
    """Raised by a tool for an argument that it refuses."""


@dataclass(frozen=True)
class Reply:
    """The text that goes into the context, with its tags, and the status, a key of STATUSES."""

    text: str
    status: str


class Environment(Protocol):
    """What `tool_rollouts.sample_tool_groups` needs.

    max_calls: how many calls of one completion are answered; a completion that makes one more ends there.
    """

    max_calls: int

    def reply(self, call: str, earlier: Sequence[str]) -> Reply:
        """Answer the text between the tags of a call; `earlier` holds those of this completion's other calls.

        Never raises, whatever the call holds.
        """
        ...


@dataclass(frozen=True)
class Tools:
    """An environment of tools without a memory of their own.

    tools: name -> function of the argument; "" means that nothing was found, ToolError that it refuses.
    max_result: characters of a result that are passed on.
    """

    tools: Mapping[str, Tool]
    max_calls: int = 4
    max_result: int = 400

    def reply(self, call: str, earlier: Sequence[str]) -> Reply:
        """See `Environment`. Angle brackets in a tool's text become round ones: no result can forge a tag."""
        status, text = self._answer(call, earlier)
        text = text[: self.max_result] if status == "ok" else STATUSES[status]
        text = text.translate({ord("<"): "(", ord(">"): ")"})
        return Reply(f"{RESULT}{text}{RESULT_END}", status)

    def _answer(self, call: str, earlier: Sequence[str]) -> tuple[str, str]:
        if len(call) > MAX_CALL:
            return "too_long", ""
        name, colon, argument = call.partition(":")
        name, argument = name.strip(), argument.strip()
        if not colon or not name or not argument:
            return "malformed", ""
        if name not in self.tools:
            return "unknown_tool", ""
        if call.strip() in (past.strip() for past in earlier):
            return "repeated", ""
        try:
            text = self.tools[name](argument)
        except ToolError:
            return "refused", ""
        return ("ok", text) if text else ("empty", "")


def last_call(text: str) -> str | None:
    """The text of a call that has just been closed: what stands between the last `<call>` and a final `</call>`.

    None if the text does not end with `</call>`; "" (malformed) if no `<call>` opens it.
    """
    if not text.rstrip().endswith(CALL_END):
        return None
    before = text.rstrip().removesuffix(CALL_END)
    return before.rpartition(CALL)[2] if CALL in before else ""


def count_calls(completion: str) -> int:
    """How many calls a completion closed, well formed or not."""
    return completion.count(CALL_END)
