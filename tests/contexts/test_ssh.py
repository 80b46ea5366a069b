"""Another machine: the contract against a server on the loopback, and a connection that is not, or no longer, to be had."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from dataclasses import replace

import asyncssh
import pytest
import pytest_asyncio

from tests.contexts.contract import ContextContract, gone, ignore, run, until_there
from tests.contexts.ssh_server import serve
from zidane_lab.contexts.base import Command, ContextLostError
from zidane_lab.contexts.ssh import SshContext, SshHost
from zidane_lab.errors import ConfigurationError


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A server's key, a person's key, and the files that go with them."""
    folder = tmp_path_factory.mktemp("keys")
    server, person = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    server.write_private_key(str(folder / "server"))
    person.write_private_key(str(folder / "person"))
    person.write_public_key(str(folder / "accepted"))
    return folder


def host_of(server, keys, **options):
    known = keys / f"known-{server.port}"
    public = asyncssh.read_private_key(str(keys / "server")).export_public_key().decode().strip()
    known.write_text(f"[127.0.0.1]:{server.port} {public}\n")
    given = {"known_hosts": (str(known),), "keys": (str(keys / "person"),), "config": ()}
    return SshHost("127.0.0.1", user="ada", port=server.port, **{**given, **options})


@pytest_asyncio.fixture
async def server(tmp_path, keys):
    (tmp_path / "home").mkdir()
    server, listener = await serve(tmp_path / "home", str(keys / "server"), str(keys / "accepted"))
    yield server
    listener.close()
    await listener.wait_closed()
    await server.close()


@pytest_asyncio.fixture
async def place(server, keys):
    (server.home / "work").mkdir()
    context = await SshContext.connect(host_of(server, keys, folder="work"))
    yield context
    await context.aclose()


class TestSsh(ContextContract):
    @pytest_asyncio.fixture
    async def place(self, server, keys):
        (server.home / "work").mkdir()
        context = await SshContext.connect(host_of(server, keys, folder="work"))
        yield context
        await context.aclose()


REAL_SERVER = os.environ.get("ZIDANE_TEST_SSH", "")

if REAL_SERVER:

    @pytest.mark.slow
    class TestWithARealServer(ContextContract):
        """``ZIDANE_TEST_SSH``: ``user@host:port``, whose key is known and which lets the person in."""

        @pytest_asyncio.fixture
        async def place(self):
            user, _, rest = REAL_SERVER.rpartition("@")
            name, _, port = rest.partition(":")
            host = SshHost(name, user=user or None, port=int(port or 22))
            context = await SshContext.connect(host)
            folder = (await run(context, "mktemp -d")).stdout.decode().strip()
            await context.aclose()
            context = await SshContext.connect(replace(host, folder=folder))
            yield context
            await context.aclose()
            context = await SshContext.connect(host)
            await run(context, f"rm -rf {folder}")
            await context.aclose()


# --- who is let in, and who is believed -------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_machine_with_another_key_is_refused(server, keys):
    host = host_of(server, keys)
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    with open(host.known_hosts[0], "w") as known:
        known.write(f"[127.0.0.1]:{server.port} {other}")
    with pytest.raises(ContextLostError, match="never accept a changed one"):
        await SshContext.connect(host)
    assert server.commands == []


@pytest.mark.asyncio
async def test_an_unknown_machine_is_refused(server, keys, tmp_path):
    (tmp_path / "empty").write_text("")
    with pytest.raises(ContextLostError, match="known_hosts"):
        await SshContext.connect(host_of(server, keys, known_hosts=(str(tmp_path / "empty"),)))


@pytest.mark.asyncio
async def test_without_known_hosts_nobody_is_believed(server, keys, tmp_path):
    for files in ((), (str(tmp_path / "none"),)):
        with pytest.raises(ConfigurationError, match="impostor"):
            await SshContext.connect(host_of(server, keys, known_hosts=files))
    assert server.connections == []


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "line",
    ["UserKnownHostsFile none", "StrictHostKeyChecking no", "UserKnownHostsFile /dev/null\nStrictHostKeyChecking no"],
)
async def test_no_configuration_turns_that_off(server, keys, tmp_path, line):
    (tmp_path / "config").write_text(f"Host *\n{line}\n")
    (tmp_path / "empty").write_text("")
    host = host_of(server, keys, known_hosts=(str(tmp_path / "empty"),), config=(str(tmp_path / "config"),))
    with pytest.raises(ContextLostError):
        await SshContext.connect(host)


@pytest.mark.asyncio
async def test_an_alias_of_the_configuration(server, keys, tmp_path):
    (tmp_path / "config").write_text(f"Host lab\nHostName 127.0.0.1\nPort {server.port}\nUser grace\n")
    host = host_of(server, keys)
    context = await SshContext.connect(
        SshHost("lab", known_hosts=host.known_hosts, keys=host.keys, config=(str(tmp_path / "config"),))
    )
    assert context.cwd == str(server.home)
    assert context.info.name == "lab"
    await context.aclose()


@pytest.mark.asyncio
async def test_a_person_whose_key_is_not_accepted(server, keys, tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(tmp_path / "other"))
    with pytest.raises(ContextLostError, match="ssh-add"):
        await SshContext.connect(replace(host_of(server, keys), keys=(str(tmp_path / "other"),)))


@pytest.mark.asyncio
async def test_nobody_there(server, keys):
    host = host_of(server, keys)
    port = server.port + 1 if server.port < 65_000 else server.port - 1
    with pytest.raises(ContextLostError, match="cannot be reached"):
        await SshContext.connect(SshHost("127.0.0.1", port=port, known_hosts=host.known_hosts, config=()))


def test_no_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "asyncssh", None)
    with pytest.raises(ConfigurationError, match="zidane_lab\\[ssh\\]"):
        asyncio.run(SshContext.connect(SshHost("host", known_hosts=(__file__,))))


@pytest.mark.asyncio
async def test_nothing_of_this_machine_goes_there(server, keys, tmp_path, monkeypatch):
    """Whatever the person's configuration wants for terminals: variables, the screen, the agent's keys."""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    (tmp_path / "config").write_text(
        "Host *\nSendEnv SECRET_* PATH *\nForwardX11 yes\nForwardX11Trusted yes\nForwardAgent yes\n"
    )
    context = await SshContext.connect(host_of(server, keys, config=(str(tmp_path / "config"),)))
    ran = await run(context, "env", env={"GIVEN": "on purpose"})
    assert b"GIVEN=on purpose\n" in ran.stdout
    assert b"hunter2" not in ran.stdout
    assert server.given
    assert not any(server.given)
    assert context._connection._options.x11_forwarding is False
    assert context._connection._options.agent_forward_path is None
    await context.aclose()


# --- folders ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("folder", "expected"), [("", ""), ("work", "/work"), ("~/work", "/work"), ("a/../work", "/work"), ("/etc", None)]
)
async def test_where_it_begins(server, keys, folder, expected):
    context = await SshContext.connect(host_of(server, keys, folder=folder))
    assert context.cwd == ("/etc" if expected is None else f"{server.home}{expected}")
    assert not context.info.is_local
    assert not context.info.is_isolated
    await context.aclose()


@pytest.mark.asyncio
async def test_names_that_are_no_text(place):
    name = os.fsdecode(b"\xff\xfe")
    await place.write(name, b"x")
    assert [info.name for info in await place.list(".")] == [name]
    assert await place.read(name) == b"x"


@pytest.mark.asyncio
async def test_a_failed_write_leaves_the_old_file_and_nothing_else(place, monkeypatch):
    await place.write("f", b"old")

    async def fail(*_arguments):
        raise asyncssh.SFTPFailure("disk trouble")

    monkeypatch.setattr(asyncssh.SFTPClient, "posix_rename", fail)
    with pytest.raises(OSError, match="disk trouble"):
        await place.write("f", b"new")
    assert await place.read("f") == b"old"
    assert [info.name for info in await place.list(".")] == ["f"]


# --- shells -----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_shell_that_talks_before_it_begins(tmp_path, keys, server):
    """Start-up files print things; they are not the command's output."""
    shell = tmp_path / "talkative"
    shell.write_text('#!/bin/sh\necho "Welcome, zidane"; echo "last login: never" >&2\nexec sh "$@"\n')
    shell.chmod(0o755)
    server.shell = str(shell)
    context = await SshContext.connect(host_of(server, keys))
    ran = await run(context, "echo out; echo err >&2")
    assert (ran.stdout, ran.stderr) == (b"out\n", b"err\n")
    await context.aclose()


@pytest.mark.asyncio
async def test_an_account_without_a_shell(server, keys):
    server.shell = "/bin/false"
    context = await SshContext.connect(host_of(server, keys))
    with pytest.raises(OSError):
        await run(context, "echo x")
    await context.aclose()


@pytest.mark.asyncio
@pytest.mark.skipif(not shutil.which("setsid"), reason="the system has no setsid")
async def test_a_server_that_gives_no_session(server, keys):
    """Each command gets one of its own, or ending it would end the server's."""
    server.new_session = False
    context = await SshContext.connect(host_of(server, keys))
    running = await context.start(Command("sleep 50 & echo $! > child; sleep 51"), ignore)
    child = int(await until_there(context, "child"))
    assert os.getsid(child) == int(running.id) != os.getsid(0)
    await running.stop(grace=0.3)
    assert await gone(context, child)
    await context.aclose()


@pytest.mark.asyncio
async def test_what_has_left_its_group_is_ended_too(place):
    running = await place.start(Command("set -m; sleep 52 & echo $! > job; wait"), ignore)
    job = int(await until_there(place, "job"))
    assert os.getpgid(job) != int(running.id)
    await running.stop(grace=0.3)
    assert await gone(place, job)


@pytest.mark.asyncio
async def test_a_signal_is_told(place):
    completed = (await run(place, "kill -9 $$")).completed
    assert (completed.exit_code, completed.signal) == (None, 9)


@pytest.mark.asyncio
async def test_what_is_left_running_is_counted(place):
    running = await place.start(Command("sleep 53 >/dev/null 2>&1 & sleep 53 >/dev/null 2>&1 & echo done"), ignore)
    assert (await running.wait()).left_running == 2
    await running.stop(grace=0.3)
    assert (await running.wait()).exit_code == 0


@pytest.mark.asyncio
@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"-i": "x"}, {"A": "\0"}])
async def test_names_that_no_variable_can_have(place, env):
    with pytest.raises(OSError):
        await run(place, "true", env=env)


@pytest.mark.asyncio
async def test_a_text_that_is_too_long(place):
    with pytest.raises(OSError, match="file"):
        await run(place, f"echo {'x' * 140_000} | wc -c")


# --- its end ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_broken_connection_is_lost_for_good(place, server):
    running = await place.start(Command("sleep 60"), ignore)
    server.connections[0].abort()
    with pytest.raises(ContextLostError):
        await asyncio.wait_for(running.wait(), 10)
    for attempt in (place.read("a"), place.write("a", b""), place.list("."), run(place, "echo x")):
        with pytest.raises(ContextLostError):
            await attempt
    with pytest.raises(ContextLostError):
        await running.stop()
    assert len(server.connections) == 1  # nothing was connected anew behind anybody's back


@pytest.mark.asyncio
async def test_it_can_be_asked_whether_it_is_still_there(place, server):
    assert await place.lost() is None
    server.connections[0].abort()
    await asyncio.sleep(0.1)
    lost = await place.lost()
    assert isinstance(lost, ContextLostError)
    assert "127.0.0.1" in lost.message
    assert await place.lost() is lost


@pytest.mark.asyncio
async def test_a_machine_that_has_fallen_silent_is_lost(place, monkeypatch):
    async def silence(*_arguments, **_named):
        await asyncio.sleep(3600)

    monkeypatch.setattr("zidane_lab.contexts.ssh.LOOK_SECONDS", 0.05)
    monkeypatch.setattr(asyncssh.SFTPClient, "stat", silence)
    lost = await place.lost()
    assert "nothing was heard" in lost.message
    with pytest.raises(ContextLostError):
        await place.read("a")


@pytest.mark.asyncio
async def test_the_account_may_have_no_home(server, keys):
    """An answer is an answer, also when it is an error."""
    context = await SshContext.connect(host_of(server, keys))
    server.home.rename(server.home.with_name("moved"))
    assert await context.lost() is None
    await context.aclose()


@pytest.mark.parametrize(
    ("host", "identity"),
    [
        (SshHost("h"), "h/~/"),
        (SshHost("h", "ada"), "ada@h/~/"),
        (SshHost("h", "ada", 2222, "/srv"), "ada@h:2222/srv"),
        (SshHost("h", folder="work"), "h/~/work"),
        (SshHost("h", folder="/work"), "h/work"),
    ],
)
def test_places_on_other_machines_are_told_apart(host, identity):
    assert host.identity == identity


@pytest.mark.asyncio
async def test_closing_ends_its_use(place):
    await place.write("a", b"x", mode=0o640)
    assert stat.S_IMODE(os.stat(place.resolve("a")).st_mode) == 0o640
    await place.aclose()
    with pytest.raises(ContextLostError, match="was closed"):
        await place.read("a")
    await place.aclose()


@pytest.mark.asyncio
async def test_more_commands_than_the_server_allows(place, server, monkeypatch):
    async def refuse(*_arguments, **_named):
        raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "too many")

    monkeypatch.setattr(asyncssh.SSHClientConnection, "create_session", refuse)
    with pytest.raises(OSError, match="at the same time") as caught:
        await run(place, "true")
    assert not isinstance(caught.value, ContextLostError)
    monkeypatch.undo()
    assert (await run(place, "echo again")).stdout == b"again\n"
