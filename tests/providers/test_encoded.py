"""What was encoded once is not encoded again, and nobody can tell from the bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.errors import BadRequestError
from zidane_lab.providers import anthropic_request, openai_request
from zidane_lab.providers.base import Request
from zidane_lab.providers.encoded import TurnMemo, json_inner
from zidane_lab.providers.payload import encode_body
from zidane_lab.turns import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn

ENCODERS = {
    "anthropic": lambda: anthropic_request.RequestEncoder("anthropic"),
    "openai": lambda: openai_request.RequestEncoder("openai", base_url="https://api.openai.com/v1"),
    "local": lambda: openai_request.RequestEncoder("openai", base_url="http://localhost:1/v1"),
}
WORDS = st.text(max_size=8) | st.sampled_from(["\ud800", 'a "quoted"\n\\', "é", " "])
SAID = st.builds(TextBlock, WORDS)
PICTURE = st.builds(ImageBlock, st.sampled_from(["image/png", "image/tiff"]), st.binary(max_size=4))
USER = st.one_of(
    SAID,
    PICTURE,
    st.builds(
        ToolResultBlock,
        st.sampled_from(["c1", "c2", "é"]),
        st.lists(SAID | PICTURE, max_size=2).map(tuple),
        st.booleans(),
    ),
)
ASSISTANT = st.one_of(
    SAID,
    st.builds(ThinkingBlock, WORDS, st.none() | st.just("seal"), st.sampled_from([None, "anthropic"])),
    st.builds(
        ToolCallBlock,
        st.sampled_from(["c1", "c2", "é"]),
        st.just("f"),
        st.dictionaries(WORDS, WORDS | st.floats(allow_nan=False, allow_infinity=False), max_size=2),
    ),
)
TURNS = st.lists(
    st.one_of(
        st.builds(Turn, st.just("user"), st.lists(USER, max_size=3).map(tuple)),
        st.builds(Turn, st.just("assistant"), st.lists(ASSISTANT, max_size=3).map(tuple)),
    ),
    min_size=1,
    max_size=6,
)


@st.composite
def conversations(draw):
    """Turns as one request after the other sends them: more of them, fewer, some said anew, in any role."""
    pool = draw(TURNS)
    some = st.lists(st.sampled_from(pool) | st.sampled_from(pool).map(replace), max_size=8)
    return [tuple(draw(some)) for _ in range(draw(st.integers(2, 5)))]


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
@settings(max_examples=120)
@given(conversations(), st.sampled_from(["", "Be kind."]))
def test_the_bytes_do_not_depend_on_what_was_encoded_before(encoder, requests, system):
    old = encoder()
    for turns in requests:
        request = Request("claude-sonnet-4-5", system, turns, thinking="low")
        content = old.encode(request)
        assert content == encoder().encode(request)
        assert content == encode_body(json.loads(content), provider="x"), "it is written as plain JSON would be"


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_a_number_json_cannot_carry_is_refused_every_time(encoder):
    turns = (
        Turn("user", (TextBlock("go"),)),
        Turn("assistant", (ToolCallBlock("c", "f", {"x": [float("inf")]}),)),
        Turn("user", (ToolResultBlock("c", (TextBlock("x"),)),)),
    )
    one = encoder()
    for _ in range(2):
        if one.__class__ is anthropic_request.RequestEncoder:
            with pytest.raises(BadRequestError):
                one.encode(Request("claude-x", "", turns))
        else:  # arguments are text there, which carries anything
            assert b"Infinity" in one.encode(Request("gpt-4o", "", turns))


class Spy:
    def __init__(self):
        self.made = []

    def __call__(self, turn, before):
        self.made.append((turn.text, before.text if before else None))
        return len(self.made)


def turn(text):
    return Turn("user", (TextBlock(text),))


def test_only_what_is_new_is_made():
    spy = Spy()
    memo = TurnMemo(spy)
    one, two, three = turn("1"), turn("2"), turn("3")
    assert memo.of((one, two)) == [1, 2]
    assert memo.of((one, two, three)) == [1, 2, 3]
    assert spy.made == [("1", None), ("2", "1"), ("3", "2")]


def test_a_turn_after_another_one_is_made_anew():
    spy = Spy()
    memo = TurnMemo(spy)
    one, two, other = turn("1"), turn("2"), turn("other")
    memo.of((one, two))
    assert memo.of((other, two)) == [3, 4]
    assert spy.made[-1] == ("2", "other")


def test_equal_turns_are_not_the_same_turn():
    spy = Spy()
    memo = TurnMemo(spy)
    one = turn("1")
    memo.of((one,))
    assert memo.of((replace(one),)) == [2]


def test_two_conversations_may_take_turns_and_older_ones_are_forgotten():
    spy = Spy()
    memo = TurnMemo(spy)
    main, side = tuple(map(turn, "abcdef")), (turn("side"),)
    for _ in range(3):
        memo.of(main)
        memo.of(side)
    assert len(spy.made) == 7
    for text in "xyz":
        memo.of((turn(text),))
    assert len(memo) == 2
    assert memo.of(main) == [11, 12, 13, 14, 15, 16]


@given(st.lists(st.text()))
def test_joined_pieces_are_one_string(texts):
    joined = b'"' + b"".join(map(json_inner, texts)) + b'"'
    assert json.loads(joined) == "".join(texts).encode("utf-8", "replace").decode()
