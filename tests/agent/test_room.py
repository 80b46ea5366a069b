"""A window that fills: when the conversation is summarised, what is sent then, and what a stop or a failure leaves."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.agent.runs import (
    SMALL,
    FullDisk,
    Service,
    add_call,
    counted,
    fill,
    full,
    is_summary,
    open_calls,
    others,
    talk,
    wire_texts,
)
from tests.agent.support import Recorder, echo, simple_tool
from zidane_lab.agent.behavior import Behavior
from zidane_lab.errors import (
    AbortedError,
    BadRequestError,
    BudgetExceededError,
    ContextExceededError,
    SessionError,
    ToolInputError,
)
from zidane_lab.events import ContextTransform
from zidane_lab.providers.base import ThinkingDelta
from zidane_lab.providers.scripted import call
from zidane_lab.session.read_state import read_evidence
from zidane_lab.session.session import Session
from zidane_lab.turns import CompactSummaryBlock, Usage
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.cutoff import SUMMARY_HEAD, is_marker
from zidane_lab.wire.envelope import put_in_envelope

pytestmark = pytest.mark.asyncio

TOO_LONG = ContextExceededError("prompt is too long: 250000 tokens > 200000 maximum")
SUMMARY = counted("<summary>All is well.</summary>", context=9_050, output=30)
ANSWER = counted("Here.", context=300)


def marks(agent):
    return [turn for turn in agent.session.turns if is_marker(turn)]


class Kernel:
    """Describes the variables it has."""

    def __init__(self, **variables):
        self.variables = variables

    async def inspect_variable(self, name, *, budget=4000):
        if name not in self.variables:
            raise ToolInputError(f"There is no variable {name!r}.")
        return str(self.variables[name])[:budget]


# --- by itself ------------------------------------------------------------------------------------


async def test_a_full_window_is_summarised_before_the_model_is_asked():
    agent = full([SUMMARY, ANSWER])
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    names = [name for name in seen.names() if not name.startswith(("stream:", "context:"))]
    progress = [name for name in names if name == "compact:progress"]
    assert progress
    assert [name for name in names if name != "compact:progress"] == [
        "agent:start", "system:transform", "turn:user", "compact:start", "compact:summarize", "compact:end",
        "turn:before", "turn:after", "turn:boundary", "agent:done",
    ]  # fmt: skip
    (start,), (end,) = seen.of("compact:start"), seen.of("compact:end")
    assert (start.reason, start.scope, start.model, start.turns, start.kept) == ("auto", "tail 4", "main/script", 5, 4)
    assert start.tokens == end.before == 9_000 + 10 + 1  # as counted, and the prompt since
    (mark,) = marks(agent)
    assert (end.status, end.summary_turn, end.replaced) == ("compacted", mark, 5)
    (block,) = mark.blocks
    assert isinstance(block, CompactSummaryBlock)
    assert (block.text, block.replaces) == ("All is well.", ("q1", "a1", "q2", "a2", "q3"))
    assert 0 < end.after < end.before
    assert (result.text, result.status) == ("Here.", "completed")


async def test_what_is_sent_then_is_the_summary_and_the_tail():
    agent = full([SUMMARY, ANSWER])
    before = agent.session.turns
    await agent.run("go")
    asked, request = agent.provider.requests
    assert wire_texts(request) == [f"{SUMMARY_HEAD}\n\nAll is well.", "answer 3", "question 4", "answer 4", "go"]
    # The summary was asked for behind the request as it stood, so that it is read from the cache.
    assert wire_texts(asked)[:-1] == [turn.text for turn in before] + ["go"]
    assert (asked.system, asked.tools, asked.cache_key) == (request.system, request.tools, request.cache_key)
    assert is_summary(asked)
    assert request.turns == wire_turns(agent.session.turns[:-1], state=agent.session.wire_state)
    assert agent.session.turns[:8] == before  # nothing of it is lost


async def test_what_is_in_use_is_put_back_as_it_is_now(tmp_path):
    session = talk(2)
    path = tmp_path / "data.py"
    path.write_text("x = 1\n")
    evidence = read_evidence(str(path), 1, 300, mtime=path.stat().st_mtime, size=6)
    add_call(session, "r1", "read_file", {"path": str(path)}, "x = 0", metadata=evidence)
    made = {"execution": {"created": ["df", "gone"], "changed": [], "deleted": []}}
    add_call(session, "p1", "run_python", {"code": "df = 1"}, "ok", metadata=made)
    fill(session, 3, context=9_000)
    tools = [simple_tool(name, echo) for name in ("read_file", "inspect_variable")]
    agent = full([SUMMARY, ANSWER], session=session, tools=tools, executor=Kernel(df="2 rows"), cwd=tmp_path)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    (end,) = seen.of("compact:end")
    assert (end.files, end.variables, end.skills) == ((str(path),), ("df",), ())
    mark, calls, results = agent.session.turns[-4:-1]
    assert is_marker(mark)
    assert [turn.injected for turn in (calls, results)] == ["restore", "restore"]
    assert [c.name for c in calls.tool_calls] == ["read_file", "inspect_variable", "inspect_variable"]
    assert [r.call_id for r in results.tool_results] == [c.id for c in calls.tool_calls]
    told = [result.text for result in results.tool_results]
    assert "x = 1" in told[0]
    assert told[1:] == ["2 rows", "No longer in the kernel: gone. Make them anew before you use them."]
    sent_calls, sent_results = agent.provider.requests[-1].turns[-2:]
    assert sent_calls == calls
    assert sent_results.blocks == tuple(put_in_envelope(result) for result in results.tool_results)
    assert all(text.startswith("<tool-output id=") for text in (result.text for result in sent_results.tool_results))
    assert seen.of("agent:done")[0].turns == 1


async def test_a_file_that_is_still_shown_is_not_put_back(tmp_path):
    session = talk(3)
    path = tmp_path / "data.py"
    path.write_text("x = 1\n")
    evidence = read_evidence(str(path), 1, 300, mtime=path.stat().st_mtime, size=6)
    add_call(session, "r1", "read_file", {"path": str(path)}, "x = 1", metadata=evidence)
    fill(session, 1, context=9_000)
    agent = full([SUMMARY, ANSWER], session=session, tools=[simple_tool("read_file", echo)], cwd=tmp_path)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert seen.of("compact:end")[0].files == ()
    assert "x = 1" in wire_texts(agent.provider.requests[-1])


async def test_without_the_tools_nothing_is_put_back():
    session = talk(2)
    add_call(session, "p1", "run_python", {"code": "df = 1"}, "ok", metadata={"execution": {"created": ["df"]}})
    fill(session, 3, context=9_000)
    agent = full([SUMMARY, ANSWER], session=session, executor=Kernel(df="2 rows"))
    await agent.run("go")
    assert not any(turn.injected for turn in agent.session.turns)


@pytest.mark.parametrize(("context", "fires"), [(8_480, False), (8_500, True)])
async def test_it_is_done_from_the_threshold_on(context, fires):
    agent = full([SUMMARY, ANSWER] if fires else [ANSWER], context=context)
    await agent.run("go")
    assert len(marks(agent)) == fires


async def test_where_nothing_was_counted_the_request_is_estimated():
    agent = full([SUMMARY, ANSWER], session=talk(5, words="word " * 1_000))
    await agent.run("go")
    assert len(marks(agent)) == 1


async def test_what_was_counted_before_does_not_count_afterwards():
    answers = [SUMMARY, "uncounted", "uncounted"]
    agent = full(answers, session=talk(5, words="word " * 700, context=9_000))
    await agent.run("go")
    await agent.run("go on")
    assert len(marks(agent)) == 1


async def test_it_is_done_in_mid_run_and_not_again_at_once():
    steps = [counted(call("echo", text=str(n)), context=9_000) for n in range(3)]
    again = counted(call("echo", text="3"), context=9_000)
    agent = full([*steps[:1], SUMMARY, *steps[1:], again, "done"], context=100, tools=[simple_tool("echo", echo)])
    seen = Recorder(agent.hooks)
    await agent.run("go")
    # The first prompt after it was counted as large as before: until that grows, another summary is of no use.
    assert [event.status for event in seen.of("compact:end")] == ["compacted"]
    assert [is_summary(request) for request in agent.provider.requests].index(True) == 1
    assert not open_calls(agent)


@pytest.mark.parametrize("behavior", [Behavior(compaction=None), Behavior(compaction=replace(SMALL, threshold=1))])
async def test_who_does_not_want_it_is_left_alone(behavior):
    agent = full([ANSWER], behavior=behavior, context=29_000)
    await agent.run("go")
    assert marks(agent) == []


async def test_a_request_is_built_only_to_be_sent():
    """A hook that rewrites the context may be slow, and may count."""
    agent = full([counted(call("echo"), context=200), ANSWER], context=100, tools=[simple_tool("echo", echo)])
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert len(seen.of(ContextTransform.name)) == len(agent.provider.requests) == 2


async def test_a_summary_on_purpose_is_no_broken_cache():
    cached = Usage(input=10, output=5, cache_read=9_000)
    session = talk(4)
    answers = [replace(ANSWER, usage=cached), SUMMARY, replace(ANSWER, usage=Usage(input=5_000, output=5))]
    agent = full(answers, session=session)
    seen = Recorder(agent.hooks)
    await agent.run("one")
    await agent.run("two")
    assert len(marks(agent)) == 1
    assert seen.of("cache:break") == []


# --- failures -------------------------------------------------------------------------------------


async def test_a_summary_that_fails_is_told_and_the_run_goes_on():
    agent = full([BadRequestError("No."), BadRequestError("Not alone either."), ANSWER])
    before = agent.session.turns
    seen = Recorder(agent.hooks)
    assert (await agent.run("go")).text == "Here."
    (end,) = seen.of("compact:end")
    assert (end.status, end.summary_turn, end.replaced) == ("failed", None, 0)
    assert "Not alone either." in end.error
    assert agent.session.turns[:8] == before
    assert [len(request.turns) for request in agent.provider.requests] == [10, 1, 9]


async def test_after_two_failures_a_run_stops_trying_and_the_next_one_tries_again():
    no = [BadRequestError("No.")] * 2
    step = counted(call("echo"), context=9_000)
    agent = full([*no, step, *no, step, step, step, *no, ANSWER], tools=[simple_tool("echo", echo)])
    seen = Recorder(agent.hooks)
    agent.behavior = replace(agent.behavior, max_turns=4)
    with pytest.raises(BudgetExceededError):
        await agent.run("go")
    assert [event.status for event in seen.of("compact:end")] == ["failed", "failed"]
    await agent.run("go on")
    assert [event.status for event in seen.of("compact:end")] == ["failed"] * 3


async def test_too_few_turns_to_summarise_are_no_failure():
    """A run that begins with a large prompt is summarised once there is enough of it."""
    large = "word " * 8_000
    steps = [counted(call("echo", text=str(n)), context=9_000 + n) for n in range(3)]
    agent = full([*steps[:2], SUMMARY, steps[2], "done"], session=Session.memory(), tools=[simple_tool("echo", echo)])
    seen = Recorder(agent.hooks)
    await agent.run(large)
    assert [event.status for event in seen.of("compact:end")] == ["compacted"]


async def test_a_stop_in_the_middle_of_a_summary_changes_nothing():
    agent = full([[ThinkingDelta("Let me see")] * 1000], provider=None)
    agent.provider = Service("main", ["word " * 4_000], delay=0.001)
    before = agent.session.turns
    seen, writing = Recorder(agent.hooks), asyncio.Event()
    agent.hooks.on("compact:progress", lambda _event: writing.set())
    run = asyncio.create_task(agent.run("go"))
    await writing.wait()
    agent.abort()
    result = await asyncio.wait_for(run, 0.5)
    (end,) = seen.of("compact:end")
    assert (result.status, end.status, end.error) == ("aborted", "aborted", None)
    assert agent.session.turns[:-1] == before
    assert len(seen.of("turn:before")) == 0
    assert not others()


async def test_a_stop_while_things_are_put_back_changes_nothing():
    class Busy(Kernel):
        asked = asyncio.Event()

        async def inspect_variable(self, name, *, budget=4000):
            self.asked.set()
            await asyncio.Event().wait()

    session = talk(3, words="@df")
    fill(session, 1, context=9_000)
    kernel = Busy()
    tools = [simple_tool("inspect_variable", echo)]
    agent = full([SUMMARY, ANSWER], session=session, tools=tools, executor=kernel)
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    await kernel.asked.wait()
    agent.abort()
    result = await asyncio.wait_for(run, 0.5)
    assert (result.status, [event.status for event in seen.of("compact:end")]) == ("aborted", ["aborted"])
    assert marks(agent) == []
    assert result.usage == SUMMARY.usage  # what it cost counts all the same


async def test_a_handler_may_stop_a_summary():
    agent = full([SUMMARY, ANSWER])
    seen = Recorder(agent.hooks)

    def stop(_event):
        raise AbortedError("Not now.")

    agent.hooks.on("compact:start", stop)
    assert (await agent.run("go")).status == "aborted"
    assert [event.status for event in seen.of("compact:end")] == ["aborted"]
    assert (marks(agent), agent.provider.requests) == ([], [])


@pytest.mark.parametrize("trips", ["compact-summary", "restore"])
async def test_a_full_disk_ends_the_run_and_the_summary_holds_all_the_same(trips):
    session = FullDisk.session(trips)
    fill(session, 3, words="@df")
    fill(session, 1, context=9_000)
    tools = [simple_tool("inspect_variable", echo)]
    agent = full([SUMMARY, ANSWER], session=session, tools=tools, executor=Kernel(df="2 rows"))
    seen = Recorder(agent.hooks)
    with pytest.raises(SessionError, match="No space left"):
        await agent.run("go")
    (end,) = seen.of("compact:end")
    assert (end.status, "No space left" in end.error) == ("failed", True)
    assert [turn.injected for turn in session.turns[-3:]] == [None, "restore", "restore"]
    assert not open_calls(agent)
    assert (await agent.run("go on")).text == "Here."  # it is not summarised again
    assert wire_texts(agent.provider.requests[-1])[0].startswith(SUMMARY_HEAD)
