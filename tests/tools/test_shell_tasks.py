"""Commands that go on in the background, and how commands are stopped."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.support import Recorder
from tests.contexts.test_process import is_gone
from tests.tools.test_shell import run, text, wait_for
from zidane_lab.agent.agent import Agent
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ToolError
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.tools.shell import ShellOptions, shell_tool
from zidane_lab.wire.markers import CANCELLED, CASCADED, INTERRUPTED

pytestmark = pytest.mark.asyncio


# --- tasks ----------------------------------------------------------------------------------------


async def test_in_the_background(tmp_path):
    tasks = TaskRegistry()
    async with asyncio.timeout(10):
        result = await run(tmp_path, "sleep 0.3; echo done", tasks=tasks, background=True, intent="slow thing")
    assert result.parts[0].text.startswith("[started in the background as task-1]\n")
    assert result.metadata["shell"]["task"] == "task-1"
    (info,) = await tasks.wait(seconds=20)
    assert (info.status, info.label) == ("completed", "slow thing")
    with pytest.raises(ToolError, match="does not exist"):
        await run(tmp_path, "ls", tasks=tasks, background=True, cwd="nope")


async def test_a_long_command_goes_on_in_the_background(tmp_path):
    tasks = TaskRegistry(tmp_path / "s")
    options = ShellOptions(background_after=0.4)
    result = await run(tmp_path, "echo before; sleep 1; echo after", options, tasks=tasks)
    assert not result.is_error
    assert result.parts[0].text.startswith(
        "before\n[still running after 0 s, so it goes on in the background as task-1]"
    )
    (info,) = await tasks.wait(seconds=20)
    assert (info.status, info.log.read_text()) == ("completed", "before\nafter\n")


async def test_a_quick_command_stays_in_the_foreground(tmp_path):
    tasks = TaskRegistry()
    assert (await text(tmp_path, "echo quick", ShellOptions(background_after=30), tasks=tasks)).startswith(
        "quick\n[done"
    )
    assert tasks.tasks() == ()


async def test_it_stays_in_the_foreground_where_no_more_tasks_fit(tmp_path):
    tasks = TaskRegistry(max_running=0)
    shown = await text(tmp_path, "sleep 0.4; echo done", ShellOptions(background_after=0.1), tasks=tasks)
    assert shown.startswith("done\n[done")


async def test_a_command_goes_to_the_background_a_second_before_its_limit(tmp_path):
    tasks = TaskRegistry()
    async with asyncio.timeout(10):
        result = await run(tmp_path, "sleep 60", ShellOptions(background_after=30), tasks=tasks, timeout=1.4)
    assert result.metadata["shell"]["background"]
    (info,) = await tasks.wait(seconds=20)
    assert "time limit" in info.summary


async def test_with_a_limit_of_a_second_it_stays_in_the_foreground(tmp_path):
    tasks = TaskRegistry()
    result = await run(tmp_path, "sleep 60", ShellOptions(background_after=0.1), tasks=tasks, timeout=0.5)
    assert result.metadata["shell"]["timed_out"]
    assert tasks.tasks() == ()


async def test_the_last_free_place_is_taken_meanwhile(tmp_path):
    """Two commands want to go to the background in the same moment and one of them may: the other stays."""
    tasks = TaskRegistry(max_running=1)
    options = ShellOptions(background_after=0.3)
    results = await asyncio.gather(
        *(run(tmp_path, f"sleep 0.9; echo done > {name}; echo {name}", options, tasks=tasks) for name in "ab")
    )
    assert sorted("[done in" in result.parts[0].text for result in results) == [False, True]
    await tasks.wait(seconds=20)
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


async def test_a_line_that_has_only_begun_goes_along_into_the_background(tmp_path):
    tasks = TaskRegistry(tmp_path / "s")
    command = "printf 'half '; printf 'err ' >&2; sleep 0.8; echo line"
    result = await run(tmp_path, command, ShellOptions(background_after=0.3), tasks=tasks)
    assert "half" in result.parts[0].text
    (info,) = await tasks.wait(seconds=20)
    assert info.log.read_text() == "err half line\n"


async def test_a_deadline_goes_along_into_the_background(tmp_path):
    tasks = TaskRegistry()
    await run(tmp_path, "sleep 60", ShellOptions(background_after=0.2), tasks=tasks, timeout=1.6)
    (info,) = await tasks.wait(seconds=20)
    assert "time limit" in info.summary


# --- stopping -------------------------------------------------------------------------------------


TREE = "sh -c 'sleep 74 & echo $! > child; wait' & echo begun; echo $$ > pid; wait"


async def pids(tmp_path):
    return [int(await wait_for(tmp_path / name)) for name in ("pid", "child")]


async def test_a_stop_ends_everything_and_keeps_what_was_printed(tmp_path):
    call_of = asyncio.ensure_future(run(tmp_path, TREE))
    found = await pids(tmp_path)
    call_of.cancel()
    async with asyncio.timeout(10):
        result = await call_of
    assert result.is_error
    assert result.parts[0].text.startswith("begun\n[stopped after")
    assert result.metadata["shell"]["interrupted"]
    assert "exit_code" not in result.metadata["shell"]
    assert all([await asyncio.to_thread(is_gone, pid) for pid in found])


async def test_a_stop_while_it_waits_to_go_to_the_background(tmp_path):
    call_of = asyncio.ensure_future(run(tmp_path, TREE, ShellOptions(background_after=60), tasks=TaskRegistry()))
    found = await pids(tmp_path)
    call_of.cancel()
    assert (await call_of).parts[0].text.startswith("begun\n[stopped after")
    assert all([await asyncio.to_thread(is_gone, pid) for pid in found])


async def test_a_second_stop_does_not_save_the_command(tmp_path):
    call_of = asyncio.ensure_future(run(tmp_path, f"trap '' TERM; {TREE}"))
    found = await pids(tmp_path)
    call_of.cancel()
    await asyncio.sleep(0.2)
    call_of.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call_of
    assert all([await asyncio.to_thread(is_gone, pid) for pid in found])


def agent_of(tmp_path, *calls, after="fine"):
    return Agent(ScriptedProvider([list(calls), after]), tools=[shell_tool()], cwd=tmp_path)


def results(agent):
    return [result.text for turn in agent.session.turns for result in turn.tool_results]


async def test_the_person_stops_the_run(tmp_path):
    agent = agent_of(tmp_path, call("shell", command=TREE), call("shell", command="touch never"))
    running = asyncio.ensure_future(agent.run("go"))
    found = await pids(tmp_path)
    agent.abort()
    async with asyncio.timeout(10):
        assert (await running).status == "aborted"
    first, second = results(agent)
    assert first.startswith(f"{INTERRUPTED}\nbegun\n[stopped after")
    assert second == INTERRUPTED
    assert all([await asyncio.to_thread(is_gone, pid) for pid in found])
    assert not (tmp_path / "never").exists()


async def test_the_person_cancels_one_call(tmp_path):
    agent = agent_of(tmp_path, call("shell", command=TREE), call("shell", command="echo other"))
    seen = Recorder(agent.hooks)
    running = asyncio.ensure_future(agent.run("go"))
    found = await pids(tmp_path)
    agent.cancel_tool(seen.of("tool:before")[0].ids.call_id)
    assert (await running).status == "completed"
    first, second = results(agent)
    assert first.startswith(f"{CANCELLED}\nbegun\n[stopped after")
    assert second.startswith("other\n")
    assert all([await asyncio.to_thread(is_gone, pid) for pid in found])


async def test_a_failure_cancels_the_rest_of_the_batch(tmp_path):
    agent = agent_of(tmp_path, call("shell", command="exit 1"), call("shell", command="touch never"))
    await agent.run("go")
    first, second = results(agent)
    assert first.startswith("(no output)\n[exit code 1")
    assert second == CASCADED
    assert not (tmp_path / "never").exists()
