"""``/run-in``: showing and choosing where files and commands are, completion, and what is said when a session is back."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import zidane_lab.chat.place_commands  # noqa: F401 - registers the command
from tests.contexts.far import Far
from zidane_lab.chat.commands import COMMANDS, CommandContext
from zidane_lab.chat.place_commands import complete_run_in, place_note
from zidane_lab.chat.place_record import record_place
from zidane_lab.chat.places import Places
from zidane_lab.chat.settings import Settings, load_settings
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.session import Session

pytestmark = pytest.mark.asyncio

GPU = {"gpu": {"kind": "ssh", "host": "gpu.example"}, "box": {"kind": "docker", "image": "python:3.12"}}


@pytest.fixture
def chat(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "settings.json").write_text(json.dumps({"contexts": GPU}))
    (tmp_path / "project").mkdir()
    env = {"ZIDANE_HOME": str(tmp_path)}
    places = Places(lambda: tmp_path / "project")
    return SimpleNamespace(env=env, settings=load_settings(env), places=places, agent=None)


async def run_in(chat, text=""):
    return (await COMMANDS["run-in"].run(CommandContext(chat), text)).text


async def test_it_shows_where_things_are_and_what_there_is(chat):
    text = await run_in(chat)
    assert text.startswith("Files and commands are on this machine (by the setting `context`).")
    assert "| process | this machine | used next |" in text
    assert "| gpu | another machine |" in text
    assert "| box | a container |" in text
    assert "docker:IMAGE" in text


async def test_it_chooses_for_this_session(chat):
    text = await run_in(chat, "gpu")
    assert text.startswith("From the next prompt on, files and commands are on `gpu (another machine), not open yet;")
    assert "does not hold there" in text
    assert chat.places.name(chat.settings) == "gpu"
    assert "| gpu | another machine | used next |" in (shown := await run_in(chat))
    assert "chosen for this session" in shown
    await run_in(chat, "docker:some:1")
    assert "| `docker:some:1` |  | used next |" in await run_in(chat)
    assert "on this machine" in await run_in(chat, "process")
    await run_in(chat, "gpu")
    await run_in(chat, "default")
    assert chat.places.chosen is None


async def test_choosing_what_is_there_already_says_nothing_of_permissions(chat):
    assert "does not hold" not in await run_in(chat, "process")


async def test_the_run_that_is_going_on_stays(chat):
    chat.agent = object()
    assert "stays where it is" in await run_in(chat, "gpu")


@pytest.mark.parametrize("name", ["nope", "docker:", "ssh:-x", "a`b", "x\n| y |"])
async def test_what_is_not_there(chat, name):
    with pytest.raises(ConfigurationError, match="There is no context"):
        await run_in(chat, name)
    assert chat.places.chosen is None


async def test_a_context_of_the_settings_that_cannot_be_read_any_more(chat, tmp_path):
    await run_in(chat, "gpu")
    (tmp_path / "settings.json").write_text(json.dumps({"contexts": {}}))
    assert "nowhere: There is no context 'gpu'." in await run_in(chat)


async def test_completion(chat):
    assert complete_run_in(chat.places, chat.settings, "") == ["process", "box", "gpu", "docker:", "ssh:", "default"]
    assert complete_run_in(chat.places, chat.settings, "d") == ["docker:", "default"]
    assert complete_run_in(chat.places, chat.settings, "docker:py") == []


async def test_a_session_that_worked_elsewhere_says_so_and_does_not_take_us_there(chat, tmp_path):
    session = Session.memory()
    assert place_note(session, chat.places, chat.settings) == ""
    record_place(session, "ssh:ada@far", Far(tmp_path))
    note = place_note(session, chat.places, chat.settings)
    assert note == (
        "Its files and commands were in `ssh:ada@far`; they are now on this machine. "
        "To go back: `%zidane /run-in` `ssh:ada@far`."
    )
    assert chat.places.chosen is None
    assert place_note(session, chat.places, Settings(context="ssh:ada@far")) == ""
    gone = place_note(Session.memory(), chat.places, Settings(context="ssh:ada@far"))
    assert gone.startswith("Its files and commands were on this machine; they are now on `ssh:ada@far")


async def test_a_session_file_cannot_draw_into_the_reply(chat, tmp_path):
    session = Session.memory()
    record_place(session, "x` **bold** <script>\n# head", Far(tmp_path))
    note = place_note(session, chat.places, chat.settings)
    assert "\n" not in note
    assert "<script>" not in note
    assert note.count("`") == 6
