"""The gate as a chat makes it: files, commands, diffs, parts of a change, and what is remembered."""

from __future__ import annotations

import itertools
import json

import pytest
import pytest_asyncio

from zidane_lab.approvals.decisions import Answer
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.place import Place

pytestmark = pytest.mark.asyncio
NUMBERS = itertools.count()


@pytest_asyncio.fixture
async def chat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Chat(Place(tmp_path / "work.ipynb", tmp_path, "told"), env={"ZIDANE_HOME": str(tmp_path / "home")})
    yield made
    await made.close()


class Person:
    """Answers questions in order; keeps what was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def __call__(self, question):
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


async def do(chat, person, *calls):
    script = {"answers": [*({"calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls), "Done."]}
    name = f"s{next(NUMBERS)}.json"
    (chat.place.folder / name).write_text(json.dumps(script))
    result = await chat.ask("go", AskOptions(model=f"scripted/{name}"), executor=None, ask=person)
    return [found for turn in result.turns for found in turn.tool_results]


async def test_looking_runs_and_changing_asks_with_the_diff(chat, tmp_path):
    person = Person(True)
    listed, made = await do(
        chat, person, ("shell", {"command": "ls"}), ("write_file", {"path": "a.py", "content": "x = 1\n"})
    )
    assert not listed.is_error
    (question,) = person.asked
    assert "+x = 1" in question.diff
    assert not made.is_error
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


async def test_what_is_allowed_for_the_session_is_not_asked_again_and_ends_with_it(chat, tmp_path):
    person = Person(Answer("session"))
    for _ in range(2):
        (result,) = await do(chat, person, ("shell", {"command": "touch made.txt"}))
        assert not result.is_error
    assert len(person.asked) == 1
    chat.new()
    (result,) = await do(chat, person, ("shell", {"command": "touch again.txt"}))
    assert result.is_error
    assert not (tmp_path / "again.txt").exists()


async def test_always_here_holds_for_another_chat_of_the_project(chat, tmp_path):
    await do(chat, Person(Answer("always")), ("shell", {"command": "touch made.txt"}))
    other = Chat(Place(tmp_path / "other.ipynb", tmp_path, "told"), env=chat.env)
    try:
        person = Person()
        (result,) = await do(other, person, ("shell", {"command": "touch more.txt"}))
        assert (result.is_error, person.asked) == (False, [])
    finally:
        await other.close()


async def test_a_denial_tells_the_model_why(chat):
    (result,) = await do(chat, Person(Answer("deny", "not in this folder")), ("shell", {"command": "touch made.txt"}))
    assert "not in this folder" in result.text
    assert result.is_error


async def test_parts_of_a_change_can_be_allowed_one_by_one(chat, tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    edits = [{"old_string": word, "new_string": word.upper()} for word in ("one", "two", "three")]
    person = Person(Answer("once", "two stays", hunks=(True, False, True)))
    _, result = await do(
        chat, person, ("read_file", {"path": "a.py"}), ("multi_edit", {"path": "a.py", "edits": edits})
    )
    assert person.asked[0].hunks == 3
    assert (tmp_path / "a.py").read_text() == "ONE\ntwo\nTHREE\n"
    assert result.text.split("\n")[0] == "Edited a.py: applied 2 of 3 edits (2 replacements)."
    assert "#2 denied" in result.text
    assert "two stays" in result.text
    assert [each["status"] for each in result.metadata["edit"]["outcomes"]] == ["applied", "denied", "applied"]


async def test_modes(chat, tmp_path):
    write, run = ("write_file", {"path": "a.py", "content": "x\n"}), ("shell", {"command": "pip install x"})
    chat.env = {**chat.env, "ZIDANE_MODE": "accept-edits"}
    made, refused = await do(chat, Person(), write, run)
    assert (made.is_error, refused.is_error) == (False, True)
    chat.env = {**chat.env, "ZIDANE_MODE": "plan"}
    (refused,) = await do(chat, Person(True), ("write_file", {"path": "c.py", "content": "x\n"}))
    assert refused.is_error
    assert not (tmp_path / "c.py").exists()


async def test_no_folder_the_command_runs_in_hides_what_it_reads(chat, tmp_path):
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "plain.txt").symlink_to("../.env")
    person = Person()
    calls = [("shell", {"command": "cat plain.txt", "cwd": "sub"}), ("shell", {"command": "cd sub && cat plain.txt"})]
    results = await do(chat, person, *calls, ("shell", {"command": "cat credentials", "cwd": "~/.aws"}))
    assert [result.is_error for result in results] == [True] * 3
    assert len(person.asked) == 3
    assert all("KEY" not in result.text for result in results)


@pytest.mark.parametrize(
    "call",
    [
        {"command": "cp made.txt settings.json", "cwd": "home"},
        {"command": "cd home && cp made.txt settings.json"},
        {"command": "cp made.txt settings.json", "cwd": "work/../home"},
        {"command": "cp made.txt .bashrc", "cwd": "/root"},
        {"command": "cp made.txt x", "cwd": "/etc"},
        {"command": "cp made.txt linked"},
    ],
)
async def test_what_the_session_allows_does_not_reach_guarded_files_by_another_folder(chat, tmp_path, call):
    person = Person(Answer("session"))
    (tmp_path / "made.txt").write_text("x")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "made.txt").symlink_to("/etc/somewhere")
    await do(chat, person, ("shell", {"command": "cp made.txt other.txt"}))
    (result,) = await do(chat, person, ("shell", call))
    assert result.is_error
    assert len(person.asked) == 2
