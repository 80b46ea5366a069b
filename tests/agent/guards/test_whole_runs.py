"""Guards in runs of a real agent: what the model is told, and what the conversation looks like afterwards."""

from __future__ import annotations

import pytest

from tests.agent.support import Recorder, echo, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.guards.python_syntax import python_syntax
from zidane_lab.agent.guards.settings import GuardSettings, guards_for
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.tools.read_file import read_file_tool

pytestmark = pytest.mark.asyncio


def agent_with(answers, tmp_path, **settings):
    async def write(_context, path="", text=""):
        (tmp_path / path).write_text(text)
        return "written"

    tools = [read_file_tool(), simple_tool("shell", echo), simple_tool("write_file", write)]
    agent = Agent(ScriptedProvider(answers), tools=tools, cwd=tmp_path)
    for guard in guards_for(GuardSettings(**settings), agent.session, cwd=tmp_path):
        agent.hooks.use(guard)
    return agent


async def test_a_model_that_repeats_itself_for_ever_is_stopped_and_its_conversation_is_whole(tmp_path):
    agent = agent_with([[call("shell", text="x")] for _ in range(20)], tmp_path)
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    assert result.status == "aborted"
    assert len(agent.provider.requests) == 8
    assert agent.session.tail_state != "interrupted"
    assert [turn.injected for turn in agent.session.turns if turn.injected] == ["progress-nudge"] * 2
    assert "run stopped" in seen.of("guard:hit")[-1].text


async def test_an_unchanged_file_is_sent_once(tmp_path):
    (tmp_path / "a.txt").write_text("the content\n")
    agent = agent_with([[call("read_file", path="a.txt")], [call("read_file", path="a.txt")], "Done."], tmp_path)
    await agent.run("go")
    sent = [result.text for turn in agent.provider.requests[-1].turns for result in turn.tool_results]
    assert sent[0].startswith("the content")
    assert "the content" not in sent[1]


async def test_broken_code_is_pointed_out_before_the_model_goes_on(tmp_path):
    answers = [
        [call("write_file", path="a.py", text="x = (")],
        [call("write_file", path="a.py", text="x = 1")],
        "Done.",
    ]
    agent = agent_with(answers, tmp_path, validate=python_syntax)
    result = await agent.run("go")
    assert result.text == "Done."
    assert [turn.injected for turn in agent.session.turns if turn.injected] == ["validation"]
    assert "was never closed" in agent.provider.requests[1].turns[-1].text
