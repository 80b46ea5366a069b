"""Requests in Anthropic's format: blocks, cache breakpoints, reasoning, limits."""

from __future__ import annotations

import pytest

from zidane_lab.providers.anthropic_request import RequestEncoder, build_request
from zidane_lab.providers.base import (
    Request,
    ToolSpec,
)
from zidane_lab.turns import (
    AudioBlock,
    CommandBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
)

PNG = b"\x89PNG\r\n"
MODEL = "claude-sonnet-4-5"


def user(*blocks):
    return Turn("user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def assistant(*blocks, producer="anthropic"):
    return Turn("assistant", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def ask(*turns, **options):
    return Request(options.pop("model", MODEL), options.pop("system", ""), turns or (user("hi"),), **options)


def body_of(*turns, **options):
    return build_request(ask(*turns, **options), producer="anthropic")


MARKED = {"type": "ephemeral"}
TOOLS = tuple(ToolSpec(name, "does it", {"type": "object"}) for name in ("a", "b"))


def marks(body):
    """The breakpoints on each block of each message."""
    return [[block.get("cache_control") for block in message["content"]] for message in body["messages"]]


def test_breakpoints_for_the_cache():
    body = body_of(
        user("zero"), assistant("no"), user("one", "two"), assistant("yes"), user("three", "four"),
        system="Be kind.", tools=TOOLS,
    )  # fmt: skip
    assert body["system"] == [{"type": "text", "text": "Be kind.", "cache_control": MARKED}]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARKED]
    assert marks(body) == [[None], [None], [None, MARKED], [None], [None, MARKED]]


def test_breakpoints_that_last_an_hour():
    body = body_of(user("one"), system="Be kind.", tools=TOOLS, cache_ttl="1h")
    hour = {"type": "ephemeral", "ttl": "1h"}
    assert body["system"][0]["cache_control"] == body["tools"][-1]["cache_control"] == hour
    assert marks(body) == [[hour]]


def test_a_breakpoint_stands_where_the_request_before_ended_however_much_came_since():
    """The service looks back 20 blocks from a breakpoint; a large batch of calls adds more."""
    calls = [ToolCallBlock(f"c{n}", "f") for n in range(30)]
    before = (user("go"), assistant("first"), user("many, please"))
    after = (*before, assistant(*calls), user(*(ToolResultBlock(call.id, (TextBlock("x"),)) for call in calls)))
    ended = len(before) - 1
    assert marks(body_of(*before))[ended] == [MARKED]
    assert marks(body_of(*after))[ended] == [MARKED]


def test_neighbouring_turns_of_the_user_are_one_message_with_one_breakpoint():
    body = body_of(
        user("go"), assistant(ToolCallBlock("c", "f")), user(ToolResultBlock("c", (TextBlock("x"),))), user("and now")
    )
    assert marks(body) == [[MARKED], [None], [None, MARKED]]


def test_what_changes_from_day_to_day_stands_behind_the_breakpoint():
    static, dynamic = "You are kind.", "<env>\nDate: today\n</env>"
    body = body_of(system=f"{static}\n\n{dynamic}", system_boundary=len(static))
    assert body["system"] == [
        {"type": "text", "text": static, "cache_control": MARKED},
        {"type": "text", "text": dynamic},
    ]


@pytest.mark.parametrize(("system", "boundary"), [("only this", 0), ("only this", 9), ("only this", 99), ("a\n", 1)])
def test_half_a_system_prompt_is_one_block(system, boundary):
    (block,) = body_of(system=system, system_boundary=boundary)["system"]
    assert block == {"type": "text", "text": system.strip(), "cache_control": MARKED}


def test_there_are_never_more_than_four_breakpoints():
    turns = [turn for n in range(10) for turn in (user(f"q{n}"), assistant(f"a{n}"))]
    body = body_of(*turns, user("last"), system="a\n\nb", system_boundary=1, tools=TOOLS, thinking="high")
    assert str(body).count("cache_control") == 4


def test_the_next_request_begins_with_the_same_messages():
    turns = (user("one"), assistant("yes"), user("two"))
    first, second = body_of(*turns), body_of(*turns, assistant("no"), user("three"))

    def plain(body):
        return [
            {"role": m["role"], "content": [{k: v for k, v in b.items() if k != "cache_control"} for b in m["content"]]}
            for m in body["messages"]
        ]

    assert plain(second)[: len(turns)] == plain(first)


def test_no_system_prompt_and_no_tools_are_left_out():
    body = body_of(user("hi"), system="  \n")
    assert set(body) == {"model", "max_tokens", "stream", "messages"}


@pytest.mark.parametrize(
    ("model", "asked", "limit"),
    [
        ("claude-sonnet-5-5", None, 32_000),
        ("claude-sonnet-4-5-20250929", None, 20_000),
        ("claude-3-5-sonnet-20241022", None, 8192),
        ("my-own-model", None, 8192),
        ("claude-sonnet-5-5", 100, 100),
    ],
)
def test_how_much_an_answer_may_hold(model, asked, limit, monkeypatch):
    monkeypatch.delenv("ZIDANE_CONTEXT_WINDOW", raising=False)
    assert body_of(model=model, max_tokens=asked)["max_tokens"] == limit


def test_images_and_documents():
    body = body_of(
        user(
            "look",
            ImageBlock("image/png", PNG),
            DocumentBlock("application/pdf", b"%PDF", "paper.pdf"),
            DocumentBlock("text/csv", b"a,b", "t.csv"),
            ImageBlock("image/svg+xml", b"<svg/>", "plot.svg"),
            AudioBlock("audio/wav", b""),
        )
    )
    _, image, pdf, csv, svg, audio = body["messages"][0]["content"]
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
    assert pdf["source"]["media_type"] == "application/pdf"
    assert pdf["title"] == "paper.pdf"
    assert csv["source"] == {"type": "text", "media_type": "text/plain", "data": "a,b"}
    assert "plot.svg" in svg["text"]
    assert "audio" in audio["text"]


def test_results_hold_images_and_errors_and_stand_first():
    result = ToolResultBlock("c1", (TextBlock("done"), ImageBlock("image/png", PNG)), is_error=True)
    body = body_of(
        user("go"),
        assistant(ToolCallBlock("c1", "f", {"a": 1}), ToolCallBlock("c2", "g")),
        user("and then", result, ToolResultBlock("c2")),
    )
    first, second, text = body["messages"][2]["content"]
    assert (first["tool_use_id"], first["is_error"]) == ("c1", True)
    assert [part["type"] for part in first["content"]] == ["text", "image"]
    assert second["content"] == [{"type": "text", "text": "(no output)"}]
    assert "is_error" not in second
    assert text["text"] == "and then"


def test_only_own_sealed_reasoning_is_replayed():
    own = ThinkingBlock("mine", "sig", "anthropic")
    hidden = ThinkingBlock("", "data", "anthropic", redacted=True)
    old = ThinkingBlock("", "data2", None, redacted=True)
    foreign = (
        ThinkingBlock("no seal", None, "anthropic"),
        ThinkingBlock("theirs", "sig", "openai"),
    )
    unnamed = ThinkingBlock("from before makers were noted", "sig3")
    body = body_of(user("hi"), assistant(own, hidden, old, *foreign, unnamed, "answer"), user("go on"))
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "mine", "signature": "sig"},
        {"type": "redacted_thinking", "data": "data"},
        {"type": "redacted_thinking", "data": "data2"},
        {"type": "thinking", "thinking": "from before makers were noted", "signature": "sig3"},
        {"type": "text", "text": "answer"},
    ]


def test_what_is_empty_or_only_for_people_is_not_sent_and_roles_still_alternate():
    body = body_of(
        user("hi"), user(CommandBlock("help")), assistant(ThinkingBlock("foreign", None, "openai")), user("  ", "more")
    )
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert [block["text"] for block in body["messages"][0]["content"]] == ["hi", "more"]


@pytest.mark.parametrize(
    ("model", "level", "fields"),
    [
        ("claude-sonnet-5-5", "off", {}),
        ("claude-opus-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-haiku-5-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-opus-5-5", "off", {}),
        ("claude-opus-5-5", "adaptive", {"thinking": {"type": "adaptive", "display": "summarized"}}),
        (
            "claude-opus-5-5",
            "xhigh",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"}},
        ),
        (
            "claude-sonnet-5-5",
            "minimal",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
        ),
        (
            "claude-sonnet-4-6",
            "max",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        (
            "claude-opus-4-7",
            "xhigh",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"}},
        ),
        (
            "claude-opus-4-6",
            "max",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}},
        ),
        ("claude-sonnet-4-5", "medium", {"thinking": {"type": "enabled", "budget_tokens": 10_000}}),
        ("claude-sonnet-4-5", "max", {"thinking": {"type": "enabled", "budget_tokens": 18_976}}),
        ("claude-3-5-sonnet-latest", "high", {}),
        ("claude-3-7-sonnet-latest", "low", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        ("my-own-model", "low", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
    ],
)
def test_asking_for_reasoning(model, level, fields):
    body = body_of(model=model, thinking=level)
    assert {name: body[name] for name in ("thinking", "output_config") if name in body} == fields


def test_a_budget_always_leaves_room_for_the_answer():
    assert "thinking" not in body_of(max_tokens=2000, thinking="high")
    assert body_of(max_tokens=3000, thinking="high")["thinking"]["budget_tokens"] == 1976


def test_a_model_with_a_budget_does_not_think_on_a_call_made_without_thinking():
    bare = (user("go"), assistant(ToolCallBlock("c", "f")), user(ToolResultBlock("c", (TextBlock("x"),))))
    thought = (user("go"), assistant(ThinkingBlock("t", "s", "anthropic"), ToolCallBlock("c", "f")), bare[2])
    assert "thinking" not in body_of(*bare, thinking="high")
    assert "thinking" in body_of(*thought, thinking="high")
    assert "thinking" in body_of(*bare, thinking="high", model="claude-sonnet-5-5")


@pytest.mark.parametrize(
    ("budget", "sent"),
    [(5000, 5000), (1, 1024), (1024, 1024), (10**6, 20_000 - 1024), (0, None), (-1, None)],
)
def test_a_given_budget_stands_instead_of_the_levels(budget, sent):
    body = body_of(thinking="low", thinking_budget=budget)
    assert body.get("thinking", {}).get("budget_tokens") == sent


def test_models_that_take_an_effort_take_no_budget():
    body = body_of(model="claude-sonnet-5-5", thinking="high", thinking_budget=5000)
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_a_budget_asks_for_no_reasoning_by_itself():
    assert "thinking" not in body_of(thinking_budget=5000)


def test_reasoning_refused_later_is_left_out_of_turns_written_before():
    turns = (user("hi"), assistant(ThinkingBlock("t", "seal", "anthropic"), "answer"), user("go on"))
    encoder, request = RequestEncoder("anthropic"), ask(*turns)
    assert b'"seal"' in encoder.encode(request)
    assert encoder.new_signatures(request) == {"seal"}
    encoder.refuse({"seal"})
    assert b'"seal"' not in encoder.encode(request)
    assert encoder.new_signatures(request) == set()
