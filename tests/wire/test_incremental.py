"""The builder that remembers gives what the function without memory gives."""

from __future__ import annotations

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import MARKED_ROWS, MOMENT, STATES, TURNS, numbered
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.incremental import WireBuilder
from zidane_lab.wire.state import WireState

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("grow"), st.lists(MARKED_ROWS, min_size=1, max_size=3)),
        st.tuples(st.just("grow"), st.lists(MARKED_ROWS, min_size=1, max_size=3)),
        st.tuples(st.just("back"), st.integers(0, 6)),
        st.tuples(st.just("copy"), st.none()),
        st.tuples(st.just("decide"), STATES),
        st.tuples(st.just("again"), st.none()),
    ),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(TURNS, STATES, STEPS)
def test_however_a_session_grows_branches_and_decides_the_result_is_that_of_the_whole(turns, state, steps):
    builder = WireBuilder()
    assert builder.build(turns, state) == wire_turns(turns, state=state)
    for step, what in steps:
        if step == "grow":
            turns += numbered(what, len(turns))
        elif step == "back":
            turns = turns[: max(len(turns) - what, 0)]
        elif step == "copy":  # equal turns, other objects
            turns = tuple(Turn(turn.role, turn.blocks, id=turn.id, created_at=MOMENT) for turn in turns)
        elif step == "decide":
            state = what
        out = builder.build(turns, state)
        whole = wire_turns(turns, state=state)
        assert out == whole
        assert (out is turns) == (whole is turns), "a fit session is handed back itself, by both"


def exchange(n):
    yield Turn("user", (TextBlock(f"And {n}?"),), id=f"q{n}")
    thought = ThinkingBlock("hm", "sig", "anthropic")
    call = ToolCallBlock(f"call_{n}", "run_python" if n % 3 else "run.python", {"code": "1"})
    yield Turn("assistant", (thought, TextBlock(" "), call), id=f"c{n}")
    yield Turn("user", (ToolResultBlock(f"call_{n}", (TextBlock("1"),)),), id=f"r{n}")
    yield Turn("assistant", (TextBlock("It is 1."),), id=f"a{n}")


def session(count):
    return tuple(turn for n in range(count // 4) for turn in exchange(n))


def test_what_was_built_stays_the_same_objects_while_the_session_grows():
    turns, state, builder = session(80), WireState(), WireBuilder()
    before = ()
    for length in range(1, len(turns) + 1):
        out = builder.build(turns[:length], state)
        kept = len(before) - 1  # what closed the last request may have become another turn
        assert all(new is old for new, old in zip(out[:kept], before[:kept], strict=True))
        before = out


def test_a_long_session_is_not_gone_over_again_for_every_turn():
    """Counted in calls of Python functions, which do not depend on the machine."""
    marker = Turn("user", (CompactSummaryBlock("They talked.", tuple(f"q{n}" for n in range(50))),), id="m")
    long = session(2000)
    turns = (*long[:400], marker, *long[400:], *exchange(1000))
    state, builder = WireState({"call_1": "[left out]"}), WireBuilder()
    builder.build(turns[:-4], state)
    calls = 0

    def count(*_):
        nonlocal calls
        calls += 1

    for length in range(len(turns) - 3, len(turns) + 1):
        grown = turns[:length]
        sys.setprofile(count)
        try:
            builder.build(grown, state)
        finally:
            sys.setprofile(None)
    assert calls < 1000


def test_a_new_summary_a_decision_and_another_branch_are_seen():
    turns, builder = session(12), WireBuilder()
    builder.build(turns)
    summary = Turn("user", (CompactSummaryBlock("So far.", tuple(turn.id for turn in turns[:8])),), id="m")
    compacted = (*turns, summary)
    assert len(builder.build(compacted)) < len(turns)
    undone = WireState(undone=frozenset({"m"}))
    assert builder.build(compacted, undone) == wire_turns(turns)
    elided = WireState({"call_2": "[left out]"})
    assert "[left out]" in {result.text for turn in builder.build(turns, elided) for result in turn.tool_results}
    assert builder.build(turns[:4]) == wire_turns(turns[:4])
