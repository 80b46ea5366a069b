"""Histories of every kind of brokenness, for property tests: turns ``t0``, ``t1`` … and decisions about them."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from zidane_lab.turns import (
    AudioBlock,
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
)
from zidane_lab.wire.state import WireState

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
IDS = st.sampled_from(["a", "b", "c", "a_r1", "functions.f:0", "é" * 50])
TEXTS = st.sampled_from(["", " \n", "hello", "…"])
MEDIA = st.sampled_from(
    [
        ImageBlock("image/png", b"x"),
        ImageBlock("image/tiff", b"x"),
        DocumentBlock("application/pdf", b"x", "a.pdf"),
        DocumentBlock("text/csv", b""),
        AudioBlock("audio/wav", b"x"),
        VideoBlock("video/mp4", b"x"),
    ]
)
PARTS = st.builds(TextBlock, TEXTS) | MEDIA
THINKING = st.builds(
    ThinkingBlock,
    TEXTS,
    st.sampled_from([None, "", "sig"]),
    st.sampled_from([None, "anthropic", "openai", "google"]),
    st.booleans(),
)
BLOCKS = st.one_of(
    st.builds(TextBlock, TEXTS),
    THINKING,
    st.builds(ToolCallBlock, IDS, st.sampled_from(["run_python", "web.search", "", "x" * 80]), st.just({"a": 1})),
    st.builds(ToolResultBlock, IDS, st.lists(PARTS, max_size=2).map(tuple), st.booleans()),
    MEDIA,
    st.builds(CommandBlock, st.just("help")),
    st.builds(CustomBlock, st.just("x")),
)
ROLES = st.sampled_from(["user", "assistant"])
ROWS = st.tuples(ROLES, st.lists(BLOCKS, max_size=5).map(tuple))


def numbered(rows, start=0):
    return tuple(Turn(role, blocks, id=f"t{n}", created_at=MOMENT) for n, (role, blocks) in enumerate(rows, start))


PLAIN_TURNS = st.lists(ROWS, max_size=9).map(numbered)
"""Without summaries."""

NAMES = st.sampled_from([*(f"t{n}" for n in range(12)), "t1-summary", "gone"])
SUMMARIES = st.builds(CompactSummaryBlock, TEXTS, st.lists(NAMES, max_size=5).map(tuple))
MARKED_ROWS = st.one_of(
    ROWS,
    ROWS,
    st.tuples(st.just("user"), st.tuples(SUMMARIES)),
    st.tuples(ROLES, st.lists(BLOCKS | SUMMARIES, max_size=4).map(tuple)),
)
TURNS = st.lists(MARKED_ROWS, max_size=10).map(numbered)
"""With summaries of everything: turns before and after, one another, themselves, nothing."""

STATES = st.builds(
    WireState, st.dictionaries(IDS, st.sampled_from(["[left out]", " "]), max_size=3), st.frozensets(NAMES, max_size=3)
)
