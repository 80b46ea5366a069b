"""The stream format: however the bytes are cut, the events are the same."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zidane_lab.errors import ProviderError
from zidane_lab.providers.sse import ServerSentEvent, SseParser


def parse(*chunks: bytes, limit: int = 1 << 20) -> list[ServerSentEvent]:
    parser = SseParser(limit)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*events, *parser.close()]


def reference(stream: bytes) -> list[ServerSentEvent]:
    """The standard's algorithm on the whole text at once, written independently of the parser."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = re.split(r"\r\n|\n|\r", text)
    events, data, kind = [], [], ""
    for line in [*lines, ""]:
        if line == "":
            if "\n".join(data):
                events.append(ServerSentEvent("\n".join(data), kind))
            data, kind = [], ""
        elif line[0] != ":":
            match = re.fullmatch(r"([^:]*)(?:: ?(.*))?", line, re.DOTALL)
            name, value = match[1], match[2] or ""
            if name == "data":
                data.append(value)
            elif name == "event":
                kind = value
    return events


LINES = st.one_of(
    st.builds(
        lambda name, sep, text: name + sep + text,
        st.sampled_from(["data", "event", "id", "retry", "other", ""]),
        st.sampled_from([":", ": ", ":  ", ""]),
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12),
    ),
    st.just(""),
    st.just("data: [DONE]"),
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
STREAMS = st.builds(
    lambda bom, pairs, tail: bom + "".join(line + end for line, end in pairs).encode() + tail,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(LINES, ENDS), max_size=12),
    st.one_of(st.just(b""), st.just("data: ü".encode()), st.binary(max_size=6)),
)


@given(STREAMS, st.lists(st.integers(0, 400), max_size=12))
@example(b"data: a\r\n\r\ndata: b\r\n\r\n", [7, 8, 9, 10])
@example("data: \u20ac\n\n".encode(), [7, 8])
@example(b"\xef\xbb\xbfdata: x\n\n", [1, 2])
def test_any_split_gives_the_events_of_the_whole(stream, cuts):
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    assert parse(*chunks) == parse(stream) == reference(stream)


@given(STREAMS)
def test_byte_by_byte_gives_the_same_events(stream):
    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == reference(stream)


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: one\n\n", [("one", "")]),
        (b"event: ping\ndata: {}\n\n", [("{}", "ping")]),
        (b"data: a\ndata: b\n\n", [("a\nb", "")]),
        (b": keep-alive\n\n: keep-alive\n\ndata: x\n\n", [("x", "")]),
        (b"data:x\n\ndata\n\nevent: lonely\n\n", [("x", "")]),
        (b"data: cut off", [("cut off", "")]),
        (b"data: a\r\rdata: b\r\r", [("a", ""), ("b", "")]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_events_of_a_stream(stream, events):
    assert [(event.data, event.event) for event in parse(stream)] == events


def test_a_named_event_does_not_name_the_next():
    assert [event.event for event in parse(b"event: a\ndata: 1\n\ndata: 2\n\n")] == ["a", ""]


def test_empty_chunks_change_nothing_even_between_cr_and_lf():
    assert parse(b"data: a\r", b"", b"\n", b"", b"\r\n") == [ServerSentEvent("a")]


@given(st.integers(1, 40))
def test_an_event_that_never_ends_is_refused_wherever_it_is_cut(size):
    stream = b"data: fine\n\n" + b"data: " + b"x" * 200
    chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
    parser, seen = SseParser(100), []
    with pytest.raises(ProviderError, match="more than 100 bytes") as caught:
        seen += [event for chunk in chunks for event in _noted(parser.feed(chunk), seen)]
    assert ServerSentEvent("fine") in seen
    assert not caught.value.retryable


def _noted(events, seen):
    for event in events:
        seen.append(event)
        yield event


def test_the_longest_event_allowed():
    assert parse(b"data: 1234\n\n", limit=10) == [ServerSentEvent("1234")]
    with pytest.raises(ProviderError):
        parse(b"data: 12345\n\n", limit=10)


def test_many_lines_that_together_are_too_long_are_refused():
    with pytest.raises(ProviderError, match="more than 100 bytes"):
        parse(b"data: 0123456789\n" * 50, limit=100)


def test_comments_do_not_count_towards_the_length_of_an_event():
    assert parse(b": 0123456789\n" * 50 + b"data: x\n\n", limit=100) == [ServerSentEvent("x")]
