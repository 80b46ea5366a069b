"""Tasks that outlive the kernel: they go on, the next process finds them, and their end has rules."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest
import pytest_asyncio

from tests.contexts.test_process import is_gone
from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.task import Watch
from zidane_lab.contexts.task_records import read_records
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.shell import ShellOptions, shell_tool

pytestmark = [pytest.mark.asyncio, pytest.mark.skipif(not hasattr(os, "fork"), reason="the keeper forks")]


@pytest_asyncio.fixture
async def tasks(tmp_path):
    registry = TaskRegistry(tmp_path / "s")
    yield registry
    for name, record in read_records(tmp_path / "s").items():
        if record.is_detached:
            await registry.cancel(name)
    await registry.aclose()


async def started(tasks, tmp_path, text, **options):
    return (await tasks.start_detached(LocalProcess(tmp_path), Command(text, **options))).id


async def said(path, seconds=10.0):
    async with asyncio.timeout(seconds):
        while not path.exists() or not path.read_text().strip():
            await asyncio.sleep(0.02)
    return path.read_text()


async def test_from_start_to_end(tasks, tmp_path):
    info = await tasks.start_detached(
        LocalProcess(tmp_path), Command("echo out; sleep 0.5; pwd; exit 3"), label="a task"
    )
    assert (info.id, info.label, info.status, info.is_detached) == ("task-1", "a task", "running", True)
    assert info.summary.endswith("; detached")
    assert not tasks.has_notifications
    (info,) = await tasks.wait(seconds=20)
    assert (info.status, info.exit_code) == ("failed", 3)
    assert info.log.read_text() == f"out\n{tmp_path}\n"
    assert tasks.notifications() == []
    assert [each.id for each in tasks.tasks()] == ["task-1"]


async def test_its_end_is_told_once_whoever_sees_it(tasks, tmp_path):
    task = await started(tasks, tmp_path, "echo done")
    async with asyncio.timeout(20):
        while not tasks.has_notifications:
            await asyncio.sleep(0.05)
    (notice,) = tasks.notifications()
    assert f"<task-id>{task}</task-id>" in notice
    assert "<output-tail>done</output-tail>" in notice
    assert tasks.notifications() == TaskRegistry(tmp_path / "s").notifications() == []


async def test_a_later_registry_lists_reads_and_cancels_it(tasks, tmp_path):
    task = await started(tasks, tmp_path, "echo $$ > pid; sleep 77 & echo $! > child; echo begun; wait")
    pids = [int(await said(tmp_path / name)) for name in ("pid", "child")]
    later = TaskRegistry(tmp_path / "s")
    (info,) = later.tasks()
    assert (info.id, info.status, info.is_detached) == (task, "running", True)
    await said(tmp_path / "s" / "tasks" / f"{task}.log")
    assert later.read(task, 0, 100)[0].data == b"begun\n"
    info = await later.cancel(task)
    assert info.status == "cancelled"
    assert all([await asyncio.to_thread(is_gone, pid) for pid in pids])
    assert tasks.notifications() == later.notifications() == []


async def test_closing_does_not_end_it(tasks, tmp_path):
    await started(tasks, tmp_path, "echo $$ > pid; sleep 77")
    pid = int(await said(tmp_path / "pid"))
    await tasks.aclose()
    assert psutil.pid_exists(pid)


@pytest.mark.parametrize("end", ["return", "os.kill(os.getpid(), signal.SIGKILL)"])
async def test_it_survives_whoever_started_it(tasks, tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import asyncio, os, signal
            from pathlib import Path
            from zidane_lab.contexts.base import Command
            from zidane_lab.contexts.process import LocalProcess
            from zidane_lab.contexts.tasks import TaskRegistry

            async def main():
                here = Path({str(tmp_path)!r})
                tasks = TaskRegistry(here / "s")
                await tasks.start(LocalProcess(here), Command("echo $$ > ours; sleep 78"))
                await tasks.start_detached(LocalProcess(here), Command("echo $$ > pid; sleep 2; echo end"))
                while not (here / "pid").exists() or not (here / "ours").exists():
                    await asyncio.sleep(0.05)
                {end}

            asyncio.run(main())
            """
        )
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, str(script)], timeout=60, capture_output=True)
    pid, ours = [int(await said(tmp_path / name)) for name in ("pid", "ours")]
    assert await asyncio.to_thread(is_gone, ours)
    assert psutil.pid_exists(pid)
    (info,) = await tasks.wait(["task-2"], 20)
    assert (info.status, info.exit_code, info.log.read_text()) == ("completed", 0, "end\n")
    (notice,) = tasks.notifications()
    assert "<task-id>task-1</task-id>" in notice


async def test_the_command_does_not_outlive_its_keeper(tasks, tmp_path):
    task = await started(tasks, tmp_path, "echo $$ > pid; sleep 77")
    pid = int(await said(tmp_path / "pid"))
    os.kill(read_records(tmp_path / "s")[task].keeper.pid, signal.SIGKILL)
    assert await asyncio.to_thread(is_gone, pid)
    info = tasks.get(task)
    assert (info.status, info.reason) == ("failed", "the process that kept it is gone")
    assert len(tasks.notifications()) == 1


async def test_a_time_limit_holds_without_the_kernel(tasks, tmp_path):
    task = await started(tasks, tmp_path, "sleep 60", timeout=0.3)
    (info,) = await tasks.wait([task], 20)
    assert (info.status, info.reason) == ("failed", "its time limit was reached")


async def test_what_it_leaves_running_ends_with_it(tasks, tmp_path):
    task = await started(tasks, tmp_path, "sleep 76 >/dev/null 2>&1 & echo $! > pid")
    await tasks.wait([task], 20)
    assert await asyncio.to_thread(is_gone, int(await said(tmp_path / "pid")))


async def test_one_that_will_not_end_is_ended_by_force(tasks, tmp_path, monkeypatch):
    monkeypatch.setattr("zidane_lab.contexts.kept_tasks.ENDING_SECONDS", 0.3)
    task = await started(tasks, tmp_path, "echo $$ > pid; trap '' TERM; while :; do sleep 0.1; done")
    pid = int(await said(tmp_path / "pid"))
    assert (await tasks.cancel(task)).status == "cancelled"
    assert await asyncio.to_thread(is_gone, pid)


async def test_no_process_of_it_is_left_when_it_has_ended(tasks, tmp_path):
    task = await started(tasks, tmp_path, "sleep 0.2")
    keeper = read_records(tmp_path / "s")[task].keeper.pid
    assert psutil.Process(keeper).ppid() != os.getpid()
    await tasks.wait([task], 20)
    assert await asyncio.to_thread(is_gone, keeper)


async def test_a_flood_is_bounded(tmp_path):
    tasks = TaskRegistry(tmp_path / "s", log_bytes=100_000)
    task = await started(tasks, tmp_path, "head -c 5000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo last")
    (info,) = await tasks.wait([task], 30)
    assert info.log.stat().st_size <= 100_100
    assert info.log.read_text().endswith("last\n")
    piece, total, _ = tasks.read(task, 4_000_000, 1_000)  # further than the file reaches: its newest
    assert piece.end == total


async def test_credentials_of_the_environment_stay_out_of_the_log(tasks, tmp_path, monkeypatch):
    from zidane_lab.secrets.screen import Screen
    from zidane_lab.secrets.vault import Vault

    key = "hunter2-correct-horse-battery"
    monkeypatch.setenv("SERVICE_PASSWORD", key)
    tasks.screen = Screen(Vault(b"k", environ=os.environ))
    task = await started(
        tasks, tmp_path, f"echo $SERVICE_PASSWORD; : {key}; echo ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    )
    (info,) = await tasks.wait([task], 20)
    for text in (info.log.read_text(), (tmp_path / "s" / "tasks" / f"{task}.json").read_text(), repr(info)):
        assert key not in text
        assert "ghp_" not in text
    assert info.log.read_text().count("[secret:") == 2


async def test_where_it_cannot_be(tmp_path):
    class Elsewhere(LocalProcess):
        """A place that commands may not leave, say."""

    with pytest.raises(ToolError, match="only on this machine"):
        await TaskRegistry().start_detached(LocalProcess(tmp_path), Command("true"))
    with pytest.raises(ToolError, match="only on this machine"):
        await TaskRegistry(tmp_path / "s").start_detached(Elsewhere(tmp_path), Command("true"))
    with pytest.raises(FileNotFoundError):
        await TaskRegistry(tmp_path / "s").start_detached(LocalProcess(tmp_path), Command("true", cwd="/no/such"))
    assert read_records(tmp_path / "s") == {}


async def test_it_counts_among_those_that_run(tmp_path, tasks):
    few = TaskRegistry(tmp_path / "s", max_running=1)
    await started(few, tmp_path, "sleep 60")
    for registry in (few, TaskRegistry(tmp_path / "s", max_running=1)):
        with pytest.raises(ToolError, match=r"1 background tasks run already: task-1"):
            await registry.start(LocalProcess(tmp_path), Command("true"))


async def test_its_lines_cannot_be_watched_but_there_is_a_way(tmp_path, tasks):
    task = await started(tasks, tmp_path, "sleep 60")
    with pytest.raises(ToolError, match="monitor with a command: tail -F"):
        tasks.watch(task, Watch("x"))


async def test_giving_up_the_waiting_ends_nothing(tmp_path, tasks):
    task = await started(tasks, tmp_path, "sleep 0.6; echo done")
    waiting = asyncio.ensure_future(tasks.wait([task], 60))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    until = time.monotonic() + 20
    while tasks.get(task).status == "running":
        assert time.monotonic() < until
        await asyncio.sleep(0.05)
    assert len(tasks.notifications()) == 1


# --- the tool -------------------------------------------------------------------------------------


async def test_the_tool_detaches_only_where_it_is_on_offer(tmp_path, tasks):
    plain, offering = shell_tool(tasks=tasks), shell_tool(ShellOptions(detach=True), tasks=tasks)
    assert "detach" not in plain.parameters["properties"]
    assert "detach" not in plain.description
    assert "detach" in offering.parameters["properties"]
    context = ToolContext(cwd=tmp_path)
    with pytest.raises(ToolInputError, match="background=true"):
        await offering.run(context, {"command": "true", "detach": True})
    with pytest.raises(ToolInputError, match="on offer"):
        await plain.run(context, {"command": "true", "detach": True, "background": True})
    arguments = {"command": "echo hi", "detach": True, "background": True, "intent": "Serve"}
    result = await offering.run(context, arguments)
    assert result.parts[0].text.startswith("[started in the background as task-1, detached: it goes on when the kernel")
    (info,) = await tasks.wait(seconds=20)
    assert (info.label, info.status) == ("Serve", "completed")
