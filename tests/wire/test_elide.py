"""Results are left out by decision, as results of the same calls, and old ones before new ones."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import PLAIN_TURNS, STATES
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.elide import (
    PERSISTED_PREFIX,
    apply_elisions,
    elided_text,
    plan_tail_elision,
    tail_elision,
)
from zidane_lab.wire.pairing import MISSING_RESULT, missing_results
from zidane_lab.wire.sizes import turns_bytes

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


class TestTail:
    def test_nothing_is_left_out_up_to_the_threshold(self):
        turns = (*step("1"), *step("2"))
        size = turns_bytes(turns)
        assert tail_elision(turns, size, 0) is turns
        assert tail_elision(turns, size - 1, 0) != turns

    def test_old_results_go_at_once_and_the_last_turns_stay_whole(self):
        turns = (*step("1"), *step("2"), *step("3"))
        out = tail_elision(turns, 100, 2)
        assert [turn.tool_results[0].text for turn in out if turn.tool_results] == [elided_text(1000)] * 2 + [LONG]
        assert out[4:] == turns[4:]

    @pytest.mark.parametrize(("keep", "left"), [(-1, 0), (0, 0), (1, 1), (2, 1), (3, 2), (99, 3)])
    def test_the_number_of_turns_kept_may_be_anything(self, keep, left):
        turns = (*step("1"), *step("2"), *step("3"))
        out = tail_elision(turns, 100, keep)
        assert [turn.tool_results[0].text for turn in out if turn.tool_results].count(LONG) == left

    def test_results_kept_in_files_and_short_ones_stay(self):
        stub = f'{PERSISTED_PREFIX}run_python" size="99999">\n{LONG}'
        turns = (*step("1", result("1", stub)), *step("2", result("2", "ok")))
        assert tail_elision(turns, 100, 0) is turns

    def test_media_count_and_go_too(self):
        shot = ToolResultBlock("1", (ImageBlock("image/png", b"x" * 5000),))
        assert plan_tail_elision(step("1", shot), 4000, 0) == {"1": elided_text(5000)}

    def test_an_id_that_comes_again_in_the_kept_turns_is_left_alone(self):
        turns = (*step("1"), *step("1"))
        assert plan_tail_elision(turns, 100, 2) == {}

    def test_the_plan_is_stable_once_carried_out(self):
        turns = (*step("1"), *step("2"), *step("3"))
        plan = plan_tail_elision(turns, 100, 2)
        assert plan_tail_elision(apply_elisions(turns, plan), 100, 2) == {}

    @settings(max_examples=200, deadline=None)
    @given(LARGE_TURNS, st.integers(0, 5000), st.integers(-1, 9))
    def test_calls_stay_answered_and_nothing_grows(self, turns, threshold, keep):
        turns = wire_turns(turns)
        out = tail_elision(turns, threshold, keep)
        assert turns_bytes(out) <= turns_bytes(turns)
        assert wire_turns(out, strict=True) is out
