"""The desk takes the first valid answer, from wherever it comes, and keeps what was asked."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from zidane_lab.agent.hooks import HookBus
from zidane_lab.approvals.decisions import Answer, Question
from zidane_lab.approvals.gate import Gate
from zidane_lab.chat.budget_asking import budget_question
from zidane_lab.chat.interacting import Asker, Desk, desk_of, nobody_there, question_of, question_payload
from zidane_lab.chat.typed_answers import described, how_to_answer, read_typed
from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import BudgetReached, Ids, ToolGate
from zidane_lab.session.interactions import (
    INTERACTION,
    INTERACTION_ANSWER,
    InteractionAnswer,
    interaction_record,
    interactions_in,
    new_interaction,
)
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn

PLAN = {"title": "t", "steps": [{"title": "one"}]}
YES, NO = {"decision": "approve"}, {"decision": "reject"}


def plan():
    return new_interaction("plan", PLAN, run_id="run_1", call_id="call_1")


@pytest.fixture
def session():
    session = Session.memory()
    session.append(Turn("user", (TextBlock("go"),)))
    session.append(Turn("assistant", (ToolCallBlock("call_1", "present_plan", {}),), run_id="run_1"))
    return session


class Page:
    """A front that shows one interaction and answers when it is told to."""

    def __init__(self):
        self.shown, self.gone = [], 0
        self.answered = asyncio.get_running_loop().create_future()

    async def __call__(self, interaction):
        self.shown.append(interaction)
        try:
            return InteractionAnswer(interaction.id, await asyncio.shield(self.answered), "widget")
        except asyncio.CancelledError:
            self.gone += 1
            raise


async def put(desk, front, interaction=None):
    task = asyncio.ensure_future(desk.put(interaction or plan(), front))
    await asyncio.sleep(0.01)
    return task


@pytest.mark.asyncio
async def test_the_front_end_answers(session):
    page, desk = Page(), Desk(session)
    task = await put(desk, page)
    (pending,) = desk.pending
    assert desk.is_waited_at
    assert page.shown == [pending]
    page.answered.set_result(YES)
    answer = await task
    assert (answer.value, answer.by) == ({"decision": "approve", "reason": ""}, "widget")
    assert interactions_in(session).answers[pending.id] == answer
    assert not desk.is_waited_at
    assert desk.pending == ()


@pytest.mark.asyncio
async def test_a_command_answers_first_and_the_form_goes_away(session):
    page, desk = Page(), Desk(session)
    task = await put(desk, page)
    asked = desk.answer("", NO, by="command")
    answer = await task
    assert (answer.value["decision"], answer.by) == ("reject", "command")
    assert page.gone == 1
    with pytest.raises(ConfigurationError, match="answered already"):
        desk.answer(asked.id, YES, by="panel")
    assert interactions_in(session).answers[asked.id].by == "command"


@pytest.mark.asyncio
async def test_answers_may_come_from_any_thread_and_one_wins(session):
    desk = Desk(session)
    task = await put(desk, Page())
    (asked,) = desk.pending
    barrier, won = threading.Barrier(8), []

    def press(number):
        barrier.wait()
        try:
            desk.answer(asked.id, {**NO, "reason": str(number)}, by=f"thread {number}")
        except ConfigurationError:
            return
        won.append(str(number))

    threads = [threading.Thread(target=press, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    answer = await task
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    assert [answer.value["reason"]] == won


@pytest.mark.asyncio
async def test_an_answer_that_does_not_fit_leaves_the_question_open(session):
    desk = Desk(session)
    task = await put(desk, Page())
    with pytest.raises(ConfigurationError, match="not offered"):
        desk.answer("", {"decision": "maybe"}, by="command")
    assert len(desk.pending) == 1
    desk.answer("", YES, by="command")
    assert (await task).is_answered


@pytest.mark.asyncio
@pytest.mark.parametrize("value", [{"decision": "always"}, {}, None])
async def test_a_front_that_answers_nonsense_counts_as_nobody(session, value):
    async def front(interaction):
        return InteractionAnswer(interaction.id, value, "widget")

    answer = await Desk(session).put(plan(), front)
    assert (answer.value, answer.by) == (None, "policy")
    assert len(interactions_in(session).closed) == 1


@pytest.mark.asyncio
async def test_nobody_there_is_told_at_once_and_closed(session):
    answer = await Desk(session).put(plan(), nobody_there)
    assert not answer.is_answered
    assert Desk(session).pending == ()


@pytest.mark.asyncio
@pytest.mark.parametrize("error", [AbortedError("stop"), RuntimeError("broken")])
async def test_a_front_that_fails_closes_the_question(session, error):
    async def front(_interaction):
        raise error

    with pytest.raises(type(error)):
        await Desk(session).put(plan(), front)
    assert len(interactions_in(session).closed) == 1


@pytest.mark.asyncio
async def test_a_stop_takes_the_question_back(session):
    page, desk = Page(), Desk(session)
    task = await put(desk, page)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (page.gone, desk.pending, len(interactions_in(session).closed)) == (1, (), 1)


@pytest.mark.asyncio
async def test_several_questions_are_told_apart_by_the_start_of_their_ids(session):
    desk = Desk(session)
    tasks = [await put(desk, Page()), await put(desk, Page(), new_interaction("plan", PLAN, call_id="call_2"))]
    with pytest.raises(ConfigurationError, match="2 questions are open"):
        desk.find("")
    first, second = desk.pending
    desk.answer(second.id[4:12], YES, by="command")
    desk.answer(first.id, YES, by="command")
    assert [(await task).is_answered for task in tasks] == [True, True]
    with pytest.raises(ConfigurationError, match="Nothing is open"):
        desk.find("")
    with pytest.raises(ConfigurationError, match="by the name nope"):
        desk.find("nope")


# --- what a dead process asked ----------------------------------------------------------------------


def left_open(session, interaction):
    session.record(INTERACTION, interaction_record(interaction))
    return interaction


@pytest.mark.asyncio
async def test_what_a_dead_process_asked_can_be_answered_and_is_not_asked_again(session):
    asked, desk = left_open(session, plan()), desk_of(session)
    assert (desk.pending, desk.is_ready_to_resume) == ((asked,), False)
    desk.answer("", YES, by="command")
    assert (desk.pending, desk.is_ready_to_resume) == ((), True)
    answer = await desk.put(plan(), nobody_there)
    assert (answer.id, answer.value["decision"]) == (asked.id, "approve")


@pytest.mark.asyncio
async def test_what_was_not_answered_meanwhile_is_asked_under_its_old_name(session):
    asked, page = left_open(session, plan()), Page()
    page.answered.set_result(YES)
    assert (await Desk(session).put(plan(), page)).id == asked.id
    assert page.shown == [asked]
    assert len(interactions_in(session).asked) == 1


@pytest.mark.asyncio
async def test_an_answer_that_stands_in_the_file_alone_does_not_decide(session):
    """A session's file may come from somebody else, who would like to answer for the person."""
    asked = left_open(session, plan())
    session.record("interaction-answer", {"id": asked.id, "value": YES, "by": "command"})
    desk = Desk(session)
    assert not desk.is_ready_to_resume
    assert not (await desk.put(plan(), nobody_there)).is_answered


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"reasons": ("writes",)}, True),
        ({"reasons": ("writes", "deletes")}, True),
        ({"reasons": ("writes", "deletes", "sends")}, False),
        ({"target": "rm -r ."}, False),
        ({"diff": "-all"}, False),
        ({"remember": ("shell:rm:*",)}, False),
        ({"tool": "run_python"}, False),
    ],
)
async def test_a_permission_holds_only_for_what_was_shown(session, change, holds):
    base = {"tool": "shell", "intent": "", "target": "rm x", "reasons": ("writes", "deletes")}
    before, present = question_payload(Question(**base)), question_payload(Question(**{**base, **change}))
    left_open(session, new_interaction("approval", before, call_id="call_1"))
    desk = Desk(session)
    desk.answer("", {"decision": "once"}, by="command")
    answer = await desk.put(new_interaction("approval", present, call_id="call_1"), nobody_there)
    assert answer.is_answered == holds


# --- approvals --------------------------------------------------------------------------------------


def test_a_question_comes_back_from_its_payload_and_unknown_fields_do_no_harm():
    question = Question("edit", "change", "t", ("r",), ("edit",), "-a\n+b", ("once", "always", "deny"), 2, "write")
    assert question_of({**question_payload(question), "new": 1}) == question


@pytest.mark.asyncio
async def test_the_gate_asks_about_the_call_that_is_at_it(session):
    seen = []

    async def front(interaction):
        seen.append(interaction)
        return InteractionAnswer(interaction.id, {"decision": "deny", "reason": "not now"}, "widget")

    waited = []
    asker = Asker(Desk(session), front, lambda: waited.append(True))
    hooks = HookBus()
    hooks.use(asker)
    hooks.on(ToolGate, Gate(asker.approve, tiers={"shell": "execute"}))
    events = [ToolGate(Ids("run_1", "turn_1", f"call_{n}"), "shell", {"command": f"rm {n}"}) for n in (1, 2)]
    await asyncio.gather(*(hooks.emit(event) for event in events))
    assert [(each.call_id, each.payload["target"]) for each in seen] == [("call_1", "rm 1"), ("call_2", "rm 2")]
    assert all("They said: not now" in event.block for event in events)
    assert waited == [True, True]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("value", "given"), [({"decision": "once"}, True), ({"decision": "deny"}, False), (None, None)]
)
async def test_a_budget_is_answered_yes_or_no(session, value, given):
    async def front(interaction):
        assert (interaction.kind, interaction.call_id) == ("budget", None)
        return InteractionAnswer(interaction.id, value, "widget")

    event = BudgetReached(Ids("run_1"), "turns", "run", 3, 3)
    assert await Asker(Desk(session), front).approve(budget_question(event, 6)) is given


@pytest.mark.asyncio
async def test_parts_that_were_allowed_reach_the_gate(session):
    async def front(interaction):
        return InteractionAnswer(interaction.id, {"decision": "once", "hunks": [True, False]}, "widget")

    question = Question("multi_edit", "", "t", hunks=2)
    assert await Asker(Desk(session), front).approve(question) == Answer("once", "", (True, False))


def test_a_session_has_one_desk_which_does_not_keep_it_alive():
    session = Session.memory()
    assert desk_of(session) is desk_of(session)
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None


@pytest.mark.asyncio
async def test_what_was_answered_is_open_no_more_though_its_run_has_yet_to_wake_up(session):
    desk = Desk(session)
    task = await put(desk, Page())
    desk.answer("", YES, by="command")
    assert desk.pending == ()
    with pytest.raises(ConfigurationError):
        desk.answer("", NO, by="command")
    await task


def test_a_payload_of_unknown_origin_is_a_question_all_the_same():
    payload = {"tool": {"a": 1}, "intent": None, "reasons": 3, "choices": ["launch", 7], "hunks": True, "more": "x"}
    question = question_of(payload)
    assert question == Question("", "", "", choices=("launch", "7"))
    interaction = new_interaction("approval", payload)
    assert described(interaction)
    assert how_to_answer(interaction) == ""
    with pytest.raises(ConfigurationError):
        read_typed(interaction, "yes")


class Interrupting:
    """Lets something happen in the moment an ending is written."""

    def __init__(self, session, action):
        self.record, self.action = session.record, action

    def __call__(self, kind, data):
        if kind == INTERACTION_ANSWER and data["value"] is None:
            self.action()
        self.record(kind, data)


@pytest.mark.asyncio
async def test_an_answer_in_the_moment_a_question_ends_does_not_count_for_one_and_not_the_other(session, monkeypatch):
    desk, told = Desk(session), []

    def answer():
        try:
            desk.answer("", YES, by="panel")
        except ConfigurationError:
            told.append("late")

    monkeypatch.setattr(session, "record", Interrupting(session, answer))
    given = await desk.put(plan(), nobody_there)
    fold = interactions_in(session)
    assert given.value is None
    assert (told, dict(fold.answers), len(fold.closed)) == (["late"], {}, 1)


def test_threads_that_meet_get_the_same_desk():
    for _ in range(50):
        session, barrier, desks = Session.memory(), threading.Barrier(4), []

        def fetch(session=session, barrier=barrier, desks=desks):
            barrier.wait()
            desks.append(desk_of(session))

        threads = [threading.Thread(target=fetch) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(map(id, desks))) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["front", "command"])
async def test_a_credential_in_an_answer_is_masked_for_whoever_reads_it(session, where):
    from zidane_lab.agent.secret_guard import secret_guard

    key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    secret_guard(session, None, environ={}).attach(session)
    desk = desk_of(session)
    asked = new_interaction("question", {"questions": [{"id": "q", "type": "text", "question": "Key?"}]})
    value = {"answers": {"q": f"it is {key}"}}

    async def front(interaction):
        if where == "front":
            return InteractionAnswer(interaction.id, value, "stdin")
        desk.answer(interaction.id, value, by="command")
        return await asyncio.sleep(10)

    answer = await desk.put(asked, front)
    assert answer.value["answers"]["q"].startswith("it is [secret:github-token:")
    assert key not in repr(interactions_in(session))
