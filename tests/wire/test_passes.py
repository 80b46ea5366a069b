"""The small passes: attachments, unresolved calls, child runs, sizes in bytes."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import TURNS
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
from zidane_lab.wire.attachments import strip_attachments
from zidane_lab.wire.flatten import flatten_turns
from zidane_lab.wire.sizes import block_bytes, result_text_bytes, turns_bytes, utf8_length
from zidane_lab.wire.unresolved import filter_unresolved_calls

MEDIA = (
    ImageBlock("image/png", b"x"),
    AudioBlock("audio/wav", b"x"),
    VideoBlock("video/mp4", b"x"),
    DocumentBlock("application/pdf", b"x"),
)
MARKS = tuple(TextBlock(f"[{kind}]") for kind in ("image", "audio", "video", "document"))


def user(*blocks):
    return Turn("user", blocks)


def assistant(*blocks):
    return Turn("assistant", blocks)


def call(call_id):
    return ToolCallBlock(call_id, "t")


def result(call_id):
    return ToolResultBlock(call_id, (TextBlock("ok"),))


class TestAttachments:
    def test_each_kind_becomes_its_mark_in_turns_and_in_results(self):
        (turn,) = strip_attachments(
            (user(ToolResultBlock("1", (TextBlock("see"), *MEDIA), is_error=True), TextBlock("q"), *MEDIA),)
        )
        assert turn.blocks == (ToolResultBlock("1", (TextBlock("see"), *MARKS), is_error=True), TextBlock("q"), *MARKS)

    @settings(max_examples=200, deadline=None)
    @given(TURNS)
    def test_a_second_time_there_are_none_and_nothing_handed_in_is_changed(self, turns):
        before = copy.deepcopy(turns)
        out = strip_attachments(turns)
        assert turns == before
        assert strip_attachments(out) is out
        assert not any(hasattr(block, "media_type") for turn in out for block in turn.blocks)


class TestUnresolved:
    def test_a_turn_none_of_whose_calls_was_answered_goes(self):
        turns = (user(TextBlock("q")), assistant(TextBlock("a"), call("1"), call("2")))
        assert filter_unresolved_calls(turns) == turns[:1]

    def test_a_turn_partly_answered_stays(self):
        turns = (user(TextBlock("q")), assistant(call("1"), call("2")), user(result("2")))
        assert filter_unresolved_calls(turns) is turns

    def test_a_result_anywhere_later_counts_and_one_before_does_not(self):
        late = (assistant(call("1")), user(TextBlock("wait")), assistant(TextBlock("a")), user(result("1")))
        assert filter_unresolved_calls(late) is late
        early = (user(result("1")), assistant(call("1")))
        assert filter_unresolved_calls(early) == early[:1]

    def test_turns_without_calls_stay_and_ids_are_not_changed(self):
        turns = (
            assistant(ThinkingBlock("hm")),
            assistant(),
            user(call("1")),
            assistant(call("1")),
            assistant(call("2")),
        )
        assert filter_unresolved_calls(turns) == turns[:3]

    @settings(max_examples=200, deadline=None)
    @given(TURNS)
    def test_a_second_time_nothing_is_dropped(self, turns):
        out = filter_unresolved_calls(turns)
        assert filter_unresolved_calls(out) is out
        assert [turn for turn in out if turn.role == "user"] == [turn for turn in turns if turn.role == "user"]


class TestFlatten:
    def test_children_follow_the_turn_that_started_them_at_any_depth(self):
        parent = (user(TextBlock("q")), assistant(call("1"), call("2")), user(result("1"), result("2")))
        one, two = (user(TextBlock("one")), assistant(call("3"))), (user(TextBlock("two")),)
        three = (user(TextBlock("three")),)
        out = flatten_turns(parent, {"2": two, "1": one, "3": three, "4": parent})
        assert out == (*parent[:2], *one, *three, *two, parent[2])

    def test_without_children_the_same_tuple_comes_back(self):
        parent = (assistant(call("1")),)
        assert flatten_turns(parent, {"2": parent}) is parent

    def test_children_that_start_one_another_come_once(self):
        parent, one, two = ((assistant(call(each)),) for each in "121")
        assert flatten_turns(parent, {"1": one, "2": two}) == (*parent, *one, *two)


class TestSizes:
    @pytest.mark.parametrize(
        ("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("€", 3), ("😀", 4), ("\ud83d\ude00", 4), ("a\ud800", 4)]
    )
    def test_text_counts_as_utf_8(self, text, size):
        assert utf8_length(text) == size

    @given(st.text())
    def test_well_formed_text_counts_as_it_is_written(self, text):
        assert utf8_length(text) == len(text.encode())

    def test_a_block_counts_what_a_model_is_sent_of_it(self):
        assert block_bytes(ToolCallBlock("1", "name", {"a": "é"})) == 4 + len('{"a": "é"}'.encode())
        assert block_bytes(ToolCallBlock("1", "name", raw="{broken")) == 4 + 7
        shot = ToolResultBlock("1", (TextBlock("é"), ImageBlock("image/png", b"x" * 10)), metadata={"a": "long"})
        assert block_bytes(shot) == 12
        assert result_text_bytes(shot) == 2
        unseen = (CommandBlock("help", output="long"), CustomBlock("x", {"a": "long"}))
        seen = (TextBlock("é"), ThinkingBlock("ab"), CompactSummaryBlock("abc"))
        assert turns_bytes([user(*unseen, *seen), user(shot)]) == 2 + 2 + 3 + 12
