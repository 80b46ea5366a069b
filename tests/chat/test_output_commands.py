"""Large results, read back by the person."""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.agent.support import simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.persistence import Persistence
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.place import Place
from zidane_lab.errors import ConfigurationError, SessionError
from zidane_lab.providers.scripted import ScriptedProvider, call

pytestmark = pytest.mark.asyncio

LONG = "".join(f"line {n} with ``` ticks\n" for n in range(4_000))


async def large(_context):
    return LONG


@pytest_asyncio.fixture
async def chat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Chat(Place(None, tmp_path, "test"), env={"ZIDANE_HOME": str(tmp_path / "home")})
    agent = Agent(
        ScriptedProvider([[call("large")], "done"]), tools=[simple_tool("large", large)], session=made.session
    )
    agent.hooks.use(Persistence(made.session))
    await agent.run("go")
    yield made
    await made.close()


async def test_a_large_result_is_listed_and_shown_whole(chat):
    (result,) = chat.session.turns[2].tool_results
    assert len(result.text) < 4_000
    listed = (await run_command("/output", CommandContext(chat))).text
    assert result.call_id in listed
    shown = (await run_command(f"/output {result.call_id}", CommandContext(chat))).text
    assert LONG in shown
    assert shown.split("\n")[2] == "````text"  # longer than any fence inside


async def test_what_is_not_kept_is_said(chat):
    with pytest.raises(ConfigurationError, match="no kept result"):
        await run_command("/output nothing", CommandContext(chat))
    (result,) = chat.session.turns[2].tool_results
    for file in (chat.session.folder / "tool-results").iterdir():
        file.unlink()
    with pytest.raises(SessionError, match="is gone"):
        await run_command(f"/output {result.call_id}", CommandContext(chat))
    chat.new()
    assert "No result" in (await run_command("/output", CommandContext(chat))).text
