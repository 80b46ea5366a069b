"""Identical calls: replayed, in the end refused."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.guards.support import Counting, Stage
from tests.agent.support import simple_tool
from zidane_lab.agent.guards.tool_dedup import DedupTool, ToolDedup
from zidane_lab.errors import ConfigurationError, ToolError
from zidane_lab.turns import TextBlock

pytestmark = pytest.mark.asyncio


def by_q(arguments):
    return arguments.get("q")


def stage(rule, handler=None, *, concurrency="exclusive"):
    handler = handler if handler is not None else Counting()
    tools = [simple_tool(name, handler, concurrency=concurrency) for name in ("search", "other")]
    return Stage(*tools, guards=[ToolDedup({"search": rule})]), handler


async def ask(it, q, tool="search"):
    (result,) = await it.turn((tool, {"q": q}))
    return result.text


async def test_an_identical_call_gets_the_earlier_result_without_running():
    it, tool = stage(by_q)
    assert [await ask(it, q) for q in ("a", "a", "b", "a")] == ["run 1", "run 1", "run 2", "run 1"]
    assert tool.runs == 2
    assert it.hits("tool-dedup") == ["answered with the result of call_1"] * 2
    assert it.session.turns[-1].tool_results[0].metadata["same_as"] == "call_1"


@pytest.mark.parametrize("key", [None, "", 5, ["x"]])
async def test_a_call_without_a_key_runs_and_leaves_no_trace(key):
    it, tool = stage(DedupTool(lambda arguments: key if arguments["q"] == "free" else arguments["q"], "block-after", 2))
    assert [await ask(it, q) for q in ("free", "free", "a", "free")] == ["run 1", "run 2", "run 3", "run 4"]
    assert (await ask(it, "a")).startswith(
        "Blocked: 2 identical search calls"
    )  # what had no key did not reset the count
    assert tool.runs == 4


async def test_other_tools_are_left_alone():
    it, tool = stage(by_q)
    assert [await ask(it, "a", "other") for _ in range(2)] == ["run 1", "run 2"]
    assert tool.runs == 2


async def test_block_after_replays_then_refuses_until_the_arguments_change():
    it, tool = stage(DedupTool(by_q, "block-after", threshold=3, reason="ask something else."))
    said = [await ask(it, "a") for _ in range(5)]
    assert said == ["run 1", "run 1", *["Blocked: ask something else."] * 3]
    assert it.outcomes() == ["ok", "ok", "blocked", "blocked", "blocked"]
    assert await ask(it, "b") == "run 2"
    assert await ask(it, "a") == "run 1"  # counted anew; what it came to is still known
    assert tool.runs == 2


async def test_the_reason_may_depend_on_the_call():
    it, _ = stage(DedupTool(by_q, "block-after", 2, lambda arguments, count: f"{count} times {arguments['q']}"))
    assert [await ask(it, "a") for _ in range(3)] == ["run 1", "Blocked: 2 times a", "Blocked: 3 times a"]


async def test_a_failing_call_is_tried_again_and_still_refused_in_the_end():
    it, tool = stage(DedupTool(by_q, "block-after", 3), Counting(ToolError("no", hint="")))
    said = [await ask(it, "a") for _ in range(3)]
    assert said[:2] == ["no", "no"]
    assert said[2].startswith("Blocked: 3 identical")
    assert tool.runs == 2


async def test_results_kept_for_a_run_are_forgotten_after_it():
    it, tool = stage(DedupTool(by_q, scope="run"))
    for run_id in ("run_1", "run_2"):
        await it.start(run_id)
        await ask(it, "a")
        await ask(it, "a")
        await it.end()
    assert tool.runs == 2


async def test_results_kept_for_the_session_outlive_a_run():
    it, tool = stage(DedupTool(by_q, scope="session"))
    for run_id in ("run_1", "run_2"):
        await it.start(run_id)
        await ask(it, "a")
        await it.end()
    assert tool.runs == 1


async def test_identical_calls_of_one_batch_share_one_run():
    started = []

    async def slow(_context, q=""):
        started.append(q)
        await asyncio.sleep(0.01)
        return f"found {q}"

    it, _ = stage(by_q, slow, concurrency="shared")
    results = await it.turn(*[("search", {"q": q}) for q in ("a", "b", "a", "a")])
    assert [result.text for result in results] == ["found a", "found b", "found a", "found a"]
    assert sorted(started) == ["a", "b"]


async def test_a_call_waiting_for_one_that_fails_runs_itself():
    async def flaky(_context, q=""):
        runs.append(q)
        await asyncio.sleep(0.01)
        if len(runs) == 1:
            raise ToolError("busy", hint="")
        return "found"

    runs = []
    it, _ = stage(by_q, flaky, concurrency="shared")
    results = await it.turn(*[("search", {"q": "a"})] * 3)
    assert [result.text for result in results] == ["busy", "found", "found"]
    assert len(runs) == 2


async def test_a_call_refused_by_someone_else_does_not_hold_up_the_next():
    it, tool = stage(by_q, concurrency="shared")
    it.hooks.on("tool:gate", lambda event: setattr(event, "block", "no") if event.ids.call_id == "call_1" else None)
    results = await asyncio.wait_for(it.turn(*[("search", {"q": "a"})] * 2), 5)
    assert [result.text for result in results] == ["Blocked: no", "run 1"]
    assert tool.runs == 1


async def test_a_run_that_is_stopped_leaves_nothing_that_waits():
    gate = asyncio.Event()

    async def stuck(_context, q=""):
        gate.set()
        await asyncio.sleep(60)

    it, _ = stage(by_q, stuck)
    await it.start()
    task = asyncio.ensure_future(ask(it, "a"))
    await gate.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await it.end()
    it.tools["search"] = simple_tool("search", Counting())
    await it.start("run_2")
    assert await asyncio.wait_for(ask(it, "a"), 5) == "run 1"


async def test_a_run_stopped_at_the_gate_leaves_nothing_that_waits_either():
    asked = asyncio.Event()

    async def ask_person(event):
        if event.ids.run_id == "run_1":
            asked.set()
            await asyncio.sleep(60)

    it, _ = stage(by_q)
    it.hooks.on("tool:gate", ask_person)
    await it.start()
    task = asyncio.ensure_future(ask(it, "a"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await it.end()
    await it.start("run_2")
    assert await asyncio.wait_for(ask(it, "a"), 5) == "run 1"


async def test_a_broken_hasher_or_reason_lets_the_guard_fail_not_the_call():
    def broken(*_):
        raise ValueError("oops")

    it, tool = stage(broken)
    assert await ask(it, "a") == "run 1"
    assert it.hits("tool-dedup") == ["left alone: its hasher failed (ValueError: oops)"]
    it, tool = stage(DedupTool(by_q, "block-after", 2, broken))
    assert [(await ask(it, "a"))[:20] for _ in range(2)] == ["run 1", "Blocked: 2 identical"]
    assert tool.runs == 1


async def test_the_result_of_another_handler_is_not_touched():
    it, tool = stage(by_q)
    from zidane_lab.turns import ToolResultBlock

    it.hooks._entries.insert(
        0, ("tool:gate", lambda event: setattr(event, "result", ToolResultBlock("", (TextBlock("mine"),))))
    )
    assert await ask(it, "a") == "mine"
    assert tool.runs == 0


@pytest.mark.parametrize("options", [{"mode": "never"}, {"scope": "world"}, {"threshold": 1}])
async def test_rules_without_meaning_are_refused(options):
    with pytest.raises(ConfigurationError):
        DedupTool(by_q, **options)
