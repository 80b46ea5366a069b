"""Summaries that a person asks for between runs, and taking them back."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.agent.runs import QUICK, SMALL, FullDisk, Service, counted, failing, fill, full, others, talk, wire_texts
from tests.agent.support import Recorder, Slow, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.budgets import Budgets, spent_in
from zidane_lab.errors import (
    AbortedError,
    BadRequestError,
    BudgetExceededError,
    CompactInvalidInputError,
    ConfigurationError,
    OverloadedError,
    SessionError,
)
from zidane_lab.events import CompactSummarize, SystemTransform
from zidane_lab.providers.scripted import call
from zidane_lab.session.session import Session
from zidane_lab.turns import Usage
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.cutoff import SUMMARY_HEAD

pytestmark = pytest.mark.asyncio

SUMMARY = counted("<summary>All is well.</summary>", context=500, output=30)
SECOND = counted("<summary>Still well.</summary>", context=300, output=20)


def agent_with(*answers, session=None, **options):
    options.setdefault("behavior", Behavior(retry=QUICK))
    return Agent(Service("main", answers), session=session if session is not None else talk(4), **options)


def sent(agent):
    """What the model would be sent now."""
    return [turn.text for turn in wire_turns(agent.session.turns, state=agent.session.wire_state)]


def summary(text):
    return f"{SUMMARY_HEAD}\n\n{text}"


TALK = [f"{kind} {n}" for n in range(1, 5) for kind in ("question", "answer")]
WELL, STILL = summary("All is well."), summary("Still well.")


# --- asking for one -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("tail", [WELL, *TALK[4:], "Continue."]),
        ("tail 2", [WELL, *TALK[6:], "Continue."]),
        ("full", [WELL]),
        ("from q3", [*TALK[:4], WELL]),
        ("up_to a1", [WELL, *TALK[2:], "Continue."]),
    ],
)
async def test_any_part_may_be_summarised(scope, expected):
    agent = agent_with(SUMMARY)
    seen = Recorder(agent.hooks)
    end = await agent.compact(scope)
    assert (end.status, end.reason, end.summary_turn) == ("compacted", "manual", agent.session.turns[-1])
    assert sent(agent) == expected
    assert seen.of("compact:end") == [end]
    assert seen.of("compact:start")[0].reason == "manual"
    assert agent.session.turns[:8] == talk_turns(agent)


def talk_turns(agent):
    return tuple(turn for turn in agent.session.turns if turn.id[0] in "qa" and turn.id[1:].isdigit())


async def test_it_is_asked_for_behind_the_conversation_as_it_would_be_sent():
    agent = agent_with(SUMMARY, "ok", system="Be kind.")
    agent.hooks.on(SystemTransform, lambda event: setattr(event, "system", event.system + " Be brief."))
    await agent.compact("tail", instructions="Keep all numbers.")
    await agent.run("go")
    asked, next_one = agent.provider.requests
    assert (asked.system, asked.cache_key, asked.tools) == (next_one.system, next_one.cache_key, next_one.tools)
    assert asked.system == "Be kind. Be brief."
    assert wire_texts(asked)[:8] == TALK
    assert "Keep all numbers." in asked.turns[-1].text


async def test_instructions_reach_a_hook_that_gives_the_summary():
    agent = agent_with()
    told = []

    def give(event: CompactSummarize) -> None:
        told.append((event.reason, event.instructions))
        event.summary = "By hand."

    agent.hooks.on(CompactSummarize, give)
    end = await agent.compact(instructions="Briefly.")
    assert (told, end.model, end.usage) == ([("manual", "Briefly.")], "supplied", Usage())
    assert sent(agent)[0] == summary("By hand.")


@pytest.mark.parametrize("scope", ["tail 8", "from nowhere", "nonsense", "tail x"])
async def test_where_there_is_nothing_to_summarise_nobody_is_asked(scope):
    agent = agent_with("never")
    seen, before = Recorder(agent.hooks), agent.session.turns
    with pytest.raises(CompactInvalidInputError):
        await agent.compact(scope)
    assert (agent.session.turns, agent.provider.requests) == (before, [])
    assert not any(name.startswith("compact:") for name in seen.names())
    assert not agent.running
    with pytest.raises(CompactInvalidInputError, match="empty"):
        await agent_with(session=Session.memory()).compact()


async def test_the_usual_tail_is_that_of_the_settings():
    agent = agent_with(SUMMARY, behavior=Behavior(compaction=replace(SMALL, keep_turns=1)))
    assert (await agent.compact()).replaced == 7
    agent = agent_with(SUMMARY, behavior=Behavior(compaction=None))  # by itself never, on request all the same
    assert (await agent.compact()).replaced == 4


async def test_a_failure_is_told_raised_and_changes_nothing():
    agent = agent_with(BadRequestError("No."), BadRequestError("Not alone either."), SUMMARY)
    seen, before = Recorder(agent.hooks), agent.session.turns
    with pytest.raises(BadRequestError, match="Not alone"):
        await agent.compact()
    assert agent.session.turns == before
    assert [event.status for event in seen.of("compact:end")] == ["failed"]
    assert (await agent.compact()).status == "compacted"


# --- one thing at a time --------------------------------------------------------------------------


async def test_nothing_is_summarised_nor_taken_back_during_a_run():
    slow = Slow()
    agent = agent_with([call("slow")], "ok", tools=[simple_tool("slow", slow)])
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    with pytest.raises(ConfigurationError, match="already running"):
        await agent.compact()
    with pytest.raises(ConfigurationError, match="already running"):
        agent.undo_compaction()
    slow.release.set()
    assert (await run).text == "ok"


@pytest.mark.parametrize("name", ["system:transform", "compact:start", "compact:summarize", "compact:progress"])
async def test_no_run_begins_while_a_summary_is_made_and_it_may_be_stopped(name):
    agent = agent_with("word " * 50)
    seen, before = Recorder(agent.hooks), agent.session.turns
    reached = asyncio.Event()

    async def linger(_event):
        reached.set()
        await asyncio.Event().wait()

    agent.hooks.on(name, linger)
    compacting = asyncio.create_task(agent.compact())
    await reached.wait()
    assert agent.running
    with pytest.raises(ConfigurationError, match="already running"):
        await agent.run("go")
    with pytest.raises(ConfigurationError, match="Nothing is running to be steered"):
        agent.steer("look at b")
    assert agent.abort()
    with pytest.raises(AbortedError):
        await asyncio.wait_for(compacting, 0.5)
    assert agent.session.turns == before
    assert [event.status for event in seen.of("compact:end")] == ["aborted"] * (name != "system:transform")
    assert not agent.running
    assert not others()


async def test_cancelling_the_awaiting_task_stops_it_too():
    agent = Agent(Service("main", ["word " * 500], delay=0.001), session=talk(4))
    writing = asyncio.Event()
    agent.hooks.on("compact:progress", lambda _event: writing.set())
    compacting = asyncio.create_task(agent.compact())
    await writing.wait()
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    assert not agent.running
    assert not others()


# --- what it costs --------------------------------------------------------------------------------


async def test_what_it_cost_counts_for_the_session_and_belongs_to_no_run():
    agent = agent_with("ok", SUMMARY, session=Session.memory())
    fill(agent.session, 3)
    await agent.run("go")
    before = spent_in(agent.session).usage
    end = await agent.compact()
    assert end.usage == SUMMARY.usage
    assert agent.session.turns[-1].run_id is None
    assert spent_in(agent.session).usage == before + SUMMARY.usage


async def test_failed_attempts_of_it_count_as_well():
    lost = Usage(input=400, output=1)
    agent = agent_with(failing(OverloadedError("x"), spent=lost), SUMMARY)
    await agent.compact()
    assert spent_in(agent.session).usage == lost + SUMMARY.usage


async def test_it_counts_against_the_session_s_budget():
    agent = agent_with(SUMMARY, "never", behavior=Behavior(budgets=Budgets.of(tokens=500, scope="session")))
    await agent.compact()
    with pytest.raises(BudgetExceededError, match="session"):
        await agent.run("go")


# --- taking it back -------------------------------------------------------------------------------


async def test_what_was_summarised_is_sent_again_word_for_word():
    agent = agent_with(SUMMARY, "ok")
    before = sent(agent)
    end = await agent.compact()
    assert agent.undo_compaction() == end.summary_turn.id
    assert sent(agent) == before
    await agent.run("go")
    assert wire_texts(agent.provider.requests[-1]) == [*TALK, "go"]
    with pytest.raises(ConfigurationError, match="no compaction to undo"):
        agent.undo_compaction()


async def test_summaries_are_taken_back_from_the_newest_on():
    agent = agent_with(SUMMARY, SECOND)
    before = sent(agent)
    first = await agent.compact("up_to a1")
    between = sent(agent)
    second = await agent.compact("tail 2")
    assert sent(agent) == [STILL, *TALK[6:], "Continue."]
    with pytest.raises(ConfigurationError, match="no summary that counts now") as caught:
        agent.undo_compaction(first.summary_turn.id)  # the second has taken it in
    assert "counts again once" in caught.value.hint
    assert agent.undo_compaction() == second.summary_turn.id
    assert sent(agent) == between
    assert agent.undo_compaction(first.summary_turn.id) == first.summary_turn.id
    assert sent(agent) == before
    with pytest.raises(ConfigurationError, match="no summary that counts"):
        agent.undo_compaction("nonsense")


async def test_of_two_summaries_side_by_side_either_may_be_taken_back():
    agent = agent_with(SUMMARY, SECOND)
    first = await agent.compact("up_to a1")
    await agent.compact("from q4")
    assert sent(agent) == [WELL, *TALK[2:6], STILL]
    agent.undo_compaction(first.summary_turn.id)
    assert sent(agent) == [*TALK[:6], STILL]


async def test_a_summary_may_be_made_again_after_one_was_taken_back():
    agent = agent_with(SUMMARY, SECOND)
    await agent.compact()
    agent.undo_compaction()
    end = await agent.compact()
    assert (sent(agent)[0], end.replaced) == (STILL, 4)
    assert agent.undo_compaction() == end.summary_turn.id


async def test_after_taking_it_back_the_window_is_judged_anew():
    agent = full([SUMMARY, counted("one", context=300), SECOND, "two"], session=talk(5, words="word " * 1_000))
    await agent.run("go")
    agent.undo_compaction()
    seen = Recorder(agent.hooks)
    await agent.run("go on")
    assert [event.status for event in seen.of("compact:end")] == ["compacted"]


async def test_what_was_taken_back_stays_so_after_a_restart(tmp_path):
    with Session.create(tmp_path) as session:
        fill(session, 4)
        agent = agent_with(SUMMARY, session=session)
        await agent.compact()
        agent.undo_compaction()
        before = sent(agent)
    with Session.open(session.path) as opened:
        agent = agent_with("ok", session=opened)
        assert sent(agent) == before
        await agent.run("go")
        assert wire_texts(agent.provider.requests[0]) == [*TALK, "go"]


async def test_a_full_disk_does_not_undo_the_taking_back():
    session = FullDisk.session("compact-undo")
    fill(session, 4)
    agent = agent_with(SUMMARY, "ok", session=session)
    await agent.compact()
    with pytest.raises(SessionError):
        agent.undo_compaction()
    assert sent(agent)[:8] == TALK


async def test_a_full_disk_at_the_summary_is_raised_and_the_summary_holds():
    session = FullDisk.session("compact-summary")
    fill(session, 4)
    agent = agent_with(SUMMARY, session=session)
    seen = Recorder(agent.hooks)
    with pytest.raises(SessionError, match="No space left"):
        await agent.compact()
    assert [event.status for event in seen.of("compact:end")] == ["failed"]
    assert sent(agent)[0] == WELL
    agent.undo_compaction()
    assert sent(agent)[:8] == TALK
