"""What a real kernel started for the agent ends with it, however it ends; what was detached does not."""

from __future__ import annotations

import json
import time

import psutil
import pytest

from tests.contexts.test_process import is_gone
from tests.kernels import running_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

OWNED = "[(e.pid, e.role) for e in __import__('zidane_lab.contexts.owned', fromlist=['x']).owned_processes()]"


def shell(command, **more):
    return {"name": "shell", "arguments": {"command": command, "intent": "Wait", **more}}


def started(kernel, folder):
    """Let the agent start a task and leave something behind; return the process ids of all there is then."""
    calls = [
        shell("sleep 301 | sleep 302", background=True),
        shell("timeout 303 sleep 304", background=True),
        shell("sleep 305 > /dev/null 2>&1 & echo $! > left"),
    ]
    (folder / "start.json").write_text(json.dumps([*({"calls": [call]} for call in calls), "They run."]))
    kernel.ok("%load_ext zidane_lab")
    cell = kernel.ok("%zidane --model scripted/start.json Start it", answer=lambda _prompt: "y")
    assert "They run." in cell.text
    entries = kernel.value(OWNED)
    assert sorted(role for _, role in entries) == ["left-behind", "task", "task"]
    mine = psutil.Process(kernel.pid).children(recursive=True)
    names = {
        int(word) for process in mine for word in process.cmdline()[1:] if word.isdigit() and 300 < int(word) < 306
    }
    assert {301, 302, 304} <= names
    left = int((folder / "left").read_text())
    assert psutil.Process(left).cmdline() == ["sleep", "305"]
    return {left, *(process.pid for process in mine)}


def all_gone(pids):
    return all(is_gone(pid, 15) for pid in pids)


def test_a_kernel_that_is_killed(tmp_path):
    with running_kernel(tmp_path) as kernel:
        pids = started(kernel, tmp_path)
        kernel.kill()
        assert all_gone(pids)


@pytest.mark.parametrize("now", [True, False])
def test_a_kernel_that_is_restarted(tmp_path, now):
    with running_kernel(tmp_path) as kernel:
        pids = started(kernel, tmp_path)
        kernel.manager.restart_kernel(now=now)
        assert all_gone(pids)


def test_a_kernel_that_is_killed_as_soon_as_something_runs(tmp_path):
    """The watchman may not have come up by then."""
    code = (
        "import asyncio, os, signal\n"
        "from zidane_lab.contexts.base import Command\n"
        "from zidane_lab.contexts.process import LocalProcess\n"
        "async def ignore(stream, data): ...\n"
        "running = await LocalProcess('.').start(Command('exec sleep 306'), ignore)\n"
        "open('pid', 'w').write(running.id)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with running_kernel(tmp_path) as kernel:
        kernel.start(code)
        until = time.monotonic() + 20
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert is_gone(int((tmp_path / "pid").read_text()), 15)


def test_the_next_kernel_says_what_the_killed_one_took_along(tmp_path):
    with running_kernel(tmp_path) as kernel:
        started(kernel, tmp_path)
        kernel.kill()
    (tmp_path / "go-on.json").write_text(json.dumps(["Hello again.", "I see that it is gone."]))
    with running_kernel(tmp_path) as kernel:
        kernel.ok("%load_ext zidane_lab")
        sessions = sorted(tmp_path.glob(".zidane/sessions/*/*.jsonl"))
        kernel.ok(f"%zidane /resume {sessions[-1].stem}")
        assert "I see that it is gone." in kernel.ok("%zidane --model scripted/go-on.json Hello").text
        turns = [json.loads(line).get("turn", {}) for line in sessions[-1].read_text().splitlines()]
        notices = [turn["blocks"][0]["text"] for turn in turns if turn.get("injected") == "task-notification"]
        assert len(notices) == 1
        assert notices[0].count("the kernel ended, and it with that") == 2
