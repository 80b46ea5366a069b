"""What else makes room: another writer, cheaper levers than a summary, and what is done when a request is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.agent.runs import (
    QUICK,
    SMALL,
    Service,
    add_call,
    counted,
    failing,
    fill,
    full,
    is_summary,
    talk,
    wire_texts,
)
from tests.agent.support import Recorder, echo, simple_tool, texts
from zidane_lab.agent import compacting
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.errors import (
    BadRequestError,
    BudgetExceededError,
    ConfigurationError,
    ContextExceededError,
    OverloadedError,
)
from zidane_lab.events import CompactEnd, CompactSummarize, ContextTransform
from zidane_lab.providers.scripted import call
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.session.session import Session
from zidane_lab.turns import Usage
from zidane_lab.wire.cutoff import SUMMARY_HEAD, is_marker

pytestmark = pytest.mark.asyncio

TOO_LONG = ContextExceededError("prompt is too long: 250000 tokens > 200000 maximum")
SUMMARY = counted("<summary>All is well.</summary>", context=9_050, output=30)
ANSWER = counted("Here.", context=300)


def marks(agent):
    return [turn for turn in agent.session.turns if is_marker(turn)]


# --- who writes it, and what it costs -------------------------------------------------------------


async def test_what_a_summary_costs_counts_in_the_run_once():
    failed = failing(OverloadedError("x"), spent=Usage(input=9_000, output=1))
    agent = full([failed, SUMMARY, ANSWER])
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    both = Usage(input=9_000, output=1) + SUMMARY.usage
    assert result.usage == both + ANSWER.usage
    assert seen.of("compact:end")[0].usage == marks(agent)[0].usage == both
    assert agent.session.runs[-1].usage == result.usage


async def test_a_summary_that_uses_up_the_budget_is_kept_and_no_more_is_spent():
    agent = full([SUMMARY, "never"])
    agent.behavior = replace(agent.behavior, budgets=agent.behavior.budgets.with_limit("tokens", "run", 9_000))
    with pytest.raises(BudgetExceededError):
        await agent.run("go")
    assert len(marks(agent)) == len(agent.provider.requests) == 1


async def test_a_hook_may_give_the_summary_and_nobody_is_asked():
    agent = full([ANSWER])
    asked = []

    def give(event: CompactSummarize) -> None:
        asked.append((event.reason, [turn.id for turn in event.turns]))
        event.summary = "As the notes say."

    agent.hooks.on(CompactSummarize, give)
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    assert asked == [("auto", ["q1", "a1", "q2", "a2", "q3"])]
    assert marks(agent)[0].blocks[0].text == "As the notes say."
    assert result.usage == ANSWER.usage
    (end,) = seen.of("compact:end")
    assert (end.model, end.usage.is_empty) == ("supplied", True)


async def test_another_model_may_write_it_in_a_request_of_its_own():
    writer = Service("cheap", [SUMMARY])
    agent = full([ANSWER], summarizer=ModelTarget(writer, "mini"), system="Be kind.")
    seen = Recorder(agent.hooks)
    await agent.run("go")
    (request,) = writer.requests
    assert (request.model, len(request.turns), request.tools) == ("mini", 1, ())
    assert [event.model for event in (*seen.of("compact:start"), *seen.of("compact:end"))] == ["cheap/mini"] * 2
    assert marks(agent)[0].model == "cheap/mini"
    assert len(agent.provider.requests) == 1
    assert len(seen.of(ContextTransform.name)) == 1


async def test_the_same_model_named_as_the_writer_is_asked_behind_the_conversation():
    provider = Service("main", [SUMMARY, ANSWER])
    agent = full([], provider=provider, summarizer=ModelTarget(provider, "script"))
    await agent.run("go")
    assert len(provider.requests[0].turns) == 10


async def test_a_writer_without_a_price_is_refused_where_money_is_limited():
    writer = Service("cheap", [SUMMARY], metered=True)
    agent = full([ANSWER], summarizer=ModelTarget(writer, "mini"), behavior=Behavior(max_cost=9))
    with pytest.raises(ConfigurationError, match="price of cheap/mini"):
        await agent.run("go")


# --- cheaper levers -------------------------------------------------------------------------------


def with_outputs(count=3, tokens=20_000):
    """A session with large outputs, counted at 9 000 tokens all the same."""
    session = talk(1)
    for n in range(count):
        add_call(session, f"c{n}", "query", {"n": n}, "abcd" * tokens)
    fill(session, 2, context=9_000)
    return session


async def test_old_outputs_go_first_and_no_model_is_asked():
    agent = full([ANSWER], session=with_outputs(4))
    seen = Recorder(agent.hooks)
    await agent.run("go")
    (pruned,) = seen.of("context:pruned")
    assert (pruned.calls, pruned.why) == (("c0", "c1"), "old tool outputs")
    assert seen.names().index("context:pruned") < seen.names().index("turn:before")
    assert marks(agent) == []
    sent = [result.text for turn in agent.provider.requests[0].turns for result in turn.tool_results]
    assert [len(text) for text in sent] == [len(sent[0])] * 2 + [80_000] * 2
    assert "Left out to save room" in sent[0]
    assert set(agent.session.wire_state.elided) == {"c0", "c1"}
    # From now on the same bytes are sent.
    agent.provider = Service("main", ["ok"])
    await agent.run("go on")
    again = [result.text for turn in agent.provider.requests[0].turns for result in turn.tool_results]
    assert again == sent
    assert len(seen.of("context:pruned")) == 1


async def test_looks_that_tell_nothing_go_at_the_start_of_a_run_each_told_once():
    session = talk(1)
    add_call(session, "g0", "glob", {"pattern": "*.py"}, "nothing " * 50, metadata={"useless": True})
    add_call(session, "g1", "glob", {"pattern": "*.py"}, "a.py " * 50)
    add_call(session, "g2", "glob", {"pattern": "*.py"}, "b.py " * 50)
    fill(session, 1, context=100)
    agent = full([ANSWER], session=session)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert [event.calls for event in seen.of("context:pruned")] == [("g0",), ("g1",)]


async def test_outputs_may_be_trimmed_by_their_size_alone():
    behavior = Behavior(compaction=None, trim_outputs_over=100_000, trim_keep_turns=2)
    agent = full([ANSWER], session=with_outputs(2), behavior=behavior)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert [event.why for event in seen.of("context:pruned")] == ["tool outputs of earlier turns"]


async def test_a_model_with_a_larger_window_takes_over_before_anything_is_summarised():
    large = Service("large", [counted(call("echo"), context=9_000), counted("done", context=9_100), "and on"])
    agent = full([], promotion=ModelTarget(large, "big", 200_000), tools=[simple_tool("echo", echo)])
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    (switch,) = seen.of("fallback:switch")
    assert (switch.from_model, switch.to_model) == ("main/script", "large/big")
    assert (result.model, marks(agent)) == ("large/big", [])
    assert await agent.run("go on")
    assert len(seen.of("fallback:switch")) == 2  # each run begins with its own model


async def test_the_window_that_was_set_is_not_that_of_the_larger_model():
    large = Service("large", [ANSWER], window=200_000)
    agent = full([], promotion=ModelTarget(large, "big"))
    assert (await agent.run("go")).model == "large/big"
    small = Service("small", [], window=20_000)
    agent = full([SUMMARY, ANSWER], promotion=ModelTarget(small, "tiny"))
    assert (await agent.run("go")).model == "main/script"
    assert len(marks(agent)) == 1


async def test_the_chain_goes_on_when_the_larger_model_fails():
    large, last = Service("large", [BadRequestError("No.")]), Service("last", [SUMMARY, "Here."])
    big = ModelTarget(large, "big", 200_000)
    agent = full([], promotion=big, fallbacks=[big, ModelTarget(last, "script")])
    result = await agent.run("go")
    assert (result.model, result.text, len(large.requests)) == ("last/script", "Here.", 1)


async def test_a_larger_model_without_a_price_is_refused_where_money_is_limited():
    large = Service("large", [ANSWER], metered=True)
    behavior = Behavior(max_cost=9, compaction=SMALL)
    agent = full([ANSWER], promotion=ModelTarget(large, "big", 200_000), behavior=behavior)
    with pytest.raises(ConfigurationError, match="price of large/big"):
        await agent.run("go")


# --- the service refused the request as too long --------------------------------------------------


async def test_what_is_too_long_is_pruned_summarised_and_answered():
    agent = full([TOO_LONG, SUMMARY, ANSWER], session=with_outputs(2), behavior=Behavior(retry=QUICK))
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    names = [name for name in seen.names() if name in (
        "turn:before", "context:pruned", "compact:start", "compact:end", "turn:after", "retry:wait",
    )]  # fmt: skip
    assert names == ["turn:before", "context:pruned", "compact:start", "compact:end", "turn:after"]
    assert seen.of("compact:start")[0].reason == "overflow"
    assert (result.text, len(marks(agent))) == ("Here.", 1)
    first, asked, last = agent.provider.requests
    assert is_summary(asked)
    assert len(last.turns) < len(first.turns)
    assert wire_texts(last)[0].startswith(SUMMARY_HEAD)


async def test_the_second_time_hardly_anything_is_kept():
    agent = full([TOO_LONG, SUMMARY, TOO_LONG, SUMMARY, ANSWER], context=100)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert [event.scope for event in seen.of("compact:start")] == ["tail 4", "tail 1"]
    assert wire_texts(agent.provider.requests[-1])[1:] == ["go"]


async def test_where_all_turns_would_be_kept_hardly_any_is():
    agent = full([TOO_LONG, SUMMARY, ANSWER], rounds=1, context=100)
    seen = Recorder(agent.hooks)
    assert (await agent.run("go")).text == "Here."
    assert [event.scope for event in seen.of("compact:start")] == ["tail 1"]


async def test_a_summary_that_fails_is_not_tried_with_fewer_turns():
    agent = full([TOO_LONG, BadRequestError("No."), BadRequestError("No."), "never"], context=100)
    with pytest.raises(ContextExceededError):
        await agent.run("go")
    assert len(agent.provider.requests) == 3


async def test_what_stays_too_long_is_an_error_and_the_conversation_stays_whole():
    agent = full([TOO_LONG, SUMMARY, TOO_LONG, SUMMARY, TOO_LONG], context=100)
    before = agent.session.turns
    with pytest.raises(ContextExceededError):
        await agent.run("go")
    said = [turn for turn in agent.session.turns if not is_marker(turn)]
    assert (said[:-1], said[-1].text) == (list(before), "go")
    assert agent.session.runs[-1].status == "error"


async def test_what_can_not_be_summarised_is_an_error_and_nothing_is_changed():
    agent = full([TOO_LONG, BadRequestError("No."), BadRequestError("No.")], context=100)
    before = agent.session.turns
    seen = Recorder(agent.hooks)
    with pytest.raises(ContextExceededError):
        await agent.run("go")
    assert agent.session.turns[:-1] == before
    assert [(event.reason, event.status) for event in seen.of("compact:end")] == [("overflow", "failed")]


async def test_outputs_alone_are_left_out_where_nothing_may_be_summarised():
    agent = full([TOO_LONG, ANSWER], session=with_outputs(2), behavior=Behavior(compaction=None))
    assert (await agent.run("go")).text == "Here."
    assert marks(agent) == []


async def test_what_is_too_long_is_summarised_also_when_a_run_has_stopped_trying():
    no = [BadRequestError("No.")] * 2
    step = counted(call("echo"), context=9_000)
    agent = full([*no, step, *no, step, TOO_LONG, SUMMARY, ANSWER], tools=[simple_tool("echo", echo)])
    seen = Recorder(agent.hooks)
    assert (await agent.run("go")).text == "Here."
    assert [(e.reason, e.status) for e in seen.of("compact:end")] == [
        ("auto", "failed"), ("auto", "failed"), ("overflow", "compacted"),
    ]  # fmt: skip


# --- memory ---------------------------------------------------------------------------------------


async def test_memory_lets_go_of_what_a_summary_stands_for_and_the_file_keeps_it(tmp_path):
    long = "".join(f"row {n}\n" for n in range(10_000))
    with Session.create(tmp_path) as session:
        fill(session, 1)
        add_call(session, "c0", "query", {"n": 0}, long)
        fill(session, 2, context=9_000)
        agent = full([SUMMARY, ANSWER], session=session, behavior=Behavior(compaction=replace(SMALL, release=True)))
        ended = []
        agent.hooks.on(CompactEnd, lambda event: ended.append(event.status))
        await agent.run("go")
        held = next(turn for turn in session.turns if turn.id == "c0-result").tool_results[0].text
        assert len(held) < 5_000
        assert held.startswith('<persisted-output tool="query"')
    assert ended == ["compacted"]
    with Session.open(session.path) as opened:
        assert next(turn for turn in opened.turns if turn.id == "c0-result").tool_results[0].text == long
        assert [turn.id for turn in opened.turns] == [turn.id for turn in session.turns]


async def test_a_summary_that_stands_is_told_once_whatever_happens_behind_it(tmp_path, monkeypatch):
    started = asyncio.Event()

    async def hang(*_arguments):
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(compacting, "release_replaced_turns", hang)
    with Session.create(tmp_path) as session:
        fill(session, 4, context=9_000)
        agent = full([SUMMARY, ANSWER], session=session, behavior=Behavior(compaction=replace(SMALL, release=True)))
        seen = Recorder(agent.hooks)
        run = asyncio.create_task(agent.run("go"))
        await started.wait()
        agent.abort()
        assert (await asyncio.wait_for(run, 0.5)).status == "aborted"
    assert [event.status for event in seen.of("compact:end")] == ["compacted"]
    assert len(marks(agent)) == 1


async def test_after_a_restart_the_size_is_read_off_the_session(tmp_path):
    with Session.create(tmp_path) as session:
        fill(session, 4, context=9_000)
    with Session.open(session.path) as opened:
        agent = Agent(Service("main", [SUMMARY, ANSWER]), session=opened, behavior=Behavior(compaction=SMALL))
        await agent.run("go")
        assert len(marks(agent)) == 1
    with Session.open(session.path) as opened:
        agent = Agent(Service("main", ["And on."]), session=opened, behavior=Behavior(compaction=SMALL))
        await agent.run("go on")
        assert len(marks(agent)) == 1
        assert texts(agent)[-1] == ("assistant", "And on.")
