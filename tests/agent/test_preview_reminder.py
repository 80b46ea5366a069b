"""A preview is not forgotten."""

from __future__ import annotations

import pytest

from zidane_lab.agent.agent import Agent
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.preview_reminder import PreviewReminder
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.session.session import Session
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.resolve import resolve_tool

pytestmark = pytest.mark.asyncio

READ = call("read_file", path="a.txt")
PREVIEW = call("edit", path="a.txt", old_string="one", new_string="two", preview=True)


def agent_in(folder, *answers):
    session, hooks = Session.memory(), HookBus()
    hooks.use(PreviewReminder(session))
    (folder / "a.txt").write_text("one\n")
    tools = [read_file_tool(), edit_tool(), resolve_tool()]
    return Agent(ScriptedProvider(list(answers)), tools=tools, session=session, hooks=hooks, cwd=folder)


async def test_a_model_that_would_end_is_reminded_once(tmp_path):
    agent = agent_in(tmp_path, READ, PREVIEW, "I am done.", "Really.")
    result = await agent.run("Change it")
    assert result.text == "Really."
    (reminder,) = [turn for turn in agent.session.turns if turn.injected == "progress-nudge"]
    assert "nothing has been written" in reminder.text
    assert "a.txt" in reminder.text
    assert (tmp_path / "a.txt").read_text() == "one\n"


async def test_one_that_decides_is_not(tmp_path):
    agent = agent_in(tmp_path, READ, PREVIEW, call("resolve", action="apply", reason="It is right."), "Done.")
    await agent.run("Change it")
    assert not [turn for turn in agent.session.turns if turn.injected]
    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_it_waits_through_later_runs_without_being_spoken_of_again(tmp_path):
    agent, told = agent_in(tmp_path, READ, PREVIEW, "I am done.", "Really.", "Yes?"), set()
    agent.hooks = HookBus()
    for prompt in ("Change it", "And?"):
        off = agent.hooks.use(PreviewReminder(agent.session, told))
        await agent.run(prompt)
        off()
        assert len(told) == 1
    assert [turn.injected for turn in agent.session.turns].count("progress-nudge") == 1
