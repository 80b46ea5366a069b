"""Any history, however broken, comes out as a request a strict service accepts."""

from __future__ import annotations

import copy
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.errors import ToolPairingError
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
from zidane_lab.wire.build import merge_same_role, visible_turns, wire_turns
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED, repair_pairing
from zidane_lab.wire.tail import (
    CONTINUE,
    EARLIER_OMITTED,
    drop_empty,
    ensure_user_head,
    ensure_user_tail,
    open_calls,
    tail_state,
)

IDS = st.sampled_from(["a", "b", "c", "a_r1"])
TEXTS = st.sampled_from(["", " \n", "hello", "…"])
PARTS = st.one_of(st.builds(TextBlock, TEXTS), st.builds(ImageBlock, st.just("image/png"), st.just(b"x")))
BLOCKS = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(ThinkingBlock, TEXTS, st.sampled_from([None, "sig"])),
    st.builds(ToolCallBlock, IDS, st.just("t")),
    st.builds(ToolResultBlock, IDS, st.lists(PARTS, max_size=2).map(tuple)),
    st.builds(ImageBlock, st.just("image/png"), st.just(b"x")),
    st.builds(DocumentBlock, st.just("application/pdf"), st.just(b"x")),
    st.builds(AudioBlock, st.just("audio/wav"), st.just(b"x")),
    st.builds(VideoBlock, st.just("video/mp4"), st.just(b"x")),
    st.builds(CompactSummaryBlock, TEXTS),
    st.builds(CommandBlock, st.just("help")),
    st.builds(CustomBlock, st.just("x")),
)
ROLES = st.sampled_from(["user", "assistant"])
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
TURNS = st.lists(st.tuples(ROLES, st.lists(BLOCKS, max_size=5).map(tuple)), max_size=9).map(
    lambda rows: tuple(Turn(role, blocks, id=f"t{n}", created_at=MOMENT) for n, (role, blocks) in enumerate(rows))
)

USER_KINDS = {"text", "tool_result", "image", "document", "audio", "video"}
ASSISTANT_KINDS = {"text", "thinking", "tool_call"}


def check_acceptable(turns, *, alternating=False):
    """Refuse whatever the strictest service would."""
    if not turns:
        return
    assert turns[0].role == "user"
    assert turns[-1].role == "user"
    used, waiting = set(), []
    for before, turn in zip((None, *turns), turns, strict=False):
        if alternating and before is not None:
            assert before.role != turn.role
        kinds = [block.kind for block in turn.blocks]
        assert kinds, "an empty turn"
        assert set(kinds) <= (USER_KINDS if turn.role == "user" else ASSISTANT_KINDS)
        assert set(kinds) != {"thinking"}, "reasoning without an answer"
        for block in turn.blocks:
            assert not (isinstance(block, TextBlock) and not block.text.strip()), "a blank text"
            for part in getattr(block, "parts", ()):
                assert not (isinstance(part, TextBlock) and not part.text.strip()), "a blank text in a result"
        results = [block.call_id for block in turn.tool_results]
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results come first"
        assert sorted(results) == sorted(waiting), "calls and results of neighbours match, one to one"
        waiting = [each.id for each in turn.tool_calls]
        assert len(set(waiting)) == len(waiting)
        assert not used & set(waiting), "an id used again"
        used |= set(waiting)
    assert not waiting


@settings(max_examples=400, deadline=None)
@given(TURNS, st.booleans())
def test_any_history_comes_out_acceptable_unharmed_and_stable(turns, merge):
    before = copy.deepcopy(turns)
    out = wire_turns(turns, merge_roles=merge)
    check_acceptable(out, alternating=merge)
    assert turns == before, "the history was changed"
    assert wire_turns(turns, merge_roles=merge) == out, "two passes differ"
    assert wire_turns(out, merge_roles=merge) is out, "a fit request was built anew"


@settings(max_examples=200, deadline=None)
@given(TURNS)
def test_pairing_alone_is_idempotent_and_reports_exactly_when_it_changes(turns):
    seen = []
    out = repair_pairing(turns, on_repair=seen.append)
    assert (out is turns) == (not seen)
    assert repair_pairing(out) is out
    if seen:
        with pytest.raises(ToolPairingError):
            repair_pairing(turns, strict=True)


@settings(max_examples=200, deadline=None)
@given(TURNS)
def test_nothing_a_model_may_see_vanishes_but_doubles_orphans_and_blanks(turns):
    """Every text and first call of the history is in the request."""
    out = wire_turns(turns)
    texts = [block.text for turn in out for block in turn.blocks if isinstance(block, TextBlock)]
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, (TextBlock, CompactSummaryBlock)) and block.text.strip():
                assert block.text in texts
    calls = {each.id for turn in out for each in turn.tool_calls}
    assert calls == {each.id for turn in turns if turn.role == "assistant" for each in turn.tool_calls}


@settings(max_examples=200, deadline=None)
@given(TURNS, TURNS)
def test_what_was_sent_once_stays_the_same_when_the_session_grows(turns, more):
    """Byte-stable prefix: only the turn that closes a request may become another."""
    more = tuple(Turn(turn.role, turn.blocks, id=f"m{n}", created_at=MOMENT) for n, turn in enumerate(more))
    first, second = wire_turns(turns), wire_turns(turns + more)
    kept = len(first) - 1
    if kept > 0 and first[0].role == second[0].role:
        assert first[:kept] == second[:kept]


def test_commands_and_custom_blocks_are_not_sent_and_do_not_part_a_call_from_its_result():
    call, result = ToolCallBlock("1", "t"), ToolResultBlock("1", (TextBlock("ok"),))
    turns = (
        Turn("user", (TextBlock("q"), CustomBlock("pin"))),
        Turn("assistant", (call,)),
        Turn("user", (CommandBlock("help", output="…"),)),
        Turn("user", (result,)),
    )
    out = wire_turns(turns, strict=True)
    assert [turn.blocks for turn in out] == [(TextBlock("q"),), (call,), (result,)]


def test_a_summary_becomes_text():
    (turn,) = wire_turns((Turn("user", (CompactSummaryBlock("So far: x = 1"),)),))
    assert turn.blocks == (TextBlock("So far: x = 1"),)


def test_what_a_role_may_not_carry_becomes_a_text():
    (user, assistant) = visible_turns(
        (
            Turn("user", (ToolCallBlock("1", "t"), ThinkingBlock("hm"))),
            Turn("assistant", (ImageBlock("image/png", b"x"), VideoBlock("video/mp4", b"x"))),
        )
    )
    assert user.blocks == (TextBlock(TOOL_USE_INTERRUPTED),)
    assert assistant.blocks == (TextBlock("[image]"), TextBlock("[video]"))


def test_results_come_first_in_their_turn():
    results = [ToolResultBlock(each, (TextBlock(each),)) for each in "ab"]
    turns = (
        Turn("user", (TextBlock("q"),)),
        Turn("assistant", (ToolCallBlock("a", "t"), ToolCallBlock("b", "t"))),
        Turn("user", (results[0], TextBlock("steer"), results[1])),
    )
    assert wire_turns(turns)[2].blocks == (*results, TextBlock("steer"))


def test_neighbours_of_one_role_are_joined_only_on_request():
    turns = (Turn("user", (TextBlock("a"),)), Turn("user", (TextBlock("b"),)))
    assert wire_turns(turns) is turns
    (joined,) = wire_turns(turns, merge_roles=True)
    assert joined.blocks == (TextBlock("a"), TextBlock("b"))
    assert joined.id == turns[0].id
    assert merge_same_role((joined,)) == (joined,)


def test_a_session_with_nothing_to_send_stays_empty():
    assert wire_turns(()) == ()
    assert wire_turns((Turn("user", (CommandBlock("help"),)), Turn("assistant", (ThinkingBlock("hm"),)))) == ()


def test_head_and_tail_are_put_in_only_where_they_lack():
    question, answer = Turn("user", (TextBlock("q"),)), Turn("assistant", (TextBlock("a"),))
    assert ensure_user_tail((question,)) == (question,)
    assert ensure_user_head((question, answer)) == (question, answer)
    assert ensure_user_tail((question, answer))[-1].text == CONTINUE == "Continue."
    assert ensure_user_tail((question, answer), "Summarise.")[-1].text == "Summarise."
    assert ensure_user_head((answer,))[0].text == EARLIER_OMITTED
    assert ensure_user_head(()) == ensure_user_tail(()) == drop_empty(()) == ()


def test_how_a_history_ends():
    question, answer = Turn("user", (TextBlock("q"),)), Turn("assistant", (TextBlock("a"),))
    calling = Turn("assistant", (TextBlock("a"), ToolCallBlock("1", "t"), ToolCallBlock("2", "t")))
    assert [tail_state(turns) for turns in [(), (question,), (question, answer), (question, calling)]] == [
        "clean",
        "clean",
        "completed",
        "interrupted",
    ]
    assert [call.id for call in open_calls((question, calling))] == ["1", "2"]
    assert open_calls((question, calling, question)) == ()
