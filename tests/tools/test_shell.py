"""The shell tool: what the person sees, what the model gets, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
import time
import tracemalloc

import pytest

from zidane_lab.contexts.base import ContextInfo, ContextLostError
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ConfigurationError, ToolError, ToolInputError, ToolNotAllowedError
from zidane_lab.session.persisted import saved_output
from zidane_lab.tools.allowed_commands import READ_ONLY
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.shell import ShellOptions, shell_tool

pytestmark = pytest.mark.asyncio


class Outputs:
    """Keeps outputs in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def save_output(self, name, text):
        path = self.folder / f"{name}.txt"
        path.write_text(text)
        return path


async def run(tmp_path, command, options=None, *, tasks=None, context=None, **arguments):
    context = context or ToolContext(cwd=tmp_path)
    return await shell_tool(options, tasks=tasks).run(context, {"command": command, **arguments})


async def text(tmp_path, command, options=None, **arguments):
    return (await run(tmp_path, command, options, **arguments)).parts[0].text


async def wait_for(path, seconds=10.0):
    async with asyncio.timeout(seconds):
        while not path.exists() or not path.read_text().strip():
            await asyncio.sleep(0.02)
    return path.read_text()


# --- results --------------------------------------------------------------------------------------


async def test_a_command_that_goes_well(tmp_path):
    result = await run(tmp_path, "echo out; echo err >&2")
    lines = result.parts[0].text.splitlines()
    assert sorted(lines[:2]) == ["err", "out"]
    assert lines[2].startswith("[done in ")
    assert not result.is_error
    evidence = result.metadata["shell"]
    assert (evidence["command"], evidence["exit_code"], evidence["bytes"]) == ("echo out; echo err >&2", 0, 8)
    assert evidence["cwd"] == str(tmp_path)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo before; exit 3", "[exit code 3 after"),
        ("no-such-program", ": there is no such command]"),
        ("touch f; ./f", ": it cannot be executed]"),
        ("kill -SEGV $$", "[ended by SIGSEGV after"),
        ("sh -c 'kill -TERM $$'; exit $?", "128 + SIGTERM"),
        ("exit 137", "perhaps for want of memory"),
    ],
)
async def test_a_failure_is_an_error_result_with_its_output(tmp_path, command, says):
    result = await run(tmp_path, command)
    assert result.is_error
    assert says in result.parts[0].text
    if "before" in command:
        assert result.parts[0].text.startswith("before\n")


async def test_no_output(tmp_path):
    assert (await text(tmp_path, "true")).startswith("(no output)\n[done in ")


async def test_a_time_limit(tmp_path):
    result = await run(tmp_path, "echo begun; sleep 60", timeout=0.3)
    assert result.is_error
    assert result.parts[0].text.startswith("begun\n[timed out after")
    assert result.metadata["shell"]["timed_out"]
    assert "exit_code" not in result.metadata["shell"]


async def test_a_command_that_asks_comes_to_an_end(tmp_path):
    async with asyncio.timeout(20):
        assert (await text(tmp_path, "read -p 'Sure? ' answer; echo \"[$answer]\"")).startswith("[]")
        await run(tmp_path, "cat; python3 -c 'input()'")


async def test_pagers_and_editors_do_not_wait(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # of whoever runs the tests
    command = 'echo x | $PAGER; $EDITOR f; $GIT_EDITOR f; echo "ci=[$CI]"'
    assert (await text(tmp_path, command)).startswith("x\nci=[]\n")
    assert "ci=[true]" in await text(tmp_path, command, ShellOptions(ci=True))


async def test_long_output_keeps_its_beginning_and_end_and_is_kept_whole(tmp_path):
    context = ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))
    result = await run(tmp_path, "seq 1 60000; exit 2", context=context)
    shown = result.parts[0].text
    assert shown.startswith("1\n2\n3\n")
    assert "60000\n[exit code 2 after" in shown
    assert "left out" in shown
    assert len(shown.encode()) <= 51_200
    kept = saved_output(result.metadata)
    assert str(kept) in shown
    assert kept.read_text().startswith("1\n2\n")
    assert kept.read_text().count("\n") == 60_000


async def test_fifty_megabytes_in_bounded_memory(tmp_path):
    context = ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))
    tracemalloc.start()
    try:
        result = await run(tmp_path, "yes 0123456789012345678901234567890123456789 | head -c 50000000", context=context)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.metadata["shell"]["bytes"] == 50_000_000
    assert len(result.parts[0].text.encode()) <= 51_200
    kept = saved_output(result.metadata).read_text()
    assert "bytes left out …]" in kept
    assert len(kept) < 9_000_000
    assert peak < 90_000_000  # some copies of what is kept (8 MB), not of what was printed


async def test_escapes_and_bars_are_settled(tmp_path):
    shown = await text(tmp_path, r"printf '\033[31mred\033[0m\n10%%\r100%%\n\033]0;title\007x\n'")
    assert shown.startswith("red\n100%\nx\n")


async def test_bytes_that_are_no_text(tmp_path):
    assert (await text(tmp_path, "head -c 20000 /dev/urandom")).startswith("[binary output, 20,000 bytes")
    assert (await text(tmp_path, r"printf 'a\0b\377c\n'")).startswith("a␀b\ufffdc\n")


async def test_a_character_cut_by_a_pause(tmp_path):
    shown = await text(tmp_path, r"printf 'n\303'; sleep 0.3; printf '\251e\n'")
    assert shown.startswith("née\n")


async def test_what_it_leaves_running_is_told(tmp_path):
    result = await run(tmp_path, "sleep 73 >/dev/null 2>&1 & echo $! > pid; echo started")
    assert "1 processes it started still run" in result.parts[0].text
    os.kill(int((tmp_path / "pid").read_text()), 9)


# --- live -----------------------------------------------------------------------------------------


async def test_output_is_seen_while_it_runs(tmp_path):
    seen = []
    context = ToolContext(cwd=tmp_path, progress=lambda *each: seen.append((*each, time.monotonic())))
    await run(tmp_path, "echo first; echo oops >&2; sleep 0.6; printf '\\033]52;c;eA==\\007last\\n'", context=context)
    assert sorted((stream, shown) for stream, shown, _ in seen) == [
        ("stderr", "oops\n"), ("stdout", "first\n"), ("stdout", "last\n"),
    ]  # fmt: skip
    assert seen[-1][2] - seen[0][2] > 0.3


async def test_the_person_is_told_when_it_takes_long(tmp_path):
    seen = []
    context = ToolContext(cwd=tmp_path, progress=lambda *each: seen.append(each))
    await run(tmp_path, "sleep 0.9", ShellOptions(nudge_after=0.2), context=context)
    waits = [shown for stream, shown in seen if stream == "wait"]
    assert 1 <= len(waits) <= 3
    assert "still running after" in waits[0]


# --- where and with what --------------------------------------------------------------------------


async def test_a_leading_cd_becomes_the_folder(tmp_path):
    (tmp_path / "my sub").mkdir()
    result = await run(tmp_path, "cd 'my sub' && pwd")
    assert result.parts[0].text.startswith(f"{tmp_path}/my sub\n")
    assert result.metadata["shell"]["command"] == "pwd"
    assert result.metadata["shell"]["cwd"] == f"{tmp_path}/my sub"


async def test_a_given_folder_leaves_the_command_alone(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert (await text(tmp_path, "cd b && pwd", cwd="a")).startswith(f"{tmp_path}/a/b\n")


async def test_folders_that_are_none(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="does not exist"):
        await run(tmp_path, "ls", cwd="nope")
    with pytest.raises(ToolError, match="is not a folder"):
        await run(tmp_path, "cd file && ls")
    with pytest.raises(ToolError, match=r"gone.*list_files|could not be started"):
        await run(tmp_path / "gone", "ls")


async def test_variables(tmp_path):
    assert (await text(tmp_path, 'echo "$A"', env={"A": 'it\'s "so" $x'})).startswith('it\'s "so" $x\n')
    assert (await text(tmp_path, "echo $A $PAGER", ShellOptions(env={"A": "1"}), env={"PAGER": "less"})).startswith(
        "1 less\n"
    )
    with pytest.raises(ToolError, match="cannot be the name"):
        await run(tmp_path, "ls", env={"A;rm": "x"})


@pytest.mark.parametrize(
    "arguments", [{"command": ""}, {"command": " \n"}, {"command": "a\0b"}, {"command": "ls", "timeout": 0}]
)
async def test_what_cannot_be_run(tmp_path, arguments):
    with pytest.raises(ToolError):
        await shell_tool().run(ToolContext(cwd=tmp_path), arguments)


async def test_a_command_that_is_too_long(tmp_path):
    with pytest.raises(ToolError, match=r"too long.*write_file"):
        await run(tmp_path, f"echo {'x' * 200_000}")


async def test_variables_that_are_too_long(tmp_path):
    for env in ({"A": "x" * 200_000}, {f"A{number}": "x" * 100_000 for number in range(40)}):
        with pytest.raises(ToolError, match=r"variables .* more than the system takes"):
            await run(tmp_path, "echo", env=env)


async def test_what_only_sets_something_is_told_to_be_of_no_use(tmp_path):
    (tmp_path / "sub").mkdir()
    assert "[nothing of this is there in the next call: give the folder as cwd" in await text(tmp_path, "cd sub")
    assert (await text(tmp_path, "pwd")).startswith(f"{tmp_path}\n")
    assert "give variables as env" in await text(tmp_path, "export A=1")
    assert (await text(tmp_path, 'echo "[$A]"')).startswith("[]\n")


async def test_nothing_defined_in_one_call_changes_what_another_means(tmp_path):
    await text(tmp_path, "ls() { echo mine; }; export -f ls; alias cat='echo mine'; PATH=/nowhere; set -o noglob")
    (tmp_path / "f").write_text("there")
    assert (await text(tmp_path, "ls *; cat f")).startswith("f\nthere")


async def test_noise_is_left_out_and_all_of_it_can_be_read(tmp_path):
    script = (
        "for i in $(seq 60); do echo Collecting package$i; done; echo ERROR: no; for i in $(seq 60); do echo x; done"
    )
    (tmp_path / "pip").write_text(f"#!/bin/sh\n{script.replace('$(seq 60)', '`seq 60`')}\nexit 1\n")
    (tmp_path / "pip").chmod(0o755)
    context = ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))
    result = await run(tmp_path, "./pip install thing", context=context)
    shown = result.parts[0].text
    assert "ERROR: no" in shown
    assert shown.count("Collecting") == 7
    assert "[… 53 lines of the installer …]" in shown
    assert "[… 43 lines like the one above …]" in shown
    kept = saved_output(result.metadata)
    assert f"96 lines of progress or repetition are left out; read_output shows all: {kept}]" in shown
    assert kept.read_text().count("Collecting") == 60
    assert "[exit code 1 after" in shown
    for others in ({"options": ShellOptions(shorten=False), "context": context}, {}):  # without, and not kept
        assert (await text(tmp_path, "./pip install thing", **others)).count("Collecting") == 60


async def test_what_is_too_long_in_spite_of_that_names_the_same_file(tmp_path):
    context = ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))
    result = await run(tmp_path, "yes same | head -100; seq 20000", context=context)
    kept = saved_output(result.metadata)
    assert result.parts[0].text.count(str(kept)) == 2
    assert kept.read_text().count("same") == 100
    assert len(list(tmp_path.iterdir())) == 1


async def test_no_shell(tmp_path, monkeypatch):
    monkeypatch.setattr("zidane_lab.contexts.process.shutil.which", lambda name: None)
    monkeypatch.setattr("zidane_lab.contexts.process.Path.is_file", lambda self: False)
    with pytest.raises(ToolError, match="no shell"):
        await run(tmp_path, "ls")


async def test_it_runs_in_the_place_the_host_has_set(tmp_path):
    (tmp_path / "there").mkdir()
    context = ToolContext(cwd=tmp_path, place=LocalProcess(tmp_path / "there"))
    assert (await text(tmp_path, "pwd", context=context)).startswith(f"{tmp_path}/there\n")


async def test_a_place_that_is_lost_midway(tmp_path):
    class Running:
        id = "x"

        async def wait(self):
            raise ContextLostError("The container is gone.")

    class Place:
        info, cwd = ContextInfo("docker", "box"), "/work"

        async def start(self, command, on_output):
            await on_output("stdout", b"begun\n")
            return Running()

    result = await run(tmp_path, "x", context=ToolContext(cwd=tmp_path, place=Place()))
    assert result.is_error
    assert result.parts[0].text.startswith("begun\n[lost: The container is gone.")


# --- steering and fences --------------------------------------------------------------------------


async def test_a_better_tool_is_named(tmp_path):
    (tmp_path / "a").write_text("content\n")
    shown = await text(tmp_path, "cat a", ShellOptions(tools={"read_file"}))
    assert shown.startswith("content\n[next time use read_file")
    assert "next time" not in await text(tmp_path, "cat a", ShellOptions(tools={"grep"}))
    assert "next time" not in await text(tmp_path, "cat a", ShellOptions(steer="off", tools={"read_file"}))


async def test_a_better_tool_may_be_insisted_on(tmp_path):
    options = ShellOptions(steer="refuse", tools=lambda: ["write_file"])
    with pytest.raises(ToolNotAllowedError, match="Call write_file instead"):
        await run(tmp_path, "cd . && echo x > f", options)
    assert not (tmp_path / "f").exists()


async def test_the_open_notebook_is_not_executed_elsewhere(tmp_path):
    options = ShellOptions(tools={"run_python"}, notebook=lambda: str(tmp_path / "work.ipynb"))
    with pytest.raises(ToolNotAllowedError, match="run_python"):
        await run(tmp_path, "jupyter nbconvert --execute --inplace work.ipynb", options)


async def test_a_shell_that_only_looks(tmp_path):
    options = ShellOptions(prefixes=READ_ONLY)
    assert (await text(tmp_path, "ls | wc -l", options)).startswith("0\n")
    for command in ("touch f", "ls > f", "cd /tmp && touch f"):
        with pytest.raises(ToolNotAllowedError):
            await run(tmp_path, command, options)
    with pytest.raises(ToolNotAllowedError, match="variables"):
        await run(tmp_path, "git log", options, env={"GIT_PAGER": "rm"})
    assert os.listdir(tmp_path) == []


async def test_options_that_make_no_sense():
    with pytest.raises(ConfigurationError):
        ShellOptions(timeout=0)


# --- the schema -----------------------------------------------------------------------------------


async def test_background_is_offered_only_where_there_are_tasks():
    assert "background" not in shell_tool().parameters["properties"]
    assert "background" not in shell_tool().description
    assert "background" in shell_tool(tasks=TaskRegistry()).parameters["properties"]
    with pytest.raises(ToolError, match="no background tasks"):
        await shell_tool().run(ToolContext(), {"command": "ls", "background": True})
    with pytest.raises(ToolInputError):
        await shell_tool().run(ToolContext(), {"command": "ls", "nonsense": 1})


async def test_the_description_is_the_same_every_time():
    assert shell_tool().spec == shell_tool().spec
    assert shell_tool().tier == "execute"
