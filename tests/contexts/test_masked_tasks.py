"""Credentials are kept out of the logs of tasks, of their watches, and of how tasks are named."""

from __future__ import annotations

import asyncio

import pytest

from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.task import Watch
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.secrets.screen import Screen
from zidane_lab.secrets.vault import Vault

KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.asyncio
@pytest.mark.parametrize("guarded", [True, False])
async def test_logs_watches_and_labels(tmp_path, guarded):
    registry = TaskRegistry(tmp_path / "session")
    if guarded:
        registry.screen = Screen(Vault(b"k"))
    place = LocalProcess(tmp_path)
    text = f"printf %s {KEY[:20]}; sleep 0.1; printf '%s\\n' {KEY[20:]}; printf 'end ghp_'; echo {KEY} >&2"
    task = await registry.start(place, Command(f"# {KEY}\n{text}"), watch=Watch("the key", persistent=True))
    while registry.get(task.id).status == "running":
        await asyncio.sleep(0.02)
    log = (tmp_path / "session" / "tasks" / f"{task.id}.log").read_text(encoding="utf-8")
    told = "\n".join(registry.notifications())
    await registry.aclose()
    await place.aclose()
    for where in (log, told, repr(registry.get(task.id))):
        assert (KEY not in where) == guarded
    # What may begin a credential waits, so the other stream's line may come between the two words.
    assert log.count("end ") == log.count("ghp_") - (0 if guarded else 2) == 1
    assert not guarded or log.count("[secret:github-token:") == 2


@pytest.mark.asyncio
async def test_what_was_printed_before_is_masked_too_and_bytes_stay_as_they_are(tmp_path):
    registry = TaskRegistry(tmp_path / "session")
    registry.screen = Screen(Vault(b"k"))
    place = LocalProcess(tmp_path)

    async def take(_stream, _data):
        """Forget it."""

    running = await place.start(Command("sleep 0.3"), take)
    task_id, sink = registry.adopt(running, Command("sleep 0.3"), earlier=f"first {KEY[:25]}".encode())
    await sink("stdout", f"{KEY[25:]} \xff\n".encode("latin-1"))
    while registry.get(task_id).status == "running":
        await asyncio.sleep(0.02)
    await registry.aclose()
    await place.aclose()
    log = (tmp_path / "session" / "tasks" / f"{task_id}.log").read_bytes()
    assert KEY.encode() not in log
    assert log.startswith(b"first [secret:github-token:")
    assert log.endswith(b"] \xff\n")
