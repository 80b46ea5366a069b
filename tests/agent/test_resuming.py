"""Calls of a process that died: answered once each, by what the session knows of them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.agent.support import echo, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.batch import Batch
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.call_journal import CALL_RESULT, CallJournal, finished_results
from zidane_lab.agent.guards.gate_resume import GATE_STATE
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.kit import Continuity, Kit
from zidane_lab.agent.resuming import UNKNOWN_OUTCOME, resume_calls
from zidane_lab.approvals.gate import Gate
from zidane_lab.chat.interacting import Asker, desk_of, nobody_there
from zidane_lab.errors import AbortedError
from zidane_lab.events import Ids, ToolGate
from zidane_lab.providers.scripted import ScriptedProvider
from zidane_lab.session.interactions import InteractionAnswer
from zidane_lab.session.session import Session
from zidane_lab.tools.ask_user import ask_user_tool
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn
from zidane_lab.wire.markers import INTERRUPTED

QUESTION = {"questions": [{"id": "q", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}


class World:
    """What the tools of the tests touch: a file for what has an effect."""

    def __init__(self, folder: Path) -> None:
        self.effects = folder / "effects"

    async def write(self, _context, text: str = "") -> str:
        with self.effects.open("a") as file:
            file.write(f"{text};")
        return f"wrote {text}"

    @property
    def done(self) -> str:
        return self.effects.read_text() if self.effects.exists() else ""

    def tools(self):
        made = (simple_tool("write", self.write, tier="execute"), simple_tool("echo", echo), ask_user_tool())
        return {tool.name: tool for tool in made}


def begin(session: Session, *calls: ToolCallBlock) -> Turn:
    session.start_run("go", model="scripted")
    session.append(Turn("user", (TextBlock("go"),), run_id="run_1"))
    return session.append(Turn("assistant", calls, run_id="run_1"))


def call(number: int, name: str, **arguments) -> ToolCallBlock:
    return ToolCallBlock(f"call_{number}", name, arguments)


def bus(session: Session, asker: Asker, journal: CallJournal) -> HookBus:
    hooks = HookBus()
    hooks.use(asker)
    hooks.on(ToolGate, Gate(asker.approve, tiers={"write": "execute", "echo": "read", "ask_user": "read"}))
    hooks.use(journal)
    return hooks


def kit_of(session: Session, world: World, front=nobody_there):
    tools = world.tools()
    journal = CallJournal(session, tools)
    asker = Asker(desk_of(session), front, journal.waits)
    hooks = bus(session, asker, journal)
    return Kit(session, hooks, tools, None, Path.cwd(), (), Continuity(), interact=asker.interact, journal=journal)


async def go_on(session: Session, world: World, front=nobody_there) -> list[tuple[str, bool]]:
    kit = kit_of(session, world, front)
    turn = await resume_calls(kit, Behavior())
    return [(result.text, result.is_error) for result in turn.tool_results]


# --- killed while somebody is asked -----------------------------------------------------------------


def work(folder: str, names: list[str], pipe: Connection) -> None:
    """Run one batch of calls until killed; tell the parent as soon as somebody is asked."""
    arguments = {"write": {"text": "w"}, "echo": {"text": "e"}, "ask_user": QUESTION}

    async def front(interaction):
        pipe.send((interaction.kind, str(session.path)))
        await asyncio.Event().wait()

    async def main() -> None:
        calls = [call(number, name, **arguments[name]) for number, name in enumerate(names)]
        turn = begin(session, *calls)
        kit = kit_of(session, World(Path(folder)), front)
        ids = Ids("run_1", turn.id)
        batch = Batch(
            kit.tools,
            kit.hooks,
            Behavior(),
            ids,
            Path.cwd(),
            outputs=session,
            interact=kit.interact,
            journal=kit.journal,
        )
        await batch.run(turn.tool_calls)

    session = Session.create(Path(folder))
    asyncio.run(main())


def killed(folder: Path, *names: str) -> tuple[Session, World]:
    """Have a child run calls, kill it while it asks, and open the session it leaves."""
    spawn = multiprocessing.get_context("forkserver")
    ours, theirs = spawn.Pipe()
    child = spawn.Process(target=work, args=(str(folder), list(names), theirs), daemon=True)
    child.start()
    theirs.close()
    _, path = ours.recv()
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    ours.close()
    return Session.open(Path(path)), World(folder)


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answer", "result", "done"),
    [
        ({"decision": "once"}, ("wrote w", False), "w;"),
        ({"decision": "deny", "reason": "not now"}, (None, True), ""),
    ],
)
async def test_a_permission_given_after_the_kill_lets_the_call_run_once(tmp_path, answer, result, done):
    session, world = killed(tmp_path, "write")
    desk = desk_of(session)
    (asked,) = desk.pending
    assert (asked.kind, asked.call_id, asked.payload["tool"]) == ("approval", "call_0", "write")
    desk.answer("", answer, by="command")
    assert desk.is_ready_to_resume
    ((text, is_error),) = await go_on(session, world)
    assert is_error == result[1]
    assert text == result[0] or "They said: not now" in text
    assert world.done == done
    assert not session.interrupted
    agent = Agent(ScriptedProvider(["Fine."]), session=session)
    assert (await agent.run("continue")).text == "Fine."
    assert [turn.role for turn in session.turns] == ["user", "assistant", "user", "user", "assistant"]
    session.close()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_question_answered_after_the_kill_reaches_the_model(tmp_path):
    session, world = killed(tmp_path, "echo", "write", "ask_user")
    (asked,) = desk_of(session).pending
    assert asked.kind == "approval"  # of the second call; the third was never asked
    desk_of(session).answer("", {"decision": "once"}, by="command")

    async def front(interaction):
        return InteractionAnswer(interaction.id, {"answers": {"q": "b"}}, "widget")

    results = await go_on(session, world, front)
    assert [text.split("\n")[0] for text, _ in results] == ["echo e", "wrote w", "User selected: b"]
    assert world.done == "w;"
    session.close()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_calls_that_had_finished_keep_their_results_and_do_not_run_twice(tmp_path):
    session, world = killed(tmp_path, "ask_user", "write")
    world.effects.write_text("")
    desk_of(session).answer("", {"answers": {"q": "a"}}, by="command")

    async def yes(interaction):
        return InteractionAnswer(interaction.id, {"decision": "once"}, "widget")

    results = await go_on(session, world, yes)
    assert [text.split("\n")[0] for text, _ in results] == ["User selected: a", "wrote w"]
    assert world.done == "w;"
    session.close()


# --- what is known of each call ---------------------------------------------------------------------


@pytest.mark.asyncio
async def test_nothing_is_done_where_no_call_is_open(tmp_path):
    session = Session.memory()
    kit = kit_of(session, World(tmp_path))
    assert await resume_calls(kit, Behavior()) is None
    assert session.turns == ()


@pytest.mark.asyncio
async def test_a_call_that_had_begun_and_may_have_done_something_does_not_run_again(tmp_path):
    session, world = Session.memory(), World(tmp_path)
    begin(session, call(0, "write", text="w"), call(1, "echo", text="e"))
    for number, name in enumerate(("write", "echo")):
        session.record(GATE_STATE, {"call": f"call_{number}", "tool": name, "state": {}})
    assert await go_on(session, world) == [(UNKNOWN_OUTCOME, True), ("echo e", False)]
    assert world.done == ""


@pytest.mark.asyncio
async def test_a_call_that_only_looks_passes_the_gate_as_resumed(tmp_path):
    session, world = Session.memory(), World(tmp_path)
    begin(session, call(0, "echo", text="e"))
    session.record(GATE_STATE, {"call": "call_0", "tool": "echo", "state": {"mine": 1}})
    kit = kit_of(session, world)
    gates = []
    kit.hooks.on(ToolGate, lambda event: gates.append((event.resumed, event.resume_state)))
    await resume_calls(kit, Behavior())
    assert gates == [(True, {"mine": 1})]


@pytest.mark.asyncio
async def test_a_call_that_had_not_begun_is_asked_about_again_and_refused_without_anybody(tmp_path):
    session, world = Session.memory(), World(tmp_path)
    begin(session, call(0, "write", text="w"))
    ((text, is_error),) = await go_on(session, world)
    assert is_error
    assert "nobody is here" in text
    assert world.done == ""


@pytest.mark.asyncio
async def test_a_tool_that_is_gone_is_told_as_usual(tmp_path):
    session = Session.memory()
    begin(session, call(0, "nothing"))
    ((text, _),) = await go_on(session, World(tmp_path))
    assert "There is no tool named 'nothing'" in text


@pytest.mark.asyncio
async def test_a_stop_while_resuming_leaves_a_valid_conversation(tmp_path):
    session, world = Session.memory(), World(tmp_path)
    begin(session, call(0, "echo", text="e"), call(1, "ask_user", **QUESTION))
    asked = asyncio.Event()

    async def front(_interaction):
        asked.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(go_on(session, world, front))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [result.text for result in session.turns[-1].tool_results] == ["echo e", INTERRUPTED]
    assert not session.interrupted


@pytest.mark.asyncio
async def test_a_tool_that_asks_to_stop_ends_it_with_its_results_stored(tmp_path):
    async def stop(_context):
        raise AbortedError("enough")

    session = Session.memory()
    begin(session, call(0, "echo"))
    kit = kit_of(session, World(tmp_path))
    kit.tools["echo"] = simple_tool("echo", stop)
    with pytest.raises(AbortedError):
        await resume_calls(kit, Behavior())
    assert not session.interrupted


# --- the journal ------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_results_are_recorded_only_while_somebody_is_waited_for(tmp_path):
    session, world = Session.memory(), World(tmp_path)
    turn = begin(session, call(0, "echo", text="a"), call(1, "echo", text="b"), call(2, "ask_user", **QUESTION))
    kept = []

    async def front(interaction):
        kept.extend(data["call"] for data in session.records(CALL_RESULT))

    kit = kit_of(session, world, front)
    batch = Batch(
        kit.tools, kit.hooks, Behavior(), Ids("run_1", turn.id), Path.cwd(), interact=kit.interact, journal=kit.journal
    )
    results = await batch.run(turn.tool_calls)
    assert kept == ["call_0", "call_1"]
    assert finished_results(session)["call_1"] == results[1]
    quiet = Session.memory()
    turn = begin(quiet, call(0, "echo", text="a"), call(1, "write", text="b"))
    kit = kit_of(quiet, world)
    await Batch(kit.tools, HookBus(), Behavior(), Ids("run_1", turn.id), Path.cwd(), journal=kit.journal).run(
        turn.tool_calls
    )
    assert quiet.records(CALL_RESULT) == ()
    assert [data["call"] for data in quiet.records(GATE_STATE)] == ["call_1"]  # one that only looks may begin twice


def test_damaged_results_count_as_none():
    session = Session.memory()
    for data in ({}, {"call": 1}, {"call": "c", "result": {"kind": "text", "text": "x"}}, {"call": "c", "result": 3}):
        session.record(CALL_RESULT, data)
    assert finished_results(session) == {}
