"""``/pending`` and ``/answer``: deciding now, or in a later kernel."""

from __future__ import annotations

import asyncio
import importlib

import pytest

from zidane_lab.approvals.decisions import Question
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import COMMANDS, CommandContext, run_command
from zidane_lab.chat.interacting import desk_of, nobody_there, question_payload
from zidane_lab.chat.interaction_commands import pending_note
from zidane_lab.chat.place import Place
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interactions import INTERACTION, interaction_record, new_interaction
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn


@pytest.fixture(autouse=True)
def commands():
    """Register the commands for these tests alone, whether or not the others have them."""
    had = dict(COMMANDS)
    module = importlib.import_module("zidane_lab.chat.interaction_commands")
    COMMANDS["pending"], COMMANDS["answer"] = module._pending, module._answer
    yield
    for name in {"pending", "answer"} - set(had):
        del COMMANDS[name]


SHELL = Question("shell", "clean up", "rm `x`\n```\nrm y", ("deletes x",))


@pytest.fixture
def chat(tmp_path):
    """A chat that has taken up a session whose kernel died while two calls waited."""
    folder = tmp_path / "work"
    folder.mkdir()
    chat = Chat(Place(None, folder, "test"), env={"ZIDANE_HOME": str(tmp_path / "home")})
    with Session.create(chat.folder) as session:
        session.start_run("go")
        session.append(Turn("user", (TextBlock("go"),), run_id="run_1"))
        calls = (ToolCallBlock("call_1", "shell", {"command": "rm x"}), ToolCallBlock("call_2", "present_plan", {}))
        session.append(Turn("assistant", calls, run_id="run_1"))
        plan = {"title": "Clean", "steps": [{"title": "one"}]}
        for each in (
            new_interaction("approval", question_payload(SHELL), call_id="call_1"),
            new_interaction("plan", plan, call_id="call_2"),
        ):
            session.record(INTERACTION, interaction_record(each))
    chat.resume()
    yield chat
    chat.session.close()


async def say(chat, text):
    return (await run_command(f"/{text}", CommandContext(chat))).text


@pytest.mark.asyncio
async def test_the_list_shows_what_is_asked_and_how_to_answer(chat):
    text = await say(chat, "pending")
    assert "2 things wait for you" in text
    assert "zidane wants to use shell: clean up" in text
    assert "````\nzidane wants" in text  # a fence the text cannot leave
    for asked in desk_of(chat.session).pending:
        assert f"%zidane /answer {asked.id[4:10]} " in text
    assert pending_note(chat.session) == text


@pytest.mark.asyncio
async def test_answers_are_kept_until_the_run_goes_on(chat):
    first, second = desk_of(chat.session).pending
    with pytest.raises(ConfigurationError, match="2 questions are open"):
        await say(chat, "answer yes")
    text = await say(chat, f"answer {first.id[4:10]} no not now")
    assert "Kept. One thing waits for you" in text
    text = await say(chat, "answer edit\n1. two\n2. three")  # the only one left
    assert "%zidane continue" in text
    assert await say(chat, "pending") == "Nothing waits for you."
    desk = desk_of(chat.session)
    assert desk.is_ready_to_resume
    given = await desk.put(second, nobody_there)
    assert given.value["steps"] == ["two", "three"]
    given = await desk.put(first, nobody_there)
    assert given.value == {"decision": "deny", "reason": "not now"}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("answer {0} maybe", "does not decide"),
        ("answer {0}", "is empty"),
        ("answer 00000000 yes", "2 questions are open"),
        ("answer", "2 questions are open"),
    ],
)
async def test_what_cannot_be_understood_changes_nothing(chat, text, words):
    first = desk_of(chat.session).pending[0]
    with pytest.raises(ConfigurationError, match=words):
        await say(chat, text.format(first.id[4:10]))
    assert len(desk_of(chat.session).pending) == 2


@pytest.mark.asyncio
async def test_a_run_that_waits_is_told_at_once(chat):
    desk, waits = desk_of(chat.session), asyncio.Event()

    async def front(_interaction):
        waits.set()
        await asyncio.Event().wait()

    first = desk.pending[0]
    task = asyncio.ensure_future(desk.put(first, front))
    await waits.wait()
    chat.agent = object()
    try:
        assert await say(chat, f"answer {first.id} yes") == "Told: the run goes on."
    finally:
        chat.agent = None
    assert (await task).value["decision"] == "once"


@pytest.mark.asyncio
async def test_a_second_answer_is_late(chat):
    first = desk_of(chat.session).pending[0]
    await say(chat, f"answer {first.id[4:10]} yes")
    with pytest.raises(ConfigurationError):
        await say(chat, f"answer {first.id[4:10]} no")
    with pytest.raises(ConfigurationError, match="answered already"):
        desk_of(chat.session).answer(first.id, {"decision": "deny"}, by="panel")


@pytest.mark.asyncio
async def test_a_credential_in_an_answer_is_kept_by_nobody(chat):
    """Also where nothing was asked in this kernel yet, so that nothing has masked before."""
    key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    plan = next(each for each in desk_of(chat.session).pending if each.kind == "plan")
    await say(chat, f"answer {plan.id} edit use {key}; stop")
    kept = chat.session.path.read_text()
    assert "use [secret:github-token:" in kept
    assert key not in kept


@pytest.mark.parametrize(
    "record",
    [
        {"id": "ask_`<b>", "created_at": ""},
        {"id": "ask_1234567", "created_at": "<img src=x>"},
        {"id": "ask_1234567", "call_id": "call_1", "payload": {"tool": "shell", "reasons": [[1]], "remember": 5}},
    ],
)
@pytest.mark.asyncio
async def test_records_from_elsewhere_paint_nothing_and_upset_nothing(chat, record):
    told = interaction_record(new_interaction("approval", question_payload(SHELL), call_id="call_1"))
    chat.session.record(INTERACTION, {**told, **record})
    note = await say(chat, "pending")
    assert "<img" not in note
    assert "<b>" not in note
    desk = desk_of(chat.session)
    asked = new_interaction("approval", question_payload(SHELL), call_id="call_1")
    assert (await desk.put(asked, nobody_there)).value is None


@pytest.mark.asyncio
async def test_ids_of_questions_stay_in_their_code(chat):
    questions = [{"id": "a` <b>x</b> `", "type": "text", "question": "?"}, {"id": "b", "type": "text", "question": "?"}]
    chat.session.record(
        INTERACTION, interaction_record(new_interaction("question", {"questions": questions}, call_id="call_1"))
    )
    line = next(line for line in (await say(chat, "pending")).splitlines() if "one line each" in line)
    assert line.count("`") == 2
