"""Results are left out by decision, as results of the same calls, and old ones before new ones."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.wire.histories import PLAIN_TURNS, STATES
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.elide import (
    apply_elisions,
)
from zidane_lab.wire.pairing import MISSING_RESULT, missing_results

LONG = "x" * 1000


LARGE_TURNS = PLAIN_TURNS.map(
    lambda turns: tuple(replace(turn, blocks=tuple(enlarged(block) for block in turn.blocks)) for turn in turns)
)


def enlarged(block):
    if not isinstance(block, ToolResultBlock):
        return block
    return replace(block, parts=tuple(TextBlock(LONG) if isinstance(part, TextBlock) else part for part in block.parts))


def result(call_id, text=LONG, **kw):
    return ToolResultBlock(call_id, (TextBlock(text),), **kw)


def step(call_id, *results):
    return (
        Turn("assistant", (ToolCallBlock(call_id, "t"),)),
        Turn("user", results or (result(call_id),)),
    )


def test_a_result_left_out_is_still_the_result_of_its_call():
    block = ToolResultBlock("1", (TextBlock(LONG), ImageBlock("image/png", b"x")), is_error=True, metadata={"a": 1})
    turns = (Turn("user", (block, result("2"), TextBlock("go on"))),)
    (turn,) = apply_elisions(turns, {"1": "[out]"})
    assert turn.blocks == (result("1", "[out]", is_error=True, metadata={"a": 1}), result("2"), TextBlock("go on"))
    assert turn.id == turns[0].id


@pytest.mark.parametrize("elided", [{}, {"3": "[out]"}, {"1": LONG}])
def test_the_same_tuple_comes_back_when_there_is_nothing_to_leave_out(elided):
    turns = (Turn("user", (result("1"), result("2"))),)
    assert apply_elisions(turns, elided) is turns


def test_turns_without_such_a_result_stay_the_same_objects():
    turns = (*step("1"), *step("2"))
    out = apply_elisions(turns, {"2": "[out]"})
    assert [new is old for new, old in zip(out, turns, strict=True)] == [True, True, True, False]


def test_a_result_that_never_came_is_not_left_out():
    turns = (Turn("user", missing_results(["1"])),)
    assert apply_elisions(turns, {"1": "[out]"}) is turns
    assert turns[0].tool_results[0].text == MISSING_RESULT


@settings(max_examples=200, deadline=None)
@given(PLAIN_TURNS, STATES)
def test_leaving_out_changes_nothing_handed_in_and_happens_once(turns, state):
    before = copy.deepcopy(turns)
    out = apply_elisions(turns, state.elided)
    assert turns == before
    assert apply_elisions(out, state.elided) is out
