"""Tool calls of the chat format, however a server cuts and labels them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.providers.base import ToolCallDelta, ToolCallEnd, ToolCallStart
from zidane_lab.providers.openai_calls import UNNAMED, CallAssembler


def fragment(index=None, call_id=None, name=None, text=None):
    function = {key: value for key, value in (("name", name), ("arguments", text)) if value is not None}
    out = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in out.items() if value is not None}


def assemble(*fragments):
    assembler = CallAssembler()
    events = [event for item in fragments for event in assembler.feed([item])]
    return [*events, *assembler.finish()]


def calls_of(events):
    """The completed calls; checks on the way that the events tell one consistent story."""
    starts, texts, ends = {}, {}, {}
    for event in events:
        match event:
            case ToolCallStart(index, call_id, name):
                assert index not in starts
                starts[index] = (call_id, name)
                texts[index] = ""
            case ToolCallDelta(index, text):
                assert index in starts
                assert index not in ends
                texts[index] += text
            case ToolCallEnd(index, call_id, name, arguments, raw):
                assert starts[index] == (call_id, name)
                assert index not in ends
                ends[index] = (name, arguments, raw)
                if raw is not None:
                    assert raw == texts[index]
                elif texts[index].strip() not in ("", "null"):
                    assert json.loads(texts[index]) == arguments
    assert set(starts) == set(ends)
    ids = [call_id for call_id, _ in starts.values()]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    return [(name, arguments) for name, arguments, _ in ends.values()]


def ids_of(events):
    return [event.id for event in events if isinstance(event, ToolCallEnd)]


A, B = '{"x": 1}', '{"y": [2, 3]}'
BOTH = [("a", {"x": 1}), ("b", {"y": [2, 3]})]


@pytest.mark.parametrize(
    "fragments",
    [
        pytest.param(
            [
                fragment(0, "1", "a", ""),
                fragment(0, text='{"x"'),
                fragment(0, text=": 1}"),
                fragment(1, "2", "b", ""),
                fragment(1, text=B),
            ],
            id="as OpenAI does",
        ),
        pytest.param([fragment(0, "1", "a", A), fragment(1, "2", "b", B)], id="whole calls"),
        pytest.param(
            [fragment(0, "1", "a", ""), fragment(1, "2", "b", ""), fragment(1, text=B), fragment(0, text=A)],
            id="interleaved",
        ),
        pytest.param([fragment(0, "1", "a", A), fragment(0, "2", "b", B)], id="every index is 0"),
        pytest.param([fragment(None, "1", "a", A), fragment(None, "2", "b", B)], id="no index"),
        pytest.param(
            [fragment(None, "1", "a", '{"x"'), fragment(None, "1", text=": 1}"), fragment(None, "2", "b", B)],
            id="no index, id repeated",
        ),
        pytest.param(
            [fragment(None, "1", "a"), fragment(text=A), fragment(None, "2", "b"), fragment(text=B)],
            id="no index, pieces without id",
        ),
        pytest.param([fragment(None, None, "a", A), fragment(None, None, "b", B)], id="neither index nor id"),
        pytest.param(
            [fragment(None, None, "a", '{"x"'), fragment(text=": 1}"), fragment(None, None, "b", B)],
            id="neither, in pieces",
        ),
        pytest.param([fragment(0, None, "a", A), fragment(1, None, "b", B)], id="no id"),
        pytest.param([fragment(0, None, "a", A), fragment(0, None, "b", B)], id="no id, every index is 0"),
        pytest.param([fragment(0, "same", "a", A), fragment(1, "same", "b", B)], id="the same id twice"),
        pytest.param([fragment(0, "same", "a", A), fragment(0, "same", "b", B)], id="the same id and index twice"),
        pytest.param(
            [fragment(None, "same", "a", A), fragment(None, "same", "b", B)], id="the same id twice, no index"
        ),
        pytest.param(
            [
                fragment(0, "1", None, '{"x"'),
                fragment(0, None, "a", ": 1}"),
                fragment(1, "2", None, B),
                fragment(1, None, "b"),
            ],
            id="the name comes late",
        ),
        pytest.param(
            [fragment(0, "1", "a", '{"x"'), fragment(0, "1", "a", ": 1}"), fragment(1, "2", "b", B)],
            id="id and name in every piece",
        ),
        pytest.param(
            [fragment(0, "r1", "a", '{"x"'), fragment(0, "r2", "", ": 1}"), fragment(1, "r3", "b", B)],
            id="another id in every piece",
        ),
        pytest.param(
            [fragment(0, None, "a", ""), fragment(0, "1", None, A), fragment(1, "2", "b", B)], id="the id comes late"
        ),
        pytest.param([fragment(0, "", "a", A), fragment(1, "", "b", B)], id="empty ids"),
        pytest.param(
            [
                {"index": 0, "id": "1", "function": {"name": "a", "arguments": {"x": 1}}},
                {"index": 1, "id": "2", "function": {"name": "b", "arguments": {"y": [2, 3]}}},
            ],
            id="arguments as objects",
        ),
        pytest.param(
            [fragment(0, "1", "a", A), "junk", None, {}, {"function": None}, fragment(1, "2", "b", B)],
            id="junk in between",
        ),
    ],
)
def test_two_calls(fragments):
    assert calls_of(assemble(*fragments)) == BOTH


def test_calls_without_arguments():
    assert calls_of(assemble(fragment(0, "1", "now"), fragment(1, "2", "now", "{}"))) == [("now", {}), ("now", {})]
    assert calls_of(assemble(fragment(0, "1", "now", "{}"), fragment(0, "2", "now"))) == [("now", {}), ("now", {})]
    assert calls_of(assemble(fragment(None, None, "now"), fragment(None, None, "here"))) == [("now", {}), ("here", {})]


def test_a_call_that_never_gets_a_name_can_be_answered():
    assert calls_of(assemble(fragment(0, "1", None, A))) == [(UNNAMED, {"x": 1})]


def test_a_fragment_of_nothing_is_no_call():
    assembler = CallAssembler()
    assert list(assembler.feed([fragment(0, "1")])) == []
    assert not assembler
    assert list(assembler.finish()) == []


def test_ids_are_the_servers_where_it_gives_them_and_made_where_not():
    assert ids_of(assemble(fragment(0, "call_9", "a", A))) == ["call_9"]
    assert ids_of(assemble(fragment(0, "same", "a", A), fragment(1, "same", "b", B), fragment(2, "same", "b", B))) == [
        "same",
        "same_r1",
        "same_r2",
    ]
    made = ids_of(assemble(fragment(0, None, "a", A), fragment(1, None, "b", B)))
    assert all(call_id.startswith("call_") for call_id in made)


def test_broken_arguments_are_kept_raw():
    events = assemble(fragment(0, "1", "a", '{"x": '), fragment(0, text="oops"))
    assert events[-1] == ToolCallEnd(0, "1", "a", {}, '{"x": oops')


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6), max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@given(CALLS, st.data())
def test_any_cut_of_well_labelled_calls(calls, data):
    """Index in each piece, id and name in the first: whatever the cuts and the interleaving, the calls come out."""
    queues = []
    for index, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=3)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        queues.append([fragment(index, f"id{index}", name, ""), *(fragment(index, text=piece) for piece in pieces)])
    order = data.draw(st.permutations([index for index, queue in enumerate(queues) for _ in queue]))
    events = assemble(*(queues[index].pop(0) for index in order))
    found = sorted(zip(ids_of(events), calls_of(events), strict=True))
    assert [call for _, call in found] == [(name, arguments) for name, arguments in calls]


@given(CALLS, st.sampled_from(["index", "zero", "id", "none"]))
def test_whole_calls_under_any_labelling(calls, labels):
    fragments = [
        fragment(
            {"index": at, "zero": 0}.get(labels),
            f"id{at}" if labels in {"index", "zero", "id"} else None,
            name,
            json.dumps(arguments),
        )
        for at, (name, arguments) in enumerate(calls)
    ]
    assert calls_of(assemble(*fragments)) == list(calls)
