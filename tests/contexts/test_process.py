"""This machine as a context: the contract, and what only holds here."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import textwrap
import time
import tracemalloc

import psutil
import pytest
import pytest_asyncio

from tests.contexts.contract import ContextContract, ignore, run, until_there
from zidane_lab.contexts import owned
from zidane_lab.contexts.base import Command
from zidane_lab.contexts.process import LocalProcess, kernel_free_environment, shell_argv
from zidane_lab.errors import ToolError


def is_gone(pid: int, seconds: float = 8.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


@pytest_asyncio.fixture
async def place(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    context = LocalProcess(folder)
    yield context
    await context.aclose()


class TestLocalProcess(ContextContract):
    @pytest_asyncio.fixture
    async def place(self, tmp_path):
        folder = tmp_path / "work"
        folder.mkdir()
        context = LocalProcess(folder)
        yield context
        await context.aclose()


@pytest.mark.slow
class TestWithPlainSh(ContextContract):
    """The same without bash on the path."""

    @pytest_asyncio.fixture
    async def place(self, tmp_path, monkeypatch):
        monkeypatch.setattr("zidane_lab.contexts.process.shutil.which", lambda name: None)
        folder = tmp_path / "work"
        folder.mkdir()
        context = LocalProcess(folder)
        yield context
        await context.aclose()


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_failed_write_leaves_the_old_file_and_nothing_else(place, monkeypatch):
    await place.write("f", b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        await place.write("f", b"new")
    assert os.listdir(place.cwd) == ["f"]
    assert await place.read("f") == b"old"


@pytest.mark.asyncio
async def test_what_replaces_a_private_file_is_private_from_the_beginning(place, monkeypatch):
    await place.write("f", b"old", mode=0o600)
    seen = []

    def look(descriptor):
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(os, "fsync", look)
    await place.write("f", b"new")
    assert seen == [0o600]
    assert stat.S_IMODE(os.stat(place.resolve("f")).st_mode) == 0o600


@pytest.mark.asyncio
async def test_new_files_follow_the_umask(place):
    before = os.umask(0o027)
    try:
        await place.write("f", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(place.resolve("f")).st_mode) == 0o640


@pytest.mark.asyncio
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
async def test_a_read_only_file_is_not_replaced(place):
    await place.write("f", b"old", mode=0o444)
    with pytest.raises(PermissionError):
        await place.write("f", b"new")


@pytest.mark.asyncio
async def test_the_longest_name_can_be_written(place):
    await place.write("n" * 255, b"x")
    assert await place.read("n" * 255) == b"x"


@pytest.mark.asyncio
async def test_a_name_that_is_not_text(place):
    name = os.fsdecode(b"\xff\xfe")
    await place.write(name, b"x")
    assert [info.name for info in await place.list(".")] == [name]
    assert await place.read(name) == b"x"


@pytest.mark.asyncio
async def test_devices_are_not_read(place):
    with pytest.raises(OSError, match="not an ordinary file"):
        await place.read("/dev/zero")


# --- the shell and its environment ----------------------------------------------------------------


def test_no_shell_at_all(monkeypatch):
    monkeypatch.setattr("zidane_lab.contexts.process.shutil.which", lambda name: None)
    monkeypatch.setattr("zidane_lab.contexts.process.Path.is_file", lambda self: False)
    with pytest.raises(ToolError, match="no shell"):
        shell_argv("echo")


@pytest.mark.asyncio
async def test_start_up_files_are_not_read(place, monkeypatch):
    await place.write(".bashrc", b"echo from bashrc")
    await place.write(".profile", b"echo from profile")
    monkeypatch.setenv("HOME", place.cwd)
    assert (await run(place, "echo only this")).stdout == b"only this\n"


def test_what_a_kernel_adds_for_itself_is_left_out(monkeypatch):
    for name, value in {
        "JPY_PARENT_PID": "1",
        "FORCE_COLOR": "1",
        "MPLBACKEND": "module://inline",
        "MINE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    environment = kernel_free_environment()
    assert environment["MINE"] == "1"
    assert not {"JPY_PARENT_PID", "FORCE_COLOR", "MPLBACKEND"} & set(environment)


def test_outside_a_kernel_everything_stays(monkeypatch):
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert kernel_free_environment()["FORCE_COLOR"] == "1"
    assert kernel_free_environment()["MPLBACKEND"] == "agg"


@pytest.mark.asyncio
async def test_a_command_line_longer_than_the_system_takes(place):
    with pytest.raises(OSError):
        await run(place, "echo " + "x" * 200_000)


@pytest.mark.asyncio
async def test_the_working_folder_may_move(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    now = tmp_path / "a"
    place = LocalProcess(lambda: now)
    assert (await run(place, "pwd")).stdout.decode().strip() == str(tmp_path / "a")
    now = tmp_path / "b"
    assert (await run(place, "pwd")).stdout.decode().strip() == str(tmp_path / "b")


@pytest.mark.asyncio
async def test_the_working_folder_is_gone(place):
    os.rmdir(place.cwd)
    with pytest.raises(FileNotFoundError):
        await run(place, "echo ran")
    os.mkdir(place.cwd)


def test_with_standard_streams_closed(tmp_path):
    """A kernel may run with its descriptors 0 to 2 closed: pipes must not be mistaken for them."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import asyncio, os, sys
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            from zidane_lab.contexts.base import Command
            from zidane_lab.contexts.process import LocalProcess

            async def main():
                got = []
                async def take(stream, data):
                    got.append((stream, data))
                place = LocalProcess(os.path.dirname(sys.argv[1]))
                running = await place.start(Command("cat; echo out; echo err >&2", stdin=b"in "), take)
                completed = await running.wait()
                out = b"".join(d for s, d in got if s == "stdout")
                err = b"".join(d for s, d in got if s == "stderr")
                await place.write(sys.argv[1], repr((completed.exit_code, out, err)).encode())

            asyncio.run(main())
            """
        )
    )
    result = tmp_path / "result"
    subprocess.run([sys.executable, str(script), str(result)], check=False, timeout=60, capture_output=True)
    assert result.read_text() == repr((0, b"in out\n", b"err\n"))


# --- output ---------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_much_output_in_little_memory(place):
    total = 0

    async def count(stream, data):
        nonlocal total
        total += len(data)

    tracemalloc.start()
    try:
        running = await place.start(Command("head -c 50000000 /dev/zero"), count)
        await running.wait()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 50_000_000
    assert peak < 5_000_000


@pytest.mark.asyncio
async def test_a_listener_that_fails(place):
    async def fail(stream, data):
        raise ValueError("no thanks")

    running = await place.start(Command("head -c 3000000 /dev/zero; exit 3"), fail)
    with pytest.raises(ValueError, match="no thanks"):
        await running.wait()
    assert (await running.stop()).exit_code == 3


@pytest.mark.asyncio
async def test_a_listener_that_never_returns_does_not_hold_up_a_stop(place):
    taken, release = asyncio.Event(), asyncio.Event()

    async def hang(stream, data):
        taken.set()
        await release.wait()

    running = await place.start(Command("yes"), hang)
    await taken.wait()
    async with asyncio.timeout(20):
        assert (await running.stop()).exit_code is None
    release.set()


@pytest.mark.asyncio
async def test_no_more_threads(place, monkeypatch):
    def full(self):
        raise RuntimeError("can't start new thread")

    before = {entry.pid for entry in owned.owned_processes()}
    with monkeypatch.context() as patch:
        patch.setattr("zidane_lab.contexts.local_command.threading.Thread.start", full)
        with pytest.raises(OSError, match="new thread"):
            await place.start(Command("sleep 60"), ignore)
    assert {entry.pid for entry in owned.owned_processes()} == before


@pytest.mark.asyncio
async def test_nothing_comes_after_the_end(place):
    came = []

    async def take(stream, data):
        came.append(data)

    running = await place.start(Command("(sleep 0.6; echo late) & echo early"), take)
    assert (await running.wait()).left_running >= 1
    await asyncio.sleep(0.8)
    assert b"".join(came) == b"early\n"


@pytest.mark.asyncio
@pytest.mark.parametrize("chatter", ["yes", "while :; do echo x; sleep 0.05; done"])
async def test_what_is_left_running_and_prints_on_does_not_hold_up_the_end(place, chatter):
    async with asyncio.timeout(20):
        running = await place.start(Command(f"({chatter}) & echo $! > pid; exit 3", timeout=60), ignore)
        completed = await running.wait()
        assert (completed.exit_code, completed.timed_out) == (3, False)
        assert completed.left_running >= 1
        await running.stop()
    assert is_gone(int(await until_there(place, "pid")))


@pytest.mark.asyncio
async def test_a_stop_just_after_the_end_ends_what_prints_on(place):
    async with asyncio.timeout(20):
        running = await place.start(Command("yes & echo $! > pid"), ignore)
        pid = int(await until_there(place, "pid"))
        await asyncio.sleep(0.3)
        await running.stop()
    assert is_gone(pid)


def test_a_loop_that_ends_before_its_command(tmp_path):
    """No thread hangs, nothing is printed, and the process still goes when it ends."""

    async def begin():
        return await LocalProcess(tmp_path).start(Command("echo a; sleep 0.3; echo b"), ignore)

    running = asyncio.run(begin())
    assert is_gone(int(running.id))


def test_a_make_that_started_the_kernel_is_not_handed_on(monkeypatch):
    for name in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS"):
        monkeypatch.setenv(name, "1")
    assert not {"MAKELEVEL", "MAKEFLAGS", "MFLAGS"} & set(kernel_free_environment())
