"""Commands kept inside by the system, and contexts with a policy around them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import uuid

import pytest
import pytest_asyncio

from tests.contexts.contract import ContextContract, run
from tests.contexts.fake_docker import FakeDocker
from zidane_lab.contexts import isolation
from zidane_lab.contexts.base import Command
from zidane_lab.contexts.container import ContainerSpec
from zidane_lab.contexts.docker import DockerContext
from zidane_lab.contexts.guarded import GuardedContext, real_path
from zidane_lab.contexts.isolation import Availability, bubblewrap_argv, isolated, isolation_availability
from zidane_lab.contexts.policy import IsolationPolicy, isolation_policy
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ToolError

with_bubblewrap = pytest.mark.skipif(
    not isolation_availability(), reason=f"commands cannot be kept inside: {isolation_availability().reason}"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    home = tmp_path / "home"
    for folder in ("project/.git/hooks", "other", ".ssh"):
        (home / folder).mkdir(parents=True)
    (home / ".ssh" / "id").write_text("PRIVATE KEY")
    (home / "other" / "f").write_text("other")
    (home / "project" / ".git" / "config").write_text("[core]")
    monkeypatch.setenv("HOME", str(home))
    return home / "project"


def guarded(project, **options):
    return GuardedContext(LocalProcess(project), isolation_policy(project, **options))


@pytest_asyncio.fixture
async def place(project):
    context = guarded(project)
    yield context
    await context.aclose()


if isolation_availability():

    class TestIsolated(ContextContract):
        @pytest_asyncio.fixture
        async def place(self, tmp_path):
            (tmp_path / "work").mkdir()
            context = guarded(tmp_path / "work")
            yield context
            await context.aclose()

        # These look for a process by a number that means something inside only; the end of what is inside is tested below.
        test_stopping_what_will_not_hear = None
        test_stopping_ends_everything_it_started = None
        test_what_it_leaves_running_holds_nothing_up = None


async def said(place, text):
    ran = await run(place, text, timeout=30)
    return ran.stdout.decode(), ran.completed.exit_code


# --- kept inside ------------------------------------------------------------------------------------


@with_bubblewrap
@pytest.mark.asyncio
async def test_it_says_that_commands_are_kept_inside(place, project):
    assert place.info.is_isolated
    assert place.info.has_network is False
    assert place.reason == ""
    assert guarded(project, network=True).info.has_network


@with_bubblewrap
@pytest.mark.asyncio
async def test_the_project_is_written_and_nothing_else(place, project):
    assert await said(place, "echo new > made && mkdir -p src && echo x > src/y && cat made") == ("new\n", 0)
    assert (project / "made").read_text() == "new\n"
    await said(place, "echo x > ../new; echo x > ../other/f")  # folders of its own: these lie in the private /tmp
    assert not (project.parent / "new").exists()
    assert (project.parent / "other" / "f").read_text() == "other"


@with_bubblewrap
@pytest.mark.asyncio
async def test_the_machine_is_not_written(place):
    """Asked, not tried: were this to fail, a trial would change the machine the tests run on."""
    asked = "/etc /etc/passwd /usr /usr/bin/env /root /home /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /sys"
    output, _ = await said(place, f'for path in {asked}; do if [ -w "$path" ]; then echo "$path"; fi; done')
    assert output == ""


@with_bubblewrap
@pytest.mark.asyncio
async def test_root_has_no_rights_there(place):
    output, _ = await said(place, "grep -E '^Cap(Eff|Bnd)' /proc/self/status")
    assert [int(line.split()[1], 16) for line in output.splitlines()] == [0, 0]


@with_bubblewrap
@pytest.mark.asyncio
async def test_links_lead_nowhere_else(place, project):
    os.symlink(project.parent / "other", project / "out")
    _, code = await said(place, "echo x > out/new")
    assert code != 0
    assert os.listdir(project.parent / "other") == ["f"]


@with_bubblewrap
@pytest.mark.asyncio
@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "rm -rf .git/hooks",
        "mv .git/hooks aside && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
        "mv .git aside && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "ln -sfn /tmp .git/hooks",
        "umount .git/hooks; echo x > .git/hooks/pre-commit",
        "mount -o remount,rw .git/hooks; echo x > .git/hooks/pre-commit",
    ],
)
async def test_what_other_programs_obey_stays_as_it_is(place, project, attempt):
    await said(place, attempt)
    assert os.listdir(project / ".git" / "hooks") == []
    assert (project / ".git" / "config").read_text() == "[core]"


@with_bubblewrap
@pytest.mark.asyncio
async def test_the_rest_of_a_repository_can_be_written(place, project):
    output, code = await said(place, "echo x > .git/index && cat .git/index")
    assert (output, code) == ("x\n", 0)


@with_bubblewrap
@pytest.mark.asyncio
async def test_keys_are_not_seen(place, project):
    output, _ = await said(place, "ls -a ../.ssh; cat ../.ssh/id; grep -r PRIVATE ..")
    assert "id" not in output.split()
    assert "PRIVATE" not in output


@with_bubblewrap
@pytest.mark.asyncio
async def test_nobody_is_reached(project):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=lambda: [server.accept()[0].close()], daemon=True).start()
        reach = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        for network, expected in ((False, ""), (True, "reached\n")):
            place = guarded(project, network=network)
            output, _ = await said(place, f"bash -c '{reach}' 2>/dev/null")
            assert output == expected
            await place.aclose()


@with_bubblewrap
@pytest.mark.asyncio
async def test_sockets_of_other_programs_are_not_there(place, project, tmp_path_factory):
    """A socket in a shared folder is a door to a program outside, whatever the network says."""
    folder = tmp_path_factory.mktemp("shared")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "door"))
        output, _ = await said(place, f"ls {folder} /run /tmp")
    assert "door" not in output


@with_bubblewrap
@pytest.mark.asyncio
async def test_other_processes_are_neither_seen_nor_ended(place):
    other = subprocess.Popen(["sleep", "60"])
    try:
        output, _ = await said(place, f"kill -9 {other.pid} 2>/dev/null; cd /proc && ls -d [0-9]*")
        assert other.poll() is None
        assert 0 < len(output.split()) < 10
    finally:
        other.kill()
        other.wait()


@with_bubblewrap
@pytest.mark.asyncio
async def test_temporary_files_are_its_own(place):
    path = f"/tmp/{uuid.uuid4()}"
    output, code = await said(place, f'echo x > {path} && f=$(mktemp) && echo y > "$f" && ls -d {path} "$f" | wc -l')
    assert (output.strip(), code) == ("2", 0)
    assert (await said(place, f"ls {path}"))[1] != 0
    assert not os.path.exists(path)


@with_bubblewrap
@pytest.mark.asyncio
async def test_this_python_can_be_used(place, project):
    place = guarded(project, readable=[])
    output, _ = await said(place, f"{sys.executable} -c 'import json, ssl; print(json.dumps(1))'; ls {project.parent}")
    assert output.split() == ["1", "project"]
    await place.aclose()


async def ignore(stream, data):
    pass


def is_running(mark):
    found = subprocess.run(["ps", "-A", "-o", "stat=,args="], capture_output=True, text=True).stdout
    return any(mark in line and not line.startswith("Z") for line in found.splitlines())


@with_bubblewrap
@pytest.mark.asyncio
async def test_ending_a_command_ends_what_is_inside(place):
    deaf = "trap '' TERM; (trap '' TERM; sleep 4242.25 & setsid sleep 4243.25 & sleep 4244.25); wait"
    running = await place.start(Command(deaf), ignore)
    await asyncio.sleep(0.3)
    assert is_running("sleep 4243.25")
    completed = await running.stop(grace=0.2)
    assert completed.exit_code is None
    assert not any(is_running(f"sleep {number}.25") for number in (4242, 4243, 4244))


@with_bubblewrap
@pytest.mark.asyncio
async def test_what_a_command_leaves_behind_is_known_and_ended(place):
    running = await place.start(Command("setsid sleep 4245.25 >/dev/null 2>&1 & sleep 4246.25 & echo done"), ignore)
    assert (await running.wait()).left_running
    assert is_running("sleep 4245.25")
    await running.stop(grace=0.2)
    assert not is_running("sleep 4245.25")
    assert not is_running("sleep 4246.25")


@with_bubblewrap
@pytest.mark.asyncio
async def test_variables_are_given_and_input_too(place):
    ran = await run(place, 'printf %s "$GIVEN"; cat', env={"GIVEN": "a 'b' $c"}, stdin=b" fed")
    assert ran.stdout == b"a 'b' $c fed"


# --- files ------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_files_are_refused_by_the_policy(place, project):
    os.symlink(project.parent / "other", project / "out")
    await place.write("fine", b"x")
    await place.remove("fine")
    for path in ("../other/f", "out/f", "/etc/passwd", ".git/hooks/x", "~/.bashrc"):
        with pytest.raises(PermissionError):
            await place.write(path, b"x")
    with pytest.raises(PermissionError):
        await place.remove("out/f")
    await place.remove("out")  # the link itself is in the project
    with pytest.raises(PermissionError):
        await place.read("~/.ssh/id")
    with pytest.raises(PermissionError):
        await place.list("~/.ssh")
    assert await place.read("../other/f") == b"other"
    with pytest.raises(OSError):
        await place.write("a\0b", b"")


@pytest.mark.asyncio
async def test_a_policy_holds_in_other_places_too(tmp_path):
    """Links are followed there, not here."""
    for folder in ("work/.git/hooks", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    os.symlink(tmp_path / "outside", tmp_path / "work" / "out")
    os.symlink(tmp_path / "work", tmp_path / "in")
    os.symlink("nowhere/else", tmp_path / "work" / "dangling")
    inner = DockerContext(ContainerSpec("some:1", folder=str(tmp_path / "work")), client=FakeDocker(tmp_path))
    place = GuardedContext(inner, IsolationPolicy((str(tmp_path / "work"),), hidden=()), is_required=True)
    try:
        assert await real_path(place, f"{tmp_path}/in/a/b") == f"{tmp_path}/work/a/b"
        assert await real_path(place, "/") == "/"
        assert await real_path(place, "/nowhere at all/it's") == "/nowhere at all/it's"
        await place.write("a/b", b"x")
        await place.write(f"{tmp_path}/in/c", b"y")
        for path in ("out/x", "../outside/x", ".git/hooks/x", "dangling", "no/../../outside/x"):
            with pytest.raises(OSError):
                await place.write(path, b"x")
        assert os.listdir(tmp_path / "outside") == []
        assert place.info == inner.info
        assert place.info.is_isolated
        assert (await run(place, "echo ran")).stdout == b"ran\n"
    finally:
        await place.aclose()


# --- where it cannot be -----------------------------------------------------------------------------


@pytest.fixture
def without(monkeypatch):
    found = Availability(None, "bubblewrap (bwrap) is not installed")
    monkeypatch.setattr(isolation, "isolation_availability", lambda: found)
    monkeypatch.setattr("zidane_lab.contexts.guarded.isolation_availability", lambda: found)


@pytest.mark.asyncio
async def test_without_bubblewrap_it_says_so(without, project):
    place = guarded(project)
    assert not place.info.is_isolated
    assert place.info.has_network is None
    assert "not installed" in place.reason
    assert (await run(place, "echo ran")).stdout == b"ran\n"
    with pytest.raises(PermissionError):
        await place.write("../x", b"")
    await place.aclose()


@pytest.mark.asyncio
async def test_without_bubblewrap_nothing_runs_where_it_is_required(without, project):
    place = GuardedContext(LocalProcess(project), isolation_policy(project), is_required=True)
    with pytest.raises(ToolError, match="not installed"):
        await run(place, "echo ran > made")
    assert not (project / "made").exists()
    with pytest.raises(ToolError, match="cannot be kept inside"):
        isolated(Command("true"), place.policy, str(project))


@pytest.mark.parametrize(
    ("script", "reason"), [(None, "not installed"), ("#!/bin/sh\necho no userns >&2\nexit 1\n", "no userns")]
)
def test_why_it_cannot_be(monkeypatch, tmp_path, script, reason):
    if sys.platform != "linux":
        reason = "on Linux only"
    if script is not None:
        (tmp_path / "bwrap").write_text(script)
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = isolation_availability.__wrapped__()
    assert not found
    assert reason in found.reason


def test_the_order_of_what_lies_over_what(project):
    policy = isolation_policy(project, allow_write=str(project.parent / "other"))
    line = bubblewrap_argv(policy, str(project), ["true"])
    root, hooks, key = (line.index(str(each)) for each in (project, project / ".git/hooks", project.parent / ".ssh"))
    assert line.index("--ro-bind") < line.index("--proc") < root < hooks < key
    assert line[root - 1] == "--bind"
    assert line[hooks - 1] == "--ro-bind"
    assert line[key - 1] == "--tmpfs"
    assert line[-2:] == ["--", "true"]
    assert "--share-net" not in line
