"""What every context must do. A context's own test module subclasses :class:`ContextContract` with a ``place`` fixture.

The tests touch the place only through the context, so they hold for a container or another machine as well::

    class TestMyContext(ContextContract):
        @pytest_asyncio.fixture
        async def place(self):
            context = ...
            yield context
            await context.aclose()

``place.cwd`` must be an empty folder that commands may write to, and its shell a POSIX one.
"""

from __future__ import annotations

import asyncio
import re
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from zidane_lab.contexts.base import Command, Completed, ContextInfo, ExecutionContext

__all__ = ["ContextContract", "Ran", "run"]


@dataclass
class Ran:
    """A command that has ended, with its output."""

    completed: Completed
    stdout: bytes
    stderr: bytes


async def run(
    place: ExecutionContext,
    text: str,
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float | None = None,
) -> Ran:
    """Run a command to its end."""
    output: dict[str, list[bytes]] = {"stdout": [], "stderr": []}

    async def on_output(stream, data):
        output[stream].append(data)

    running = await place.start(Command(text, cwd, env or {}, stdin, timeout), on_output)
    completed = await running.wait()
    return Ran(completed, b"".join(output["stdout"]), b"".join(output["stderr"]))


async def ignore(stream, data):
    """Take output and drop it."""


async def gone(place: ExecutionContext, pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        # A zombie has ended; it only waits for somebody to ask how.
        probe = await run(
            place, f"kill -0 {pid} 2>/dev/null && ! grep -q '^State:.Z' /proc/{pid}/status 2>/dev/null; echo $?"
        )
        if probe.stdout.strip() != b"0":
            return True
        await asyncio.sleep(0.1)
    return False


async def until_there(place: ExecutionContext, path: str, seconds: float = 10.0) -> bytes:
    """Wait until a file holds something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if data := await place.read(path):
                return data
        except FileNotFoundError:
            pass
        await asyncio.sleep(0.05)
    raise AssertionError(f"{path} did not come")


class ContextContract:
    """The tests; ``place`` is the context under test, with an empty working folder."""

    # --- what it is -------------------------------------------------------------------------------

    @pytest.mark.asyncio
    async def test_it_says_what_it_is(self, place):
        assert isinstance(place, ExecutionContext)
        assert isinstance(place.info, ContextInfo)
        assert place.info.kind
        assert place.info.name
        assert place.cwd.startswith("/")

    @pytest.mark.asyncio
    async def test_paths_become_absolute(self, place):
        assert place.resolve("a/b.txt") == f"{place.cwd}/a/b.txt"
        assert place.resolve("/etc/passwd") == "/etc/passwd"
        assert place.resolve(".").rstrip("/.") == place.cwd.rstrip("/")
        home = place.resolve("~")
        assert home.startswith("/")
        assert "~" not in home
        assert place.resolve("~/x") == f"{home.rstrip('/')}/x"

    # --- files ------------------------------------------------------------------------------------

    @pytest.mark.asyncio
    async def test_what_is_written_is_read(self, place):
        await place.write("a.txt", b"one\ntwo\n")
        assert await place.read("a.txt") == b"one\ntwo\n"
        assert await place.read(place.resolve("a.txt")) == b"one\ntwo\n"
        assert (await run(place, "cat a.txt")).stdout == b"one\ntwo\n"
        await place.write("a.txt", b"")
        assert await place.read("a.txt") == b""

    @pytest.mark.asyncio
    async def test_what_a_command_writes_is_read(self, place):
        await run(place, "printf 'from the shell' > b.txt")
        assert await place.read("b.txt") == b"from the shell"

    @pytest.mark.asyncio
    async def test_folders_on_the_way_are_made(self, place):
        await place.write("deep/er/file", b"x")
        assert (await place.stat("deep/er")).kind == "folder"
        assert await place.read("deep/er/file") == b"x"

    @pytest.mark.asyncio
    async def test_pieces_of_a_file(self, place):
        await place.write("n", bytes(range(100)))
        assert await place.read("n", 10, 5) == bytes(range(10, 15))
        assert await place.read("n", 95) == bytes(range(95, 100))
        assert await place.read("n", 95, 50) == bytes(range(95, 100))
        assert await place.read("n", 100) == b""
        assert await place.read("n", 1_000, 10) == b""
        assert await place.read("n", 0, 0) == b""

    @pytest.mark.asyncio
    async def test_any_bytes_in_a_file(self, place):
        data = bytes(range(256)) * 4 + b"\r\n\0\xff\xfe"
        await place.write("bytes", data)
        assert await place.read("bytes") == data

    @pytest.mark.asyncio
    async def test_a_big_file(self, place):
        data = b"0123456789abcdef" * 500_000  # 8 MB
        await place.write("big", data)
        assert (await place.stat("big")).size == len(data)
        assert await place.read("big", 7_000_000, 16) == data[7_000_000:7_000_016]
        assert await place.read("big") == data

    @pytest.mark.asyncio
    @pytest.mark.parametrize(
        "name", ["größe.txt", "数据.csv", "with space", "it's", 'a"b', "-dash", "$HOME", "a*b?", "`x`;&|", "\U0001f600"]
    )
    async def test_names_of_any_characters(self, place, name):
        await place.write(name, name.encode())
        assert await place.read(name) == name.encode()
        assert [info.name for info in await place.list(".")] == [name]
        assert (await place.stat(name)).name == name
        await place.remove(name)
        assert await place.list(".") == ()

    @pytest.mark.asyncio
    async def test_what_a_file_is(self, place):
        before = time.time_ns() - 5_000_000_000
        await place.write("f", b"12345")
        info = await place.stat("f")
        assert (info.path, info.name, info.kind, info.size) == (place.resolve("f"), "f", "file", 5)
        assert before < info.mtime_ns < time.time_ns() + 5_000_000_000
        assert (await place.stat(".")).kind == "folder"

    @pytest.mark.asyncio
    async def test_a_change_changes_the_time(self, place):
        await run(place, "touch -d '2001-02-03 04:05:06 UTC' f")
        old = await place.stat("f")
        assert old.mtime_ns == 981_173_106_000_000_000
        await place.write("f", b"new")
        assert (await place.stat("f")).mtime_ns > old.mtime_ns

    @pytest.mark.asyncio
    async def test_mode_bits_stay_unless_given(self, place):
        await place.write("script", b"#!/bin/sh\necho ran\n", mode=0o755)
        assert (await place.stat("script")).mode == 0o755
        await place.write("script", b"#!/bin/sh\necho again\n")
        assert (await place.stat("script")).mode == 0o755
        assert (await run(place, "./script")).stdout == b"again\n"
        await place.write("script", b"secret", mode=0o600)
        assert (await place.stat("script")).mode == 0o600

    @pytest.mark.asyncio
    async def test_a_new_file_is_not_executable(self, place):
        await place.write("plain", b"x")
        assert not (await place.stat("plain")).mode & 0o111
        assert (await place.stat("plain")).mode & stat.S_IRUSR

    @pytest.mark.asyncio
    async def test_a_file_is_replaced_as_a_whole(self, place):
        """Whoever has the old file open goes on reading the old one; nobody sees half of the new one."""
        await place.write("f", b"old " * 1_000)
        # Opens the old file, says so, and reads it only when told to.
        reader = asyncio.ensure_future(
            run(
                place,
                "exec 3<f; echo open > opened; i=0; "
                "while [ ! -e go ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; cat <&3",
            )
        )
        await until_there(place, "opened")
        await place.write("f", b"new")
        await place.write("go", b"!")
        assert (await reader).stdout == b"old " * 1_000
        assert await place.read("f") == b"new"

    @pytest.mark.asyncio
    async def test_nothing_is_left_beside_a_written_file(self, place):
        await place.write("f", b"1")
        await place.write("f", b"2")
        assert [info.name for info in await place.list(".")] == ["f"]

    @pytest.mark.asyncio
    async def test_writing_over_a_folder_fails_and_changes_nothing(self, place):
        await place.write("d/inner", b"x")
        with pytest.raises(OSError):
            await place.write("d", b"y")
        assert await place.read("d/inner") == b"x"
        assert [info.name for info in await place.list(".")] == ["d"]

    @pytest.mark.asyncio
    async def test_a_folder_by_name(self, place):
        await run(place, "mkdir sub; printf 12 > b; printf 1 > a; ln -s nowhere c; printf x > .hidden")
        found = await place.list(".")
        assert [(info.name, info.kind) for info in found] == [
            (".hidden", "file"),
            ("a", "file"),
            ("b", "file"),
            ("c", "link"),
            ("sub", "folder"),
        ]
        assert found[2].size == 2
        assert found[2].path == place.resolve("b")
        assert await place.list("sub") == ()

    @pytest.mark.asyncio
    async def test_links(self, place):
        await place.write("target", b"12345")
        await run(place, "ln -s target link; ln -s nowhere dangling")
        assert (await place.stat("link")).kind == "file"
        assert (await place.stat("link")).size == 5
        assert (await place.stat("link", follow=False)).kind == "link"
        assert (await place.stat("dangling", follow=False)).kind == "link"
        assert await place.read("link") == b"12345"
        assert place.resolve("link").endswith("/link")
        with pytest.raises(FileNotFoundError):
            await place.stat("dangling")
        with pytest.raises(FileNotFoundError):
            await place.read("dangling")

    @pytest.mark.asyncio
    async def test_writing_through_a_link_keeps_the_link(self, place):
        await place.write("real/target", b"old")
        await run(place, "ln -s real/target link")
        await place.write("link", b"new")
        assert (await place.stat("link", follow=False)).kind == "link"
        assert await place.read("real/target") == b"new"

    @pytest.mark.asyncio
    async def test_removing(self, place):
        await place.write("f", b"x")
        await place.write("target", b"kept")
        await run(place, "ln -s target link; mkdir empty; mkdir full; touch full/x")
        await place.remove("f")
        await place.remove("link")
        await place.remove("empty")
        assert await place.read("target") == b"kept"
        with pytest.raises(OSError):
            await place.remove("full")
        assert [info.name for info in await place.list(".")] == ["full", "target"]

    @pytest.mark.asyncio
    async def test_what_is_not_there(self, place):
        for attempt in (place.stat("no"), place.read("no"), place.remove("no"), place.list("no")):
            with pytest.raises(FileNotFoundError):
                await attempt

    @pytest.mark.asyncio
    async def test_what_is_something_else(self, place):
        await place.write("f", b"x")
        with pytest.raises(IsADirectoryError):
            await place.read(".")
        with pytest.raises(NotADirectoryError):
            await place.list("f")
        for attempt in (place.read("f/inner"), place.stat("f/inner"), place.write("f/inner", b"")):
            with pytest.raises(OSError):
                await attempt
        assert await place.read("f") == b"x"

    @pytest.mark.asyncio
    async def test_a_pipe_is_not_waited_for(self, place):
        await run(place, "mkfifo pipe")
        assert (await place.stat("pipe")).kind == "other"
        with pytest.raises(OSError):
            await asyncio.wait_for(place.read("pipe"), 10)

    @pytest.mark.asyncio
    async def test_a_name_that_cannot_be_one(self, place):
        for attempt in (place.read("a\0b"), place.stat("a\0b"), place.write("a\0b", b""), place.list("a\0b")):
            with pytest.raises(OSError):
                await attempt

    # --- commands ---------------------------------------------------------------------------------

    @pytest.mark.asyncio
    async def test_streams_and_exit_code(self, place):
        ran = await run(place, "echo out; echo err >&2; exit 3")
        assert (ran.stdout, ran.stderr) == (b"out\n", b"err\n")
        assert ran.completed.exit_code == 3
        assert ran.completed.signal is None
        assert not ran.completed.timed_out
        assert 0 <= ran.completed.seconds < 30

    @pytest.mark.asyncio
    @pytest.mark.parametrize("code", [0, 1, 2, 77, 126, 127, 255])
    async def test_exit_codes(self, place, code):
        assert (await run(place, f"exit {code}")).completed.exit_code == code

    @pytest.mark.asyncio
    async def test_a_program_that_is_not_there(self, place):
        ran = await run(place, "no-such-program-anywhere")
        assert ran.completed.exit_code == 127
        assert b"no-such-program-anywhere" in ran.stderr

    @pytest.mark.asyncio
    async def test_a_shell_line_is_understood(self, place):
        ran = await run(
            place, "for i in 1 2 3; do echo $((i * 2)); done | tr '\\n' ' ' && x='a b'; echo \"$x\" | wc -w"
        )
        assert ran.stdout.split() == [b"2", b"4", b"6", b"2"]

    @pytest.mark.asyncio
    async def test_many_lines_of_command(self, place):
        ran = await run(place, "cat <<'EOF'\nfirst\n  second $HOME\nEOF\necho last")
        assert ran.stdout == b"first\n  second $HOME\nlast\n"

    @pytest.mark.asyncio
    async def test_output_comes_while_it_runs(self, place):
        first = asyncio.Event()

        async def on_output(stream, data):
            first.set()

        running = await place.start(Command("echo now; sleep 60"), on_output)
        await asyncio.wait_for(first.wait(), 10)
        await running.stop()

    @pytest.mark.asyncio
    async def test_the_order_within_a_stream(self, place):
        ran = await run(place, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done")
        assert ran.stdout == b"".join(b"line %d\n" % number for number in range(2_000))

    @pytest.mark.asyncio
    async def test_any_bytes_in_the_output(self, place):
        data = bytes(range(256)) * 300
        await place.write("bytes", data)
        ran = await run(place, "cat bytes; cat bytes >&2")
        assert ran.stdout == data
        assert ran.stderr == data

    @pytest.mark.asyncio
    async def test_a_lot_of_output(self, place):
        ran = await run(place, "head -c 5000000 /dev/zero | tr '\\0' 'x'")
        assert ran.stdout == b"x" * 5_000_000

    @pytest.mark.asyncio
    async def test_a_slow_listener_holds_the_command_up(self, place):
        """Output is not heaped up in memory: who prints faster than somebody listens has to wait."""
        taken = 0

        async def on_output(stream, data):
            nonlocal taken
            taken += len(data)
            await asyncio.sleep(0.5)

        running = await place.start(Command("yes; echo never"), on_output)
        await asyncio.sleep(1.2)
        assert 0 < taken < 4_000_000
        await running.stop()

    @pytest.mark.asyncio
    async def test_the_working_folder(self, place):
        await place.write("sub folder/f", b"here")
        assert (await run(place, "pwd")).stdout.decode().strip() == place.cwd
        assert (await run(place, "cat f", cwd="sub folder")).stdout == b"here"
        assert (await run(place, "cat f", cwd=place.resolve("sub folder"))).stdout == b"here"

    @pytest.mark.asyncio
    async def test_a_working_folder_that_is_gone(self, place):
        with pytest.raises(OSError):
            await run(place, "echo ran", cwd="not-there")
        await place.write("file", b"")
        with pytest.raises(OSError):
            await run(place, "echo ran", cwd="file")

    @pytest.mark.asyncio
    async def test_the_environment(self, place):
        value = "a b \"c\" 'd' $HOME `x`; äöü\nline"
        ran = await run(place, 'printf %s "$GIVEN"; [ -n "$PATH" ] && printf %s " path"', env={"GIVEN": value})
        assert ran.stdout.decode() == f"{value} path"

    @pytest.mark.asyncio
    async def test_what_one_command_sets_the_next_does_not_see(self, place):
        await run(place, "export LEAKED=1; cd /", env={"ALSO": "1"})
        ran = await run(place, 'echo "[$LEAKED$ALSO]"; pwd')
        assert ran.stdout.decode() == f"[]\n{place.cwd}\n"

    @pytest.mark.asyncio
    async def test_input_is_empty_unless_given(self, place):
        assert (await run(place, "cat; read x || echo end")).stdout == b"end\n"
        assert (await run(place, "cat", stdin=b"fed\0\xff")).stdout == b"fed\0\xff"

    @pytest.mark.asyncio
    async def test_input_that_nobody_reads(self, place):
        ran = await run(place, "echo done", stdin=b"x" * 2_000_000)
        assert ran.stdout == b"done\n"
        ran = await run(place, "head -c 3", stdin=b"y" * 2_000_000)
        assert ran.stdout == b"yyy"

    @pytest.mark.asyncio
    async def test_much_input_and_output_at_once(self, place):
        data = b"0123456789" * 200_000
        assert (await run(place, "cat", stdin=data)).stdout == data

    @pytest.mark.asyncio
    async def test_a_time_limit(self, place):
        started = time.monotonic()
        ran = await run(place, "echo begun; sleep 60", timeout=0.5)
        assert time.monotonic() - started < 20
        assert ran.completed.timed_out
        assert ran.completed.exit_code is None
        assert ran.stdout == b"begun\n"

    @pytest.mark.asyncio
    async def test_a_time_limit_that_is_not_reached(self, place):
        ran = await run(place, "echo quick", timeout=60)
        assert not ran.completed.timed_out
        assert ran.completed.exit_code == 0

    @pytest.mark.asyncio
    async def test_stopping(self, place):
        running = await place.start(Command("sleep 60"), ignore)
        completed = await running.stop()
        assert completed.exit_code is None
        assert not completed.timed_out
        assert await running.wait() == completed
        assert await running.stop() == completed

    @pytest.mark.asyncio
    async def test_a_start_that_is_given_up_leaves_nothing_running(self, place):
        """The command may run there before we have heard of it: whenever the stop comes, it is ended."""
        for number, delay in enumerate((0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)):
            text = f"while sleep 0.05; do echo >> beat-{number}; done"
            starting = asyncio.ensure_future(place.start(Command(text), ignore))
            await asyncio.wait({starting}, timeout=delay)
            starting.cancel()
            try:
                running = await starting
            except asyncio.CancelledError:
                await asyncio.sleep(0.3)  # one that has been started all the same shows itself
            else:
                await running.stop(grace=0.2)
        await asyncio.sleep(1.0)
        before = await place.list(".")
        await asyncio.sleep(1.0)
        assert [(info.name, info.size) for info in await place.list(".")] == [(i.name, i.size) for i in before]

    @pytest.mark.asyncio
    async def test_stopping_what_has_ended(self, place):
        running = await place.start(Command("exit 4"), ignore)
        await running.wait()
        assert (await running.stop()).exit_code == 4

    @pytest.mark.asyncio
    async def test_stopping_ends_everything_it_started(self, place):
        running = await place.start(
            Command("sh -c 'sleep 61 & echo $! > child; wait' & sleep 62 | sleep 63 & echo $! > other; wait"), ignore
        )
        child, other = int(await until_there(place, "child")), int(await until_there(place, "other"))
        await running.stop(grace=0.5)
        assert await gone(place, child)
        assert await gone(place, other)

    @pytest.mark.asyncio
    async def test_stopping_what_will_not_hear(self, place):
        running = await place.start(
            Command("trap '' TERM INT HUP; (trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done)"), ignore
        )
        pid = int(await until_there(place, "pid"))
        started = time.monotonic()
        await running.stop(grace=0.3)
        assert time.monotonic() - started < 15
        assert await gone(place, pid)

    @pytest.mark.asyncio
    async def test_a_command_may_clean_up_when_it_is_stopped(self, place):
        running = await place.start(
            Command("trap 'echo cleaned > done; exit 0' TERM; echo ready > ready; while :; do sleep 0.05; done"), ignore
        )
        await until_there(place, "ready")
        completed = await running.stop(grace=10)
        assert await place.read("done") == b"cleaned\n"
        assert completed.exit_code is None

    @pytest.mark.asyncio
    async def test_cancelling_a_waiter_ends_nothing(self, place):
        running = await place.start(Command("sleep 0.7; echo still > done"), ignore)
        waiter = asyncio.ensure_future(running.wait())
        await asyncio.sleep(0.1)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert (await running.wait()).exit_code == 0
        assert await place.read("done") == b"still\n"

    @pytest.mark.asyncio
    async def test_several_may_wait(self, place):
        running = await place.start(Command("sleep 0.2; exit 5"), ignore)
        codes = [completed.exit_code for completed in await asyncio.gather(*(running.wait() for _ in range(3)))]
        assert codes == [5, 5, 5]

    @pytest.mark.asyncio
    async def test_commands_at_the_same_time(self, place):
        """Each waits for the one before it: they must really overlap, and their outputs stay apart."""
        chain = [
            f"i=0; while [ ! -e step{number} ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; "
            f"touch step{number + 1}; echo number {number}"
            for number in range(5)
        ]
        runs = [asyncio.ensure_future(run(place, text)) for text in reversed(chain)]
        await asyncio.sleep(0.1)
        await place.write("step0", b"")
        outputs = [ran.stdout for ran in await asyncio.gather(*runs)]
        assert outputs == [b"number %d\n" % number for number in (4, 3, 2, 1, 0)]

    @pytest.mark.asyncio
    async def test_what_it_leaves_running_holds_nothing_up(self, place):
        started = time.monotonic()
        running = await place.start(Command("sleep 64 & echo $! > left; echo done"), ignore)
        completed = await running.wait()
        assert time.monotonic() - started < 30
        assert completed.exit_code == 0
        pid = int(await until_there(place, "left"))
        await running.stop(grace=0.5)
        assert await gone(place, pid)

    @pytest.mark.asyncio
    async def test_each_has_a_name(self, place):
        one = await place.start(Command("sleep 60"), ignore)
        other = await place.start(Command("sleep 60"), ignore)
        assert re.fullmatch(r"\S+", one.id)
        assert one.id != other.id
        await asyncio.gather(one.stop(), other.stop())

    @pytest.mark.asyncio
    async def test_a_nul_in_a_command(self, place):
        with pytest.raises(OSError):
            await run(place, "echo a\0b")

    @pytest.mark.asyncio
    async def test_closing_stops_what_runs(self, place):
        running = await place.start(Command("echo $$ > pid; sleep 60"), ignore)
        await until_there(place, "pid")
        await place.aclose()
        assert (await asyncio.wait_for(running.wait(), 15)).exit_code is None
