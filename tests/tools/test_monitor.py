"""Monitors and recipes in a whole run: what the model is offered, gets, and is told later."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from tests.agent.support import Slow, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.task_notices import TaskNotices
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.tools.monitor import monitor_tool
from zidane_lab.tools.recipe import recipe_tool
from zidane_lab.tools.shell import shell_tool
from zidane_lab.tools.tasks import task_tools

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def tasks(tmp_path):
    registry = TaskRegistry(tmp_path / "session")
    yield registry
    await registry.aclose()


def agent_of(tasks, tmp_path, *answers, more=()):
    tools = [shell_tool(tasks=tasks), *task_tools(tasks), monitor_tool(tasks), recipe_tool(tasks=tasks), *more]
    agent = Agent(ScriptedProvider(answers), tools=tools, cwd=tmp_path)
    agent.hooks.use(TaskNotices(tasks))
    return agent


def told(agent):
    return [turn.text for turn in agent.session.turns if turn.injected == "task-notification"]


def results(agent):
    return [result for turn in agent.session.turns for result in turn.tool_results]


async def until_there(tasks):
    async with asyncio.timeout(20):
        while not tasks.has_notifications:
            await asyncio.sleep(0.02)


WAIT = "until [ -e go ]; do sleep 0.02; done"


def release(tasks, folder, index):
    """Return a handler that lets a command go on at the boundary ``index``, and waits for what it prints."""

    async def handler(event):
        if event.index == index:
            (folder / "go").touch()
            await until_there(tasks)

    return handler


async def test_what_the_model_is_offered():
    tasks = TaskRegistry()
    monitor, recipe = monitor_tool(tasks), recipe_tool(tasks=tasks)
    assert (monitor.name, monitor.tier, recipe.name, recipe.tier) == ("monitor", "execute", "recipe", "execute")
    assert set(monitor.parameters["properties"]) == {
        "description", "command", "task", "contains", "kind", "persistent", "timeout",
    }  # fmt: skip
    assert monitor.parameters["required"] == ["description"]
    assert set(recipe.parameters["properties"]) == {"op", "intent"}
    assert len(monitor.description) < 700
    assert len(recipe.description) < 400
    assert monitor.spec == monitor_tool(tasks).spec
    assert recipe.spec == recipe_tool(tasks=tasks).spec


async def test_a_line_that_was_waited_for_is_told_behind_the_next_results(tasks, tmp_path):
    slow = Slow()
    agent = agent_of(
        tasks,
        tmp_path,
        [call("monitor", description="the server is up", command="sleep 0.2; echo up on 8000; sleep 60", kind="poll")],
        [call("slow")],
        "It is up.",
        more=[simple_tool("slow", slow)],
    )
    running = asyncio.ensure_future(agent.run("go"))
    await slow.started.wait()
    await until_there(tasks)
    slow.release.set()
    assert (await running).text == "It is up."
    assert results(agent)[0].text.startswith("[watching task-1 for poll lines: it ends with the first line;")
    (notice,) = told(agent)
    assert "<monitor>the server is up</monitor>" in notice
    assert "<line>up on 8000</line>" in notice
    await asyncio.wait({tasks._endings["task-1"]})
    assert tasks.get("task-1").status == "completed"
    assert not tasks.has_notifications


async def test_a_line_may_keep_a_run_going(tasks, tmp_path):
    agent = agent_of(
        tasks,
        tmp_path,
        [
            call(
                "monitor",
                description="errors",
                command=f"{WAIT}; echo ERROR one; sleep 60",
                contains="error",
                persistent=True,
            )
        ],
        "I wait.",
        "There is an error.",
        "Nothing else.",
    )
    agent.hooks._entries.insert(0, ("turn:boundary", release(tasks, tmp_path, 1)))
    assert (await agent.run("go")).text == "There is an error."
    assert len(told(agent)) == 1
    assert tasks.get("task-1").status == "running"


async def test_a_running_task_is_watched(tasks, tmp_path):
    agent = agent_of(
        tasks,
        tmp_path,
        [call("shell", command=f"{WAIT}; echo epoch 1 loss 0.5; sleep 60", background=True)],
        [call("monitor", description="loss", task="task-1", contains="loss")],
        "I wait.",
        "The loss is 0.5.",
    )
    agent.hooks._entries.insert(0, ("turn:boundary", release(tasks, tmp_path, 2)))
    assert (await agent.run("go")).text == "The loss is 0.5."
    assert "<line>epoch 1 loss 0.5</line>" in told(agent)[0]
    assert tasks.get("task-1").status == "running"


async def test_a_wrong_call_of_monitor_says_what_is_wrong(tasks, tmp_path):
    agent = agent_of(tasks, tmp_path, [call("monitor", description="x")], [call("monitor", task="task-9")], "ok")
    await agent.run("go")
    first, second = results(agent)
    assert first.is_error
    assert "either `command` or `task`" in first.text
    assert second.is_error
    assert "description" in second.text


async def test_a_task_of_the_project_is_found_and_run(tasks, tmp_path, monkeypatch):
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # of a make that runs the tests
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "Makefile").write_text("# Run the tests\ntest:\n\t@echo ran with '$(K)'; exit $(CODE)\n")
    agent = agent_of(
        tasks,
        tmp_path,
        [call("recipe")],
        [call("recipe", op="test K='a b' CODE=0", intent="Test")],
        [call("recipe", op="test CODE=3")],
        [call("recipe", op="nope")],
        "ok",
    )
    await agent.run("go")
    listed, ran, failed, unknown = results(agent)
    assert listed.text == "make:\n  test - Run the tests"
    assert ran.text.startswith("ran with a b\n[done in")
    assert failed.is_error
    assert "[exit code 2 after" in failed.text
    assert unknown.is_error
    assert "no task 'nope'" in unknown.text


# --- exactly once ---------------------------------------------------------------------------------


async def test_what_a_stopped_run_was_about_to_say_is_said_by_the_next(tasks, tmp_path):
    agent = agent_of(tasks, tmp_path, [call("shell", command="true", background=True)], "never said")

    async def stop(event):
        agent.abort()
        await asyncio.sleep(60)

    agent.hooks._entries.append(("turn:boundary", stop))  # after the notices were offered
    agent.hooks._entries.insert(0, ("turn:boundary", lambda _event: until_there(tasks)))
    assert (await agent.run("go")).status == "aborted"
    assert told(agent) == []
    again = Agent(ScriptedProvider(["hello", "ah"]), tools=[], cwd=tmp_path, session=agent.session)
    again.hooks.use(TaskNotices(tasks))  # hosts make one for each run
    await again.run("and now?")
    assert len(told(again)) == 1
    assert not tasks.has_notifications


async def test_a_task_cancelled_after_it_was_offered_is_not_told_again(tasks, tmp_path):
    agent = agent_of(tasks, tmp_path, [call("shell", command="true", background=True)], "x", "done")
    agent.hooks._entries.insert(0, ("turn:boundary", lambda _event: until_there(tasks)))

    agent.hooks._entries.append(("turn:boundary", lambda event: agent.steer("Wait.") if event.index == 0 else None))

    def said(event):
        if event.how == "steer":  # it came before the notice, which stays on offer; now the end becomes known otherwise
            agent.hooks._entries.pop(0)
            tasks.acknowledge(["task-1"])

    agent.hooks._entries.append(("turn:user", said))
    await agent.run("go")
    assert [turn.text for turn in agent.session.turns if turn.role == "user" and turn.text] == ["go", "Wait."]
    assert told(agent) == []


@pytest.mark.parametrize("command", ["true", "exit 3", "sleep 0.02", "sleep 60"])
async def test_cancelling_while_it_ends_gives_one_outcome_and_no_word_more(tasks, tmp_path, command):
    from zidane_lab.contexts.base import Command
    from zidane_lab.contexts.process import LocalProcess

    for delay in (0, 0.005, 0.01, 0.02, 0.03):
        info = await tasks.start(LocalProcess(tmp_path), Command(command))
        await asyncio.sleep(delay)
        first, second = await asyncio.gather(tasks.cancel(info.id), tasks.cancel(info.id))
        assert first.status == second.status == tasks.get(info.id).status != "running"
        if command == "sleep 60":
            assert first.status == "cancelled"
        assert tasks.notifications() == []
    assert TaskRegistry(tmp_path / "session").notifications() == []
