"""What the vendors demand of a request, written out from their references, independently of the builders.

Sources: Anthropic's Messages API and "Handle tool calls", "Extended thinking", "Prompt caching"; OpenAI's Chat
Completions reference and "Function calling".
"""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise

ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


# --- Anthropic ------------------------------------------------------------------------------------


def check_anthropic(body):
    """Refuse a body that Anthropic would refuse."""
    assert body["max_tokens"] >= 1
    assert body["stream"] is True
    check_anthropic_messages(body["messages"])
    assert json.dumps(body).count('"cache_control"') <= 4
    for block in body.get("system", ()):
        _block(block, "user")
    for tool in body.get("tools", ()):
        assert set(tool) - {"cache_control"} == {"name", "description", "input_schema"}
    thinking = body.get("thinking", {"type": "disabled"})
    if thinking["type"] == "enabled":
        assert 1024 <= thinking["budget_tokens"] < body["max_tokens"]


def check_anthropic_messages(messages):
    assert messages, "at least one message is needed"
    assert messages[0]["role"] == messages[-1]["role"] == "user", "first and last speaks the user"
    assert all(one["role"] != other["role"] for one, other in pairwise(messages)), "roles alternate"
    waiting, seen = set(), set()
    for message in messages:
        assert set(message) == {"role", "content"}
        content = message["content"]
        assert content, "an empty message is refused"
        for block in content:
            _block(block, message["role"])
        kinds = [block["type"] for block in content]
        assert "thinking" not in kinds[-1], "the final block of an answer cannot be reasoning"
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results stand first"
        assert len(set(results)) == len(results), "one result for one call"
        assert set(results) == waiting, "each call is answered in the next message, and nothing else is"
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        assert len(set(calls)) == len(calls)
        assert not set(calls) & seen, "ids of calls are unique"
        seen |= set(calls)
        waiting = set(calls)
    assert not waiting


def _block(block, role):
    kind = block["type"]
    extra = set(block) - {"type", "cache_control"}
    if kind == "text":
        assert extra == {"text"}
        assert block["text"].strip(), "blank text is refused"
    elif kind == "image":
        assert role == "user"
        assert extra == {"source"}
        assert block["source"]["media_type"] in IMAGES
        _source(block["source"])
    elif kind == "document":
        assert role == "user"
        assert extra <= {"source", "title"}
        assert block["source"]["media_type"] in {"application/pdf", "text/plain"}
        _source(block["source"])
    elif kind == "thinking":
        assert role == "assistant"
        assert set(block) == {"type", "thinking", "signature"}, "reasoning carries no mark for the cache"
        assert block["signature"], "reasoning needs its seal"
    elif kind == "redacted_thinking":
        assert role == "assistant"
        assert set(block) == {"type", "data"}
        assert block["data"]
    elif kind == "tool_use":
        assert role == "assistant"
        assert extra == {"id", "name", "input"}
        assert ID.fullmatch(block["id"])
        assert NAME.fullmatch(block["name"])
        assert isinstance(block["input"], dict)
    else:
        assert kind == "tool_result"
        assert role == "user"
        assert extra <= {"tool_use_id", "content", "is_error"}
        assert ID.fullmatch(block["tool_use_id"])
        assert block["content"], "an error without content is refused"
        for part in block["content"]:
            assert part["type"] in {"text", "image", "document"}
            _block(part, "user")


def _source(source):
    if source["type"] == "base64":
        base64.b64decode(source["data"], validate=True)
    else:
        assert source == {"type": "text", "media_type": "text/plain", "data": source["data"]}
        assert source["data"].strip()


# --- Chat Completions -----------------------------------------------------------------------------


def check_openai(body, *, openai=False):
    """Refuse a body that OpenAI (``openai``) or a server of the same format would refuse."""
    check_openai_messages(body["messages"], files=openai)
    limits = {"max_tokens", "max_completion_tokens"} & set(body)
    assert limits <= ({"max_completion_tokens"} if openai else {"max_tokens"})
    for tool in body.get("tools", ()):
        assert tool["type"] == "function"
        assert NAME.fullmatch(tool["function"]["name"])


def check_openai_messages(messages, *, files=False):
    assert messages, "at least one message is needed"
    if messages[0]["role"] == "system":
        assert messages[0]["content"].strip()
        messages = messages[1:]
    assert messages[0]["role"] == "user"
    assert messages[-1]["role"] in {"user", "tool"}
    assert not any(one["role"] == other["role"] == "user" for one, other in pairwise(messages)), "strict servers refuse"
    waiting, seen = [], set()
    for message in messages:
        if message["role"] == "tool":
            assert set(message) == {"role", "tool_call_id", "content"}
            assert isinstance(message["content"], str)
            assert message["content"].strip()
            waiting.remove(message["tool_call_id"])  # a result of a call of the last answer, and only one
            continue
        assert not waiting, "results follow their calls before anything else is said"
        if message["role"] == "assistant":
            assert set(message) <= {"role", "content", "tool_calls"}
            assert message["content"] or message["tool_calls"]
            assert message["content"] is None or message["content"].strip()
            assert message.get("tool_calls", True), "an empty list of calls is refused"
            for call in message.get("tool_calls", ()):
                assert set(call) == {"id", "type", "function"}
                assert call["type"] == "function"
                assert ID.fullmatch(call["id"])
                assert call["id"] not in seen
                assert NAME.fullmatch(call["function"]["name"])
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                seen.add(call["id"])
                waiting.append(call["id"])
            continue
        assert message["role"] == "user"
        assert set(message) == {"role", "content"}
        if isinstance(message["content"], str):
            assert message["content"].strip()
            continue
        assert any(part["type"] != "text" for part in message["content"])
        for part in message["content"]:
            _part(part, files=files)
    assert not waiting


def _part(part, *, files):
    if part["type"] == "text":
        assert part["text"].strip()
    elif part["type"] == "image_url":
        head, data = part["image_url"]["url"].split(";base64,")
        assert head.removeprefix("data:") in IMAGES
        base64.b64decode(data, validate=True)
    else:
        assert part["type"] == "file"
        assert files, "few servers take files"
