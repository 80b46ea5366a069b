"""Requests built from any valid history keep the rules of both wire formats.

The rules are in :mod:`tests.wire.rules`. The histories mix providers, media, thinking of any origin, odd ids, empty
and blank texts, and blocks that are never sent.
"""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.rules import check_anthropic, check_openai
from zidane_lab.providers import anthropic_request, openai_request
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.providers.payload import encode_body
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

TEXT = st.text(max_size=12)
VISIBLE = TEXT.filter(str.strip).map(TextBlock)
MEDIA = st.one_of(
    st.builds(
        ImageBlock, st.sampled_from(["image/png", "image/jpeg", "image/svg+xml", "image/tiff"]), st.binary(max_size=5)
    ),
    st.builds(
        DocumentBlock,
        st.sampled_from(["application/pdf", "text/csv", "application/zip"]),
        st.binary(max_size=5),
        st.none() | st.just("a.bin"),
    ),
    st.builds(AudioBlock, st.just("audio/wav"), st.binary(max_size=3)),
    st.builds(VideoBlock, st.just("video/mp4"), st.binary(max_size=3)),
)
KEPT_BACK = f"kept-back-{0x7F3A:x}"  # put together, as texts that stand in the code are tried, too
TEXTS = TEXT.map(TextBlock)
UNSENT = st.sampled_from([CommandBlock("help"), CustomBlock("x", {"a": 1})])
SAID = st.lists(st.one_of(TEXTS, MEDIA, UNSENT, TEXT.map(CompactSummaryBlock)), max_size=3)
THINKING = st.builds(
    ThinkingBlock,
    TEXT,
    st.sampled_from([None, "", "sig1", "sig2"]),
    st.sampled_from([None, "anthropic", "openai"]),
    st.booleans(),
)
ARGUMENTS = st.dictionaries(
    st.text(max_size=3),
    st.none() | st.integers() | st.text(max_size=4) | st.lists(st.booleans(), max_size=2),
    max_size=2,
)
NAMES = st.sampled_from(["run_python", "read-file", "f"])


@st.composite
def histories(draw):
    turns = [Turn("user", (*draw(SAID), draw(VISIBLE)))]
    number = 0
    for _ in range(draw(st.integers(0, 4))):
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            call_id = draw(st.sampled_from(["call_{}", "toolu_{}", "functions.f:{}", "é{}", "x" * 50 + "{}"])).format(
                number
            )
            calls.append(ToolCallBlock(call_id, draw(NAMES), draw(ARGUMENTS), draw(st.none() | st.just("{broken"))))
        spoken = draw(st.lists(st.one_of(TEXTS, THINKING, UNSENT), max_size=3))
        last = calls or [draw(VISIBLE)]  # no request ends an answer in reasoning, see zidane_lab.wire
        turns.append(Turn("assistant", (*spoken, *last)))
        results = [
            ToolResultBlock(
                call.id, tuple(draw(st.lists(TEXTS | MEDIA, max_size=3))), draw(st.booleans()), {KEPT_BACK: "metadata"}
            )
            for call in draw(st.permutations(calls))
        ]
        tail = draw(SAID) + ([] if results else [draw(VISIBLE)])
        turns.append(Turn("user", tuple(draw(st.permutations([*results, *tail])))))
    return tuple(turns)


TOOLS = st.lists(
    st.builds(ToolSpec, NAMES, TEXT, st.just({"type": "object", "properties": {"a": {}}})), max_size=2
).map(tuple)
REQUESTS = st.builds(
    Request,
    st.sampled_from(["claude-sonnet-5-5", "claude-sonnet-4-5", "claude-3-haiku", "gpt-4o", "gpt-6-sol", "o3", "own"]),
    st.sampled_from(["", " ", "Be kind."]),
    histories(),
    TOOLS,
    st.none() | st.integers(1, 100_000),
    st.sampled_from(["off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"]),
)


@settings(max_examples=150)
@given(REQUESTS)
def test_anthropic(request):
    body = anthropic_request.build_request(request, producer="anthropic")
    check_anthropic(body)
    assert "cache_control" in body["messages"][-1]["content"][-1], "the next request starts with the same bytes"
    assert encode_body(body, provider="a") == encode_body(
        anthropic_request.build_request(request, producer="anthropic"), provider="a"
    )
    text = json.dumps(body)
    assert KEPT_BACK not in text
    assert '"sig' not in json.dumps(
        anthropic_request.build_request(request, producer="anthropic", refused={"sig1", "sig2"})
    )


@settings(max_examples=150)
@given(REQUESTS, st.booleans())
def test_chat(request, openai):
    base_url = "https://api.openai.com/v1" if openai else "http://localhost:8000/v1"
    body = openai_request.build_request(request, base_url=base_url)
    check_openai(body, openai=openai)
    again = openai_request.build_request(request, base_url=base_url)
    assert encode_body(body, provider="o") == encode_body(again, provider="o")
    assert "metadata" not in json.dumps(body)


@settings(max_examples=60)
@given(histories())
def test_a_longer_history_begins_with_the_bytes_of_the_shorter(turns):
    """What was sent once is sent again byte for byte, so that prompt caches hit."""
    longer = (*turns, Turn("assistant", (TextBlock("yes"),)), Turn("user", (TextBlock("go on"),)))
    for build in (
        lambda request: anthropic_request.build_request(request, producer="anthropic"),
        lambda request: openai_request.build_request(request, base_url="http://localhost/v1"),
    ):
        short, long = (
            json.dumps(_unmarked(build(Request("claude-sonnet-5-5", "s", some))["messages"]))[:-1]
            for some in (turns, longer)
        )
        assert long.startswith(short)


def _unmarked(value):
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return value
