"""Compacting a conversation, from the session and back into it."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest

from tests.compaction.support import answer, ids, marker, plain, results, run_quickly, user
from zidane_lab.compaction.compact import SUPPLIED, compact_turns, estimate_after
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.observers import Observers
from zidane_lab.compaction.prompts import build_compact_prompt
from zidane_lab.compaction.scope import From, Full, Tail, UpTo
from zidane_lab.errors import AbortedError, AuthError, CompactInvalidInputError, ContextExceededError
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.providers.scripted import ScriptedProvider
from zidane_lab.session.session import Session
from zidane_lab.turns import ToolCallBlock, ToolResultBlock, Turn, Usage, turn_to_json
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.state import ELIDE, WireState
from zidane_lab.wire.tokens import estimate_turns

GOOD = "<analysis>all of it</analysis><summary>What happened.</summary>"
PAID = Usage(input=100, output=10, cost=0.5)


class Watcher:
    def __init__(self, **handlers):
        self.seen = []
        named = {
            name: handlers.get(name, lambda event, name=name: self.seen.append((name, event)))
            for name in ("on_start", "on_attempt", "on_end")
        }
        self.observers = Observers(**named)

    def names(self):
        return [name for name, _ in self.seen]

    def of(self, name):
        return [event for each, event in self.seen if each == name]


async def compact(provider, turns=None, **options):
    return await compact_turns(
        plain(8) if turns is None else turns,
        provider.stream,
        model="main",
        provider="scripted",
        sleep=lambda _: asyncio.sleep(0),
        **options,
    )


def prompt_of(provider, n=0):
    return provider.requests[n].turns[-1].text


# --- one compaction -------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_all_but_the_last_four_turns_by_default():
    done = await compact(ScriptedProvider([GOOD], usage=PAID))
    (block,) = done.turn.blocks
    assert (block.text, block.replaces) == ("What happened.", ("t1", "t2", "t3", "t4"))
    assert ids(done.preserved) == ["t5", "t6", "t7", "t8"]
    assert done.replaced == 4
    assert done.turn.usage == PAID
    assert (done.turn.model, block.metadata["scope"]) == ("scripted/main", "tail 4")
    assert (done.before_bytes, done.after_bytes) == (len("question 1answer 2question 3answer 4"), 14)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("scope", "replaced"),
    [(Full(), ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]), (From("t7"), ["t7", "t8"]), (UpTo("t1"), ["t1"])],
)
async def test_other_scopes(scope, replaced):
    done = await compact(ScriptedProvider([GOOD]), scope=scope)
    assert list(done.turn.blocks[0].replaces) == replaced


@pytest.mark.asyncio
async def test_the_session_then_sends_the_summary_in_their_place():
    session = Session.memory()
    for turn in plain(9):
        session.append(turn)
    done = await compact(ScriptedProvider([GOOD]), session.turns)
    session.append(done.turn)
    sent = wire_turns(session.turns, state=session.wire_state)
    assert "What happened." in sent[0].text
    assert ids(sent[1:]) == ["t6", "t7", "t8", "t9"]


@pytest.mark.asyncio
async def test_a_second_compaction_takes_in_the_first():
    session = Session.memory()
    for turn in plain(8):
        session.append(turn)
    first = session.append((await compact(ScriptedProvider([GOOD]), session.turns)).turn)
    for n in range(4):
        session.append(user(f"more {n}", f"u{n}"))
    provider = ScriptedProvider(["<summary>All of it.</summary>"])
    second = session.append((await compact(provider, session.turns, scope=Tail(2))).turn)
    assert "What happened." in prompt_of(provider)
    assert "question 1" not in prompt_of(provider)
    assert "still earlier part" in prompt_of(provider)
    sent = wire_turns(session.turns, state=session.wire_state)
    assert "All of it." in sent[0].text
    assert ids(sent[1:]) == ["u2", "u3"]
    # Undoing the second brings back the first, not what it stands for.
    sent = wire_turns(session.turns, state=WireState(undone=frozenset({second.id})))
    assert ids(sent) == [f"{first.id}-summary", "t5", "t6", "t7", "t8", "u0", "u1", "u2", "u3"]


@pytest.mark.asyncio
async def test_turns_dropped_for_length_stay_in_the_conversation():
    turns = tuple(user("x" * 100, f"t{n}") for n in range(10))
    done = await compact(ScriptedProvider([ContextExceededError("long"), GOOD]), turns, scope=Tail(2))
    assert done.turn.blocks[0].replaces == ("t4", "t5", "t6", "t7")
    assert done.turn.blocks[0].metadata["dropped"] == ["t0", "t1", "t2", "t3"]
    assert ids(done.preserved) == ["t0", "t1", "t2", "t3", "t8", "t9"]
    sent = ids(wire_turns((*turns, done.turn)))
    assert sent == ["t0", "t1", "t2", "t3", f"{done.turn.id}-summary", "t8", "t9"]
    assert done.before_bytes == 400


@pytest.mark.asyncio
async def test_an_earlier_summary_that_was_dropped_stays_too():
    turns = (*plain(2), marker("m1", "t1", "t2", text="x" * 500), *(user("y" * 100, f"u{n}") for n in range(4)))
    done = await compact(ScriptedProvider([ContextExceededError("long"), GOOD]), turns, scope=Full())
    assert done.summary.dropped_ids == ("m1",)
    assert ids(wire_turns((*turns, done.turn))) == ["m1-summary", f"{done.turn.id}-summary"]


@pytest.mark.asyncio
async def test_results_that_are_left_out_are_left_out_of_the_summary_too():
    turns = (user("a", "t1"), answer("", "t2", calls=["c1"]), results("t3", "c1", text="SECRET " * 99), *plain(0))
    session = Session.memory()
    for turn in turns:
        session.append(turn)
    session.record(ELIDE, {"results": {"c1": "[left out]"}})
    provider = ScriptedProvider([GOOD])
    done = await compact(provider, session.turns, scope=Full(), state=session.wire_state)
    assert "SECRET" not in prompt_of(provider)
    assert "[left out]" in prompt_of(provider)
    assert done.before_bytes < 100
    assert done.slice.to_summarize[2] is session.turns[2]


@pytest.mark.asyncio
async def test_bad_input_fails_before_anybody_is_told_or_asked():
    provider, watcher = ScriptedProvider([GOOD]), Watcher()
    with pytest.raises(CompactInvalidInputError):
        await compact(provider, plain(4), observers=watcher.observers)
    assert provider.requests == []
    assert watcher.seen == []


# --- prompts --------------------------------------------------------------------------------------


def prefix(turns):
    return Request("main", "Be kind.", wire_turns(turns), (ToolSpec("f", "f", {"type": "object"}),), 512)


@pytest.mark.asyncio
async def test_the_kept_tail_is_pointed_out_where_it_is_shown():
    turns = plain(8)
    provider = ScriptedProvider(["", GOOD])
    await compact(provider, turns, prefix_request=prefix(turns))
    assert '"question 5"' in prompt_of(provider, 0)
    assert '"question 5"' not in prompt_of(provider, 1)
    assert "question 5" not in prompt_of(provider, 1)


@pytest.mark.asyncio
async def test_a_named_turn_that_was_dropped_is_not_named():
    turns = tuple(user(f"{n}" * 100, f"t{n}") for n in range(4))
    provider = ScriptedProvider([ContextExceededError("long"), GOOD])
    await compact(provider, turns, scope=From("t0"))
    assert f'"{"0" * 100}"' in prompt_of(provider, 0)
    assert f'"{"2" * 100}"' in prompt_of(provider, 1)


@pytest.mark.asyncio
async def test_instructions_of_the_settings_and_of_the_moment():
    provider = ScriptedProvider([GOOD])
    await compact(provider, config=AutoCompact(instructions="Keep units."), instructions="Keep names.")
    assert "Keep units.\n\nKeep names." in prompt_of(provider)


@pytest.mark.asyncio
async def test_an_own_prompt_makes_the_cached_request_unused():
    def own(direction, anchor="", *, is_update=False, instructions=""):
        return f"MINE {direction} {build_compact_prompt('full')[-10:]}"

    turns = plain(8)
    provider = ScriptedProvider([GOOD])
    await compact(provider, turns, prefix_request=prefix(turns), prompt=own)
    assert "MINE tail" in prompt_of(provider)
    assert provider.requests[0].tools == ()


# --- a summary that is given ----------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_summary_may_be_given_and_nobody_is_asked():
    asked = []

    async def supply(turns):
        asked.append(ids(turns))
        return "  Given.  "

    provider, watcher = ScriptedProvider([]), Watcher()
    done = await compact(provider, supply=supply, observers=watcher.observers)
    assert asked == [["t1", "t2", "t3", "t4"]]
    assert provider.requests == []
    assert (done.turn.blocks[0].text, done.turn.model, done.turn.usage) == ("Given.", SUPPLIED, Usage())
    assert watcher.names() == ["on_start", "on_end"]


@pytest.mark.asyncio
@pytest.mark.parametrize("given", [None, "", "  \n"])
async def test_nothing_given_means_a_model_is_asked(given):
    async def supply(_):
        return given

    provider = ScriptedProvider([GOOD])
    assert (await compact(provider, supply=supply)).turn.blocks[0].text == "What happened."


# --- who is told ----------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_beginning_attempts_and_end_are_told():
    watcher = Watcher()
    turns = plain(8)
    done = await compact(
        ScriptedProvider(["", GOOD], usage=PAID), turns, prefix_request=prefix(turns), observers=watcher.observers
    )
    assert watcher.names() == ["on_start", "on_attempt", "on_attempt", "on_end"]
    (start,), (end,) = watcher.of("on_start"), watcher.of("on_end")
    assert (start.model, start.scope, ids(start.to_summarize)) == ("scripted/main", Tail(4), ["t1", "t2", "t3", "t4"])
    assert ids(start.preserved) == ["t5", "t6", "t7", "t8"]
    assert start.before == done.before > 0
    assert (end.status, end.result, end.spent, end.error) == ("compacted", done, PAID + PAID, None)


@pytest.mark.asyncio
async def test_a_failure_is_told_once_with_what_it_cost():
    watcher = Watcher()
    turns = plain(8)
    provider = ScriptedProvider(["", AuthError("no key")], usage=PAID)
    with pytest.raises(AuthError):
        await compact(provider, turns, prefix_request=prefix(turns), observers=watcher.observers)
    (end,) = watcher.of("on_end")
    assert (end.status, end.result, end.spent) == ("failed", None, PAID)
    assert isinstance(end.error, AuthError)


@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["on_start", "on_attempt"])
async def test_a_listener_may_stop_it(where):
    def stop(_):
        raise AbortedError("stop")

    watcher = Watcher(**{where: stop})
    with pytest.raises(AbortedError):
        await compact(ScriptedProvider([GOOD]), observers=watcher.observers)
    assert [end.status for end in watcher.of("on_end")] == ["aborted"]


@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["on_start", "on_attempt", "on_end"])
async def test_a_listener_that_fails_spoils_nothing(where, caplog):
    def fail(_):
        raise RuntimeError("a listener's fault")

    watcher = Watcher(**{where: fail})
    done = await compact(ScriptedProvider([GOOD]), observers=watcher.observers)
    assert done.turn.blocks[0].text == "What happened."
    assert "a listener's fault" in caplog.text


@pytest.mark.asyncio
async def test_listeners_may_be_asynchronous():
    seen = []

    async def listen(event):
        await asyncio.sleep(0)
        seen.append(type(event).__name__)

    await compact(ScriptedProvider([GOOD]), observers=Observers(listen, listen, None, listen))
    assert seen == ["Start", "Attempt", "End"]


def test_a_cancelled_compaction_is_told_as_stopped():
    watcher = Watcher()

    async def slow(_request):
        await asyncio.sleep(100)
        yield None

    async def main():
        provider = ScriptedProvider([])
        provider.stream = slow
        task = asyncio.ensure_future(compact(provider, observers=watcher.observers))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_quickly(main())
    assert [end.status for end in watcher.of("on_end")] == ["aborted"]


# --- sizes and replay -----------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_size_afterwards_is_the_count_before_less_what_went():
    turns = tuple(user("x" * 4_000, f"t{n}") for n in range(10))
    done = await compact(ScriptedProvider([GOOD]), turns, before=15_000)
    assert (done.before, done.after) == (15_000, 15_000 - 6_000 + 4)
    assert done.turn.blocks[0].metadata["after"] == done.after


def test_estimates_that_exceed_the_count_are_scaled():
    turns = tuple(user("x" * 4_000, f"t{n}") for n in range(10))
    assert estimate_after(5_000, turns, turns[:5], "") == 2_500
    assert estimate_after(5_000, turns, turns, "") == 0
    assert estimate_after(0, (), (), "") == 0


@pytest.mark.asyncio
async def test_without_a_count_the_size_before_is_estimated():
    turns = plain(8)
    assert (await compact(ScriptedProvider([GOOD]), turns)).before == estimate_turns(turns)


@pytest.mark.asyncio
async def test_given_clock_and_ids_the_turn_is_the_same_again():
    async def once():
        done = await compact(
            ScriptedProvider([GOOD]),
            moment=lambda: datetime(2026, 11, 30, tzinfo=UTC),
            mint=lambda: "turn_s",
            clock=lambda: 7.0,
        )
        return json.dumps(turn_to_json(done.turn))

    assert await once() == await once()


@pytest.mark.asyncio
async def test_variables_and_files_are_remembered_across_summaries():
    def step(n, tool, arguments, created=()):
        execution = {"execution": {"created": list(created), "changed": [], "deleted": []}}
        return (
            Turn("assistant", (ToolCallBlock(f"c{n}", tool, arguments),), id=f"a{n}"),
            Turn("user", (ToolResultBlock(f"c{n}", (), metadata=execution),), id=f"r{n}"),
        )

    turns = (
        user("go", "t0"),
        *step(1, "read_file", {"path": "a.csv"}),
        *step(2, "run_python", {"code": "x"}, ["df"]),
        user("on", "t1"),
    )
    first = await compact(ScriptedProvider([GOOD]), turns, scope=Tail(1))
    assert "Files read: a.csv\nVariables made or changed in the kernel: df" in first.turn.blocks[0].text
    turns = (*turns, first.turn, *step(3, "run_python", {"code": "y"}, ["model"]), user("and", "t2"))
    second = await compact(ScriptedProvider([f"<summary>{first.turn.blocks[0].text}</summary>"]), turns, scope=Full())
    text = second.turn.blocks[0].text
    assert text.count("<touched>") == 1
    assert "kernel: df, model\n" in text
