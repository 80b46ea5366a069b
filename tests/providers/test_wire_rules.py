"""Requests built from any valid history keep the rules of both wire formats.

The rules are written out here from the vendors' references, independently of the builders. The histories mix
providers, media, thinking of any origin, odd ids, empty and blank texts, and blocks that are never sent.
"""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

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
        turns.append(Turn("assistant", (*spoken, *calls)))
        results = [
            ToolResultBlock(
                call.id, tuple(draw(st.lists(TEXTS | MEDIA, max_size=3))), draw(st.booleans()), {"secret": "metadata"}
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
ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


# --- Anthropic ------------------------------------------------------------------------------------


def check_source(source):
    if source["type"] == "base64":
        base64.b64decode(source["data"], validate=True)
    else:
        assert source == {"type": "text", "media_type": "text/plain", "data": source["data"]}
        assert source["data"].strip()


def check_block(block, role):
    kind = block["type"]
    extra = set(block) - {"type", "cache_control"}
    if kind == "text":
        assert extra == {"text"}
        assert block["text"].strip(), "blank text is refused"
    elif kind == "image":
        assert role == "user"
        assert block["source"]["media_type"] in {"image/png", "image/jpeg", "image/gif", "image/webp"}
        check_source(block["source"])
    elif kind == "document":
        assert role == "user"
        assert block["source"]["media_type"] in {"application/pdf", "text/plain"}
        check_source(block["source"])
    elif kind == "thinking":
        assert role == "assistant"
        assert block["signature"]
        assert "cache_control" not in block
    elif kind == "redacted_thinking":
        assert role == "assistant"
        assert block["data"]
        assert "cache_control" not in block
    elif kind == "tool_use":
        assert role == "assistant"
        assert ID.fullmatch(block["id"])
        assert isinstance(block["input"], dict)
    else:
        assert kind == "tool_result"
        assert role == "user"
        assert block["content"], "an error without content is refused"
        for part in block["content"]:
            assert part["type"] in {"text", "image", "document"}
            check_block(part, "user")


def check_anthropic(body):
    messages = body["messages"]
    assert body["max_tokens"] >= 1
    assert body["stream"] is True
    assert messages[0]["role"] == messages[-1]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in pairwise(messages))
    open_calls, seen = set(), set()
    for message in messages:
        content = message["content"]
        assert content, "an empty message is refused"
        for block in content:
            check_block(block, message["role"])
        kinds = [block["type"] for block in content]
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results stand first"
        assert len(set(results)) == len(results)
        assert set(results) == open_calls, "each call is answered in the next message, and nothing else is"
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        assert not set(calls) & seen
        assert len(set(calls)) == len(calls)
        seen |= set(calls)
        open_calls = set(calls)
    assert not open_calls
    marked = json.dumps(body).count('"cache_control"')
    assert marked <= 4
    assert "cache_control" in messages[-1]["content"][-1]
    for tool in body.get("tools", ()):
        assert set(tool) - {"cache_control"} == {"name", "description", "input_schema"}
    thinking = body.get("thinking", {"type": "disabled"})
    if thinking["type"] == "enabled":
        assert 1024 <= thinking["budget_tokens"] < body["max_tokens"]


@settings(max_examples=150)
@given(REQUESTS)
def test_anthropic(request):
    body = anthropic_request.build_request(request, producer="anthropic")
    check_anthropic(body)
    assert encode_body(body, provider="a") == encode_body(
        anthropic_request.build_request(request, producer="anthropic"), provider="a"
    )
    text = json.dumps(body)
    assert "secret" not in text
    assert '"sig' not in json.dumps(
        anthropic_request.build_request(request, producer="anthropic", refused={"sig1", "sig2"})
    )


# --- Chat Completions -----------------------------------------------------------------------------


def check_chat(body, *, openai):
    messages = body["messages"]
    if messages[0]["role"] == "system":
        assert messages[0]["content"].strip()
        messages = messages[1:]
    assert messages[0]["role"] == "user"
    assert messages[-1]["role"] in {"user", "tool"}
    assert not any(one["role"] == other["role"] == "user" for one, other in pairwise(messages))
    waiting, seen = [], set()
    for message in messages:
        if message["role"] == "tool":
            assert set(message) == {"role", "tool_call_id", "content"}
            assert isinstance(message["content"], str)
            assert message["content"].strip()
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "results follow their calls before anything else is said"
        if message["role"] == "assistant":
            assert set(message) <= {"role", "content", "tool_calls"}
            assert message["content"] or message["tool_calls"]
            for call in message.get("tool_calls", ()):
                assert call["type"] == "function"
                assert ID.fullmatch(call["id"])
                assert call["id"] not in seen
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                seen.add(call["id"])
                waiting.append(call["id"])
            continue
        assert message["role"] == "user"
        content = message["content"]
        if isinstance(content, str):
            assert content.strip()
            continue
        assert any(part["type"] != "text" for part in content)
        for part in content:
            if part["type"] == "text":
                assert part["text"].strip()
            elif part["type"] == "image_url":
                head, data = part["image_url"]["url"].split(";base64,")
                assert head in {"data:image/png", "data:image/jpeg"}
                base64.b64decode(data, validate=True)
            else:
                assert part["type"] == "file"
                assert openai
    assert not waiting
    limits = {"max_tokens", "max_completion_tokens"} & set(body)
    assert limits <= ({"max_completion_tokens"} if openai else {"max_tokens"})


@settings(max_examples=150)
@given(REQUESTS, st.booleans())
def test_chat(request, openai):
    base_url = "https://api.openai.com/v1" if openai else "http://localhost:8000/v1"
    body = openai_request.build_request(request, base_url=base_url)
    check_chat(body, openai=openai)
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
