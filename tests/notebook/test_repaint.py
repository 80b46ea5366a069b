"""A conversation drawn again reads as it did: compactions, what was put back, what nobody wrote."""

from __future__ import annotations

import pytest

from tests.agent.support import echo, simple_tool
from tests.notebook.support import Page, stripped
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.touched import Touched, with_touched
from zidane_lab.kernel.embedded import embedded_shell
from zidane_lab.kernel.live import LiveExecutor
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.render import CellRenderer
from zidane_lab.notebook.repaint import repaint
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.session.persisted import PERSISTED
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.variables import inspect_variable_tool
from zidane_lab.turns import (
    CompactSummaryBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
)
from zidane_lab.wire.state import WireState


def drawn(*turns, **state):
    page = Page()
    repaint(turns, page, WireState(**state))
    return page


def kinds(page):
    return [bundle.get(MIME, {}).get("kind", "output") for bundle in page.final]


def dividers(page):
    return [bundle for bundle in page.final if bundle.get(MIME, {}).get("kind") == "compaction"]


def user(text, **fields):
    return Turn("user", (TextBlock(text),), **fields)


def put_back(*items):
    """The two turns behind a summary: calls and their results, as ``(kind, tool, arguments, text, is_error)``."""
    ids = [f"compact-restore-{kind}-{n}" for n, (kind, *_) in enumerate(items)]
    calls = tuple(ToolCallBlock(each, tool, args) for each, (_, tool, args, *_) in zip(ids, items, strict=True))
    results = tuple(
        ToolResultBlock(each, (TextBlock(text),), is_error)
        for each, (*_, text, is_error) in zip(ids, items, strict=True)
    )
    return Turn("assistant", calls, injected="restore"), Turn("user", results, injected="restore")


# --- what a person wrote ----------------------------------------------------------------------------


def test_a_prompt_is_what_the_person_wrote_and_nothing_that_came_with_it():
    said = (
        TextBlock("Compare @prices, please"),
        TextBlock('<notebook-text id="abc234" kind="variable">\napple 3\n</notebook-text abc234>'),
        TextBlock('<system-note section="env">cwd: /elsewhere</system-note>'),
    )
    page = drawn(Turn("user", said))
    assert page.text == "You: Compare @prices, please"
    assert "apple" not in str(page.final)


def test_a_prompt_may_begin_with_a_picture():
    page = drawn(Turn("user", (ImageBlock("image/png", b"x"), TextBlock("What is this?"))))
    assert page.text == "You: What is this?"


@pytest.mark.parametrize("reason", ["length-resume", "progress-nudge", "tool-output-budget", "validation"])
def test_what_the_loop_said_is_not_the_persons(reason):
    (bundle,) = drawn(user("Go on where you stopped.", injected=reason)).final
    assert bundle["text/plain"] == "• zidane told the model: Go on where you stopped."
    assert (bundle[MIME]["kind"], bundle[MIME]["about"]) == ("injected", reason)


# --- compactions ------------------------------------------------------------------------------------


def summary(replaces, *, turn_id="turn_s", run_id=None, text="The data have 344 rows.", cost=None, **metadata):
    return Turn(
        "user", (CompactSummaryBlock(text, tuple(replaces), metadata),),
        id=turn_id, run_id=run_id, usage=Usage(10, 5, cost=cost), model="p/m",
    )  # fmt: skip


def test_a_summary_is_the_divider_it_was():
    page = drawn(user("a", id="a"), summary(["a"], model="p/m", before=116_900, after=12_300, cost=0.48), user("b"))
    assert kinds(page) == ["prompt", "compaction", "prompt"]
    (bundle,) = dividers(page)
    assert bundle["text/plain"].split("\n")[0] == (
        "──── compacted (asked for): 1 turn → a summary · 116.9k → ~12.3k tokens · $0.48 ────"
    )
    assert "The data have 344 rows." in bundle["text/plain"]
    assert "Summary by p/m." in bundle["text/plain"]
    assert bundle[MIME]["turn_id"] == "turn_s"


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"run_id": None}, "asked for"),
        ({"run_id": "run_1"}, "the window was full"),
        ({"run_id": "run_1", "reason": "overflow"}, "the request was too long"),
    ],
)
def test_why_it_was_made_is_told(made, why):
    (bundle,) = dividers(drawn(user("a", id="a"), summary(["a"], **made)))
    assert f"compacted ({why})" in bundle["text/plain"]


def test_what_was_put_back_is_named_in_the_divider_and_drawn_as_no_call():
    behind = put_back(
        ("file", "read_file", {"path": "/work/notes.txt"}, "milk", False),
        ("skill", "skills_use", {"name": "plots"}, "use colours", False),
        ("variable", "inspect_variable", {"name": "df"}, "344 rows", False),
        ("variable", "inspect_variable", {"name": "gone"}, "No longer in the kernel: gone.", True),
    )
    page = drawn(user("a", id="a"), summary(["a"], before=900, after=100), *behind, user("b"))
    assert kinds(page) == ["prompt", "compaction", "prompt"]
    (bundle,) = dividers(page)
    own = bundle[MIME]
    assert (own["files"], own["skills"], own["variables"]) == (["/work/notes.txt"], ["plots"], ["df"])
    assert own["after"] == 100  # what was put back is in it
    assert "Variables put back: df\n" in bundle["text/plain"]


def test_what_a_later_summary_put_back_is_not_an_earlier_ones():
    df = ("variable", "inspect_variable", {"name": "df"}, "x", False)
    page = drawn(
        user("a", id="a"), summary(["a"]), user("b", id="b"), summary(["a", "turn_s", "b"], turn_id="t"), *put_back(df)
    )
    assert [mark[MIME]["variables"] for mark in dividers(page)] == [[], ["df"]]


def test_a_summary_that_took_in_an_earlier_one_counts_it_as_one_turn():
    page = drawn(
        user("a", id="a"), user("b", id="b"), summary(["a", "b"], turn_id="s"), user("c", id="c"),
        summary(["a", "b", "s", "c"], turn_id="t"),
    )  # fmt: skip
    assert [mark[MIME]["replaced"] for mark in dividers(page)] == [2, 2]


def test_a_summary_that_was_undone_says_so():
    page = drawn(user("a", id="a"), summary(["a"], turn_id="s"), undone=frozenset({"s"}))
    (bundle,) = dividers(page)
    assert bundle[MIME]["undone"] is True
    assert bundle["text/plain"].split("\n")[0].endswith("· undone ────")
    assert "/compact undo" not in bundle["text/plain"]


def test_numbers_that_are_damaged_are_left_out():
    (bundle,) = dividers(drawn(user("a", id="a"), summary(["a"], before="much", after=-1, model=7)))
    assert "tokens" not in bundle["text/plain"]


def test_a_summary_is_untrusted():
    (bundle,) = dividers(drawn(user("a", id="a"), summary(["a"], text="<script>alert(1)</script>")))
    assert "<script>alert(1)</script>" in "".join(stripped(bundle["text/html"]).text)
    assert stripped(bundle["text/html"]).tags <= {"details", "summary", "div", "span", "b", "code", "p"}


def test_a_large_results_card_says_where_the_whole_is():
    kept = {PERSISTED: {"path": "/s/tool-results/c.txt", "bytes": 90_000}}
    page = drawn(
        Turn("assistant", (ToolCallBlock("c", "query"),)),
        Turn("user", (ToolResultBlock("c", (TextBlock("the head"),), metadata=kept),)),
    )
    assert "✓ query  (90 kB" in page.text


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", ["manual", "auto"])
async def test_the_divider_drawn_again_is_the_one_drawn_live(tmp_path, reason):
    (tmp_path / "notes.txt").write_text("remember the milk\n" * 40)
    shell = embedded_shell({"prices": {"apple": 3}})
    lookups = [
        call("read_file", path="notes.txt"),
        call("inspect_variable", name="prices"),
        call("echo", text="e" * 24_000),
    ]
    counted = Usage(input=3_000, output=100)
    answers = [Turn("assistant", tuple(lookups), usage=counted), "It says milk."]
    if reason == "auto":  # the window is full once the calls are answered
        answers = [*answers[:1], "The notes say milk.", *answers[1:]]
    else:
        answers = [*answers, "The notes say milk."]
    agent = Agent(
        ScriptedProvider(answers),
        tools=[read_file_tool(), inspect_variable_tool(), simple_tool("echo", echo)],
        executor=LiveExecutor(shell),
        cwd=tmp_path,
        behavior=Behavior(compaction=AutoCompact(keep_turns=0, window=30_000 if reason == "auto" else None)),
    )
    live, again = Page(), Page()
    agent.hooks.use(CellRenderer(live))
    await agent.run("What is in there?")
    if reason == "manual":
        await agent.compact("full")
    repaint(agent.session.turns, again, agent.session.wire_state)
    assert dividers(again) == dividers(live)
    (mark,) = dividers(again)
    assert mark[MIME]["reason"] == reason
    assert mark[MIME]["files"] == [str(tmp_path / "notes.txt")]
    assert mark[MIME]["variables"] == ["prices"]
    undone = agent.undo_compaction()
    later = Page()
    repaint(agent.session.turns, later, agent.session.wire_state)
    assert [(mark[MIME]["turn_id"], mark[MIME]["undone"]) for mark in dividers(later)] == [(undone, True)]


def test_the_lists_at_the_end_of_a_summary_are_told_without_the_marks_for_the_model():
    text = with_touched("The data have 344 rows.", Touched(read=("a.csv",), variables=("odd<name",)))
    (bundle,) = dividers(drawn(user("a", id="a"), summary(["a"], text=text)))
    for form in (bundle["text/plain"], "".join(stripped(bundle["text/html"]).text)):
        assert "touched>" not in form
        assert "Files read: a.csv" in form
        assert "odd<name" in form
