"""Requests compared part by part."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.dimensions import Fingerprint, diff_dimensions, fnv1a_32
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.turns import (
    CommandBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
)

TOOLS = tuple(ToolSpec(name, "does it", {"type": "object"}) for name in ("run_python", "glob", "read_file"))
TURNS = tuple(Turn("assistant" if n % 2 else "user", (TextBlock(f"said {n}"),)) for n in range(41))
REQUEST = Request("m", "static\n\ndynamic", TURNS, TOOLS, thinking="low", system_boundary=6)


def details(before, after, *, providers=("p", "p")):
    take = Fingerprint()
    one, other = (take(request, provider=name) for request, name in zip((before, after), providers, strict=True))
    return [(change.dimension, change.detail) for change in diff_dimensions(one, other)]


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foo", 0xA9F37ED7), (b"foobar", 0xBF9CF968)],
)
def test_the_published_hashes(data, value):
    """From the authors' list of test vectors."""
    assert fnv1a_32(data) == value


def test_what_is_added_at_the_end_changes_nothing():
    more = (*TURNS, Turn("assistant", (TextBlock("new"),)), Turn("user", (TextBlock("newer"),)))
    assert details(REQUEST, replace(REQUEST, turns=more)) == []


def test_a_rewritten_message_is_told_by_its_place():
    rewritten = (*TURNS[:15], replace(TURNS[15], blocks=(TextBlock("other"),)), *TURNS[16:])
    assert details(REQUEST, replace(REQUEST, turns=rewritten)) == [("messages", "message 16 of 41 rewritten")]
    longer = (*rewritten, *TURNS[:2])
    assert details(REQUEST, replace(REQUEST, turns=longer)) == [("messages", "message 16 of 41→43 rewritten")]


def test_dropped_messages_are_counted():
    assert details(REQUEST, replace(REQUEST, turns=TURNS[:39])) == [("messages", "last 2 of 41→39 messages dropped")]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": "n"}, ("model", "model p/m → p/n")),
        ({"thinking": "high"}, ("thinking", "thinking low → high")),
        ({"thinking_budget": 2048}, ("thinking", "thinking low → low, 2048 tokens")),
        ({"system": "Static\n\ndynamic"}, ("system", "system prompt changed")),
        ({"system": "static\n\nDynamic"}, ("system", "environment block of the system prompt changed")),
        (
            {"tools": (replace(TOOLS[0], description="else"), *TOOLS[1:])},
            ("tools", "tool run_python changed"),
        ),
        ({"tools": (replace(TOOLS[0], parameters={}), *TOOLS[1:])}, ("tools", "tool run_python changed")),
        ({"tools": TOOLS[:2]}, ("tools", "tool read_file removed")),
        ({"tools": TOOLS[::-1]}, ("tools", "tools reordered")),
    ],
)
def test_each_part_is_told_apart(change, told):
    assert details(REQUEST, replace(REQUEST, **change)) == [told]


def test_several_changes_are_all_told():
    after = replace(REQUEST, model="n", tools=(TOOLS[0], ToolSpec("shell", "", {})), turns=TURNS[:40])
    assert [detail for _, detail in details(REQUEST, after)] == [
        "model p/m → p/n",
        "tool glob removed",
        "tool read_file removed",
        "tool shell added",
        "last 1 of 41→40 messages dropped",
    ]


def test_models_of_one_name_at_two_providers_differ():
    assert details(REQUEST, REQUEST, providers=("p", "q")) == [("model", "model p/m → q/m")]


BLOCKS = [
    TextBlock("a"),
    TextBlock("b"),
    ThinkingBlock("a", "seal"),
    ThinkingBlock("a", "other"),
    ToolCallBlock("c", "f", {"x": 1}),
    ToolCallBlock("c", "f", {"x": 2}),
    ToolCallBlock("d", "f", {"x": 1}),
    ToolResultBlock("c", (TextBlock("a"),)),
    ToolResultBlock("c", (TextBlock("a"),), is_error=True),
    ToolResultBlock("c", (TextBlock("b"),)),
    ToolResultBlock("c", (ImageBlock("image/png", b"1"),)),
    ImageBlock("image/png", b"1"),
    ImageBlock("image/png", b"2"),
    ImageBlock("image/gif", b"1"),
]


def test_whatever_a_model_may_see_of_a_turn_counts():
    take = Fingerprint()
    turns = tuple(Turn(role, (block,)) for role in ("user", "assistant") for block in BLOCKS)
    hashes = take(replace(REQUEST, turns=turns)).messages
    assert len(set(hashes)) == len(turns)


def test_what_no_model_sees_does_not_count():
    first = Turn("user", (TextBlock("a"), ToolResultBlock("c", (), metadata={"seconds": 1})))
    second = Turn(
        "user",
        (TextBlock("a"), CommandBlock("help"), ToolResultBlock("c", (), metadata={"seconds": 2})),
        usage=Usage(1),
        model="x",
    )
    take = Fingerprint()
    assert take(replace(REQUEST, turns=(first,))).messages == take(replace(REQUEST, turns=(second,))).messages


@given(st.lists(st.text(), min_size=1), st.lists(st.text(), min_size=1))
def test_blocks_do_not_run_into_each_other(one, other):
    take = Fingerprint()
    first, second = (
        take(replace(REQUEST, turns=(Turn("user", tuple(map(TextBlock, texts))),))).messages for texts in (one, other)
    )
    assert (first == second) == (one == other)


def test_odd_values_in_arguments_and_texts_are_hashed_all_the_same():
    odd = Turn("assistant", (ToolCallBlock("c", "f", {"x": float("nan"), "y": object}), TextBlock("\ud800")))
    assert len(Fingerprint()(replace(REQUEST, turns=(odd,))).messages) == 1


def test_a_snapshot_is_small():
    """It holds hashes, not the request."""
    taken = dataclasses.asdict(Fingerprint()(replace(REQUEST, system="s" * 100_000)))
    assert len(str(taken)) < 3_000
