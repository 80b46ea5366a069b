"""Foreign histories become turns without losing a word, and turns survive the way there and back."""

from __future__ import annotations

import base64
import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.histories import STATES, TURNS
from tests.wire.rules import check_anthropic_messages, check_openai_messages
from zidane_lab.errors import SessionError
from zidane_lab.turns import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
    turn_to_json,
)
from zidane_lab.wire.build import merge_same_role, wire_turns
from zidane_lab.wire.convert import (
    detect_and_convert,
    detect_format,
    from_anthropic,
    from_openai,
    to_anthropic,
    to_openai,
)

PNG = base64.b64encode(b"png").decode()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "hello", "data:,x", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "name", "input", "content", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)
ROLE = st.sampled_from(["user", "assistant", "system", "developer", "tool", "function", "critic", None, ["user"], 3])
KIND = st.sampled_from(
    [
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "image",
        "document",
        "image_url",
        "file",
        "odd",
    ]
)
FIELDS = {
    "text": JSON,
    "id": st.sampled_from(["1", "2", 3, None]),
    "tool_use_id": st.sampled_from(["1", "2", "3", None]),
    "name": st.sampled_from(["f", "odd name", "", 1]),
    "input": JSON,
    "content": JSON,
    "source": JSON | st.just({"type": "base64", "media_type": "image/png", "data": PNG}),
    "thinking": JSON,
    "signature": JSON,
    "data": JSON,
    "image_url": JSON | st.just({"url": f"data:image/png;base64,{PNG}"}),
    "file": JSON,
}
FOREIGN_BLOCKS = st.fixed_dictionaries({"type": KIND}, optional=FIELDS)
CALLS = JSON | st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["1", "2", "3"])},
        optional={
            "function": st.fixed_dictionaries({"name": FIELDS["name"]}, optional={"arguments": JSON | st.just("{}")})
        },
    ),
    max_size=2,
)
FOREIGN = st.lists(
    JSON
    | st.fixed_dictionaries(
        {"role": ROLE, "content": JSON | st.lists(FOREIGN_BLOCKS | JSON, max_size=4)},
        optional={
            "tool_calls": CALLS,
            "tool_call_id": FIELDS["tool_use_id"],
            "function_call": JSON,
            "refusal": JSON,
            "reasoning_content": JSON,
            "reasoning": JSON,
            "audio": JSON,
            "name": JSON,
        },
    ),
    max_size=6,
)


def blocks(imported):
    return [(turn.role, turn.blocks) for turn in imported.turns]


# --- there and back -------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(TURNS, STATES)
def test_messages_read_back_are_written_the_same(turns, state):
    turns = wire_turns(turns, state=state)
    for write, read in ((to_anthropic, from_anthropic), (to_openai, from_openai)):
        messages = write(turns)
        before = copy.deepcopy(messages)
        imported = read(messages)
        assert messages == before
        assert imported.notes == ()
        assert write(imported.turns) == messages


def conversation(**kw):
    return (
        Turn(
            "user", (TextBlock("q"), ImageBlock("image/png", b"png"), DocumentBlock("application/pdf", b"pdf", "a.pdf"))
        ),
        Turn(
            "assistant",
            (*kw.get("thinking", ()), TextBlock("a"), ToolCallBlock("1", "f", {"x": 1}), ToolCallBlock("2", "f")),
        ),
        Turn(
            "user", (ToolResultBlock("1", (TextBlock("ok"),)), ToolResultBlock("2", (TextBlock("no"),), is_error=True))
        ),
        Turn("assistant", (TextBlock("so"),)),
    )


def test_turns_come_back_from_anthropics_format_as_they_were():
    thinking = (ThinkingBlock("hm", "sig", "anthropic"), ThinkingBlock("", "data", "anthropic", redacted=True))
    turns = conversation(thinking=thinking)
    assert blocks(from_anthropic(to_anthropic(turns))) == [(turn.role, turn.blocks) for turn in turns]


def test_turns_come_back_from_openais_format_as_they_were():
    turns = conversation()
    imported = from_openai(to_openai(turns, system="Be kind."))
    assert blocks(imported) == [(turn.role, turn.blocks) for turn in turns]
    assert imported.system == "Be kind."


def test_what_the_user_says_after_results_comes_back_as_a_turn_of_its_own():
    turns = (
        Turn("user", (TextBlock("q"),)),
        Turn("assistant", (ToolCallBlock("1", "f"),)),
        Turn("user", (ToolResultBlock("1", (TextBlock("ok"),)), TextBlock("go on"))),
    )
    back = from_openai(to_openai(turns)).turns
    assert [turn.blocks for turn in merge_same_role(back)] == [turn.blocks for turn in turns]


def test_an_export_carries_no_marks_for_the_cache():
    assert "cache_control" not in json.dumps(to_anthropic(conversation()))
    assert to_anthropic(()) == to_openai(()) == []


# --- anything -------------------------------------------------------------------------------------


def leaves(value):
    if isinstance(value, dict):
        for name, each in value.items():
            if name != "id":  # of messages and texts: it says nothing
                yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, str) and value == "hello":
        yield value


@settings(max_examples=300, deadline=None)
@given(FOREIGN)
def test_any_list_is_read_no_word_is_lost_and_both_vendors_take_what_comes_of_it(messages):
    before = copy.deepcopy(messages)
    for read in (from_anthropic, from_openai, detect_and_convert):
        imported = read(messages)
        assert messages == before
        told = repr((imported.turns, imported.system, imported.notes))
        assert told.count("hello") >= len(list(leaves(messages)))
        out = wire_turns(imported.turns)
        if out:
            check_anthropic_messages(to_anthropic(out))
            check_openai_messages(to_openai(out), files=True)


# --- Anthropic ------------------------------------------------------------------------------------


def test_anthropics_blocks_are_read():
    imported = from_anthropic(
        [
            {"role": "system", "content": "Also this."},
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "data"},
                    {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}},
                    {"type": "tool_use", "id": "2", "name": "f", "input": "no object"},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "2",
                        "is_error": True,
                        "content": [
                            {"type": "text", "text": "no"},
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                        ],
                    },
                    {
                        "type": "document",
                        "title": "t",
                        "source": {"type": "text", "media_type": "text/plain", "data": "d"},
                    },
                ],
            },
        ],
        system=[{"type": "text", "text": "Be kind."}],
    )
    assert imported.system == "Be kind.\n\nAlso this."
    assert imported.notes == ()
    assert blocks(imported) == [
        ("user", (TextBlock("q"),)),
        (
            "assistant",
            (
                ThinkingBlock("hm", "sig", "anthropic"),
                ThinkingBlock("", "data", "anthropic", redacted=True),
                TextBlock("a"),
                ToolCallBlock("1", "f", {"x": 1}),
                ToolCallBlock("2", "f", {}, raw='"no object"'),
            ),
        ),
        (
            "user",
            (
                ToolResultBlock("1", (TextBlock("ok"),)),
                ToolResultBlock("2", (TextBlock("no"), ImageBlock("image/png", b"png")), is_error=True),
                DocumentBlock("text/plain", b"d", "t"),
            ),
        ),
    ]


@pytest.mark.parametrize(
    ("block", "kind", "kept"),
    [
        (
            {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"q": "x"}},
            "unknown-block",
            '"q": "x"',
        ),
        ({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}, "remote-media", "https://a/b.png"),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, "remote-media", "file_1"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}},
            "damaged",
            "image/png",
        ),
        ({"type": "text", "text": "t", "citations": [{"cited_text": "c"}]}, "field-left-out", "t"),
        (17, "unknown-block", "17"),
    ],
)
def test_what_has_no_counterpart_is_kept_as_text_and_noted(block, kind, kept):
    imported = from_anthropic([{"role": "user", "content": "q"}, {"role": "user", "content": [block]}])
    (note,) = imported.notes
    assert (note.index, note.kind) == (1, kind)
    (text,) = imported.turns[1].blocks
    assert isinstance(text, TextBlock)
    assert kept in text.text


# --- OpenAI ---------------------------------------------------------------------------------------


def test_openais_messages_are_read():
    audio = base64.b64encode(b"wav").decode()
    imported = from_openai(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": [{"type": "text", "text": "Be short."}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "q"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                    {"type": "input_audio", "input_audio": {"data": audio, "format": "wav"}},
                    {"type": "file", "file": {"filename": "v.mp4", "file_data": f"data:video/mp4;base64,{PNG}"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
                    {"id": "2", "type": "function", "function": {"name": "f", "arguments": "{broken"}},
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
            {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "Error: no"}]},
            {"role": "assistant", "content": "a", "refusal": "I will not."},
        ]
    )
    assert imported.system == "Be kind.\n\nBe short."
    assert imported.notes == ()
    assert blocks(imported) == [
        (
            "user",
            (
                TextBlock("q"),
                ImageBlock("image/png", b"png"),
                AudioBlock("audio/wav", b"wav"),
                VideoBlock("video/mp4", b"png", "v.mp4"),
            ),
        ),
        (
            "assistant",
            (
                ThinkingBlock("hm", None, "openai"),
                ToolCallBlock("1", "f", {"x": 1}),
                ToolCallBlock("2", "f", {}, raw="{broken"),
            ),
        ),
        ("user", (ToolResultBlock("1", (TextBlock("ok"),)), ToolResultBlock("2", (TextBlock("no"),), is_error=True))),
        ("assistant", (TextBlock("a"), TextBlock("I will not."))),
    ]


def test_calls_of_the_old_kind_find_their_results_by_name_and_order():
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "ok"}
    turns = from_openai([{"role": "user", "content": "q"}, old, answer, old, answer]).turns
    assert wire_turns(turns, strict=True) == turns
    assert len({call.id for turn in turns for call in turn.tool_calls}) == 2


@pytest.mark.parametrize(
    ("message", "kind", "kept"),
    [
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a"}}]},
            "remote-media",
            "https://a",
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]},
            "unknown-block",
            "data:x",
        ),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]}, "remote-media", "file_1"),
        ({"role": "user", "content": "q", "name": "Ada"}, "field-left-out", "q"),
        ({"role": "critic", "content": "bad"}, "unknown-role", "bad"),
        ({"role": "tool", "content": "lost"}, "damaged", "lost"),
        ({"role": "assistant", "audio": {"id": "1", "transcript": "said"}}, "remote-media", "said"),
        ({"role": "assistant", "tool_calls": [{"id": "1", "type": "odd"}]}, "unknown-block", "odd"),
        ("just a text", "damaged", "just a text"),
    ],
)
def test_what_openais_format_holds_beyond_ours_is_kept_and_noted(message, kind, kept):
    imported = from_openai([message])
    (note,) = imported.notes
    assert (note.index, note.kind) == (0, kind)
    assert kept in imported.turns[0].text


def test_reasoning_told_under_two_names_is_read_once_and_two_reasonings_twice():
    def thoughts(**kw):
        return [block.text for block in from_openai([{"role": "assistant", "content": "a", **kw}]).turns[0].blocks[:-1]]

    assert thoughts(reasoning="hm", reasoning_content="hm") == ["hm"]
    assert thoughts(reasoning="b", reasoning_content="a") == ["a", "b"]


def test_the_name_on_a_result_is_noted_only_when_it_is_not_that_of_its_call():
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": ""}}]}
    for name, notes in (("f", 0), ("g", 1)):
        result = {"role": "tool", "tool_call_id": "1", "name": name, "content": "ok"}
        assert len(from_openai([call, result]).notes) == notes


def test_a_call_that_takes_plain_text_keeps_it():
    call = {"id": "1", "type": "custom", "custom": {"name": "f", "input": "SELECT 1"}}
    imported = from_openai([{"role": "assistant", "tool_calls": [call]}])
    assert imported.turns[0].blocks == (ToolCallBlock("1", "f", {}, raw="SELECT 1"),)
    assert [note.kind for note in imported.notes] == ["field-left-out"]


# --- which format ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([], "anthropic"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "anthropic"),
        (to_anthropic(conversation()), "anthropic"),
        (to_openai(conversation()), "openai"),
        ([{"role": "developer", "content": "x"}], "openai"),
        ([turn_to_json(turn) for turn in conversation()], "zidane"),
    ],
)
def test_the_format_is_found_out(messages, found):
    assert detect_format(messages) == found


@pytest.mark.parametrize(
    "wrap", [lambda messages: messages, lambda messages: {"messages": messages, "system": "Be kind."}]
)
@pytest.mark.parametrize("write", [to_anthropic, to_openai, lambda turns: [turn_to_json(turn) for turn in turns]])
def test_a_list_or_a_body_of_any_format_is_read(write, wrap):
    turns = conversation()
    imported = detect_and_convert(wrap(write(turns)))
    assert blocks(imported) == [(turn.role, turn.blocks) for turn in turns]
    assert imported.notes == ()


def test_notes_count_the_messages_of_the_list_not_the_system_prompt_beside_it():
    body = {"system": "Be kind.", "messages": [{"role": "critic", "content": "x"}, {"role": "tool", "content": "y"}]}
    imported = detect_and_convert(body)
    assert imported.system == "Be kind."
    assert [note.index for note in imported.notes] == [0, 1]


@pytest.mark.parametrize("history", [None, "text", 3, {}, {"messages": "text"}, [{"blocks": [{"kind": "odd"}]}]])
def test_what_is_no_history_is_refused_with_a_hint(history):
    with pytest.raises(SessionError):
        detect_and_convert(history)
