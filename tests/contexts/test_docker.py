"""Containers: the contract against a stand-in for the daemon everywhere, and against a real one where there is one."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import socket
import subprocess
import warnings

import docker
import docker.errors
import psutil
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from tests.contexts.contract import ContextContract, ignore, run, until_there
from tests.contexts.fake_docker import FakeDocker
from zidane_lab.contexts.base import Command, ContextLostError
from zidane_lab.contexts.container import (
    LABEL,
    OWNER_LABEL,
    ContainerSpec,
    Mount,
    leftover_containers,
    owner,
    remove_leftovers,
)
from zidane_lab.contexts.docker import DockerContext, docker_client
from zidane_lab.contexts.docker_exec import Frames
from zidane_lab.errors import ConfigurationError, ToolError


@pytest.fixture
def daemon(tmp_path):
    return FakeDocker(tmp_path)


@pytest_asyncio.fixture
async def place(tmp_path, daemon):
    (tmp_path / "work").mkdir()
    context = DockerContext(ContainerSpec("some:1", folder=str(tmp_path / "work")), client=daemon)
    yield context
    await context.aclose()


class TestWithAStandIn(ContextContract):
    @pytest_asyncio.fixture
    async def place(self, tmp_path):
        (tmp_path / "work").mkdir()
        context = DockerContext(ContainerSpec("some:1", folder=str(tmp_path / "work")), client=FakeDocker(tmp_path))
        yield context
        await context.aclose()


# --- the stream -----------------------------------------------------------------------------------


def frame(number, data):
    return bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=12),
    st.lists(st.integers(1, 17), min_size=1, max_size=60),
)
def test_frames_cut_anywhere_give_the_same_streams(sent, cuts):
    data = b"".join(frame(number, piece) for number, piece in sent)
    frames, streams, at = Frames(), {"stdout": b"", "stderr": b""}, 0
    for cut in [*cuts, len(data)]:
        for stream, piece in frames.feed(data[at : at + cut]):
            streams[stream] += piece
        at += cut
    for number, name in ((1, "stdout"), (2, "stderr")):
        assert streams[name] == b"".join(piece for each, piece in sent if each == number)


# --- what container -------------------------------------------------------------------------------


def test_a_container_is_closed_by_default():
    given = ContainerSpec("some:1", mounts=(Mount("/data", "/data", read_only=True),)).arguments()
    assert given["network_mode"] == "none"
    assert given["cap_drop"] == ["ALL"]
    assert given["security_opt"] == ["no-new-privileges:true"]
    assert given["mem_limit"] == given["memswap_limit"] == "4g"
    assert (given["nano_cpus"], given["pids_limit"]) == (2_000_000_000, 512)
    assert not given.get("privileged")
    assert given["volumes"] == ["/data:/data:ro"]
    assert given["user"].split(":")[0] != "0"
    assert not any("docker.sock" in each for each in given["volumes"])
    assert "noexec" not in given["tmpfs"]["/tmp"]


def test_limits_and_doors_are_passed_on():
    spec = ContainerSpec(
        "some:1", network=True, user="7:8", read_only_root=True, memory="512m", cpus=0.5, pids=20, env={"A": "b"}
    )
    given = spec.arguments()
    assert "network_mode" not in given
    assert given["user"] == "7:8"
    assert given["read_only"] is True
    assert (given["mem_limit"], given["nano_cpus"], given["pids_limit"]) == ("512m", 500_000_000, 20)
    assert given["environment"]["A"] == "b"
    assert "uid=7,gid=8" in given["tmpfs"]["/workspace"]


def test_commands_run_as_the_owner_of_the_project(tmp_path):
    spec = ContainerSpec("some:1", mounts=(Mount(str(tmp_path), "/workspace"),))
    uid = os.stat(tmp_path).st_uid
    assert spec.runs_as.split(":")[0] == (str(uid) if uid else "1000")
    assert "/workspace" not in spec.arguments()["tmpfs"]


@pytest.mark.parametrize("bad", [{"image": " "}, {"image": "some:1", "folder": "work"}])
def test_a_spec_that_cannot_be(bad):
    with pytest.raises(ConfigurationError):
        ContainerSpec(**bad)


# --- its life -------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_it_starts_when_it_is_needed_and_only_once(place, daemon):
    assert place.resolve("a").endswith("/work/a")
    assert daemon.ran == []
    assert place.container_id is None
    await asyncio.gather(*(place.write(name, b"x") for name in "abc"))
    assert len(daemon.ran) == 1
    assert place.container_id in daemon.found


@pytest.mark.asyncio
async def test_closing_removes_it_and_ends_its_use(place, daemon):
    await place.write("a", b"x")
    await place.aclose()
    assert daemon.found == {}
    with pytest.raises(ContextLostError):
        await place.read("a")
    await place.aclose()


@pytest.mark.asyncio
async def test_closing_what_was_never_needed_starts_nothing(place, daemon):
    await place.aclose()
    assert daemon.ran == []


@pytest.mark.asyncio
async def test_giving_up_while_it_starts_leaves_no_container_behind(tmp_path, daemon):
    context = DockerContext(ContainerSpec("some:1", folder=str(tmp_path)), client=daemon)
    asking = asyncio.ensure_future(context.read("a"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})
    await context.aclose()
    assert daemon.found == {}


@pytest.mark.asyncio
async def test_one_that_is_forgotten_is_removed(tmp_path, daemon):
    context = DockerContext(ContainerSpec("some:1", folder=str(tmp_path)), client=daemon)
    await context.write("a", b"")
    await asyncio.sleep(0.05)
    del context
    gc.collect()
    assert daemon.found == {}


@pytest.mark.asyncio
async def test_an_image_that_is_not_there_is_fetched(tmp_path, daemon):
    context = DockerContext(ContainerSpec("registry:5/other", folder=str(tmp_path)), client=daemon)
    with pytest.raises(ToolError):  # the stand-in files it under its tag
        await context.write("a", b"")
    assert daemon.pulled == [("registry:5/other", "latest")]
    context = DockerContext(ContainerSpec("python:3.12-slim", folder=str(tmp_path)), client=daemon)
    await context.write("a", b"")
    assert daemon.pulled[-1] == ("python", "3.12-slim")
    await context.aclose()


@pytest.mark.asyncio
@pytest.mark.parametrize("spec", [{"image": "nowhere:1"}, {"image": "other:1", "pull": False}])
async def test_an_image_that_cannot_be_had(tmp_path, daemon, spec):
    context = DockerContext(ContainerSpec(folder=str(tmp_path), **spec), client=daemon)
    with pytest.raises(ToolError, match="There is no image"):
        await context.read("a")
    await context.aclose()


@pytest.mark.asyncio
async def test_a_container_that_is_gone_is_lost_for_good(place, daemon):
    await place.write("a", b"x")
    running = await place.start(Command("echo here > pid; sleep 60"), ignore)
    await until_there(place, "pid")
    next(iter(daemon.found.values())).end()
    with pytest.raises(ContextLostError):
        await asyncio.wait_for(running.wait(), 15)
    for attempt in (place.read("a"), place.write("a", b"y"), run(place, "echo x")):
        with pytest.raises(ContextLostError):
            await attempt
    assert len(daemon.ran) == 1  # nothing was started anew behind anybody's back


@pytest.mark.asyncio
async def test_it_can_be_asked_whether_it_is_still_there(place, daemon):
    assert await place.lost() is None
    assert daemon.ran == []  # asking starts nothing
    await place.write("a", b"x")
    assert await place.lost() is None
    (container,) = daemon.found.values()
    container.end()
    lost = await place.lost()
    assert "has ended" in lost.message
    with pytest.raises(ContextLostError, match="has ended"):
        await place.read("a")


@pytest.mark.asyncio
async def test_no_variable_of_this_machine_gets_in(place, daemon, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    ran = await run(place, "env", env={"GIVEN": "on purpose"})
    assert b"GIVEN=on purpose\n" in ran.stdout
    assert b"hunter2" not in ran.stdout
    assert daemon.ran[0]["environment"] == {"HOME": "/home/zidane"}


def test_containers_that_see_or_may_do_something_else_are_others():
    specs = [
        ContainerSpec("some:1"),
        ContainerSpec("some:1", network=True),
        ContainerSpec("some:1", mounts=(Mount("/a", "/workspace"),)),
        ContainerSpec("some:1", mounts=(Mount("/a", "/workspace", read_only=True),)),
        ContainerSpec("some:1", env={"A": "1"}),
    ]
    identities = [each.identity for each in specs]
    assert len(set(identities)) == len(specs)
    assert all(each.startswith("some:1#") for each in identities)
    assert ContainerSpec("some:1").identity == identities[0]
    info = DockerContext(specs[1]).info
    assert info.where == f"docker:{identities[1]}"


@pytest.mark.parametrize(
    ("folder", "mounts", "root", "in_memory"),
    [
        ("/workspace", (), "/workspace", True),
        ("/workspace/notebooks", (Mount("/p", "/workspace"), Mount("/d", "/data")), "/workspace", False),
        ("/workspace2", (Mount("/p", "/workspace"),), "/workspace2", True),
        ("/a/b/c", (Mount("/p", "/a"), Mount("/q", "/a/b")), "/a/b", False),
        ("/x", (Mount("/p", "/"),), "/", False),
    ],
)
def test_the_working_folder_may_be_in_a_mount(folder, mounts, root, in_memory):
    spec = ContainerSpec("some:1", folder=folder, mounts=mounts)
    assert (folder in spec.arguments()["tmpfs"]) == in_memory
    assert DockerContext(spec).root == root


@pytest.mark.parametrize("mount", [Mount("/a:b", "/workspace"), Mount("/a", "/b:c")])
def test_a_mount_whose_path_would_be_read_as_something_else(mount):
    with pytest.raises(ConfigurationError, match="colon"):
        ContainerSpec("some:1", mounts=(mount,))


@pytest.mark.asyncio
async def test_a_command_that_was_killed_is_not_a_lost_container(place):
    assert (await run(place, "kill -9 $$")).completed.exit_code == 137
    assert (await run(place, "echo on")).stdout == b"on\n"


@pytest.mark.asyncio
async def test_a_daemon_that_does_not_answer(place, daemon):
    await place.write("a", b"x")

    def refuse(*_arguments, **_named):
        raise ConnectionRefusedError(111, "Connection refused")

    daemon.api.exec_create = refuse
    with pytest.raises(ContextLostError, match="does not answer"):
        await place.read("a")


def test_no_daemon_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with warnings.catch_warnings():  # the SDK forgets the socket it could not connect
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(ConfigurationError, match="No Docker daemon"):
            docker_client()
        gc.collect()


def test_no_sdk(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "docker", None)
    with pytest.raises(ConfigurationError, match="zidane_lab\\[docker\\]"):
        docker_client()


def test_leftovers_of_ended_processes_of_this_machine_are_found(daemon):
    here, pid = socket.gethostname(), os.getpid()
    child = subprocess.Popen(["sleep", "0"])
    child.wait()
    labels = {
        "mine": owner(),
        "dead": f"{here}/{child.pid}/12.50",
        "number used again": f"{here}/{pid}/12.50",
        "elsewhere": f"not-{here}/{child.pid}/12.50",
        "odd": "x",
    }
    for name, label in labels.items():
        daemon._run(image="some:1", labels={LABEL: "1", OWNER_LABEL: label, "name": name})
    daemon._run(image="some:1", labels={"someone": "else's"})
    assert {each.labels["name"] for each in leftover_containers(daemon)} == {"dead", "number used again"}
    assert remove_leftovers(daemon) == 2
    assert len(daemon.found) == 4
    assert psutil.pid_exists(pid)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_folder_of_many_files(place):
    await run(place, "mkdir many; cd many; i=0; while [ $i -lt 450 ]; do : > f$i; i=$((i+1)); done")
    found = await place.list("many")
    assert [info.name for info in found] == sorted(f"f{number}" for number in range(450))


@pytest.mark.asyncio
async def test_names_with_line_ends(place):
    for name in ("a\nb", "end\n", "\n"):
        await place.write(name, name.encode())
    assert [info.name for info in await place.list(".")] == sorted(["a\nb", "end\n", "\n"])
    await run(place, "ln -s 'end\n' link")
    await place.write("link", b"through")
    assert await place.read("end\n") == b"through"


@pytest.mark.asyncio
async def test_a_name_the_daemon_cannot_take(place):
    with pytest.raises(OSError):
        await place.read(os.fsdecode(b"\xff"))


@pytest.mark.asyncio
async def test_half_a_file_does_not_replace_a_whole_one(place, monkeypatch):
    """When the connection breaks on the way, the old file stays."""
    await place.write("f", b"old")
    ask = place._files._ask

    async def cut(argv, stdin):
        *rest, size, name = argv
        return await ask([*rest, str(int(size) + 5), name], stdin) if stdin else await ask(argv, stdin)

    place._files._ask = cut
    writing = asyncio.ensure_future(place.write("f", b"new"))
    await asyncio.sleep(0.5)
    for container in place._client.found.values():  # the daemon lets go of the input
        for each in container.execs.values():
            if each.running:
                each.process.stdin.close()
    with pytest.raises(OSError, match="Input/output"):
        await writing
    place._files._ask = ask
    assert await place.read("f") == b"old"
    assert [info.name for info in await place.list(".")] == ["f"]


# --- a real daemon --------------------------------------------------------------------------------

IMAGE = os.environ.get("ZIDANE_TEST_IMAGE", "debian:stable-slim")
"""Needs to be there already; nothing is fetched."""


def _has_daemon():
    if not (program := shutil.which("docker")):
        return False
    return subprocess.run([program, "image", "inspect", IMAGE], capture_output=True, timeout=20).returncode == 0


HAS_DAEMON = _has_daemon()
with_daemon = pytest.mark.skipif(not HAS_DAEMON, reason=f"no Docker daemon with the image {IMAGE}")


@pytest.fixture
def real():
    client = docker_client()
    yield client
    client.close()


if HAS_DAEMON:

    @pytest.mark.slow
    class TestWithADaemon(ContextContract):
        @pytest_asyncio.fixture
        async def place(self, real):
            context = DockerContext(ContainerSpec(IMAGE, pull=False), client=real)
            yield context
            await context.aclose()

    @pytest.mark.slow
    class TestWithADaemonAndAReadOnlyImage(ContextContract):
        @pytest_asyncio.fixture
        async def place(self, real):
            context = DockerContext(ContainerSpec(IMAGE, pull=False, read_only_root=True, user="7:7"), client=real)
            yield context
            await context.aclose()


@pytest.mark.slow
@with_daemon
@pytest.mark.asyncio
async def test_a_real_container_is_closed(real, tmp_path):
    (tmp_path / "seen").write_text("from outside")
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(folder.stat().st_mode | 0o055)
    spec = ContainerSpec(IMAGE, pull=False, mounts=(Mount(str(tmp_path), "/project", read_only=True),), pids=64)
    context = DockerContext(spec, client=real)
    try:
        assert await context.read("/project/seen") == b"from outside"
        with pytest.raises(OSError):
            await context.write("/project/new", b"")
        with pytest.raises(PermissionError):
            await context.write("/etc/new", b"")
        ran = await run(context, "cat /sys/class/net/*/operstate /proc/self/status; ls /sys/class/net; id -u")
        facts = ran.stdout.decode()
        assert "CapEff:\t0000000000000000" in facts
        assert "NoNewPrivs:\t1" in facts
        assert facts.split()[-2:] == ["lo", "1000"]
        ran = await run(context, "i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; echo all", timeout=20)
        assert b"all\n" not in ran.stdout
        container = real.containers.get(context.container_id)
        assert container.attrs["HostConfig"]["Memory"] == 4 * 1024**3
    finally:
        await context.aclose()
    with pytest.raises(docker.errors.NotFound):
        real.containers.get(container.id)


@pytest.mark.slow
@with_daemon
@pytest.mark.asyncio
async def test_a_real_container_that_is_killed(real):
    context = DockerContext(ContainerSpec(IMAGE, pull=False), client=real)
    running = await context.start(Command("sleep 100"), ignore)
    real.containers.get(context.container_id).remove(force=True)
    with pytest.raises(ContextLostError):
        await asyncio.wait_for(running.wait(), 20)
    with pytest.raises(ContextLostError):
        await context.read("/etc/passwd")
    await context.aclose()
