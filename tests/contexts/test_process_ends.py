"""How processes of this machine are ended."""

# ruff: noqa: F401, F811 - fixtures are imported, and named as arguments

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest

from tests.contexts.contract import ignore, run, until_there
from tests.contexts.test_process import is_gone, place
from zidane_lab.contexts import owned
from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess

# --- processes ------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_descendant_in_another_session_ends_too(place):
    running = await place.start(Command("setsid sh -c 'echo $$ > pid; sleep 66' & wait"), ignore)
    pid = int(await until_there(place, "pid"))
    await running.stop(grace=0.5)
    assert is_gone(pid)


@pytest.mark.asyncio
async def test_a_stopped_command_can_be_ended(place):
    running = await place.start(Command("echo $$ > pid; kill -STOP $$; sleep 66"), ignore)
    await until_there(place, "pid")
    started = time.monotonic()
    await running.stop(grace=5)
    assert time.monotonic() - started < 4


@pytest.mark.asyncio
async def test_which_signal_ended_it(place):
    completed = (await run(place, "kill -SEGV $$")).completed
    assert (completed.exit_code, completed.signal) == (None, 11)


@pytest.mark.asyncio
async def test_it_does_not_share_our_group_or_session(place):
    pid = int((await run(place, "echo $$")).stdout)
    running = await place.start(Command("sleep 60"), ignore)
    assert os.getpgid(int(running.id)) == int(running.id) != os.getpgrp()
    assert os.getsid(int(running.id)) == int(running.id) != os.getsid(0)
    await running.stop()
    assert pid


@pytest.mark.asyncio
async def test_who_is_owned(tmp_path):
    place = LocalProcess(tmp_path, session_id="mine")
    running = await place.start(Command("sleep 60"), ignore)
    (entry,) = owned.owned_processes("mine")
    assert (str(entry.pid), entry.role, entry.label) == (running.id, "command", "sleep 60")
    assert owned.owned_processes("other's") == ()
    await running.stop()
    assert owned.owned_processes("mine") == ()


@pytest.mark.asyncio
async def test_what_was_left_behind_is_owned_until_it_ends(tmp_path):
    place = LocalProcess(tmp_path, session_id="left")
    ran = await run(place, "sleep 0.5 >/dev/null 2>&1 & echo started")
    assert ran.completed.left_running == 1
    assert [each.role for each in owned.owned_processes("left")] == ["left-behind"]
    await asyncio.sleep(0.8)
    assert owned.owned_processes("left") == ()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "text",
    [
        "sleep 67 >/dev/null 2>&1 & echo $!",
        "set -m; sleep 67 >/dev/null 2>&1 & echo $!",
        "timeout 99 sleep 67 >/dev/null 2>&1 & sleep 0.2; echo $!",
    ],
)
async def test_closing_ends_what_was_left_behind(tmp_path, text):
    """Also what made a process group of its own, as ``timeout`` does."""
    place = LocalProcess(tmp_path, session_id="closed")
    ran = await run(place, text)
    assert ran.completed.left_running
    await place.aclose()
    assert is_gone(int(ran.stdout))


@pytest.mark.asyncio
async def test_all_of_a_session_can_be_ended(tmp_path):
    place = LocalProcess(tmp_path, session_id="ended")
    running = await place.start(Command("sleep 68"), ignore)
    assert await asyncio.to_thread(owned.end_owned, "ended") == 1
    assert (await running.wait()).signal == 15


ORPHANS = """
import asyncio, os, signal, sys
from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess

async def ignore(stream, data): ...

async def main():
    place = LocalProcess(sys.argv[1])
    await place.start(Command("echo $$ > one; trap '' TERM; while :; do sleep 0.1; done"), ignore)
    await place.start(Command("sleep 70 & echo $! > two; wait"), ignore)
    running = await place.start(Command("sleep 71 >/dev/null 2>&1 & echo $! > three"), ignore)
    await running.wait()
    others = (
        "timeout 90 sh -c 'echo $$ > four; sleep 72'; echo",
        "set -m; sleep 73 & echo $! > five; wait",
        "setsid -w sh -c 'echo $$ > six; sleep 74'; echo",
    )
    for text in others:
        await place.start(Command(text), ignore)
    running = await place.start(Command("timeout 90 sh -c 'echo $$ > seven; exec sleep 75' >/dev/null 2>&1 &"), ignore)
    await running.wait()
    names = "one two three four five six seven".split()
    while not all(os.path.exists(os.path.join(sys.argv[1], n)) for n in names):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.2)
    {end}

asyncio.run(main())
"""


NAMES = ("one", "two", "three", "four", "five", "six", "seven")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="what is in other groups is found in /proc")
@pytest.mark.parametrize(
    "end",
    [
        "return",
        "raise SystemExit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os._exit(1)",
        "os.kill(os.getpid(), signal.SIGTERM); await asyncio.sleep(5)",
    ],
)
def test_nothing_outlives_us(tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(ORPHANS.format(end=end))
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=False, timeout=60, capture_output=True)
    pids = [int((tmp_path / name).read_text()) for name in NAMES]
    assert all(is_gone(pid) for pid in pids)


@pytest.mark.slow
def test_a_fork_that_lives_on_does_not_keep_orphans_alive(tmp_path):
    """A forked child holds copies of our pipes; the end must be noticed all the same."""
    script = tmp_path / "script.py"
    fork = "os.fork() or (os.close(1), os.close(2), __import__('time').sleep(15), os._exit(0)); os._exit(1)"
    script.write_text(ORPHANS.format(end=fork))
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=False, timeout=60, capture_output=True)
    pids = [int((tmp_path / name).read_text()) for name in NAMES]
    assert all(is_gone(pid) for pid in pids)


@pytest.mark.slow
def test_a_fork_owns_nothing(tmp_path):
    script = tmp_path / "script.py"
    fork = (
        "child = os.fork()\n"
        "    if child == 0: __import__('atexit')._run_exitfuncs(); os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "    one = int(open(os.path.join(sys.argv[1], 'one')).read())\n"
        "    os.kill(one, 0); open(os.path.join(sys.argv[1], 'alive'), 'w').close()"
    )
    script.write_text(ORPHANS.format(end=fork))
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=False, timeout=60, capture_output=True)
    assert (tmp_path / "alive").exists()
