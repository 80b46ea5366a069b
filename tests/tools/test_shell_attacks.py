"""Commands that mean no good: floods, processes that will not end or hide, questions, odd bytes, a folder that goes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import psutil
import pytest

from tests.contexts.test_process import is_gone
from zidane_lab.contexts.tasks import MAX_RUNNING, TaskRegistry
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.shell import shell_tool
from zidane_lab.tools.shell_output import KEPT_BYTES
from zidane_lab.tools.truncate import MAX_BYTES

pytestmark = [pytest.mark.asyncio, pytest.mark.skipif(os.name != "posix", reason="these are POSIX tricks")]


class Outputs:
    """Keeps outputs in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def save_output(self, name, text):
        path = self.folder / f"{name}.txt"
        path.write_text(text)
        return path


async def run(tmp_path, command, *, tasks=None, **arguments):
    context = ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))
    async with asyncio.timeout(60):
        return await shell_tool(tasks=tasks).run(context, {"command": command, **arguments})


async def text(tmp_path, command, **arguments):
    return (await run(tmp_path, command, **arguments)).parts[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    "flood",
    [
        "yes 'a line of a flood' | head -c 100000000",
        "head -c 100000000 /dev/zero | tr '\\0' x",
        "head -c 100000000 /dev/zero",
    ],
    ids=["lines", "one-line", "nul"],
)
async def test_a_flood_ends_in_bounded_memory_and_bounded_text(tmp_path, flood):
    before = psutil.Process().memory_info().rss
    result = await run(tmp_path, flood)
    assert result.metadata["shell"]["bytes"] == 100_000_000
    assert len(result.parts[0].text.encode()) <= MAX_BYTES
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= KEPT_BYTES * 1.5
    assert psutil.Process().memory_info().rss - before < 150_000_000


async def test_children_that_ignore_being_asked_are_ended_all_the_same(tmp_path):
    stubborn = "trap '' TERM INT HUP; while :; do sleep 0.2; done"
    command = f"(echo $BASHPID > one; {stubborn}) & (echo $BASHPID > two; setsid -w sh -c 'echo $$ > three; {stubborn}'); wait"
    result = await run(tmp_path, command.replace("trap ''", 'trap ""'), timeout=1)
    assert result.metadata["shell"]["timed_out"]
    for name in ("one", "two", "three"):
        assert await asyncio.to_thread(is_gone, int((tmp_path / name).read_text()))


async def test_a_daemon_on_purpose_is_not_found_and_does_not_hold_up_the_call(tmp_path):
    """The page on commands says so: what leaves its session and its parents is on its own."""
    command = "setsid sh -c 'sleep 91 & echo $! > pid' > /dev/null 2>&1; echo started"
    assert (await text(tmp_path, command)).startswith("started\n[done in")
    pid = int((tmp_path / "pid").read_text())
    assert psutil.pid_exists(pid)
    os.kill(pid, signal.SIGKILL)


async def test_output_that_is_closed_early_does_not_end_the_command(tmp_path):
    shown = await text(tmp_path, "echo before; exec >&- 2>&-; sleep 0.6; exit 4")
    assert shown.startswith("before\n[exit code 4 after 0.")


@pytest.mark.parametrize(
    "question",
    [
        "read -p 'Password: ' answer; echo \"<$answer>\"",
        "read answer < /dev/tty; echo '<>'",
        "python3 -c \"import getpass; getpass.getpass()\"; echo '<>'",
        "cat; echo '<>'",
    ],
)
async def test_a_question_gets_no_answer_and_ends(tmp_path, question):
    assert "<>" in await text(tmp_path, question)


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        (r"printf '\xff\xfe\xed\xa0\x80 ok\n'", "\ufffd"),
        (r"printf '\x1b]0;t\x07\x1bP evil \x1b\\\x9b2J shown\n'", ""),
        (r"printf 'a\rb\rc\b\b\b\bd\n'", "d"),
        (r"head -c 3000000 /dev/zero | tr '\0' 'y'", "yyy"),
        (r"printf '%0.s\r%01000d' $(seq 3000)", "0"),
        (r"printf '\u202e\u200b\n'", ""),
    ],
)
async def test_odd_bytes_are_shown_harmlessly(tmp_path, command, begins):
    shown = await text(tmp_path, command)
    assert shown.startswith(begins)
    assert not set(shown) & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
    assert "[done in" in shown


async def test_a_command_that_is_no_text(tmp_path):
    with pytest.raises(ToolError):
        await run(tmp_path, "echo \ud800")


async def test_a_folder_that_goes_while_the_command_is_in_it(tmp_path):
    (tmp_path / "sub").mkdir()
    result = await run(tmp_path, 'rmdir "$PWD"; touch a', cwd="sub")
    assert result.is_error
    with pytest.raises(ToolError, match="does not exist"):
        await run(tmp_path, "ls", cwd="sub")


async def test_no_more_tasks_than_may_run_however_many_are_asked_for_at_once(tmp_path):
    tasks = TaskRegistry()
    calls = [run(tmp_path, "sleep 60", tasks=tasks, background=True) for _ in range(MAX_RUNNING + 10)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    refused = [each for each in results if isinstance(each, BaseException)]
    assert len(refused) == 10
    assert all(isinstance(each, ToolError) and "run already" in str(each) for each in refused)
    assert len(tasks.tasks()) == MAX_RUNNING
    await tasks.aclose()


async def test_a_stop_in_every_moment_leaves_nothing_running(tmp_path):
    for number in range(12):
        call = asyncio.ensure_future(run(tmp_path, f"echo $$ > pid{number}; sleep 92 & echo $! > child{number}; wait"))
        await asyncio.sleep(number * 0.004)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
    for path in [*tmp_path.glob("pid*"), *tmp_path.glob("child*")]:
        if path.read_text().strip():
            assert await asyncio.to_thread(is_gone, int(path.read_text()))


async def test_a_huge_environment_and_a_long_name(tmp_path):
    assert (
        (await text(tmp_path, "env | wc -c", env={f"A{number}": "x" * 1000 for number in range(500)}))
        .split()[0]
        .isdigit()
    )
    assert (await text(tmp_path, "echo $" + "A" * 5000, env={"A" * 5000: "1"})).startswith("1\n")
