"""What has no counterpart is left out and told, nothing is made up."""

from __future__ import annotations

import copy

from hypothesis import given, settings

from tests.wire.histories import TURNS
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import visible_turns
from zidane_lab.wire.dropping import PairingDrop, drop_invalid_pairings
from zidane_lab.wire.pairing import repair_pairing
from zidane_lab.wire.tail import drop_empty


def user(*blocks):
    return Turn("user", blocks)


def assistant(*blocks):
    return Turn("assistant", blocks)


def call(call_id):
    return ToolCallBlock(call_id, "t")


def result(call_id, text="ok"):
    return ToolResultBlock(call_id, (TextBlock(text),))


WORD = TextBlock("word")


def test_a_clean_history_is_handed_back_itself():
    turns = (user(WORD), assistant(call("1"), call("2")), user(result("2"), result("1"), WORD), assistant(WORD))
    assert drop_invalid_pairings(turns) == (turns, ())
    assert drop_invalid_pairings(turns)[0] is turns


def test_each_kind_is_told_with_its_turn_and_call():
    turns = (
        user(WORD, result("0"), call("0")),
        assistant(WORD, call("1"), call("2"), call("1"), result("1")),
        user(result("1"), result("1", "again"), result("3")),
        assistant(WORD, call("1")),
        user(result("1"), WORD),
    )
    out, drops = drop_invalid_pairings(turns)
    assert [turn.blocks for turn in out] == [(WORD,), (WORD, call("1")), (result("1"),), (WORD,), (WORD,)]
    assert drops == (
        PairingDrop("result-without-call", 0, "0"),
        PairingDrop("call-without-result", 0, "0"),
        PairingDrop("call-without-result", 1, "2"),
        PairingDrop("duplicate-call", 1, "1"),
        PairingDrop("result-without-call", 1, "1"),
        PairingDrop("duplicate-result", 2, "1"),
        PairingDrop("result-without-call", 2, "3"),
        PairingDrop("duplicate-call", 3, "1"),
        PairingDrop("result-without-call", 4, "1"),
    )


def test_a_turn_that_loses_all_it_held_goes_and_is_told():
    turns = (user(WORD), assistant(ThinkingBlock("hm"), call("1")), user(result("2")), assistant(WORD))
    out, drops = drop_invalid_pairings(turns)
    assert out == (turns[0], turns[3])
    assert [(drop.kind, drop.index) for drop in drops] == [
        ("call-without-result", 1),
        ("emptied-turn", 1),
        ("result-without-call", 2),
        ("emptied-turn", 2),
    ]


@settings(max_examples=300, deadline=None)
@given(TURNS)
def test_what_is_left_needs_no_repair_and_nothing_else_is_gone(turns):
    before = copy.deepcopy(turns)
    out, drops = drop_invalid_pairings(turns)
    assert turns == before
    assert repair_pairing(out, strict=True) is out
    again, none = drop_invalid_pairings(out)
    assert again is out
    assert none == ()
    told = sum(drop.kind != "emptied-turn" for drop in drops)
    given_blocks = [block for turn in drop_empty(turns) for block in turn.blocks]
    left = [block for turn in out for block in turn.blocks]
    lost_thoughts = [block for block in given_blocks if isinstance(block, ThinkingBlock)]
    assert len(given_blocks) - told - len(lost_thoughts) <= len(left) <= len(given_blocks) - told
    assert [block for block in left if isinstance(block, TextBlock)] == [
        block for block in given_blocks if isinstance(block, TextBlock)
    ]


@settings(max_examples=100, deadline=None)
@given(TURNS)
def test_it_agrees_with_the_repair_on_what_is_sound(turns):
    turns = drop_empty(visible_turns(turns))
    is_sound = repair_pairing(turns) is turns
    assert (drop_invalid_pairings(turns)[0] is turns) == is_sound
