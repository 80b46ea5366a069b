"""Summaries stand where their turns stood, and what they stand for never comes back."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import NAMES, PLAIN_TURNS, TURNS
from zidane_lab.turns import (
    CommandBlock,
    CompactSummaryBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
)
from zidane_lab.wire.cutoff import (
    SUMMARY_HEAD,
    active_markers,
    apply_summary_cutoff,
    is_marker,
    replaced_ids,
    summary_text,
    summary_turn_id,
)
from zidane_lab.wire.tail import EARLIER_OMITTED

UNDONE = st.frozensets(NAMES, max_size=3)


def said(turn_id, role="user", *blocks):
    return Turn(role, blocks or (TextBlock(turn_id),), id=turn_id)


def marker(turn_id, *names, text=None):
    return Turn("user", (CompactSummaryBlock(f"sum {turn_id}" if text is None else text, names),), id=turn_id)


def sent(*turns, undone=frozenset()):
    """Return what is sent, as ids; a summary as ``<marker>-summary``."""
    return [turn.id for turn in apply_summary_cutoff(turns, undone)]


A, B, C, D, E = (said(each) for each in "abcde")


def test_without_summaries_the_same_tuple_comes_back():
    turns = (A, B, said("c", "assistant", ThinkingBlock("hm", "sig", "anthropic"), TextBlock("c")))
    assert apply_summary_cutoff(turns) is turns
    assert apply_summary_cutoff(turns, {"a"}) is turns
    assert active_markers(turns) == ()
    assert replaced_ids(turns) == frozenset()


def test_a_summary_comes_where_the_first_of_its_turns_stood():
    assert sent(A, B, C, D, marker("m", "c", "b"), E) == ["a", "m-summary", "d", "e"]


@pytest.mark.parametrize("names", [(), ("elsewhere",), ("m",)])
def test_it_comes_in_its_own_place_when_none_of_its_turns_is_here(names):
    assert sent(A, marker("m", *names), B) == ["a", "m-summary", "b"]


def test_it_is_a_user_turn_of_plain_text_that_says_what_it_is():
    m = marker("m", "a", text="They met.")
    (turn, _) = apply_summary_cutoff((A, m, B))
    assert turn.role == "user"
    assert turn.blocks == (TextBlock(f"{SUMMARY_HEAD}\n\nThey met."),)
    assert turn.id == summary_turn_id("m") == "m-summary"
    assert turn.created_at == m.created_at
    assert apply_summary_cutoff((A, m, B)) == (turn, B)


def test_what_an_older_summary_stands_for_stays_away_when_a_newer_one_takes_in_only_it():
    turns = (A, B, marker("m", "a", "b"), C, marker("n", "m"), D)
    assert sent(*turns) == ["n-summary", "c", "d"]
    assert [turn.id for turn in active_markers(turns)] == ["n"]
    assert replaced_ids(turns) == {"a", "b", "m"}


def test_what_an_older_summary_stands_for_stays_away_when_the_newer_one_misses_it():
    """The head was cut from the call that made the newer summary, and with it the older summary."""
    turns = (A, B, marker("m", "a"), C, D, marker("n", "c"))
    assert sent(*turns) == ["m-summary", "b", "n-summary", "d"]
    assert [turn.id for turn in active_markers(turns)] == ["m", "n"]


def test_an_older_summary_may_be_named_by_the_id_it_was_sent_with():
    assert sent(A, marker("m", "a"), B, marker("n", "m-summary", "b"), C) == ["n-summary", "c"]


def test_a_summary_of_a_summary_comes_where_that_one_was_sent():
    turns = (A, B, C, marker("m", "a", "b"), D, marker("n", "m"), E)
    assert sent(*turns) == ["n-summary", "c", "d", "e"]


def test_two_summaries_of_one_turn_keep_their_order():
    assert sent(A, B, marker("m", "a"), marker("n", "a", "b")) == ["m-summary", "n-summary"]


def test_only_a_newer_summary_hides_an_older_one():
    """Two that name each other must not both vanish."""
    assert sent(A, marker("m", "a", "n"), marker("n", "m")) == ["n-summary"]
    assert sent(A, marker("m", "n"), B, marker("n", "a")) == ["n-summary", "b", "m-summary"]


def test_an_undone_summary_gives_its_turns_back_and_is_not_sent():
    turns = (A, B, marker("m", "a", "b"), C)
    assert apply_summary_cutoff(turns, {"m"}) == (A, B, C)
    assert replaced_ids(turns, {"m"}) == frozenset()


def test_undoing_the_newer_summary_brings_the_older_one_back():
    turns = (A, B, marker("m", "a", "b"), C, marker("n", "m", "c"), D)
    assert sent(*turns) == ["n-summary", "d"]
    assert sent(*turns, undone={"n"}) == ["m-summary", "c", "d"]
    assert sent(*turns, undone={"n", "m"}) == ["a", "b", "c", "d"]


def test_a_blank_summary_says_at_least_that_something_is_left_out():
    (turn, _) = apply_summary_cutoff((A, marker("m", "a", text=" \n"), B))
    assert turn.text == summary_text("") == EARLIER_OMITTED
    assert sent(A, marker("m", text="")) == ["a"]


def test_answers_before_the_newest_summary_lose_sealed_reasoning_and_nothing_else():
    sealed, hidden = ThinkingBlock("hm", "sig", "anthropic"), ThinkingBlock("", "data", "anthropic", redacted=True)
    plain = ThinkingBlock("so", None, "openai")
    call, result = ToolCallBlock("1", "t"), ToolResultBlock("1", (TextBlock("ok"),))
    turns = (
        A,
        said("x", "assistant", sealed, hidden, plain, call),
        said("r", "user", result),
        said("y", "assistant", plain, TextBlock("y")),
        marker("m", "a"),
        said("z", "assistant", sealed, TextBlock("z")),
    )
    out = apply_summary_cutoff(turns)
    assert [turn.blocks for turn in out[1:]] == [(plain, call), (result,), (plain, TextBlock("y")), turns[5].blocks]
    assert [out[2], out[3], out[4]] == [turns[2], turns[3], turns[5]]
    assert out[2] is turns[2]
    assert out[3] is turns[3]
    assert out[4] is turns[5]
    assert apply_summary_cutoff(turns, {"m"}) == (*turns[:4], turns[5])


def test_what_else_a_summarys_turn_holds_keeps_its_place():
    call, result = ToolCallBlock("1", "t"), ToolResultBlock("1", (TextBlock("ok"),))
    command = CommandBlock("compact")
    turns = (
        A,
        Turn("assistant", (call, CompactSummaryBlock("one")), id="x"),
        Turn("user", (result, CompactSummaryBlock("two"), command), id="y"),
    )
    out = apply_summary_cutoff(turns)
    assert [turn.id for turn in out] == ["a", "x-summary", "x", "y", "y-summary"]
    assert out[2].blocks == (call,)
    assert out[3].blocks == (result, command)


@settings(max_examples=300, deadline=None)
@given(TURNS, UNDONE)
def test_the_cutoff_changes_nothing_handed_in_is_stable_and_a_second_one_does_nothing(turns, undone):
    before = copy.deepcopy(turns)
    out = apply_summary_cutoff(turns, undone)
    assert turns == before
    assert apply_summary_cutoff(turns, undone) == out
    assert apply_summary_cutoff(out, undone) is out
    assert (out is turns) == (not any(map(is_marker, turns)))


@settings(max_examples=300, deadline=None)
@given(TURNS, PLAIN_TURNS)
def test_what_is_gone_never_comes_back_as_long_as_nothing_is_undone(turns, more):
    more = tuple(Turn(turn.role, turn.blocks, id=f"m{n}") for n, turn in enumerate(more))
    gone = {turn.id for turn in turns} - {turn.id for turn in apply_summary_cutoff(turns)}
    later = marker("later", "t0", "m0")
    for grown in (turns + more, (*turns, *more, later)):
        assert not gone & {turn.id for turn in apply_summary_cutoff(grown)}


@settings(max_examples=300, deadline=None)
@given(TURNS, UNDONE)
def test_each_turn_is_sent_once_or_something_stands_for_it(turns, undone):
    out = apply_summary_cutoff(turns, undone)
    ids = [turn.id for turn in out]
    assert len(set(ids)) == len(ids)
    replaced = replaced_ids(turns, undone)
    for turn in turns:
        if not is_marker(turn):
            assert (turn.id in ids) == (turn.id not in replaced)
    for each in active_markers(turns, undone):
        says = any(isinstance(block, CompactSummaryBlock) and block.text.strip() for block in each.blocks)
        assert not says or summary_turn_id(each.id) in ids
