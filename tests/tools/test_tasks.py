"""The tools for background tasks, as the model uses them."""

from __future__ import annotations

import asyncio
import os

import pytest
import pytest_asyncio

from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.monitor import monitor_tool
from zidane_lab.tools.shell import ShellOptions
from zidane_lab.tools.tasks import task_tools

pytestmark = pytest.mark.asyncio


class Bench:
    """A registry with its tools."""

    def __init__(self, folder):
        self.folder = folder
        self.registry = TaskRegistry(folder / "session")
        self.tools = {tool.name: tool for tool in (*task_tools(self.registry), monitor_tool(self.registry))}
        self.seen = []

    async def start(self, command, label=""):
        return (await self.registry.start(LocalProcess(self.folder), Command(command), label=label)).id

    async def ended(self, task):
        await asyncio.wait({self.registry._endings[task]})

    async def call(self, name, **arguments):
        context = ToolContext(cwd=self.folder, progress=lambda *each: self.seen.append(each))
        return await self.tools[name].run(context, arguments)

    async def text(self, name, **arguments):
        return (await self.call(name, **arguments)).parts[0].text


@pytest_asyncio.fixture
async def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    await made.registry.aclose()


# --- wait_task ------------------------------------------------------------------------------------


async def test_waiting_shows_how_the_first_ended(bench):
    slow, quick = await bench.start("sleep 60", "slow one"), await bench.start("echo out; exit 2", "quick one")
    async with asyncio.timeout(20):
        result = await bench.call("wait_task")
    assert not result.is_error
    parts = result.parts[0].text.split("\n\n")
    assert parts[0].startswith(f"{slow} (shell): slow one: has been running for ")
    assert parts[0].endswith("\n(no output)")
    assert parts[1].startswith(f"{quick} (shell): quick one: failed after ")
    assert "(exit code 2)\nout\n[whole output: " in parts[1]
    assert [(each["id"], each["status"], each["exit_code"]) for each in result.metadata["tasks"]] == [
        (slow, "running", None), (quick, "failed", 2),
    ]  # fmt: skip
    assert bench.seen == [("wait", f"waiting for {slow}, {quick}")]
    assert bench.registry.notifications() == []


async def test_waiting_in_vain_is_no_error(bench):
    task = await bench.start("sleep 60")
    result = await bench.call("wait_task", ids=[task], seconds=0.1)
    assert not result.is_error
    assert "has been running" in result.parts[0].text


async def test_nothing_to_wait_for(bench):
    assert await bench.text("wait_task") == "No background tasks run."
    with pytest.raises(ToolError, match="Tasks: none"):
        await bench.call("wait_task", ids=["task-7"])


# --- list_tasks and cancel_task -------------------------------------------------------------------


async def test_the_list(bench):
    assert (await bench.call("list_tasks")).metadata == {"useless": True}
    first, second = await bench.start("sleep 60", "a\nb"), await bench.start("true")
    await bench.ended(second)
    lines = (await bench.text("list_tasks")).splitlines()
    assert lines[0].startswith(f"{first} (shell): a b: has been running for")
    assert lines[1].startswith(f"{second} (shell): true: completed after")
    assert bench.registry.notifications() == []


async def test_cancelling(bench):
    task = await bench.start("echo begun; sleep 60")
    await asyncio.sleep(0.2)
    text = await bench.text("cancel_task", task=task)
    assert f"{task} (shell): echo begun; sleep 60: cancelled after" in text
    assert "(cancelled by you)\nbegun" in text
    assert (await bench.text("cancel_task", task=task)).startswith("It had ended already. ")
    with pytest.raises(ToolError, match="no task"):
        await bench.call("cancel_task", task="task-9")


# --- read_task_output -----------------------------------------------------------------------------


async def test_output_by_range(bench):
    task = await bench.start("echo one; sleep 0.4; echo two")
    while not bench.registry.get(task).output_bytes:
        await asyncio.sleep(0.02)
    text = await bench.text("read_task_output", task=task)
    assert text.startswith(f"one\n[{task} has been running for ")
    assert text.endswith("[bytes 0–4 of 4; go on with after=4]")
    await bench.ended(task)
    text = await bench.text("read_task_output", task=task, after=4)
    assert text.startswith(f"two\n[{task} completed after ")
    assert text.endswith("[bytes 4–8 of 8; this is the end]")
    assert (await bench.text("read_task_output", task=task, after=8)).endswith(
        "[nothing after byte 8; this is the end]"
    )
    assert bench.registry.notifications() == []


async def test_a_long_output_in_pages(bench):
    task = await bench.start("seq 1 20000")
    await bench.ended(task)
    assert (await bench.text("read_task_output", task=task, lines=2)).startswith("19999\n20000\n[")
    after, lines = 0, []
    while True:
        text = await bench.text("read_task_output", task=task, after=after, lines=1_000)
        lines += [line for line in text.splitlines() if not line.startswith("[")]
        if "this is the end" in text:
            break
        after = int(text.rpartition("after=")[2].rstrip("]"))
    assert lines == [str(number) for number in range(1, 20_001)]


async def test_what_is_not_kept_is_said(bench):
    bench.registry = TaskRegistry(bench.folder / "session", log_bytes=10_000)
    bench.tools = {tool.name: tool for tool in task_tools(bench.registry)}
    task = await bench.start("seq 1 20000")
    await bench.ended(task)
    text = await bench.text("read_task_output", task=task, after=50_000)
    assert "[bytes 50,000–" in text
    assert "are not kept]" in text


async def test_output_that_is_hostile(bench):
    task = await bench.start(r"printf '\033]52;c;eA==\007a\0b\377\r\ndone\n'")
    await bench.ended(task)
    assert (await bench.text("read_task_output", task=task)).startswith("a␀b\ufffd\ndone\n[")


async def test_the_log_of_an_earlier_kernel(bench):
    task = await bench.start("echo old")
    await bench.ended(task)
    later = {tool.name: tool for tool in task_tools(TaskRegistry(bench.folder / "session"))}
    result = await later["read_task_output"].run(ToolContext(), {"task": task})
    assert result.parts[0].text.startswith(f"old\n[{task} completed after ")
    (bench.folder / "session" / "tasks" / f"{task}.json").unlink()
    result = await later["read_task_output"].run(ToolContext(), {"task": task})
    assert result.parts[0].text.startswith(f"old\n[{task} belongs to an earlier kernel")


# --- monitor --------------------------------------------------------------------------------------


async def test_a_monitor(bench):
    text = await bench.text(
        "monitor", description="the server is up", command="sleep 0.1; echo up; sleep 60", kind="poll"
    )
    assert text.startswith("[watching task-1 for poll lines: it ends with the first line")
    await bench.ended("task-1")
    (notice,) = bench.registry.notifications()
    assert "<line>up</line>" in notice
    assert "<monitor>the server is up</monitor>" in notice
    assert bench.registry.get("task-1").kind == "monitor"


async def test_watching_a_task(bench):
    task = await bench.start("sleep 0.3; echo epoch 1 loss 0.5; sleep 0.1")
    await bench.call("monitor", description="loss", task=task, contains="loss", persistent=True)
    await bench.ended(task)
    assert "<line>epoch 1 loss 0.5</line>" in bench.registry.notifications()[0]


async def test_a_monitor_takes_one_of_two(bench):
    for arguments in ({}, {"command": "ls", "task": "task-1"}):
        with pytest.raises(ToolInputError, match="either"):
            await bench.call("monitor", description="x", **arguments)
    with pytest.raises(ToolInputError, match="kind"):
        await bench.call("monitor", description="x", command="ls", kind="nonsense")
    with pytest.raises(ToolError, match="no task"):
        await bench.call("monitor", description="x", task="task-5")


async def test_a_monitor_keeps_to_the_shells_fences(bench):
    tool = monitor_tool(bench.registry, ShellOptions(prefixes=("ls",)))
    with pytest.raises(ToolError, match="runs only some commands"):
        await tool.run(ToolContext(cwd=bench.folder), {"description": "x", "command": "touch f"})
    assert os.listdir(bench.folder) == []


async def test_a_monitor_may_have_a_deadline(bench):
    await bench.call("monitor", description="x", command="sleep 60", timeout=0.2)
    await bench.ended("task-1")
    assert "time limit" in bench.registry.get("task-1").summary
