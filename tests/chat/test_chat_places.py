"""A chat whose files and commands are elsewhere: on a machine reached by SSH, in a container, now here and now there."""

from __future__ import annotations

import asyncio
import itertools
import json

import asyncssh
import pytest
import pytest_asyncio

from tests.contexts.contract import gone
from tests.contexts.fake_docker import FakeDocker
from tests.contexts.ssh_server import serve
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.place import Place
from zidane_lab.contexts.base import ContextLostError
from zidane_lab.contexts.isolation import Availability, isolation_availability
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import GuardHit

pytestmark = pytest.mark.asyncio
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    server, person = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    server.write_private_key(str(folder / "server"))
    person.write_private_key(str(folder / "person"))
    person.write_public_key(str(folder / "accepted"))
    return folder


@pytest_asyncio.fixture
async def server(tmp_path, keys):
    (tmp_path / "far" / "work").mkdir(parents=True)
    server, listener = await serve(tmp_path / "far", str(keys / "server"), str(keys / "accepted"))
    yield server
    listener.close()
    await listener.wait_closed()
    await server.close()


@pytest.fixture
def there(server):
    """The working folder on the other machine."""
    return server.home / "work"


def settings_for(server, keys, **more):
    known = keys / f"known-{server.port}"
    public = asyncssh.read_private_key(str(keys / "server")).export_public_key().decode().strip()
    known.write_text(f"[127.0.0.1]:{server.port} {public}\n")
    gpu = {"kind": "ssh", "host": "127.0.0.1", "user": "ada", "port": server.port, "folder": "work"}
    gpu |= {"known_hosts": [str(known)], "keys": [str(keys / "person")], "config": []}
    return {"contexts": {"gpu": gpu}, "context": "gpu", **more}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder on this machine: of the kernel, and of the notebook."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return folder


def configure(here, settings):
    (here.parent / "config").mkdir(exist_ok=True)
    (here.parent / "config" / "settings.json").write_text(json.dumps(settings))


@pytest_asyncio.fixture
async def chat(here, server, keys):
    configure(here, settings_for(server, keys))
    made = Chat(Place(here / "work.ipynb", here, "told"), env={"ZIDANE_HOME": str(here.parent / "config")})
    yield made
    await made.close()


class Person:
    """Answers questions in order; keeps what was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def __call__(self, question):
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


class Notices:
    """Keeps what is told about the place."""

    def __init__(self):
        self.texts = []

    def install(self, hooks):
        return hooks.on(GuardHit, lambda event: self.texts.append(event.text) if event.guard == "place" else None)


def scripted(chat, *answers):
    name = f"s{next(NUMBERS)}.json"
    (chat.place.folder / name).write_text(json.dumps({"answers": list(answers)}))
    return f"scripted/{chat.place.folder / name}"


async def do(chat, person, *calls, bundles=()):
    """Have the scripted model make the calls one after another; return their results."""
    answers = [{"calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls]
    model = scripted(chat, *answers, "Done.")
    result = await chat.ask("go", AskOptions(model=model), executor=None, ask=person, bundles=bundles)
    return [found for turn in result.turns for found in turn.tool_results]


def requests(chat):
    return chat._providers.target("scripted").provider.requests


async def run_in(chat, name):
    return (await run_command(f"/run-in {name}", CommandContext(chat))).text


# --- another machine --------------------------------------------------------------------------------


async def test_it_reads_edits_and_runs_there_and_nothing_here(chat, here, there, server):
    (there / "a.py").write_text("x = 1\n")
    (here / "a.py").write_text("untouched\n")
    person, notices = Person(True, True), Notices()
    seen, edited, ran, listed = await do(
        chat,
        person,
        ("read_file", {"path": "a.py"}),
        ("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}),
        ("shell", {"command": "cat a.py && pwd && touch made"}),
        ("list_files", {}),
        bundles=[notices],
    )
    assert "x = 1" in seen.text
    assert not edited.is_error, edited.text
    assert (there / "a.py").read_text() == "x = 2\n"
    assert ran.text.splitlines()[:2] == ["x = 2", str(there)]
    assert "made" in listed.text
    assert (here / "a.py").read_text() == "untouched\n"
    assert not (here / "made").exists()
    assert "+x = 2" in person.asked[0].diff  # the preview is of the file there
    (request, *_) = requests(chat)
    assert f"working folder {there}" in request.system
    assert "run_python, variables" in request.system
    assert notices.texts == [f"Files and commands: gpu (another machine) at {there}; run_python stays in this kernel."]


async def test_no_variable_of_this_machine_gets_there(chat, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    (ran,) = await do(chat, Person(True), ("shell", {"command": "env"}))
    assert not ran.is_error
    assert "SSH_CLIENT" in ran.text
    assert "hunter2" not in ran.text


async def test_background_tasks_run_there(chat, there):
    _, waited = await do(
        chat,
        Person(True),
        ("shell", {"command": "pwd; touch made-by-a-task", "background": True}),
        ("wait_task", {"seconds": 20}),
    )
    assert str(there) in waited.text
    assert (there / "made-by-a-task").exists()


async def test_the_connection_is_kept_over_runs(chat, server):
    for _ in range(3):
        await do(chat, Person(), ("list_files", {}))
    assert len(server.connections) == 1


async def test_an_unknown_machine_stops_the_run_before_it_begins(chat, here, keys, server):
    (keys / f"known-{server.port}").write_text("")
    with pytest.raises(ContextLostError, match="known_hosts"):
        await do(chat, Person(), ("shell", {"command": "touch made"}))
    assert not (here / "made").exists()
    assert chat.session.turns == ()
    await run_in(chat, "process")
    (ran,) = await do(chat, Person(True), ("shell", {"command": "touch made"}))
    assert not ran.is_error
    assert (here / "made").exists()


async def test_only_one_run_begins_while_a_place_is_opened(chat, monkeypatch):
    begun = asyncio.Event()

    async def slow(*_arguments, **_named):
        begun.set()
        await asyncio.sleep(3600)

    monkeypatch.setattr(chat.places, "current", slow)
    first = asyncio.ensure_future(do(chat, Person(), ("list_files", {})))
    await begun.wait()
    with pytest.raises(ConfigurationError, match="under way"):
        await do(chat, Person(), ("list_files", {}))
    for refuse in (chat.new, chat.resume):
        with pytest.raises(ConfigurationError, match="under way"):
            refuse()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    monkeypatch.undo()
    chat.new()


# --- its end ----------------------------------------------------------------------------------------


async def until(test, seconds=10.0):
    for _ in range(int(seconds / 0.02)):
        if test():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen in time")


async def test_a_connection_lost_in_the_middle_is_told_and_made_again_with_the_next_prompt(chat, there, server):
    call = ("shell", {"command": "touch begun; sleep 60"})
    running = asyncio.ensure_future(do(chat, Person(True), call, ("read_file", {"path": "begun"})))
    await until((there / "begun").exists)
    server.connections[0].abort()
    cut, later = await asyncio.wait_for(running, 20)
    assert cut.is_error
    assert "lost" in cut.text
    assert later.is_error
    assert "connection" in later.text
    assert len(server.connections) == 1  # nothing is made again behind anybody's back
    notices = Notices()
    (seen,) = await do(chat, Person(), ("read_file", {"path": "begun"}), bundles=[notices])
    assert not seen.is_error
    assert len(server.connections) == 2
    assert "It was connected to again" in notices.texts[0]
    said = [turn.text for turn in chat.session.turns if turn.role == "user" and "connected to again" in turn.text]
    assert len(said) == 1  # the model knows, too
    assert "<system-note>" in said[0]
    await do(chat, Person(), ("list_files", {}), bundles=[notices])
    assert sum("connected to again" in text for text in notices.texts) == 1


async def test_stopping_the_run_ends_what_runs_there(chat, there):
    running = asyncio.ensure_future(
        do(chat, Person(True), ("shell", {"command": "echo $$ > pid; sleep 61; touch done"}))
    )
    await until(lambda: (there / "pid").exists() and (there / "pid").read_text().strip())
    assert await chat.settle(20)
    (cut,) = await running
    assert cut.is_error, cut.text
    assert await gone(LocalProcess(there), int((there / "pid").read_text()), 30)
    assert not (there / "done").exists()


async def test_closing_the_chat_ends_everything_there(chat, there, server):
    await do(chat, Person(True), ("shell", {"command": "echo $$ > pid; sleep 62", "background": True}))
    await until(lambda: (there / "pid").exists() and (there / "pid").read_text().strip())
    await chat.close()
    assert await gone(LocalProcess(there), int((there / "pid").read_text()), 30)
    await until(server.connections[0].is_closed)
    (listed,) = await do(chat, Person(), ("list_files", {}))  # and it can be used again
    assert "pid" in listed.text


# --- a container ------------------------------------------------------------------------------------


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """A stand-in whose containers are folders: the working folder inside must be one that is here."""
    (tmp_path / "inside").mkdir()
    made = FakeDocker(tmp_path / "inside")
    monkeypatch.setattr("zidane_lab.contexts.docker.docker_client", lambda: made)
    return made


async def test_a_container_that_is_gone_is_replaced_with_the_next_prompt(chat, here, daemon, tmp_path):
    folder = tmp_path / "inside"
    box = {"kind": "docker", "image": "some:1", "project": "none", "folder": str(folder)}
    configure(here, {"contexts": {"box": box}, "context": "box"})
    notices = Notices()
    written, ran = await do(
        chat,
        Person(True, True),
        ("write_file", {"path": "a.txt", "content": "x\n"}),
        ("shell", {"command": "env; ls"}),
        bundles=[notices],
    )
    assert not written.is_error, written.text
    assert (folder / "a.txt").exists()
    assert "a.txt" in ran.text
    assert "SHELL=" not in ran.text
    (container,) = daemon.found.values()
    container.end()
    (lost,) = await do(chat, Person(), ("list_files", {}), bundles=[notices])
    assert not lost.is_error  # found out before the run, and a new one was started
    assert len(daemon.ran) == 2
    assert any("A new one was started" in text for text in notices.texts)
    running = asyncio.ensure_future(
        do(chat, Person(True), ("shell", {"command": "touch begun; sleep 60"}), ("read_file", {"path": "a.txt"}))
    )
    await until((folder / "begun").exists)
    for each in daemon.found.values():
        each.end()
    cut, later = await asyncio.wait_for(running, 20)
    assert cut.is_error
    assert later.is_error
    await chat.close()
    assert all(each.status != "running" for each in daemon.found.values())


# --- this machine, kept inside ------------------------------------------------------------------------


@pytest.mark.skipif(not isolation_availability(), reason=isolation_availability().reason)
async def test_commands_are_kept_inside_the_project(chat, here, there):
    (here.parent / "more").mkdir()
    configure(here, {"isolation": "required", "allow_write": ["../more"]})
    (here / ".git" / "hooks").mkdir(parents=True)
    inside, outside, hook, more, tool = await do(
        chat,
        Person(*[True] * 5),
        ("shell", {"command": "touch inside && ls"}),
        ("shell", {"command": f"touch {there}/outside"}),
        ("shell", {"command": "echo x > .git/hooks/pre-commit"}),
        ("shell", {"command": "touch ../more/made"}),
        ("write_file", {"path": str(there / "outside"), "content": "x"}),
    )
    assert not inside.is_error, inside.text
    assert (here / "inside").exists()
    assert not more.is_error
    for refused in (outside, hook, tool):
        assert refused.is_error
    assert not (there / "outside").exists()
    assert not (here / ".git" / "hooks" / "pre-commit").exists()
    (request, *_) = requests(chat)
    assert f"may write only in {here}, {here.parent / 'more'}; commands have no network" in request.system


@pytest.mark.parametrize(("isolation", "runs"), [("auto", True), ("required", False)])
async def test_where_nothing_keeps_commands_inside(chat, here, monkeypatch, isolation, runs):
    missing = Availability(None, "bubblewrap (bwrap) is not installed")
    monkeypatch.setattr("zidane_lab.contexts.guarded.isolation_availability", lambda: missing)
    configure(here, {"isolation": isolation})
    notices = Notices()
    (ran,) = await do(chat, Person(True), ("shell", {"command": "touch made"}), bundles=[notices])
    assert (here / "made").exists() == runs
    assert ran.is_error != runs
    how = "not kept inside" if runs else "refused"
    assert notices.texts == [f"Commands are {how}: bubblewrap (bwrap) is not installed."]
    await do(chat, Person(), bundles=[notices])
    assert len(notices.texts) == 1
