"""What fills the window: every kind in its place, exact where a provider counted, estimates scaled to what it counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.context_breakdown import ContextSegment, ExactCounts, context_breakdown
from zidane_lab.providers.base import ToolSpec
from zidane_lab.turns import (
    CommandBlock,
    CompactSummaryBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
    now,
)


def text(tokens):
    return "word" * tokens


def tokens(breakdown):
    return {segment.category: segment.tokens for segment in breakdown.segments}


def asked(count, **more):
    return Turn("user", (TextBlock(text(count)),), **more)


def answered(count, **usage):
    return Turn("assistant", (TextBlock(text(count)),), usage=Usage(**usage) if usage else None)


def called(name, /, **arguments):
    return Turn("assistant", (ToolCallBlock("c1", name, arguments),))


def result(*parts):
    return Turn("user", (ToolResultBlock("c1", tuple(parts)),))


def test_every_kind_of_content_is_in_its_place():
    turns = (
        asked(10),
        Turn("assistant", (ThinkingBlock(text(4), "seal"), TextBlock(text(5)))),
        Turn("user", (CompactSummaryBlock(text(6)),)),
        called("run_python", code=text(20)),
        result(TextBlock(text(7)), ImageBlock("image/png", b"x")),
    )
    tool = ToolSpec("look", text(30), {"type": "object"})
    server = ToolSpec("mcp_Files_open", text(40), {"type": "object"})
    found = tokens(context_breakdown(text(100), (tool, server), turns))
    assert found["system"] == 100
    assert (found["user"], found["assistant"], found["thinking"], found["summaries"]) == (10, 5, 4, 6)
    assert (found["results"], found["media"]) == (7, 1600)
    assert found["calls"] > 20
    assert 30 < found["tools"] < 45
    assert 40 < found["mcp"] < 55


@pytest.mark.parametrize(
    ("tool", "arguments", "category", "label"),
    [
        ("inspect_variable", {"name": "df"}, "variables", "df"),
        ("list_variables", {}, "variables", "list_variables"),
        ("read_file", {"path": "data.csv"}, "files", "data.csv"),
        ("read_file", {"path": 5}, "files", "read_file"),
        ("run_python", {"code": "1"}, "results", "run_python"),
    ],
)
def test_results_belong_to_what_the_tool_looked_at(tool, arguments, category, label):
    breakdown = context_breakdown("", (), (called(tool, **arguments), result(TextBlock(text(9)))))
    (segment,) = [each for each in breakdown.segments if each.category == category]
    assert (segment.tokens, segment.items[0].label) == (9, label)


def test_attachments_are_told_from_what_was_written():
    attached = (
        f'<notebook-text id="abc234" kind="variable" name="df">\n{text(20)}\n</notebook-text abc234>\n\n'
        f'<notebook-text id="def567" kind="head of the file" name="a.csv">\n{text(10)}\n</notebook-text def567>\n\nNot attached: @x'
    )
    breakdown = context_breakdown("", (), (Turn("user", (TextBlock(text(5)), TextBlock(attached))),))
    found = tokens(breakdown)
    assert 20 < found["variables"] < 45
    assert 10 < found["files"] < 40
    assert 5 < found["user"] < 12
    labels = {item.label for segment in breakdown.segments for item in segment.items}
    assert labels == {"@df", "@a.csv"}


def test_a_summary_that_became_text_is_known_by_its_turn():
    turn = asked(10)
    assert tokens(context_breakdown("", (), (turn,), summaries=[turn.id])) == {"summaries": 10}


def test_what_never_reaches_a_model_counts_nothing():
    unsealed = Turn("assistant", (ThinkingBlock(text(50)), CommandBlock("usage", output=text(50))))
    assert context_breakdown("  ", (), (unsealed,)).segments == ()


def test_what_a_compaction_put_back_is_files():
    assert tokens(context_breakdown("", (), (asked(10, injected="restore"),))) == {"files": 10}


def test_sections_of_the_system_prompt_are_taken_out_of_it():
    skills, own = text(10), "own words! " * 8
    found = context_breakdown(f"{own}{skills}", (), (), sections={"skills": skills, "mcp": "", "notes": "note" * 3})
    assert {(each.category, each.label): each.tokens for each in found.segments} == {
        ("system", "system prompt"): 22,
        ("skills", "skills"): 10,
        ("other", "notes"): 3,
    }


def test_others_may_add_segments_and_empty_ones_are_not_shown():
    extra = [ContextSegment("other", "plan", 7, is_exact=True), ContextSegment("other", "none", 0)]
    breakdown = context_breakdown(text(5), (), (), extra=extra)
    assert [(each.label, each.tokens, each.is_exact) for each in breakdown.segments] == [
        ("system prompt", 5, False),
        ("plan", 7, True),
    ]


def test_the_window_is_divided_into_used_free_and_reserve():
    breakdown = context_breakdown(text(1_000), (), (), window=100_000)
    assert (breakdown.reserve, breakdown.free, breakdown.over) == (20_000, 79_000, 0)
    full = context_breakdown(text(90_000), (), (), window=100_000)
    assert (full.free, full.over) == (0, 10_000)
    tiny = context_breakdown("", (), (), window=10_000)
    assert (tiny.reserve, tiny.free) == (9_999, 1)
    unknown = context_breakdown(text(10), (), ())
    assert (unknown.window, unknown.free, unknown.over, unknown.reserve) == (None, None, 0, 0)


# --- what a provider counted ------------------------------------------------------------------------


def test_estimates_are_scaled_to_the_last_count():
    usage = {"input": 150, "cache_read": 150, "output": 40}
    turns = (asked(100), answered(20, **usage), asked(10))
    breakdown = context_breakdown(text(100), (), turns, measured=turns[1].usage)
    assert breakdown.last == 300
    assert tokens(breakdown) == {"system": 150, "user": 165, "assistant": 30}
    assert not breakdown.is_exact
    assert not any(segment.is_exact for segment in breakdown.segments)


@pytest.mark.parametrize("count", [1, 99_999])
def test_a_count_of_another_prompt_is_not_used(count):
    turns = (asked(100), answered(20, input=count))
    assert context_breakdown(text(100), (), turns, measured=turns[1].usage).last == 0
    assert context_breakdown(text(100), (), turns, measured=Usage(input=200)).last == 0


@pytest.mark.parametrize("as_text", [True, False])
def test_a_count_from_before_a_compaction_is_not_used(as_text):
    old = answered(20, input=150)
    block = TextBlock(text(30)) if as_text else CompactSummaryBlock(text(30))
    summary = Turn("user", (block,), created_at=now() + timedelta(seconds=5))
    marks = [summary.id] if as_text else []
    assert context_breakdown(text(100), (), (summary, old), measured=old.usage, summaries=marks).last == 0
    earlier = replace(summary, created_at=old.created_at - timedelta(seconds=5))
    assert context_breakdown(text(100), (), (earlier, old), measured=old.usage, summaries=marks).last == 150


def test_exact_counts_replace_what_they_cover_and_the_rest_fits_the_total():
    tool = ToolSpec("look", text(30), {"type": "object"})
    breakdown = context_breakdown(
        text(100), (tool,), (asked(30), answered(10)), exact=ExactCounts(total=500, system=120, tools=80)
    )
    found = {each.category: (each.tokens, each.is_exact) for each in breakdown.segments}
    assert found == {
        "system": (120, True), "tools": (80, True), "user": (225, False), "assistant": (75, False)
    }  # fmt: skip
    assert (breakdown.total, breakdown.is_exact) == (500, True)


def test_a_total_alone_is_exact_and_its_parts_are_estimates():
    breakdown = context_breakdown(text(100), (), (asked(100),), exact=ExactCounts(total=300))
    assert (breakdown.total, breakdown.is_exact) == (300, True)
    assert not any(each.is_exact for each in breakdown.segments)
    smaller = context_breakdown(text(100), (), (asked(100),), exact=ExactCounts(total=50))
    assert (smaller.total, tokens(smaller)) == (50, {"system": 25, "user": 25})


def test_a_count_that_covers_two_parts_makes_neither_exact():
    breakdown = context_breakdown(
        text(50) + "own!" * 50, (), (), sections={"skills": text(50)}, exact=ExactCounts(system=200)
    )
    assert {each.category: (each.tokens, each.is_exact) for each in breakdown.segments} == {
        "system": (100, False), "skills": (100, False)
    }  # fmt: skip


@given(
    st.lists(st.integers(1, 5_000), max_size=8),
    st.integers(0, 50_000),
    st.none() | st.integers(0, 50_000),
    st.none() | st.integers(0, 5_000),
    st.none() | st.integers(0, 5_000),
)
def test_the_parts_add_up_to_an_exact_total(sizes, system, total, system_count, tool_count):
    turns = tuple(asked(size) if n % 2 == 0 else answered(size) for n, size in enumerate(sizes))
    tool = ToolSpec("look", text(30), {"type": "object"})
    exact = ExactCounts(total, system_count, tool_count)
    breakdown = context_breakdown(text(system), (tool,), turns, exact=exact, window=100_000)
    assert all(segment.tokens > 0 for segment in breakdown.segments)
    assert breakdown.is_exact == (total is not None and breakdown.total == total)
    if total is not None and (turns or breakdown.total > total):
        assert breakdown.total == total
    assert breakdown.total + breakdown.free + breakdown.reserve - breakdown.over == 100_000
