"""A run drawn in a terminal: plain text, nothing that could drive it."""

from __future__ import annotations

import io

import pytest

from tests.agent.support import simple_tool
from tests.notebook.test_render import RUN, echo
from zidane_lab.agent.agent import Agent
from zidane_lab.notebook.terminal import TerminalPublisher, TerminalRenderer, clean
from zidane_lab.providers.scripted import ScriptedProvider, call, say
from zidane_lab.tools.base import ToolOutput
from zidane_lab.turns import TextBlock

pytestmark = pytest.mark.asyncio


async def drawn(*answers, tools=()):
    agent = Agent(ScriptedProvider(answers), tools=tools)
    screen = io.StringIO()
    agent.hooks.use(TerminalRenderer(TerminalPublisher(screen), window=lambda _model: None))
    await agent.run("go")
    return screen.getvalue()


async def test_a_run_reads_from_top_to_bottom():
    text = await drawn(
        [say("Look."), call("run_python", code="x = 1", intent="Count")],
        [call("run_python", code="bad", intent="Try"), call("echo", text="e")],
        "Done.",
        tools=[RUN, simple_tool("echo", echo)],
    )
    assert text.split("\n")[:10] == [
        "Look.",
        "▸ Count  (run_python)",
        "    x = 1",
        "✓ Count: created x",
        "▸ Try  (run_python)",
        "    bad",
        "cell, line 1",
        "ValueError: no",
        "▸ echo",
        "    text: e",
    ]
    assert "Done.\nscripted/script · 3 turns · 3 tool calls" in text


async def test_control_sequences_of_a_model_do_not_reach_the_screen():
    text = await drawn("\x1b]0;owned\x07\x1b[2Jhello\x9b31m\r\nworld\x00")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\x9b" not in text
    assert "hello" in text


async def test_cleaning_keeps_lines_and_tabs():
    assert clean("a\tb\r\nc\x08\x7f") == "a\tb\nc"


async def test_a_failed_tool_is_told_in_a_line():
    async def broken(_context):
        raise OSError("no disk")

    assert "✗ broken: OSError: no disk" in await drawn(
        [call("broken")], "I see.", tools=[simple_tool("broken", broken)]
    )


async def test_what_is_asked_is_printed_once():
    async def asked(_context, questions):
        return ToolOutput((TextBlock("a"),), metadata={"answered": True})

    questions = [{"question": "Which?", "options": [{"label": "a"}]}]
    text = await drawn([call("ask_user", questions=questions)], "Well.", tools=[simple_tool("ask_user", asked)])
    assert text.split("\n")[:2] == ["▸ Ask: Which?  (ask_user)", "✓ Ask: Which?: answered"]
