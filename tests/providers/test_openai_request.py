"""Requests in the chat format, at OpenAI and at its many imitators."""

from __future__ import annotations

import json

import pytest

from zidane_lab.providers.base import (
    Request,
    ToolSpec,
)
from zidane_lab.providers.openai_chat import BASE_URL
from zidane_lab.providers.openai_request import build_request
from zidane_lab.turns import (
    CommandBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
)

PNG = ImageBlock("image/png", b"\x89PNG\r\n")
PNG_URL = "data:image/png;base64,iVBORw0K"
LOCAL = "http://localhost:11434/v1"
TOOL = ToolSpec("f", "does it", {"type": "object", "properties": {}})


def user(*blocks):
    return Turn("user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def assistant(*blocks):
    return Turn("assistant", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def ask(*turns, **options):
    return Request(options.pop("model", "gpt-4o"), options.pop("system", ""), turns or (user("hi"),), **options)


def body_of(*turns, base_url=LOCAL, **options):
    return build_request(ask(*turns, **options), base_url=base_url)


def test_a_plain_conversation():
    body = body_of(
        user("one"), assistant(ThinkingBlock("hm"), "yes"), user("two", "three"), system="Be kind.", tools=(TOOL,)
    )
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "two\n\nthree"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "description": "does it", "parameters": {"type": "object", "properties": {}}},
        }
    ]


def test_no_system_prompt_and_no_tools_are_left_out():
    assert set(body_of(system=" ")) == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize(
    ("base_url", "field"),
    [(BASE_URL, "max_completion_tokens"), (LOCAL, "max_tokens"), ("https://openrouter.ai/api/v1", "max_tokens")],
)
def test_the_name_of_the_limit(base_url, field):
    body = body_of(base_url=base_url, max_tokens=50)
    assert body[field] == 50
    assert len({"max_tokens", "max_completion_tokens"} & set(body)) == 1


@pytest.mark.parametrize(
    ("base_url", "model", "level", "tools", "effort"),
    [
        (LOCAL, "qwen3", "off", True, None),
        (LOCAL, "qwen3", "adaptive", True, None),
        (LOCAL, "qwen3", "high", True, "high"),
        (BASE_URL, "gpt-4o", "high", False, None),
        (BASE_URL, "o3", "low", True, "low"),
        (BASE_URL, "gpt-5", "minimal", True, "minimal"),
        (BASE_URL, "gpt-5.1", "high", True, "high"),
        (BASE_URL, "gpt-5.2", "high", True, None),
        (BASE_URL, "gpt-5.4-mini", "high", False, "high"),
        (BASE_URL, "gpt-5.4-mini", "high", True, None),
        (BASE_URL, "gpt-5.6-sol", "high", True, "none"),
        (BASE_URL, "gpt-6-sol", "off", True, "none"),
        (BASE_URL, "gpt-6-sol", "high", False, "high"),
    ],
)
def test_asking_for_reasoning(base_url, model, level, tools, effort):
    body = body_of(base_url=base_url, model=model, thinking=level, tools=(TOOL,) if tools else ())
    assert body.get("reasoning_effort") == effort


def test_calls_and_results():
    body = body_of(
        user("go"),
        assistant(ToolCallBlock("c1", "f", {"ü": 1}), ToolCallBlock("c:2", "g", {}, raw="{oops")),
        user(
            ToolResultBlock("c1", (TextBlock("one"), TextBlock("two"))),
            ToolResultBlock("c:2", (TextBlock("no"),), is_error=True),
            "and?",
        ),
    )
    _, call, first, second, text = body["messages"]
    assert call["content"] is None
    assert call["tool_calls"][0] == {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"ü": 1}'}}
    assert call["tool_calls"][1]["function"]["arguments"] == "{}"
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "one\ntwo"}
    assert second["tool_call_id"] == call["tool_calls"][1]["id"] != "c:2"
    assert second["content"] == "Error: no"
    assert text == {"role": "user", "content": "and?"}


def test_images_in():
    body = body_of(user("look", PNG, ImageBlock("image/tiff", b"II", "scan")))
    text, image, scan = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "look"}
    assert image == {"type": "image_url", "image_url": {"url": PNG_URL}}
    assert "scan" in scan["text"]


def test_images_of_results_follow_in_a_message_that_says_whose_they_are():
    body = body_of(
        user("go"),
        assistant(ToolCallBlock("c1", "plot", {}), ToolCallBlock("c2", "plot", {})),
        user(ToolResultBlock("c1", (TextBlock("drawn"), PNG)), ToolResultBlock("c2", (PNG,)), "nice"),
    )
    first, second, follow = body["messages"][2:]
    assert first["content"] == "drawn\n(1 attachment(s) follow in the next message)"
    assert second["content"] == "(1 attachment(s) follow in the next message)"
    assert follow["role"] == "user"
    image = {"type": "image_url", "image_url": {"url": PNG_URL}}
    assert follow["content"] == [
        {"type": "text", "text": "Attached by the call c1 (plot):"},
        image,
        {"type": "text", "text": "Attached by the call c2 (plot):"},
        image,
        {"type": "text", "text": "nice"},
    ]


def test_what_a_result_holds_but_the_format_cannot_carry_is_said():
    body = body_of(
        user("go"),
        assistant(ToolCallBlock("c", "f")),
        user(ToolResultBlock("c", (DocumentBlock("application/pdf", b"%PDF", "a.pdf"),))),
    )
    assert "a.pdf" in body["messages"][-1]["content"]
    assert body["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize(
    ("base_url", "kind"), [(BASE_URL, "file"), ("https://openrouter.ai/api/v1", "file"), (LOCAL, None)]
)
def test_pdf_files_go_where_they_are_taken(base_url, kind):
    content = body_of(user("read", DocumentBlock("application/pdf", b"%PDF", "a.pdf")), base_url=base_url)["messages"][
        0
    ]["content"]
    if kind:
        assert content[1] == {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        }
    else:
        assert "left out" in content


def test_documents_of_text_are_text():
    assert (
        body_of(user("read", DocumentBlock("text/csv", b"a,b", "t.csv")))["messages"][0]["content"]
        == "read\n\nt.csv:\n\na,b"
    )


def test_what_is_empty_or_only_for_people_is_not_sent():
    body = body_of(user("hi"), user(CommandBlock("help")), assistant(ThinkingBlock("hm")), user(" ", "more"))
    assert body["messages"] == [{"role": "user", "content": "hi\n\nmore"}]


def test_equal_requests_are_equal_bytes():
    turns = (user("go"), assistant(ToolCallBlock("c:1", "f", {"b": 1, "a": 2})), user(ToolResultBlock("c:1", (PNG,))))
    assert json.dumps(body_of(*turns)) == json.dumps(body_of(*turns))


def test_the_conversations_key_goes_to_the_vendor_only():
    """Servers that do not know the field refuse the request."""
    assert body_of(base_url=BASE_URL, cache_key="session-1")["prompt_cache_key"] == "session-1"
    assert "prompt_cache_key" not in body_of(base_url=BASE_URL)
    for elsewhere in (LOCAL, "https://openrouter.ai/api/v1"):
        assert "prompt_cache_key" not in body_of(base_url=elsewhere, cache_key="session-1")


def test_a_long_key_is_shortened_to_what_the_vendor_accepts_and_stays_its_own():
    keys = [body_of(base_url=BASE_URL, cache_key="s" * 64 + end)["prompt_cache_key"] for end in ("", "a", "b", "a")]
    assert keys[0] == "s" * 64
    assert all(len(key) <= 64 for key in keys)
    assert keys[1] == keys[3] != keys[2]


def test_the_whole_system_prompt_is_one_message_without_a_trace_of_the_boundary():
    body = body_of(system="static\n\ndynamic", system_boundary=6)
    assert body["messages"][0] == {"role": "system", "content": "static\n\ndynamic"}


def test_neighbouring_turns_of_the_user_join_as_parts_when_there_is_a_picture_among_them():
    body = body_of(user("one", "two"), user(PNG), user("three"))
    (message,) = body["messages"]
    assert [part.get("text", part["type"]) for part in message["content"]] == ["one", "two", "image_url", "three"]
