"""What is kept of tasks on disk, and what a later process makes of it, whoever wrote it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.task import Watch
from zidane_lab.contexts.task_records import (
    Keeper,
    TaskRecord,
    _parsed,
    log_of,
    read_record,
    read_records,
    this_process,
    write_record,
)
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ToolError


@pytest.fixture
def dead():
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        pass
    return Keeper(process.pid, datetime.now(UTC).timestamp())


@pytest.fixture
def alive():
    """A process that lives and is not this one."""
    with subprocess.Popen(["sleep", "60"]) as process:
        import psutil

        yield Keeper(process.pid, psutil.Process(process.pid).create_time())
        process.kill()


@pytest_asyncio.fixture
async def tasks(tmp_path):
    registry = TaskRegistry(tmp_path / "s")
    yield registry
    await registry.aclose()


def record(keeper, name="task-1", **options):
    return TaskRecord(name, "shell", "train", "python train.py", "/x", keeper, **options)


def told(tasks):
    return tasks.notifications()


# --- reading --------------------------------------------------------------------------------------


def test_what_was_written_is_read(tmp_path, dead):
    written = [
        record(dead),
        record(dead, "task-12", status="failed", exit_code=3, seconds=1.5, reason="x", is_told=True, is_detached=True),
        record(dead, "task-2", status="cancelled", signal=9),
    ]
    for each in written:
        write_record(tmp_path / "s", each)
    assert list(read_records(tmp_path / "s")) == ["task-1", "task-2", "task-12"]
    assert [read_record(tmp_path / "s", each.id) for each in written] == written
    assert sorted(os.listdir(tmp_path / "s" / "tasks")) == ["task-1.json", "task-12.json", "task-2.json"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_what_is_no_record_is_refused_and_nothing_else_happens(data):
    good = {
        "id": "task-1",
        "kind": "shell",
        "label": "a",
        "command": "b",
        "cwd": None,
        "keeper": {"pid": 5, "born": 1.0},
        "started_at": "2026-01-01T00:00:00+00:00",
        "status": "running",
        "seconds": 0.0,
        "exit_code": None,
        "signal": None,
        "reason": "",
        "is_told": False,
        "is_detached": False,
    }
    assert _parsed("task-1", good).id == "task-1"
    key = data.draw(st.sampled_from(list(good)))
    bad = {**good, key: data.draw(JSON)}
    try:
        parsed = _parsed("task-1", bad)
    except (KeyError, TypeError, ValueError):
        return
    assert isinstance(parsed.label + parsed.command + parsed.reason, str)
    assert parsed.keeper.pid > 1
    assert parsed.id == "task-1"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"null", b"[" * 50_000, b" " * 70_000, b'{"id": "task-1"}']
)
def test_files_that_are_no_records(tmp_path, content):
    (tmp_path / "s" / "tasks").mkdir(parents=True)
    (tmp_path / "s" / "tasks" / "task-1.json").write_bytes(content)
    assert read_records(tmp_path / "s") == {}
    assert TaskRegistry(tmp_path / "s").tasks() == ()


def test_links_are_no_records(tmp_path, dead):
    write_record(tmp_path / "other", record(dead))
    (tmp_path / "s" / "tasks").mkdir(parents=True)
    (tmp_path / "s" / "tasks" / "task-1.json").symlink_to(tmp_path / "other" / "tasks" / "task-1.json")
    (tmp_path / "l").mkdir()
    (tmp_path / "l" / "tasks").symlink_to(tmp_path / "other" / "tasks")
    assert read_records(tmp_path / "s") == read_records(tmp_path / "l") == {}
    with pytest.raises(OSError, match="symbolic link"):
        write_record(tmp_path / "l", record(dead))
    assert log_of(tmp_path / "s", "../x") is None


def test_another_process_with_the_same_number_is_not_the_keeper(alive):
    assert alive.is_alive
    assert this_process().is_alive
    assert not replace(alive, born=alive.born - 3600).is_alive
    assert not Keeper(2**80, 0.0).is_alive


def test_a_process_that_a_record_names_is_not_ended_unless_it_is_the_one(tmp_path, alive):
    """A folder may come from anywhere: a number in it is not enough."""
    forged = record(replace(alive, born=alive.born - 3600), is_detached=True)
    write_record(tmp_path / "s", forged)
    info = asyncio.run(TaskRegistry(tmp_path / "s").cancel("task-1"))
    assert info.status == "failed"
    assert alive.is_alive


# --- kernels that have ended ----------------------------------------------------------------------


@pytest.mark.asyncio
async def test_what_a_kernel_took_along_is_told_once_by_the_next(tmp_path, dead, tasks):
    write_record(tmp_path / "s", record(dead, started_at=datetime.now(UTC) - timedelta(seconds=30)))
    (tmp_path / "s" / "tasks" / "task-1.log").write_text("epoch 1\n")
    assert [(info.id, info.status) for info in tasks.tasks()] == [("task-1", "failed")]
    assert tasks.has_notifications
    (notice,) = told(tasks)
    assert "<summary>failed after " in notice
    assert "(the kernel ended, and it with that)" in notice
    assert "<output-tail>epoch 1</output-tail>" in notice
    assert told(tasks) == told(TaskRegistry(tmp_path / "s")) == []
    assert tasks.tasks() == ()
    assert tasks.get("task-1").status == "failed"


@pytest.mark.asyncio
async def test_an_end_that_was_not_told_before_the_kernel_ended_is_told_by_the_next(tmp_path, tasks):
    info = await tasks.start(LocalProcess(tmp_path), Command("echo out; exit 3"), label="a task")
    await asyncio.wait({tasks._endings[info.id]})
    later = TaskRegistry(tmp_path / "s")
    (notice,) = told(later)
    assert "<exit-code>3</exit-code>" in notice
    assert "<output-tail>out</output-tail>" in notice
    assert told(TaskRegistry(tmp_path / "s")) == []


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["told", "waited", "listed", "cancelled"])
async def test_what_the_model_knows_is_not_told_by_the_next_kernel(tmp_path, tasks, how):
    info = await tasks.start(LocalProcess(tmp_path), Command("sleep 60" if how == "cancelled" else "true"))
    if how == "cancelled":
        await tasks.cancel(info.id)
    else:
        await asyncio.wait({tasks._endings[info.id]})
        if how == "told":
            assert len(tasks.notifications()) == 1
        elif how == "waited":
            await tasks.wait([info.id])
        else:
            tasks.acknowledge(each.id for each in tasks.tasks())
    later = TaskRegistry(tmp_path / "s")
    assert not later.has_notifications
    assert told(later) == []


@pytest.mark.asyncio
async def test_what_was_offered_and_not_said_is_told_by_the_next_kernel(tmp_path, tasks):
    info = await tasks.start(LocalProcess(tmp_path), Command("true"))
    await asyncio.wait({tasks._endings[info.id]})
    assert tasks.offer() == tasks.offer() != []
    assert len(told(TaskRegistry(tmp_path / "s"))) == 1


@pytest.mark.asyncio
async def test_a_monitor_that_ended_with_its_line_is_not_told_again(tmp_path, tasks):
    info = await tasks.start(
        LocalProcess(tmp_path), Command("echo up; sleep 60"), kind="monitor", watch=Watch("up", ends_task=True)
    )
    await asyncio.wait({tasks._endings[info.id]})
    assert len(told(tasks)) == 1
    assert told(TaskRegistry(tmp_path / "s")) == []


@pytest.mark.asyncio
async def test_what_was_ended_with_the_notebook_is_told_when_it_is_opened_again(tmp_path):
    tasks = TaskRegistry(tmp_path / "s")
    await tasks.start(LocalProcess(tmp_path), Command("sleep 60"))
    await tasks.aclose()
    assert told(tasks) == []
    (notice,) = told(TaskRegistry(tmp_path / "s"))
    assert "cancelled after" in notice
    assert "(the notebook was closed)" in notice


@pytest.mark.asyncio
async def test_what_another_kernel_that_lives_runs_is_left_alone(tmp_path, alive, tasks):
    write_record(tmp_path / "s", record(alive))
    assert tasks.tasks() == ()
    assert not tasks.has_notifications
    await tasks.cancel("task-1")
    assert alive.is_alive
    with pytest.raises(ToolError, match="no task 'task-2'"):
        tasks.get("task-2")


@pytest.mark.asyncio
async def test_names_go_on_behind_those_of_records(tmp_path, dead, tasks):
    write_record(tmp_path / "s", record(dead, "task-7", is_told=True))
    assert (await tasks.start(LocalProcess(tmp_path), Command("true"))).id == "task-8"


@pytest.mark.asyncio
async def test_a_disk_that_fails_costs_the_record_only(tmp_path, tasks, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zidane_lab.contexts.task_records.write_record", full)
    monkeypatch.setattr("zidane_lab.contexts.kept_tasks.write_record", full)
    info = await tasks.start(LocalProcess(tmp_path), Command("echo out"))
    (info,) = await tasks.wait([info.id], 20)
    assert info.status == "completed"
    assert told(tasks) == []


@pytest.mark.asyncio
async def test_an_end_is_not_told_for_ever_where_nothing_can_be_written(tmp_path, dead, tasks, monkeypatch):
    write_record(tmp_path / "s", record(dead))

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zidane_lab.contexts.kept_tasks.write_record", full)
    assert len(told(tasks)) == 1
    assert told(tasks) == []


def test_credentials_stay_out_of_records(tmp_path):
    from zidane_lab.secrets.screen import Screen
    from zidane_lab.secrets.vault import Vault

    key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    tasks = TaskRegistry(tmp_path / "s")
    tasks.screen = Screen(Vault(b"k"))

    async def go():
        await tasks.start(LocalProcess(tmp_path), Command(f": {key}"), label=f"use {key}")
        await tasks.aclose()

    asyncio.run(go())
    kept = json.loads((tmp_path / "s" / "tasks" / "task-1.json").read_text())
    assert key not in repr(kept)
    assert "[secret:github-token:" in kept["command"]
