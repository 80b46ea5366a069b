"""A plan is not forgotten: not at the end of a run, not behind a summary."""

from __future__ import annotations

import pytest

from tests.agent.runs import QUICK, SMALL, Service, counted, fill, talk, wire_texts
from tests.agent.strict import must_be_valid
from tests.tools.test_todo import FIRST, FIRST_TEXT, READ, write
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.todo_reminder import REMINDER, TodoReminder
from zidane_lab.events import Injection, TurnBoundary
from zidane_lab.session.session import Session
from zidane_lab.tools.todo import todo_tools
from zidane_lab.tools.todo_plan import Todo, checked, edit_turn, plan_in

pytestmark = pytest.mark.asyncio

SUMMARY = counted("<summary>All is well.</summary>", context=500, output=30)


def agent_with(*answers, session=None, depth=0, behavior=None):
    session = session if session is not None else Session.memory()
    hooks = HookBus()
    hooks.use(TodoReminder(session))
    service = Service("main", answers)
    behavior = behavior or Behavior(retry=QUICK)
    return Agent(service, tools=todo_tools(), session=session, hooks=hooks, depth=depth, behavior=behavior)


def reminders(agent):
    return [turn.text for turn in agent.session.turns if turn.injected == "progress-nudge"]


# --- at the end of a run --------------------------------------------------------------------------


async def test_open_steps_are_reminded_of_once():
    agent = agent_with(FIRST, "I am done.", "Really.")
    result = await agent.run("go")
    assert result.text == "Really."
    assert reminders(agent) == [f"{REMINDER}- [/] load the table\n- [ ] plot it"]


async def test_once_a_run_also_when_the_plan_changes_after_it():
    agent = agent_with(FIRST, "Done.", write("completed load the table", "pending plot it"), "Enough.")
    result = await agent.run("go")
    assert result.text == "Enough."
    assert len(reminders(agent)) == 1


@pytest.mark.parametrize("plan", [write("completed a", "dropped b"), write("blocked a", "completed b"), write()])
async def test_nothing_that_can_be_done_is_nothing_to_remind_of(plan):
    agent = agent_with(plan, "Done.")
    await agent.run("go")
    assert reminders(agent) == []


async def test_a_plan_that_was_reminded_of_is_left_alone_in_later_runs_until_it_is_written_again():
    agent = agent_with(FIRST, "Done.", "Really.", "It rains.", FIRST, "Done.", "Really.")
    for prompt in ("go", "how is the weather?", "again"):
        await agent.run(prompt)
    assert len(reminders(agent)) == 2


async def test_a_run_that_was_cut_leaves_its_plan_to_the_next_one(tmp_path):
    agent = agent_with(FIRST, RuntimeError("boom"), session=Session.create(tmp_path))
    with pytest.raises(Exception, match="boom"):
        await agent.run("go")
    agent.session.close()
    with Session.open(agent.session.path) as session:
        again = agent_with("Done.", "Really.", session=session)
        await again.run("continue")
        assert len(reminders(again)) == 1


async def test_agents_within_agents_are_not_reminded():
    agent = agent_with(FIRST, "Done.", depth=1)
    await agent.run("go")
    assert reminders(agent) == []


async def test_what_another_handler_says_first_is_not_talked_over():
    agent = agent_with(FIRST, "Done.", "Really.", "Yes.")
    said = []

    def other(event):
        if not event.turn.tool_calls and not said:
            said.append(event.inject.append(Injection("validation", "Wrong.")))

    hooks = HookBus()
    hooks.on(TurnBoundary, other)
    hooks.use(TodoReminder(agent.session))
    agent.hooks = hooks
    await agent.run("go")
    assert [turn.injected for turn in agent.session.turns if turn.injected] == ["validation", "progress-nudge"]


# --- behind a summary -----------------------------------------------------------------------------


async def test_an_open_plan_is_put_back_behind_a_summary():
    agent = agent_with(FIRST, "ok", "ok", SUMMARY, READ, "done", session=talk(2))
    await agent.run("go")
    await agent.compact("full")
    call_turn, answer = agent.session.turns[-2:]
    assert (call_turn.tool_calls[0].name, call_turn.injected, answer.injected) == ("todoread", "restore", "restore")
    assert answer.tool_results[0].text == FIRST_TEXT
    must_be_valid(agent.session)
    await agent.run("go on")
    assert any(FIRST_TEXT in text for text in wire_texts(agent.provider.requests[-2]))
    assert agent.session.turns[-2].tool_results[0].text == FIRST_TEXT
    must_be_valid(agent.session)


async def test_within_a_run_too_and_again_behind_the_next_summary():
    session = talk(4)
    agent = agent_with(FIRST, "ok", "ok", session=session)
    await agent.run("go")
    fill(session, 4, context=9_000)
    for _ in range(2):
        again = agent_with(SUMMARY, "ok", session=session, behavior=Behavior(compaction=SMALL, retry=QUICK))
        await again.run("go on")
        assert sum(FIRST_TEXT in text for text in wire_texts(again.provider.requests[-1])) == 1
        must_be_valid(session)
        fill(session, 4, context=9_000)


async def test_a_plan_that_is_still_shown_or_has_nothing_left_is_not_put_back():
    agent = agent_with(FIRST, "ok", "ok", SUMMARY, session=talk(4))
    await agent.run("go")
    await agent.compact("up_to a2")
    assert not any(turn.injected == "restore" for turn in agent.session.turns)
    agent = agent_with(write("completed a"), "ok", SUMMARY, session=talk(4))
    await agent.run("go")
    await agent.compact("full")
    assert not any(turn.injected == "restore" for turn in agent.session.turns)


async def test_a_plan_that_was_read_since_is_shown_where_it_was_read():
    session = Session.memory()
    agent = agent_with(FIRST, "ok", "ok", READ, "ok", SUMMARY, session=session)
    await agent.run("go")
    written = session.turns[-1].id
    await agent.run("what is left?")
    await agent.compact(f"up_to {written}")
    assert not any(turn.injected == "restore" for turn in session.turns)


async def test_a_summary_that_fails_puts_nothing_back():
    agent = agent_with(FIRST, "ok", "ok", *[RuntimeError("no")] * 9, session=talk(4))
    await agent.run("go")
    with pytest.raises(Exception, match="no"):
        await agent.compact("full")
    assert not any(turn.injected == "restore" for turn in agent.session.turns)


async def test_undoing_a_summary_leaves_one_plan_and_a_valid_conversation():
    agent = agent_with(FIRST, "ok", "ok", SUMMARY, READ, "done", session=talk(2))
    await agent.run("go")
    before = plan_in(agent.session.turns)
    await agent.compact("full")
    agent.undo_compaction()
    assert plan_in(agent.session.turns) == before
    must_be_valid(agent.session)
    await agent.run("what is left?")
    assert agent.session.turns[-2].tool_results[0].text == FIRST_TEXT


async def test_the_model_reads_what_a_person_changed_in_the_plan():
    agent = agent_with(FIRST, "ok", "ok", READ, "done", "really")
    await agent.run("go")
    agent.session.append(edit_turn(checked([Todo("load the table", "dropped"), Todo("sum it up")])))
    await agent.run("go on")
    must_be_valid(agent.session)
    assert any("I have changed the plan" in turn.text for turn in agent.provider.requests[3].turns)
    texts = [result.text for turn in agent.session.turns for result in turn.tool_results]
    assert texts[-1] == "0 of 2 done\n\n- [-] load the table\n- [/] sum it up"
