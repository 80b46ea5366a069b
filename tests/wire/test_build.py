"""Any history, however broken, comes out as a request a strict service accepts."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import MOMENT, PLAIN_TURNS, TURNS
from zidane_lab.errors import ToolPairingError
from zidane_lab.turns import (
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
)
from zidane_lab.wire.build import merge_same_role, visible_turns, wire_turns
from zidane_lab.wire.cutoff import SUMMARY_HEAD
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED, repair_pairing
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tail import (
    CONTINUE,
    EARLIER_OMITTED,
    drop_empty,
    ensure_user_head,
    ensure_user_tail,
    open_calls,
    tail_state,
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
@given(PLAIN_TURNS)
def test_nothing_a_model_may_see_vanishes_but_doubles_orphans_and_blanks(turns):
    """Every text and first call of the history is in the request."""
    out = wire_turns(turns)
    texts = [block.text for turn in out for block in turn.blocks if isinstance(block, TextBlock)]
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                assert block.text in texts
    calls = {each.id for turn in out for each in turn.tool_calls}
    assert calls == {each.id for turn in turns if turn.role == "assistant" for each in turn.tool_calls}


@settings(max_examples=200, deadline=None)
@given(PLAIN_TURNS, PLAIN_TURNS)
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
    assert turn.blocks == (TextBlock(f"{SUMMARY_HEAD}\n\nSo far: x = 1"),)


def test_what_a_role_may_not_carry_becomes_a_text():
    (user, assistant) = visible_turns(
        (
            Turn("user", (ToolCallBlock("1", "t"), ThinkingBlock("hm"))),
            Turn("assistant", (ImageBlock("image/png", b"x"), VideoBlock("video/mp4", b"x"))),
        )
    )
    assert user.blocks == (TextBlock(TOOL_USE_INTERRUPTED),)
    assert assistant.blocks == (TextBlock("[image]"), TextBlock("[video]"))


def test_an_answer_never_ends_in_reasoning():
    question, thought, word = Turn("user", (TextBlock("q"),)), ThinkingBlock("hm", "sig", "anthropic"), TextBlock("a")
    turns = (question, Turn("assistant", (thought, word, thought)), question)
    assert [turn.blocks for turn in wire_turns(turns)] == [question.blocks, (thought, word), question.blocks]


@pytest.mark.parametrize(
    ("name", "sent"),
    [("web.search", "web_search"), ("", "unnamed_tool"), ("x" * 80, "x" * 64), ("run_python", "run_python")],
)
def test_a_name_no_service_would_take_back_is_spelled_so_that_it_does(name, sent):
    turns = (
        Turn("user", (TextBlock("q"),)),
        Turn("assistant", (ToolCallBlock("1", name),)),
        Turn("user", (ToolResultBlock("1", (TextBlock("no such tool"),), is_error=True),)),
    )
    assert wire_turns(turns)[1].tool_calls[0].name == sent


def test_decisions_are_carried_out_before_the_history_is_mended():
    call, result = ToolCallBlock("1", "t"), ToolResultBlock("1", (TextBlock("long"),), is_error=True, metadata={"a": 1})
    turns = (
        Turn("user", (TextBlock("q"),), id="t0"),
        Turn("assistant", (call,), id="t1"),
        Turn("user", (result,), id="t2"),
        Turn("assistant", (ToolCallBlock("2", "t"),), id="t3"),
        Turn("user", (ToolResultBlock("2", (TextBlock("ok"),)),), id="t4"),
        Turn("user", (CompactSummaryBlock("So far.", ("t0", "t3", "t4")),), id="m"),
    )
    state = WireState({"1": "[left out]"})
    out = wire_turns(turns, state=state, strict=True)
    assert [turn.id for turn in out] == ["m-summary", "t1", "t2"]
    assert out[2].blocks == (ToolResultBlock("1", (TextBlock("[left out]"),), is_error=True, metadata={"a": 1}),)
    assert wire_turns(turns, state=WireState(undone=frozenset({"m"})), strict=True) == turns[:5]


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
