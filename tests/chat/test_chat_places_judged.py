"""Who may what in another place."""

# ruff: noqa: F401, F811 - fixtures are imported, and named as arguments

from __future__ import annotations

import json

import pytest

from tests.chat.test_chat_places import Person, chat, configure, do, here, keys, run_in, server, settings_for, there
from zidane_lab.approvals.decisions import Answer
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.place import Place

pytestmark = pytest.mark.asyncio


# --- who may what -----------------------------------------------------------------------------------


async def test_writing_is_judged_by_the_project_there(chat, here, there, server, keys):
    configure(here, settings_for(server, keys, mode="accept-edits"))
    person = Person()
    inside, outside, mine = await do(
        chat,
        person,
        ("write_file", {"path": "new.py", "content": "x\n"}),
        ("write_file", {"path": str(server.home / "new.py"), "content": "x\n"}),
        ("write_file", {"path": str(here / "new.py"), "content": "x\n"}),  # this machine's project is not there
    )
    assert not inside.is_error
    assert (there / "new.py").exists()
    assert outside.is_error
    assert mine.is_error
    assert [any("outside the project" in reason for reason in asked.reasons) for asked in person.asked] == [True] * 2
    assert not (here / "new.py").exists()


async def test_links_there_that_lead_out_of_the_project_are_asked_about(chat, here, there, server, keys):
    configure(here, settings_for(server, keys, mode="accept-edits"))
    (server.home / "out").mkdir()
    (there / "out").symlink_to(server.home / "out")
    (there / ".profile").symlink_to(server.home / ".profile")
    (there / "inner").mkdir()
    (there / "in").symlink_to(there / "inner")
    (there / "deep").symlink_to(there / "inner")
    person = Person()
    results = await do(
        chat,
        person,
        ("write_file", {"path": "in/ok.txt", "content": "x\n"}),
        ("shell", {"command": "echo x > in/too.txt"}),
        ("write_file", {"path": "out/x.txt", "content": "x\n"}),
        ("write_file", {"path": ".profile", "content": "x\n"}),
        ("shell", {"command": "echo x > out/y.txt"}),
        ("shell", {"command": "mkdir out/sub"}),
        ("shell", {"command": "echo x > out/../work.txt"}),
        ("write_file", {"path": "~/x.txt", "content": "x\n"}),
    )
    assert [result.is_error for result in results] == [False, False] + [True] * 6
    assert len(person.asked) == 6
    assert list((server.home / "out").iterdir()) == []
    assert (there / "inner" / "too.txt").exists()


async def test_code_in_the_kernel_is_judged_by_the_project_here(chat, here, there, server, keys):
    """Otherwise a path that is in the project there could be written here unasked."""
    configure(here, settings_for(server, keys, mode="accept-edits"))
    person = Person()
    code = f"from pathlib import Path\nPath({str(there / 'x.txt')!r}).write_text('x')"
    (refused,) = await do(chat, person, ("run_python", {"code": code}))
    assert refused.is_error
    assert any("outside the project" in reason for reason in person.asked[0].reasons)


@pytest.mark.parametrize("answer", ["session", "always"])
@pytest.mark.parametrize("order", [("gpu", "process"), ("process", "gpu")])
async def test_what_was_allowed_in_one_place_does_not_hold_in_another(chat, here, there, answer, order):
    folders = {"gpu": there, "process": here}
    first, second = order
    await run_in(chat, first)
    await do(chat, Person(Answer(answer)), ("shell", {"command": "touch one"}))
    person = Person()
    (again,) = await do(chat, person, ("shell", {"command": "touch two"}))
    assert (again.is_error, person.asked) == (False, [])
    assert (folders[first] / "two").exists()
    await run_in(chat, second)
    person = Person()
    (refused,) = await do(chat, person, ("shell", {"command": "touch three"}))
    assert refused.is_error
    assert len(person.asked) == 1
    assert not (folders[second] / "three").exists()
    await run_in(chat, first)
    person = Person()
    (back,) = await do(chat, person, ("shell", {"command": "touch four"}))
    assert (back.is_error, person.asked) == (False, [])
    shown = (await run_command("/approvals", CommandContext(chat))).text
    assert "touch" in shown
    await run_in(chat, second)
    assert "touch" not in (await run_command("/approvals", CommandContext(chat))).text


async def test_what_is_refused_here_is_refused_there(chat):
    await run_in(chat, "process")
    await run_command("/approvals deny shell:touch:*", CommandContext(chat))
    await run_in(chat, "gpu")
    person = Person(True)
    (refused,) = await do(chat, person, ("shell", {"command": "touch one"}))
    assert refused.is_error
    assert person.asked == []


async def test_files_of_the_project_do_not_choose(here, server, keys, monkeypatch):
    """Not settings in it, not its ``.env``, not a session file."""
    for name in ("settings.json", ".zidane/settings.json", "zidane.json", "pyproject.toml"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(json.dumps(settings_for(server, keys)))
    (here / ".env").write_text("ZIDANE_CONTEXT=gpu\n")
    monkeypatch.setenv("ZIDANE_CONTEXT", "gpu")
    env = {"ZIDANE_HOME": str(here.parent / "config"), "ZIDANE_CONTEXT": "gpu"}
    chat = Chat(Place(here / "work.ipynb", here, "told"), env=env)
    try:
        await do(chat, Person(True), ("shell", {"command": "touch here"}))
        assert (here / "here").exists()
        assert server.connections == []
    finally:
        await chat.close()
