"""The gate as a chat makes it: files, commands, diffs, parts of a change, and what is remembered."""

from __future__ import annotations

import itertools
import json

import pytest
import pytest_asyncio

from zidane_lab.approvals.decisions import Answer
from zidane_lab.approvals.gate import BYPASS_TOOL, NOTICE, STATE
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.gates import gate_for
from zidane_lab.chat.place import Place
from zidane_lab.chat.settings import save_setting
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import GuardHit, Ids, ToolGate
from zidane_lab.session.session import Session

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


class Heard:
    """A bundle that keeps the events of some kinds."""

    def __init__(self, *kinds):
        self.kinds, self.events = kinds, []

    def install(self, hooks):
        off = [hooks.on(kind, self.events.append) for kind in self.kinds]
        return lambda: [each() for each in off]


async def do(chat, person, *calls, bundles=()):
    script = {"answers": [*({"calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls), "Done."]}
    name = f"s{next(NUMBERS)}.json"
    (chat.place.folder / name).write_text(json.dumps(script))
    result = await chat.ask("go", AskOptions(model=f"scripted/{name}"), executor=None, ask=person, bundles=bundles)
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


# --- one question for one act -----------------------------------------------------------------------

WRITE = ("write_file", {"path": "a.py", "content": "x = 1\n"})
PREVIEW = ("write_file", {"path": "a.py", "content": "x = 1\n", "preview": True})
APPLY = ("resolve", {"action": "apply", "reason": "fits"})
DISCARD = ("resolve", {"action": "discard", "reason": "no"})


async def test_a_preview_is_shown_unasked_and_applying_it_asks_once_with_the_diff(chat, tmp_path):
    person = Person(True)
    shown, applied = await do(chat, person, PREVIEW, APPLY)
    assert (shown.is_error, applied.is_error) == (False, False)
    (question,) = person.asked
    assert (question.tool, question.reach) == ("resolve", "write")
    assert "+x = 1" in question.diff
    assert str(tmp_path / "a.py") in question.target
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


async def test_dropping_a_preview_and_resolving_nothing_ask_nobody(chat, tmp_path):
    person = Person()
    _, dropped = await do(chat, person, PREVIEW, DISCARD)
    assert (dropped.is_error, person.asked) == (False, [])
    await do(chat, person, APPLY)
    assert person.asked == []
    assert not (tmp_path / "a.py").exists()


async def test_accept_edits_covers_previews_and_undo_too(chat, tmp_path):
    chat.env = {**chat.env, "ZIDANE_MODE": "accept-edits"}
    person = Person()
    results = await do(chat, person, WRITE, ("undo_edit", {}), PREVIEW, APPLY)
    assert ([each.is_error for each in results], person.asked) == ([False] * 4, [])
    assert (tmp_path / "a.py").exists()


async def test_undoing_and_applying_outside_the_project_ask_all_the_same(chat, tmp_path, tmp_path_factory):
    chat.env = {**chat.env, "ZIDANE_MODE": "accept-edits"}
    outside = tmp_path_factory.mktemp("outside") / "a.txt"
    person = Person(True)
    write = ("write_file", {"path": str(outside), "content": "1\n"})
    written, undone = await do(chat, person, write, ("undo_edit", {}))
    assert (written.is_error, undone.is_error, len(person.asked)) == (False, True, 2)
    assert outside.read_text() == "1\n"
    preview = ("write_file", {"path": str(outside), "content": "2\n", "preview": True})
    await do(chat, person, ("read_file", {"path": str(outside)}), preview, APPLY, DISCARD)
    assert len(person.asked) == 3
    assert "writes outside the project folder" in person.asked[-1].text
    assert outside.read_text() == "1\n"


async def test_nothing_to_take_back_asks_nobody(chat):
    person = Person()
    (result,) = await do(chat, person, ("undo_edit", {}))
    assert (result.is_error, person.asked) == (True, [])


async def test_what_changed_while_it_was_asked_about_does_not_run(chat, tmp_path):
    session = Session.memory()

    async def ask(_question):
        (tmp_path / "Makefile").write_text("two:\n\techo 2\n")
        return True

    (tmp_path / "Makefile").write_text("one:\n\techo 1\n")
    gate = gate_for(ask, "auto", (), session, None, folder=tmp_path, env=chat.env)
    event = ToolGate(Ids(), "recipe", {"op": "one"})
    await gate(event)
    assert "changed while it was asked about" in event.block


async def test_a_task_of_the_project_is_asked_about_as_the_command_it_is(chat, tmp_path):
    (tmp_path / "Makefile").write_text("test:\n\techo 1\n")
    person = Person(Answer("session"))
    gate = gate_for(person, "auto", (), Session.memory(), None, folder=tmp_path, env=chat.env)
    for op in ("", "nothing-of-that-name", "test", "test -k x"):
        event = ToolGate(Ids(), "recipe", {"op": op})
        await gate(event)
        assert event.block is None
    (question,) = person.asked
    assert "runs make test" in question.target
    assert question.remember == ("shell:make:*",)
    event = ToolGate(Ids(), "shell", {"command": "make test"})
    await gate(event)
    assert (event.block, len(person.asked)) == (None, 1)
    event = ToolGate(Ids(), "recipe", {"op": "test ; rm -rf /"})
    await gate(event)
    assert event.block is not None


async def test_an_address_that_is_read_is_allowed_as_a_page_is(chat, tmp_path):
    person = Person(Answer("session"))
    gate = gate_for(person, "auto", (), Session.memory(), None, folder=tmp_path, env=chat.env)
    for tool, arguments in (
        ("read_file", {"path": "https://example.org/a"}),
        ("fetch_url", {"url": "https://example.org/b"}),
        ("read_file", {"path": "https://example.org/c"}),
    ):
        event = ToolGate(Ids(), tool, arguments)
        await gate(event)
        assert event.block is None
    (question,) = person.asked
    assert (question.reach, question.remember) == ("network", ("fetch_url:example.org",))
    event = ToolGate(Ids(), "read_file", {"path": "https://elsewhere.org"})
    await gate(event)
    assert (event.block is not None, len(person.asked)) == (True, 2)


# --- what the person is told ------------------------------------------------------------------------


async def test_what_could_not_be_stored_is_told(chat, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "safelist.json").write_text("{")
    heard = Heard(GuardHit)
    (result,) = await do(chat, Person(Answer("always")), ("shell", {"command": "touch made.txt"}), bundles=(heard,))
    assert not result.is_error
    (told,) = heard.events
    assert (told.guard, told.tool) == ("approvals", "shell")
    assert "could not be stored" in told.text
    assert "safelist.json" in told.text


async def test_what_was_told_once_is_not_told_again_when_a_call_goes_on_later(chat, tmp_path):
    from zidane_lab.agent.hooks import HookBus
    from zidane_lab.chat.gates import HunkOutcomes

    hooks, heard = HookBus(), Heard(GuardHit)
    hooks.use(HunkOutcomes())
    hooks.use(heard)
    for resumed in (False, True):
        await hooks.emit(ToolGate(Ids(), "shell", {}, resumed=resumed, resume_state={STATE: {NOTICE: "told"}}))
    assert [event.text for event in heard.events] == ["told"]


# --- bypass -----------------------------------------------------------------------------------------

TOUCH = ("shell", {"command": "touch made.txt"})


async def test_bypass_is_off_until_it_is_enabled(chat):
    chat.env = {**chat.env, "ZIDANE_MODE": "bypass"}
    with pytest.raises(ConfigurationError, match="Running everything unasked is off"):
        await do(chat, Person(True), TOUCH)


async def test_bypass_is_confirmed_and_shown_and_ends_with_the_session(chat, tmp_path):
    save_setting("allow_bypass", "on", chat.env)
    chat.env = {**chat.env, "ZIDANE_MODE": "bypass"}
    person, heard = Person(True), Heard(GuardHit)
    results = await do(chat, person, TOUCH, ("shell", {"command": "mkdir made"}), bundles=(heard,))
    assert not any(each.is_error for each in results)
    assert [question.tool for question in person.asked] == [BYPASS_TOOL]
    assert [event.guard for event in heard.events] == ["bypass"]  # in the very run that confirmed it
    await do(chat, Person(), TOUCH, bundles=(heard,))
    assert [event.guard for event in heard.events] == ["bypass", "bypass"]
    first = chat.session.id

    chat.new()
    asked = Person()
    (result,) = await do(chat, asked, TOUCH)
    assert (result.is_error, asked.asked[0].tool) == (True, BYPASS_TOOL)

    chat.resume(first)
    asked = Person()
    (result,) = await do(chat, asked, TOUCH)
    assert (result.is_error, asked.asked[0].tool) == (True, BYPASS_TOOL)

    asked = Person(True)
    await do(chat, asked, TOUCH)
    assert chat.grants.bypass
    chat.branch(first)
    asked = Person()
    (result,) = await do(chat, asked, TOUCH)
    assert (result.is_error, asked.asked[0].tool) == (True, BYPASS_TOOL)


async def test_bypass_that_was_declined_is_not_asked_for_again_in_the_run(chat):
    save_setting("allow_bypass", "on", chat.env)
    chat.env = {**chat.env, "ZIDANE_MODE": "bypass"}
    person = Person(False, True, True)
    results = await do(chat, person, TOUCH, ("shell", {"command": "mkdir made"}))
    assert not any(each.is_error for each in results)
    assert [question.tool for question in person.asked] == [BYPASS_TOOL, "shell", "shell"]


# --- secrets by the way -----------------------------------------------------------------------------


async def test_a_search_that_would_show_secrets_is_sent_back_and_nobody_is_asked(chat, tmp_path):
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "a.py").write_text("KEY = 2\n")
    person = Person()
    refused, done = await do(
        chat,
        person,
        ("shell", {"command": "grep -rn KEY ."}),
        ("shell", {"command": "grep -rn --exclude='.env' --include='*.py' KEY ."}),
    )
    assert refused.is_error
    assert "--exclude='.env'" in refused.text
    assert "KEY = 2" in done.text
    assert person.asked == []


# --- other places -----------------------------------------------------------------------------------


async def test_what_is_allowed_here_is_not_allowed_on_another_machine(chat, tmp_path):
    from types import SimpleNamespace

    from zidane_lab.chat.safelist_store import safelist_for

    safelist_for(tmp_path, chat.env).remember(["shell:make:*"])
    safelist_for(tmp_path, chat.env).remember(["shell:curl:*"], "deny")
    place = SimpleNamespace(cwd="/srv/work", info=SimpleNamespace(is_local=False, where="ssh me@host"))
    links = {"/srv/work/out": "/etc"}
    person = Person()
    gate = gate_for(
        person, "accept-edits", (), Session.memory(), None, folder=tmp_path, env=chat.env, place=place, links=links
    )
    event = ToolGate(Ids(), "shell", {"command": "make"})
    await gate(event)
    assert (event.block is not None, len(person.asked)) == (True, 1)
    event = ToolGate(Ids(), "shell", {"command": "curl x"})
    await gate(event)
    assert ("rules deny" in event.block, len(person.asked)) == (True, 1)
    for target, passes in (("b.txt", True), ("out", False), ("../x", False)):
        event = ToolGate(Ids(), "shell", {"command": f"touch {target}"})
        await gate(event)
        assert (event.block is None) is passes
