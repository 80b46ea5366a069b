"""Each of the six ways a history breaks, and what holds for any history."""

from __future__ import annotations

import copy

import pytest

from zidane_lab.errors import ToolPairingError
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.pairing import (
    MISSING_RESULT,
    ORPHANED_RESULT,
    REPAIR_TEXTS,
    TOOL_USE_INTERRUPTED,
    PairingRepair,
    missing_results,
    remint_duplicate_calls,
    repair_pairing,
)


def user(*blocks, **kw):
    return Turn("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def assistant(*blocks, **kw):
    return Turn("assistant", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def call(call_id):
    return ToolCallBlock(call_id, "run_python", {"code": "1"})


def result(call_id, text="1"):
    return ToolResultBlock(call_id, (TextBlock(text),))


def placeholder(call_id, text=MISSING_RESULT):
    return ToolResultBlock(call_id, (TextBlock(text),), is_error=True)


def repaired(*turns, **kw):
    seen = []
    out = repair_pairing(turns, on_repair=seen.append, **kw)
    return [turn.blocks for turn in out], seen


def test_the_texts_are_the_ones_transcripts_are_filtered_by():
    assert (MISSING_RESULT, ORPHANED_RESULT, TOOL_USE_INTERRUPTED) == (
        "[Tool result missing due to internal error]",
        "[Orphaned tool result removed due to conversation resume]",
        "[Tool use interrupted]",
    )
    assert {MISSING_RESULT, ORPHANED_RESULT, TOOL_USE_INTERRUPTED} == REPAIR_TEXTS


def test_a_clean_history_is_handed_back_itself():
    turns = (user("hi"), assistant("a", call("1"), call("2")), user(result("2"), result("1"), "go on"), assistant("b"))
    assert repair_pairing(turns) is turns
    assert repair_pairing(turns, strict=True) is turns
    assert repair_pairing(()) == ()


def test_1_missing_results_are_put_in_front_of_the_next_user_turn_in_the_order_of_the_calls():
    blocks, seen = repaired(user("q"), assistant(call("1"), call("2"), call("3")), user("steer", result("2")))
    assert blocks[2] == (placeholder("1"), placeholder("3"), TextBlock("steer"), result("2"))
    assert seen == [PairingRepair("orphan-tool-use-prepend", 2, "1"), PairingRepair("orphan-tool-use-prepend", 2, "3")]


@pytest.mark.parametrize("after", [(), (assistant("so"),)])
def test_2_a_user_turn_is_put_in_when_none_follows(after):
    blocks, seen = repaired(user("q"), assistant(call("1"), call("2")), *after)
    assert blocks[2] == (placeholder("1"), placeholder("2"))
    assert len(blocks) == 3 + len(after)
    assert [repair.mode for repair in seen] == ["orphan-tool-use-append"] * 2
    assert {repair.index for repair in seen} == {1}


def test_2_the_turn_put_in_depends_on_nothing_but_the_history():
    turns = (user("q"), assistant(call("1"), run_id="run_1"))
    first, second = repair_pairing(turns), repair_pairing(turns)
    assert first == second
    assert first[2].parent_id == turns[1].id
    assert first[2].run_id == "run_1"


def test_3_a_result_without_its_call_goes_and_leaves_a_text_where_it_was_alone():
    blocks, seen = repaired(user("q", result("x")), assistant("a"), user(result("y"), result("z")))
    assert blocks == [(TextBlock("q"),), (TextBlock("a"),), (TextBlock(ORPHANED_RESULT),)]
    assert seen == [PairingRepair("orphan-tool-result-strip", i, c) for i, c in [(0, "x"), (2, "y"), (2, "z")]]


def test_3_a_result_two_turns_after_its_call_is_an_orphan():
    blocks, seen = repaired(user("q"), assistant(call("1")), user("wait"), user(result("1")))
    assert blocks[2:] == [(placeholder("1"), TextBlock("wait")), (TextBlock(ORPHANED_RESULT),)]
    assert [repair.mode for repair in seen] == ["orphan-tool-use-prepend", "orphan-tool-result-strip"]


def test_3_a_result_in_an_assistant_turn_answers_nothing():
    blocks, _ = repaired(user("q"), assistant(call("1"), result("1")), user(result("1")))
    assert blocks[1:] == [(call("1"),), (result("1"),)]


def test_4_and_6_a_call_id_used_again_is_removed_with_its_result_and_the_turn_says_so():
    blocks, seen = repaired(
        user("q"),
        assistant(call("1")),
        user(result("1")),
        assistant(call("1")),
        user(result("1", "again")),
        assistant("x"),
    )
    assert blocks[3:5] == [(TextBlock(TOOL_USE_INTERRUPTED),), (TextBlock(ORPHANED_RESULT),)]
    assert [(repair.mode, repair.index, repair.call_id) for repair in seen] == [
        ("duplicate-tool-use-strip", 3, "1"),
        ("empty-assistant-marker", 3, None),
        ("orphan-tool-result-strip", 4, "1"),
    ]


def test_4_the_other_blocks_of_the_turn_stay():
    blocks, _ = repaired(user("q"), assistant(call("1")), user(result("1")), assistant("text", call("1"), call("2")))
    assert blocks[3:] == [(TextBlock("text"), call("2")), (placeholder("2"),)]


def test_4_an_id_twice_in_one_turn_keeps_the_first_call_and_the_first_result():
    blocks, seen = repaired(user("q"), assistant(call("1"), call("1")), user(result("1", "a"), result("1", "b")))
    assert blocks[1:] == [(call("1"),), (result("1", "a"),)]
    assert [repair.mode for repair in seen] == ["duplicate-tool-use-strip", "duplicate-tool-result-strip"]


def test_5_two_results_for_one_call_keep_the_first():
    blocks, seen = repaired(user("q"), assistant(call("1")), user(result("1", "a"), "t", result("1", "b")))
    assert blocks[2] == (result("1", "a"), TextBlock("t"))
    assert seen == [PairingRepair("duplicate-tool-result-strip", 2, "1")]


def test_6_reasoning_alone_counts_as_empty():
    thought = ThinkingBlock("hm", signature="s")
    blocks, _ = repaired(user("q"), assistant(call("1")), user(result("1")), assistant(thought, call("1")))
    assert blocks[3] == (thought, TextBlock(TOOL_USE_INTERRUPTED))


def test_the_caller_chooses_the_text_for_missing_results():
    blocks, _ = repaired(user("q"), assistant(call("1")), placeholder=TOOL_USE_INTERRUPTED)
    assert blocks[2] == (placeholder("1", TOOL_USE_INTERRUPTED),)


def test_the_result_stays_the_same_when_the_conversation_goes_on():
    cut = (user("q"), assistant(call("1")))
    now, later = repair_pairing(cut), repair_pairing((*cut, user("go on")))
    assert now[2].blocks == later[2].blocks[:1]


@pytest.mark.parametrize(
    ("turns", "mode"),
    [
        ((user("q"), assistant(call("1")), user("x")), "orphan-tool-use-prepend"),
        ((user("q"), assistant(call("1"))), "orphan-tool-use-append"),
        ((user(result("1")),), "orphan-tool-result-strip"),
        ((assistant(call("1"), call("1")), user(result("1"))), "duplicate-tool-use-strip"),
        ((assistant(call("1")), user(result("1"), result("1"))), "duplicate-tool-result-strip"),
    ],
)
def test_strict_raises_and_names_what_is_broken(turns, mode):
    with pytest.raises(ToolPairingError, match=mode):
        repair_pairing(turns, strict=True)


def test_what_the_listener_raises_ends_the_pass():
    def refuse(repair):
        raise LookupError(repair.mode)

    with pytest.raises(LookupError, match="orphan-tool-use-append"):
        repair_pairing((user("q"), assistant(call("1"))), on_repair=refuse)


def test_4_reasoning_left_at_the_end_counts_as_empty_too():
    thought = ThinkingBlock("hm", signature="s")
    turns = (user("q"), assistant(call("1")), user(result("1")), assistant("so", thought, call("1")))
    blocks, seen = repaired(*turns)
    assert blocks[3] == (TextBlock("so"), thought, TextBlock(TOOL_USE_INTERRUPTED))
    assert [repair.mode for repair in seen] == ["duplicate-tool-use-strip", "empty-assistant-marker"]


def test_the_effort_grows_with_the_history_not_with_its_square():
    many = [str(n) for n in range(30_000)]
    turns = (user("q"), assistant(*map(call, many)), user(*map(result, many[::2])))
    assert len(repair_pairing(turns)[2].blocks) == len(many)
    whole = (user("q"), assistant(*map(call, many)), user(*map(result, many)))
    assert repair_pairing(whole, strict=True) is whole
    turn, minted = remint_duplicate_calls(assistant(*[call("0")] * 30_000), {"0"})
    assert len({each.id for each in turn.tool_calls}) == len(minted) == 30_000


def test_nothing_handed_in_is_changed():
    turns = (user(result("0")), assistant(call("1"), call("1")), assistant(call("2")), user(result("2"), result("2")))
    before = copy.deepcopy(turns)
    repair_pairing(turns)
    assert turns == before


def test_missing_results_are_errors():
    assert missing_results(["a", "b"], "why") == (placeholder("a", "why"), placeholder("b", "why"))


class TestRemint:
    def test_ids_that_are_free_stay(self):
        turn = assistant(call("1"), call("2"))
        assert remint_duplicate_calls(turn, {"3"}) == (turn, ())
        assert remint_duplicate_calls(turn, {"3"})[0] is turn

    def test_used_ids_and_ids_twice_in_the_turn_get_the_first_free_number(self):
        turn = assistant("t", call("0"), call("0"), call("0_r2"), call("1"))
        out, minted = remint_duplicate_calls(turn, {"0", "0_r1"})
        assert [each.id for each in out.tool_calls] == ["0_r3", "0_r4", "0_r2", "1"]
        assert minted == (("0", "0_r3"), ("0", "0_r4"))
        assert out.blocks[0] == TextBlock("t")

    def test_the_first_of_two_in_one_turn_keeps_its_id(self):
        out, minted = remint_duplicate_calls(assistant(call("0"), call("0")), set())
        assert [each.id for each in out.tool_calls] == ["0", "0_r1"]
        assert minted == (("0", "0_r1"),)

    def test_the_result_needs_no_repair(self):
        turns = (user("q"), assistant(call("0")), user(result("0")))
        again, _ = remint_duplicate_calls(assistant(call("0"), call("0")), {"0"})
        whole = (*turns, again, user(*(result(each.id) for each in again.tool_calls)))
        assert repair_pairing(whole) is whole
