"""What a run looks like: events in, a page out."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.agent.support import Slow, echo, simple_tool
from tests.notebook.support import Page
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.resume import ResumePolicy
from zidane_lab.agent.retry import RetryPolicy
from zidane_lab.errors import BudgetExceededError, RateLimitError
from zidane_lab.events import ToolGate
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.render import CellRenderer
from zidane_lab.notebook.repaint import repaint
from zidane_lab.notebook.static import StaticRenderer
from zidane_lab.providers.base import Finish, TextDelta, ToolCallEnd, ToolCallStart
from zidane_lab.providers.scripted import ScriptedProvider, call, say, think
from zidane_lab.tools.base import ToolOutput
from zidane_lab.turns import TextBlock, Usage

pytestmark = pytest.mark.asyncio

NO_RESUME = Behavior(resume=ResumePolicy(on_length=False, refusal_retries=0))


def drawn(*answers, tools=(), **options):
    agent = Agent(ScriptedProvider(answers, **options), tools=tools)
    page = Page()
    agent.hooks.use(CellRenderer(page, window=lambda _model: 100_000))
    return agent, page


def kinds(page):
    return [bundle[MIME]["kind"] for bundle in page.final]


async def ran(_context, code="", intent=""):
    execution = {
        "wall_seconds": 0.5, "created": ("x",), "changed": (), "deleted": (),
        "outputs": ({"kind": "stdout", "text": "printed\n"}, {"kind": "display", "data": {"text/plain": "shown"}}),
        "error": {"name": "ValueError", "message": "no", "traceback": "cell, line 1\nValueError: no"} if "bad" in code else None,
    }  # fmt: skip
    return ToolOutput((TextBlock("[done]"),), is_error="bad" in code, metadata={"execution": execution})


RUN = simple_tool("run_python", ran)


async def test_a_whole_run_reads_from_top_to_bottom():
    agent, page = drawn(
        [think("hm"), say("Let me look."), call("run_python", code="x = 1", intent="Count")],
        "There is **one**.",
        tools=[RUN],
        usage=Usage(input=1000, output=20),
    )
    await agent.run("how many?")
    assert kinds(page) == ["thinking", "text", "tool", "text", "usage"]
    assert page.text.split("\n") == [
        "[thinking (2 characters)]",
        "hm",
        "Let me look.",
        "✓ Count  (run_python · created x · 0.5 s)",
        "    x = 1",
        "There is **one**.",
        page.final[-1]["text/plain"],
    ]
    assert "in 2,000 / 40 out · context 1% of 100k · 2 turns · 1 tool call" in page.final[-1]["text/plain"]
    assert page.final[3]["text/markdown"] == "There is **one**."


async def test_an_error_of_the_code_is_shown_below_its_card():
    agent, page = drawn([call("run_python", code="bad", intent="Try")], "Oh.", tools=[RUN])
    await agent.run("go")
    assert kinds(page) == ["tool", "error", "text", "usage"]
    assert page.final[0]["text/plain"].startswith("✗ Try  (run_python · failed · created x · 0.5 s)")
    assert page.final[1]["text/plain"] == "cell, line 1\nValueError: no"


async def test_a_card_waits_runs_and_ends():
    slow = Slow()
    agent, page = drawn([call("slow")], "ok", tools=[simple_tool("slow", slow)])
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    states = [
        bundle[MIME]["status"] for _, _, bundle in page.sends if MIME in bundle and bundle[MIME]["kind"] == "tool"
    ]
    assert states == ["waiting", "running"]
    slow.release.set()
    await run
    assert page.final[0][MIME]["status"] == "ok"


async def test_a_long_call_shows_its_time():
    slow = Slow()
    agent, page = drawn([call("slow")], "ok", tools=[simple_tool("slow", slow)])
    run = asyncio.create_task(agent.run("go"))
    await asyncio.sleep(1.3)
    assert page.final[0]["text/plain"] == "▸ slow  (running · 1.0 s)"
    slow.release.set()
    await run


async def test_each_call_of_a_batch_is_drawn_above_its_own_outputs():
    page = Page()

    async def printing(_context, code="", intent=""):
        page.show({"text/plain": f"output of {code}"})
        return "ok"

    agent = Agent(
        ScriptedProvider(
            [[call("run_python", code="a"), call("run_python", code="b"), call("run_python", code="c")], "ok"]
        ),
        tools=[simple_tool("run_python", printing)],
    )
    agent.hooks.use(CellRenderer(page))
    await agent.run("go")
    drawn_in_order = [bundle.get(MIME, {}).get("kind", bundle["text/plain"]) for bundle in page.final]
    assert drawn_in_order[:6] == ["tool", "output of a", "tool", "output of b", "tool", "output of c"]


async def test_a_blocked_call_says_why():
    agent, page = drawn([call("echo", text="x")], "ok", tools=[simple_tool("echo", echo)])

    def no(event: ToolGate) -> None:
        event.block = "it writes a file."

    agent.hooks.on(ToolGate, no)
    await agent.run("go")
    assert "⊘ echo  (blocked" in page.text
    assert "Blocked: it writes a file." in page.text


async def test_stopping_leaves_no_card_running_and_says_so():
    slow = Slow()
    agent, page = drawn(
        [say("Working."), call("slow"), call("echo")], tools=[simple_tool("slow", slow), simple_tool("echo", echo)]
    )
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    agent.abort()
    await run
    assert kinds(page) == ["text", "tool", "banner", "usage"]
    assert page.final[1][MIME]["status"] == "interrupted"
    assert "⚠ Stopped." in page.text
    count = len(page.sends)
    await asyncio.sleep(1.2)
    assert len(page.sends) == count  # nothing is drawn afterwards


@pytest.mark.parametrize(
    ("answer", "behavior", "level", "words"),
    [
        (RateLimitError("Too fast."), Behavior(retry=RetryPolicy(max_retries=0)), "error", "Too fast. Wait a moment"),
        ([call("echo")], Behavior(max_turns=1), "warning", "raise the limit"),
        ([TextDelta("half"), Finish("length")], NO_RESUME, "warning", "output limit"),
        ([TextDelta("no"), Finish("refusal")], NO_RESUME, "warning", "declined"),
    ],
)
async def test_abnormal_ends_have_a_banner(answer, behavior, level, words):
    agent, page = drawn(answer, tools=[simple_tool("echo", echo)])
    with contextlib.suppress(RateLimitError, BudgetExceededError):
        await agent.run("go", behavior=behavior)
    (banner,) = [bundle for bundle in page.final if bundle[MIME]["kind"] == "banner"]
    assert banner[MIME]["level"] == level
    assert words in banner["text/plain"]


async def test_trailing_text_is_drawn_without_waiting_for_more():
    agent, page = drawn(
        lambda _request: [TextDelta("a"), TextDelta("b"), TextDelta(" never sent, sleeping" * 3)], delay=0.03
    )
    run = asyncio.create_task(agent.run("go"))
    await asyncio.sleep(0.3)
    run.cancel()
    with pytest.raises((asyncio.CancelledError, Exception)):
        await run
    assert page.text.startswith("ab never sent")


async def test_cards_follow_calls_that_were_given_new_ids():
    def answer(_request):
        return [
            ToolCallStart(0, "call_0", "echo"),
            ToolCallEnd(0, "call_0", "echo", {"text": "x"}),
            Finish("tool-calls"),
        ]

    agent, page = drawn(answer, answer, "ok", tools=[simple_tool("echo", echo)])
    await agent.run("go")
    cards = [bundle for bundle in page.final if bundle[MIME]["kind"] == "tool"]
    assert [card[MIME]["status"] for card in cards] == ["ok", "ok"]
    assert len({card[MIME]["call_id"] for card in cards}) == 2


async def test_steering_messages_are_shown_where_they_arrived():
    slow = Slow()
    agent, page = drawn([call("slow")], "as you wish", tools=[simple_tool("slow", slow)])
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    agent.steer("look at b")
    slow.release.set()
    await run
    assert kinds(page) == ["tool", "prompt", "text", "usage"]
    assert "You, meanwhile: look at b" in page.text


async def test_repainting_shows_the_same_conversation_without_running_it():
    agent, _ = drawn(
        [
            think("hm"),
            say("Look."),
            call("run_python", code="x = 1", intent="Count"),
            call("run_python", code="bad", intent="Try"),
        ],
        [call("echo", text="e")],
        "Done.",
        tools=[RUN, simple_tool("echo", echo)],
    )
    await agent.run("how many?")
    again = Page()
    repaint(agent.session.turns, again)
    assert [bundle.get(MIME, {}).get("kind", "output") for bundle in again.final] == [
        "prompt", "thinking", "text", "tool", "output", "output", "tool", "output", "output", "error", "tool", "text",
    ]  # fmt: skip
    for line in ("You: how many?", "printed", "shown", "✓ Count", "✗ Try", "→ echo e", "Done."):
        assert line in again.text


async def test_200_kb_streamed_through_a_run_cost_at_most_three_times_their_bytes():
    import json

    text = ("A line of an answer with some words in it, no end in sight. " * 5 + "\n\n") * 660
    agent, page = drawn(text, chunk_size=40)
    await agent.run("go")
    sent = sum(len(json.dumps(bundle, ensure_ascii=False).encode()) + 700 for _, _, bundle in page.sends)
    assert len(text) > 195_000
    assert sent <= 3 * len(text)
    assert "".join(page.text.split("scripted/")[0].split()) == "".join(text.split())


async def test_a_change_of_a_file_is_drawn_as_its_diff():
    async def edit(_context):
        return ToolOutput((TextBlock("Edited."),), metadata={"edit": {"path": "a", "diff": "--- a\n+++ b\n-x\n+y"}})

    agent, page = drawn([call("edit")], "done", tools=[simple_tool("edit", edit)])
    await agent.run("go")
    assert "    -x\n    +y" in page.text
    again = Page()
    repaint(agent.session.turns, again)
    assert "    -x\n    +y" in again.text


async def test_an_unattended_page_has_calls_in_the_order_they_were_made():
    """Calls that run at once end in any order; the page must be the same every time."""
    slow = Slow()

    async def quick(_context):
        slow.release.set()
        return "quick"

    page = Page()
    tools = [
        simple_tool("slow", slow, tier="read", concurrency="shared"),
        simple_tool("quick", quick, tier="read", concurrency="shared"),
    ]
    agent = Agent(ScriptedProvider([[call("slow"), call("quick"), call("quick")], "ok"]), tools=tools)
    agent.hooks.use(StaticRenderer(page))
    await agent.run("go")
    cards = [bundle[MIME] for bundle in page.final if bundle[MIME]["kind"] == "tool"]
    assert [card["tool"] for card in cards] == ["slow", "quick", "quick"]
    assert [card["call_id"].rpartition(".")[2] for card in cards] == ["call0", "call1", "call2"]


async def test_what_has_ended_is_drawn_when_an_unattended_run_is_stopped():
    slow, quick = Slow(), asyncio.Event()

    async def done(_context):
        quick.set()
        return "quick"

    page = Page()
    tools = [simple_tool("slow", slow, concurrency="shared"), simple_tool("quick", done, concurrency="shared")]
    agent = Agent(ScriptedProvider([[call("slow"), call("quick")], "ok"]), tools=tools)
    agent.hooks.use(StaticRenderer(page))
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    await quick.wait()
    await asyncio.sleep(0)
    agent.abort()
    await run
    cards = [(b[MIME]["tool"], b[MIME]["status"]) for b in page.final if b[MIME]["kind"] == "tool"]
    assert cards == [("slow", "interrupted"), ("quick", "ok")]


async def test_a_question_waits_and_has_no_time_of_its_own():
    slow = Slow()
    agent, page = drawn([call("ask_user")], "ok", tools=[simple_tool("ask_user", slow)])
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    assert page.final[0][MIME]["status"] == "waiting"
    slow.release.set()
    await run
    assert (page.final[0][MIME]["status"], page.final[0][MIME]["seconds"]) == ("ok", None)


async def test_a_refused_call_took_no_time():
    agent, page = drawn([call("echo", text="x")], "ok", tools=[simple_tool("echo", echo)])

    def no(event: ToolGate) -> None:
        event.block = "no."

    agent.hooks.on(ToolGate, no)
    await agent.run("go")
    assert page.final[0][MIME]["seconds"] is None
