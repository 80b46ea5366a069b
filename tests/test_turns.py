"""The vocabulary: frozen values that survive JSON exactly."""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import SessionError
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
    Usage,
    VideoBlock,
    block_from_json,
    turn_from_json,
    turn_to_json,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
texts, names = st.text(max_size=40), st.text(min_size=1, max_size=12)
media = [
    st.builds(cls, st.sampled_from(["image/png", "x/y"]), st.binary(max_size=40), st.none() | texts)
    for cls in (ImageBlock, DocumentBlock, AudioBlock, VideoBlock)
]
parts = st.one_of(st.builds(TextBlock, texts), *media)
blocks = st.one_of(
    parts,
    st.builds(ThinkingBlock, texts, st.none() | texts, st.none() | texts, st.booleans()),
    st.builds(ToolCallBlock, names, names, objects, st.none() | texts),
    st.builds(ToolResultBlock, names, st.lists(parts, max_size=3).map(tuple), st.booleans(), objects),
    st.builds(CompactSummaryBlock, texts, st.lists(texts).map(tuple), objects),
    st.builds(CommandBlock, names, texts, texts),
    st.builds(CustomBlock, names, objects),
)
counts = st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts, counts, st.none() | st.floats(0, 1e6))
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
)
turns = st.builds(
    Turn,
    st.sampled_from(["user", "assistant"]),
    st.lists(blocks, max_size=4).map(tuple),
    names,
    moments,
    st.none() | names,
    st.none() | names,
    st.none() | usages,
    st.none() | names,
    st.sampled_from([None, "refusal-retry", "length-resume", "pause-resume", "tool-output-budget"]),
)


@given(turns)
def test_json_round_trip_is_exact(turn):
    assert turn_from_json(json.loads(json.dumps(turn_to_json(turn)))) == turn


@given(turns)
def test_equality_is_by_content(turn):
    assert turn == dataclasses.replace(turn)
    assert turn != dataclasses.replace(turn, blocks=(*turn.blocks, TextBlock("one more")))


def test_values_are_frozen():
    for value, name in ((TextBlock("x"), "text"), (Turn("user", ()), "role"), (Usage(), "input")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "changed")


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"role": "user"},
        {"role": "wizard", "blocks": [], "id": "x", "created_at": "2026-01-01T00:00:00+00:00"},
        {"role": "user", "blocks": [{"kind": "nonsense"}], "id": "x", "created_at": "2026-01-01T00:00:00+00:00"},
        {"role": "user", "blocks": [{"kind": "text"}], "id": "x", "created_at": "2026-01-01T00:00:00+00:00"},
        {
            "role": "user",
            "blocks": [{"kind": "image", "media_type": "x", "data": "!!"}],
            "id": "x",
            "created_at": "2026-01-01",
        },
        {"role": "user", "blocks": [], "id": "x", "created_at": "yesterday"},
        {"role": "user", "blocks": 7, "id": "x", "created_at": "2026-01-01T00:00:00+00:00"},
    ],
)
def test_damaged_data_is_one_kind_of_error(raw):
    with pytest.raises(SessionError):
        turn_from_json(raw)


def test_defaults_are_left_out_of_the_file():
    from zidane_lab.turns import block_to_json

    assert block_to_json(ToolCallBlock("c", "t")) == {"kind": "tool_call", "id": "c", "name": "t"}


def test_unknown_fields_of_a_newer_version_are_ignored():
    assert block_from_json({"kind": "text", "text": "x", "colour": "red"}) == TextBlock("x")


@pytest.mark.parametrize("value", [None, -1, math.nan, math.inf, "7", True, {}, 10**400, 2**60])
def test_implausible_counts_are_zero(value):
    assert Usage.of({"input": value, "output": 5}) == Usage(output=5)


def test_cost_is_absent_rather_than_falsely_zero():
    assert Usage.of({"cost": "free"}).cost is None
    assert (Usage(cost=None) + Usage(cost=None)).cost is None
    assert (Usage(cost=0.5) + Usage()).cost == 0.5


def test_context_counts_what_the_cache_answered():
    usage = Usage(input=5, cache_read=100, cache_creation=20, output=7)
    assert usage.context == 125
    assert not usage.is_empty
    assert Usage().is_empty


def test_a_turn_answers_for_its_blocks():
    turn = Turn("assistant", (TextBlock("a"), ToolCallBlock("c", "t"), TextBlock("b")))
    assert turn.text == "a\n\nb"
    assert [call.name for call in turn.tool_calls] == ["t"]
    assert ToolResultBlock("c", (TextBlock("x"), TextBlock("y"))).text == "x\ny"
