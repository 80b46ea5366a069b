"""The estimate counts UTF-16 units, and pictures flat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
)
from zidane_lab.wire.tokens import MEDIA_TOKENS, estimate_block, estimate_tokens, estimate_turns


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééééé", 2), ("😀😀", 1), ("😀😀a", 2), ("\ud800abc", 1)],
)
def test_four_units_are_one_token_rounded_up(text, tokens):
    assert estimate_tokens(text) == tokens


@given(st.text())
def test_the_count_is_that_of_utf_16(text):
    units = sum(2 if ord(char) > 0xFFFF else 1 for char in text)
    assert estimate_tokens(text) == (units + 3) // 4


def test_an_image_costs_the_same_however_many_bytes_it_has():
    assert estimate_block(ImageBlock("image/png", b"x")) == estimate_block(ImageBlock("image/png", b"x" * 10**6))


def test_turns_are_the_sum_of_what_a_model_sees():
    blocks = (
        TextBlock("abcd"),
        ThinkingBlock("abcd"),
        CompactSummaryBlock("abcd"),
        ToolCallBlock("1", "name", {"a": 1}),  # name + {"a": 1}
        ToolResultBlock("1", (TextBlock("abcd"), ImageBlock("image/png", b"x")), metadata={"big": "x" * 10_000}),
        CommandBlock("help", output="x" * 10_000),
        CustomBlock("pin", {"big": "x" * 10_000}),
    )
    assert estimate_turns([Turn("user", blocks)]) == 3 + (1 + 2) + (1 + MEDIA_TOKENS)


def test_arguments_that_are_no_json_count_as_they_came():
    assert estimate_block(ToolCallBlock("1", "name", raw="{" * 40)) == 1 + 10
