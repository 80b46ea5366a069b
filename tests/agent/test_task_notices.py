"""What background tasks have done is told to the model between two turns, exactly once."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from tests.agent.support import Slow, echo, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.task_notices import TaskNotices
from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.task import Watch
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.events import Injection, TurnBoundary
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.tools.shell import shell_tool
from zidane_lab.tools.tasks import task_tools

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def tasks(tmp_path):
    registry = TaskRegistry(tmp_path / "session")
    yield registry
    await registry.aclose()


def agent_of(tasks, tmp_path, *answers, more=(), **options):
    tools = [shell_tool(tasks=tasks), *task_tools(tasks), *more]
    agent = Agent(ScriptedProvider(answers), tools=tools, cwd=tmp_path)
    agent.hooks.use(TaskNotices(tasks, **options))
    return agent


async def finished(tasks, tmp_path, text="echo out", **options):
    info = await tasks.start(LocalProcess(tmp_path), Command(text), **options)
    await asyncio.wait({tasks._endings[info.id]})


def told(agent):
    return [turn.text for turn in agent.session.turns if turn.injected == "task-notification"]


async def test_the_end_of_a_task_is_told_behind_the_next_results(tasks, tmp_path):
    await finished(tasks, tmp_path)
    agent = agent_of(tasks, tmp_path, [call("echo", text="x")], "ok", more=[simple_tool("echo", echo)])
    await agent.run("go")
    (text,) = told(agent)
    assert text.startswith("<task-notification>\n<task-id>task-1</task-id>")
    assert [turn.injected for turn in agent.session.turns] == [None, None, None, "task-notification", None]


async def test_a_run_that_would_end_goes_on(tasks, tmp_path):
    await finished(tasks, tmp_path)
    agent = agent_of(tasks, tmp_path, "I am done.", "Ah, the task has ended.")
    assert (await agent.run("go")).text == "Ah, the task has ended."
    assert len(told(agent)) == 1


async def test_nothing_is_said_without_need(tasks, tmp_path):
    agent = agent_of(tasks, tmp_path, "done")
    await agent.run("go")
    assert told(agent) == []


async def test_what_was_waited_for_is_not_told(tasks, tmp_path):
    agent = agent_of(
        tasks, tmp_path, [call("shell", command="sleep 0.2; echo out", background=True)], [call("wait_task")], "ok"
    )
    await agent.run("go")
    assert told(agent) == []
    assert "completed" in agent.session.turns[4].tool_results[0].text


async def test_a_monitor_that_never_falls_silent_does_not_keep_a_run_going_for_ever(tasks, tmp_path):
    agent = agent_of(tasks, tmp_path, *["hm"] * 20, most_prolonged=3)
    await tasks.start(
        LocalProcess(tmp_path),
        Command("while :; do echo tick; sleep 0.01; done"),
        watch=Watch("ticks", persistent=True),
    )

    async def tick(event):
        while not tasks.has_notifications:
            await asyncio.sleep(0.01)

    agent.hooks._entries.insert(0, (TurnBoundary.name, tick))
    await agent.run("go")
    assert len(told(agent)) == 3
    assert tasks.has_notifications


async def test_a_word_of_the_person_comes_first_and_nothing_is_lost(tasks, tmp_path):
    slow = Slow()
    await finished(tasks, tmp_path)
    agent = agent_of(tasks, tmp_path, [call("slow")], "I see.", "And that.", more=[simple_tool("slow", slow)])
    run = asyncio.ensure_future(agent.run("go"))
    await slow.started.wait()
    agent.steer("Look here!")
    slow.release.set()
    await run
    assert len(told(agent)) == 1
    words = [turn.text for turn in agent.session.turns if turn.role == "user" and turn.text]
    assert words[:2] == ["go", "Look here!"]
    assert words[2].startswith("<task-notification>")


async def test_several_are_told_together(tasks, tmp_path):
    await finished(tasks, tmp_path)
    await finished(tasks, tmp_path, "exit 1")
    agent = agent_of(tasks, tmp_path, "done", "ok")
    await agent.run("go")
    (text,) = told(agent)
    assert text.count("<task-notification>") == 2


async def test_an_answer_that_was_cut_is_continued_first(tasks, tmp_path):
    """It adds to what others say at the same boundary, without counting as prolonging the run."""
    await finished(tasks, tmp_path)
    agent = agent_of(tasks, tmp_path, "half", "done", most_prolonged=0)
    once = [Injection("validation", "More.")]
    agent.hooks._entries.insert(0, (TurnBoundary.name, lambda event: event.inject.append(once.pop()) if once else None))
    await agent.run("go")
    assert [turn.injected for turn in agent.session.turns if turn.injected] == ["validation", "task-notification"]


async def test_the_tasks_of_another_session_are_not_told(tasks, tmp_path):
    present = [tasks]
    await finished(tasks, tmp_path)
    agent = Agent(ScriptedProvider(["done", "never"]))
    agent.hooks.use(TaskNotices(lambda: present[0]))
    present[0] = TaskRegistry()
    await agent.run("go")
    assert told(agent) == []
    present[0] = None
    agent.provider = ScriptedProvider(["fine"])
    await agent.run("go")
    assert told(agent) == []
