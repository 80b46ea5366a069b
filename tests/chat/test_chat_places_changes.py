"""From one place to another: what is told, what is read, what is taken back."""

# ruff: noqa: F401, F811 - fixtures are imported, and named as arguments

from __future__ import annotations

import os

import pytest

from tests.chat.test_chat_places import (
    Person,
    chat,
    configure,
    do,
    here,
    keys,
    requests,
    run_in,
    scripted,
    server,
    there,
)
from zidane_lab.chat.chat import AskOptions
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.interacting import Desk
from zidane_lab.chat.place_record import last_place
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn

pytestmark = pytest.mark.asyncio


# --- from one place to another ----------------------------------------------------------------------


async def test_a_change_of_place_is_told_once_and_the_prompt_stays(chat, there):
    await do(chat, Person(), ("list_files", {}))
    await run_in(chat, "process")
    await do(chat, Person(), ("list_files", {}))
    await do(chat, Person(), ("list_files", {}))
    await run_in(chat, "gpu")
    await do(chat, Person(), ("list_files", {}))
    assert len({request.system for request in requests(chat)}) == 1
    notes = [turn.text for turn in chat.session.turns if 'section="places"' in turn.text]
    assert len(notes) == 2
    assert "no longer holds" in notes[0]
    assert str(there) in notes[1]


async def test_a_read_there_is_no_read_here(chat, here, there):
    """The same path is another file: what was seen of one may not be written over in the other."""
    target = there / "same.txt"  # the other machine is this one, in truth: so both places have this very path
    target.write_text("precious\n")
    (seen,) = await do(chat, Person(), ("read_file", {"path": str(target)}))
    assert "precious" in seen.text
    await run_in(chat, "process")
    (refused,) = await do(chat, Person(True), ("write_file", {"path": str(target), "content": "gone\n"}))
    assert refused.is_error
    assert "have not read" in refused.text
    (again,) = await do(chat, Person(), ("read_file", {"path": str(target)}))
    assert "precious" in again.text  # not: it has not changed since you read it
    (written,) = await do(chat, Person(True), ("write_file", {"path": str(target), "content": "known\n"}))
    assert not written.is_error
    await run_in(chat, "gpu")
    (refused,) = await do(chat, Person(True), ("write_file", {"path": str(target), "content": "gone\n"}))
    assert refused.is_error
    assert target.read_text() == "known\n"


async def test_an_unchanged_file_there_is_not_sent_twice(chat, there):
    (there / "a.txt").write_text("text\n" * 50)
    os.utime(there / "a.txt", (1_700_000_000, 1_700_000_000))
    first, second = await do(chat, Person(), ("read_file", {"path": "a.txt"}), ("read_file", {"path": "a.txt"}))
    assert "text" in first.text
    assert "has not changed since you read these lines" in second.text
    (there / "a.txt").write_text("other\n")
    (third,) = await do(chat, Person(), ("read_file", {"path": "a.txt"}))
    assert "other" in third.text


async def test_a_change_there_is_not_taken_back_here(chat, there):
    target = there / "same.txt"
    await do(chat, Person(True), ("write_file", {"path": str(target), "content": "mine\n"}))
    await run_in(chat, "process")
    (refused,) = await do(chat, Person(True), ("undo_edit", {}))
    assert refused.is_error
    assert "no change to take back" in refused.text
    assert target.read_text() == "mine\n"
    await run_in(chat, "gpu")
    (undone,) = await do(chat, Person(True), ("undo_edit", {}))
    assert not undone.is_error
    assert not target.exists()


async def test_a_change_makes_the_read_there_stale_and_not_the_one_here(chat, here, there):
    target = there / "same.txt"
    target.write_text("one\n")
    await do(chat, Person(), ("read_file", {"path": str(target)}))
    await run_in(chat, "process")
    _, edited = await do(
        chat,
        Person(True),
        ("read_file", {"path": str(target)}),
        ("edit", {"path": str(target), "old_string": "one", "new_string": "two"}),
    )
    assert edited.text.count("Changed since you read it") == 1
    await run_in(chat, "gpu")
    _, edited = await do(
        chat,
        Person(True),
        ("read_file", {"path": str(target)}),
        ("edit", {"path": str(target), "old_string": "two", "new_string": "three"}),
    )
    assert f"[Changed since you read it: {target}." in edited.text


@pytest.mark.parametrize("place", ["gpu", "process"])
async def test_after_a_summary_files_are_read_where_they_are(chat, here, there, server, place):
    (there / "notes.txt").write_text("from far away\n")
    await do(chat, Person(), ("read_file", {"path": "notes.txt"}))
    for _ in range(6):
        await do(chat, Person())
    (there / "notes.txt").write_text("newer, from far away\n")
    await run_in(chat, place)
    model = scripted(chat, "Done.", "<summary>All was read.</summary>")
    await chat.ask("go", AskOptions(model=model), executor=None, ask=Person())
    end = await chat.compact("tail 2")
    restored = [turn for turn in chat.session.turns if turn.injected == "restore"]
    if place == "gpu":
        assert end.files == (str(there / "notes.txt"),)
        assert "newer, from far away" in restored[1].tool_results[0].text
    else:
        assert end.files == ()
        assert restored == []


@pytest.mark.parametrize("place", ["gpu", "process"])
async def test_calls_left_open_by_a_kernel_that_died_do_not_run_in_another_place(chat, here, there, place, monkeypatch):
    """They were put to the person for one place; the answer, a day later, is not for another."""
    call = ToolCallBlock("c1", "shell", {"command": "touch left-open"})
    await do(chat, Person(), ("list_files", {}))
    chat.session.append(Turn("user", (TextBlock("go"),)))
    chat.session.append(Turn("assistant", (call,)))
    monkeypatch.setattr(Desk, "is_ready_to_resume", True)
    await run_in(chat, place)
    person = Person(True)
    await do(chat, person)
    (result,) = [found for turn in chat.session.turns for found in turn.tool_results if found.call_id == "c1"]
    folder = {"gpu": there, "process": here}[place]
    assert (folder / "left-open").exists() == (place == "gpu")
    assert ("Decide anew" in result.text) == (place == "process")
    assert len(person.asked) == (place == "gpu")
    assert last_place(chat.session)[0] == place


async def test_a_session_says_where_it_ran_when_it_is_resumed(chat, here):
    await do(chat, Person(), ("list_files", {}))
    assert last_place(chat.session)[0] == "gpu"
    ident = chat.session.id
    chat.new()
    configure(here, {})
    text = (await run_command(f"/resume {ident}", CommandContext(chat))).text
    assert "Its files and commands were in gpu; they are now on this machine" in text
    assert chat.places.chosen is None
    text = (await run_command(f"/branch {ident}", CommandContext(chat))).text
    assert "/run-in` gpu" in text


async def test_a_new_session_goes_back_to_the_setting(chat, there):
    await run_in(chat, "process")
    chat.new()
    (listed,) = await do(chat, Person(), ("shell", {"command": "pwd"}))
    assert str(there) in listed.text


@pytest.mark.parametrize("command", ["/doctor", "/status"])
async def test_the_person_can_look_where_things_are(chat, there, command):
    assert "gpu (another machine), not open yet" in (await run_command(command, CommandContext(chat))).text
    await do(chat, Person(), ("list_files", {}))
    assert f"gpu (another machine) at {there}" in (await run_command(command, CommandContext(chat))).text
    await run_in(chat, "process")
    assert "| this machine |" in (await run_command(command, CommandContext(chat))).text
