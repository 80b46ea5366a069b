"""Foreign reasoning is taken out, nothing else is touched."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import TURNS
from zidane_lab.turns import TextBlock, ThinkingBlock, Turn
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED
from zidane_lab.wire.sanitize import SanitizedHistory, sanitize_history

OURS, THEIRS = ThinkingBlock("a", "s", "anthropic"), ThinkingBlock("b", "s", "openai")


def test_what_is_dropped_and_what_is_stripped_is_counted():
    turns = (Turn("user", (TextBlock("q"),)), Turn("assistant", (OURS, THEIRS, TextBlock("a"))))
    clean = sanitize_history(turns, "google")
    assert (clean.removed, clean.stripped) == (1, 1)
    assert clean.turns[0] is turns[0]
    assert clean.turns[1].blocks == (ThinkingBlock("b", None, "openai"), TextBlock("a"))
    assert clean.turns[1].id == turns[1].id
    assert sanitize_history(turns, "anthropic").turns[1].blocks == (OURS, TextBlock("a"))


def test_an_emptied_turn_says_so_and_keeps_the_order_of_roles():
    turns = (Turn("user", (TextBlock("q"),)), Turn("assistant", (OURS,)), Turn("user", (TextBlock("q"),)))
    clean = sanitize_history(turns, "openai")
    assert clean.turns[1].blocks == (TextBlock(TOOL_USE_INTERRUPTED),)
    assert [turn.role for turn in clean.turns] == ["user", "assistant", "user"]


def test_an_empty_turn_was_not_emptied_by_us():
    turns = (Turn("assistant", ()),)
    assert sanitize_history(turns, "openai") == SanitizedHistory(turns)


@settings(max_examples=200, deadline=None)
@given(TURNS, st.sampled_from(["anthropic", "openai", "google"]))
def test_a_clean_history_is_handed_back_itself(turns, target):
    before = copy.deepcopy(turns)
    clean = sanitize_history(turns, target)
    assert turns == before
    assert (clean.turns is turns) == (clean.removed == clean.stripped == 0)
    again = sanitize_history(clean.turns, target)
    assert again == SanitizedHistory(clean.turns)
    assert again.turns is clean.turns


@pytest.mark.parametrize("wire", ["anthropic", "open"])
def test_the_format_may_be_told_apart_from_the_name(wire):
    turns = (Turn("assistant", (ThinkingBlock("a", None, "gateway"), TextBlock("a"))),)
    assert sanitize_history(turns, "gateway", wire=wire).removed == (wire == "anthropic")
