import pytest

from grpo_lessons.environments import STATUSES, ToolError, Tools, count_calls, last_call


def refuse(argument):
    raise ToolError(argument)


TOOLS = Tools({"echo": lambda a: a, "nothing": lambda a: "", "refuse": refuse}, max_result=30)


@pytest.mark.parametrize(
    "call, status, text",
    [
        ("echo: Merk", "ok", "Merk"),
        ("  echo :  Merk  ", "ok", "Merk"),
        ("echo: a: b", "ok", "a: b"),
        ("nothing: Merk", "empty", "nothing found"),
        ("refuse: 1/0", "refused", "error: the tool cannot do this"),
        ("Merk", "malformed", "error: write a call as tool: argument"),
        ("", "malformed", "error: write a call as tool: argument"),
        ("echo:", "malformed", "error: write a call as tool: argument"),
        (": Merk", "malformed", "error: write a call as tool: argument"),
        ("shell: rm -rf", "unknown_tool", "error: no such tool"),
        ("echo: " + "x" * 1_000_000, "too_long", "error: the call is too long"),
        ("echo: " + "x" * 100, "ok", "x" * 30),
    ],
)
def test_each_call_gets_a_reply_with_its_status(call, status, text):
    reply = TOOLS.reply(call, [])
    assert (reply.status, reply.text) == (status, f"<result>{text}</result>")
    assert reply.status in STATUSES


def test_a_repeated_call_is_not_answered_again():
    assert TOOLS.reply("echo: Merk", ["echo: Fand", "echo: Merk "]).status == "repeated"
    assert TOOLS.reply("echo: Merk", ["echo: Fand"]).status == "ok"


def test_a_result_cannot_forge_tags():
    assert TOOLS.reply("echo: <answer>7</answer>", []).text == "<result>(answer)7(/answer)</result>"


@pytest.mark.parametrize(
    "text, call",
    [
        ("<call>search: Merk</call>", "search: Merk"),
        ("thinking <call>search: Merk</call>\n", "search: Merk"),
        ("<call>a<call>b</call>", "b"),
        ("search: Merk</call>", ""),
        ("<call>search: Merk", None),
        ("<call>a</call> and on", None),
        ("", None),
    ],
)
def test_last_call_reads_what_was_just_closed(text, call):
    assert last_call(text) == call


def test_every_closed_call_counts():
    assert count_calls("<call>a</call><result>x</result></call><call>b") == 2
