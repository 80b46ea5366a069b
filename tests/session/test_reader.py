"""Whatever befalls a session file, what was whole stays readable and nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.errors import SessionError
from zidane_lab.session.entries import Entry, Header, dump_line
from zidane_lab.session.reader import read_session
from zidane_lab.session.state import SessionState, active_branch
from zidane_lab.turns import (
    CommandBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
    turn_to_json,
)
from zidane_lab.wire.build import wire_turns

HEADER = dump_line(Header("20260131-142059-3f9c0a").to_json())


def line(kind, data, parent, entry_id):
    return dump_line(Entry(kind, data, parent, entry_id, "2026-01-31T00:00:00.000+00:00").to_json())


def turn_line(turn, parent, entry_id):
    return line("turn", {"turn": turn_to_json(turn)}, parent, entry_id)


def conversation():
    """Turns and bookkeeping as a run leaves them: (line, turn or None) in order."""
    turns = [
        Turn("user", (TextBlock("a question"),)),
        Turn(
            "assistant",
            (ThinkingBlock("hm", "sig", "p"), TextBlock("é数😀"), ToolCallBlock("c1", "run_python", {"code": "1\n2"})),
        ),
        Turn("user", (ToolResultBlock("c1", (TextBlock("3"),), metadata={"n": [1, 2.5, None]}),)),
        Turn("assistant", (TextBlock("done"),), usage=Usage(1, 2, cost=0.5), model="p/m"),
        Turn("user", (TextBlock("next"), CommandBlock("help"))),
        Turn("assistant", (ToolCallBlock("c2", "shell", {}),)),
    ]
    rows, parent = [], None

    def add(kind, data, turn=None):
        nonlocal parent
        entry_id = f"{len(rows):08x}"
        rows.append((line(kind, data, parent, entry_id), turn))
        parent = entry_id

    add("run", {"run": {"id": "run_1", "prompt": "a question", "model": "p/m"}, "summary": {"turns": 0}})
    for turn in turns[:4]:
        add("turn", {"turn": turn_to_json(turn)}, turn)
    add("run-end", {"run_id": "run_1", "status": "completed", "usage": {"input": 1}, "seconds": 1.5})
    add("model", {"model": "p/other"})
    add("title", {"title": "A title", "source": "auto"})
    add("from-the-future", {"x": 1})
    add("custom", {"kind": "evidence", "data": {"a": 1}})
    for turn in turns[4:]:
        add("turn", {"turn": turn_to_json(turn)}, turn)
    return rows


ROWS = conversation()
BODY = b"".join(row for row, _ in ROWS)
ENDS = [sum(len(row) for row, _ in ROWS[: n + 1]) for n in range(len(ROWS))]


def fold(contents):
    state = SessionState()
    for entry in contents.entries:
        state.add(entry)
    state.cut_runs()
    return state


def turns_whole_before(offset):
    """Turns whose lines end at or before ``offset`` bytes of the body."""
    return [turn for (_, turn), end in zip(ROWS, ENDS, strict=True) if turn is not None and end <= offset]


def test_a_whole_file_reads_whole():
    contents = read_session(HEADER + BODY)
    assert len(contents.entries) == len(ROWS)
    assert (contents.problems, contents.torn, contents.unended) == ((), b"", False)
    state = fold(contents)
    assert state.turns == [turn for _, turn in ROWS if turn is not None]
    assert (state.model, state.title, state.title_source) == ("p/other", "A title", "auto")
    assert state.runs["run_1"].status == "completed"
    assert state.custom == [("evidence", {"a": 1})]
    assert state.problems == []


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(BODY)), st.binary(max_size=20))
def test_a_file_cut_anywhere_with_anything_behind_keeps_every_whole_line(cut, rest):
    data = HEADER + BODY[:cut] + rest
    contents = read_session(data)
    state = fold(contents)
    whole = turns_whole_before(cut)
    assert state.turns[: len(whole)] == whole
    assert len(state.turns) <= len(whole) + 1  # the cut may fall between a line and its newline
    assert data.endswith(contents.torn)
    wire_turns(tuple(state.turns))


@settings(max_examples=400, deadline=None)
@given(st.integers(0, len(BODY) - 1), st.integers(0, 300), st.binary(max_size=60))
def test_a_file_garbled_anywhere_loses_only_what_was_hit(start, length, garbage):
    damaged = BODY[:start] + garbage + BODY[start + length :]
    state = fold(read_session(HEADER + damaged))
    before = turns_whole_before(start)
    assert state.turns[: len(before)] == before
    after = [
        turn
        for (row, turn), end in zip(ROWS, ENDS, strict=True)
        if turn is not None and end - len(row) > start + length
    ]
    kept = [turn for turn in state.turns if turn in after]
    assert kept == after, "whole lines behind the damage are still part of the conversation, in order"
    wire_turns(tuple(state.turns))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_behind_a_header_open(data):
    contents = read_session(HEADER + data)
    assert len(active_branch(contents.entries)) >= len(fold(contents).turns)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["user", "text", "image", "auto"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "kind",
                    "text",
                    "blocks",
                    "role",
                    "id",
                    "data",
                    "parts",
                    "usage",
                    "created_at",
                    "cost",
                    "input",
                    "run_id",
                    "status",
                    "seconds",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)
TYPES = st.sampled_from(["turn", "run", "run-end", "model", "title", "repair", "custom", "leaf", "other"])
FIELDS = st.sampled_from(
    ["turn", "run", "run_id", "status", "usage", "seconds", "model", "title", "what", "kind", "data", "target"]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            TYPES,
            st.dictionaries(FIELDS, JSON, max_size=4),
            st.none() | st.sampled_from(["a", "b", "c", "d"]),
            st.sampled_from(["a", "b", "c", "d"]),
        ),
        max_size=8,
    )
)
def test_entries_of_any_content_and_any_order_open(rows):
    data = HEADER + b"".join(line(*row) for row in rows)
    contents = read_session(data)
    state = fold(contents)
    wire_turns(tuple(state.turns))
    again = SessionState()
    for entry in active_branch(contents.entries):
        again.add(entry)
    assert repr(again.turns) == repr(state.turns)


HUGE = 10**400


@pytest.mark.parametrize(
    "turn",
    [
        None,
        [],
        "x",
        {},
        {"role": "user", "id": "a", "created_at": "2026-01-01", "blocks": ["x"]},
        {"role": "user", "id": "a", "created_at": "2026-01-01", "blocks": [{"kind": "text", "text": 5}]},
        {"role": "user", "id": "a", "created_at": "2026-01-01", "blocks": [{"kind": ["text"]}]},
        {
            "role": "user",
            "id": "a",
            "created_at": "2026-01-01",
            "blocks": [{"kind": "image", "media_type": "x", "data": "%"}],
        },
        {
            "role": "user",
            "id": "a",
            "created_at": "2026-01-01",
            "blocks": [{"kind": "tool_result", "call_id": "c", "parts": [{"kind": "text", "text": None}]}],
        },
        {
            "role": "user",
            "id": "a",
            "created_at": "2026-01-01",
            "blocks": [{"kind": "tool_result", "call_id": "c", "metadata": 5}],
        },
        {"role": "user", "id": 5, "created_at": "2026-01-01", "blocks": []},
        {"role": "user", "id": "a", "created_at": "then", "blocks": []},
        {"role": "system", "id": "a", "created_at": "2026-01-01", "blocks": []},
    ],
)
def test_a_turn_of_the_wrong_shape_costs_itself_and_is_reported(turn):
    good = Turn("user", (TextBlock("q"),))
    data = HEADER + line("turn", {"turn": turn}, None, "a") + turn_line(good, "a", "b")
    state = fold(read_session(data))
    assert state.turns == [good]
    assert state.problems == ["The turn in entry a cannot be read and was left out."]


def test_a_bottomless_line_is_a_damaged_line():
    good = Turn("user", (TextBlock("q"),))
    deep = b'{"type":"turn","id":"a","parent":null,"turn":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"
    contents = read_session(HEADER + deep + turn_line(good, None, "b"))
    assert fold(contents).turns == [good]
    assert "Line 2 is damaged" in contents.problems[0]


def test_damaged_lines_are_named_and_what_follows_is_joined_to_what_came_before():
    rows = [row for row, _ in ROWS]
    contents = read_session(HEADER + b"".join([*rows[:2], b'{"type": "tu\xff\n', *rows[3:]]))
    state = fold(contents)
    expected = [turn for _, turn in ROWS if turn is not None]
    del expected[1]
    assert state.turns == expected
    assert contents.problems == ("Line 4 is damaged and was skipped; it stays in the file (13 bytes).",)
    assert "follows a damaged one" in state.problems[0]


def test_empty_lines_and_carriage_returns_do_no_harm():
    contents = read_session((HEADER + BODY).replace(b"\n", b"\r\n\r\n"))
    assert len(contents.entries) == len(ROWS)
    assert contents.problems == ()


def test_a_last_line_that_lacks_only_its_newline_counts():
    contents = read_session(HEADER + BODY[:-1])
    assert len(contents.entries) == len(ROWS)
    assert contents.unended
    assert contents.torn == b""


def test_a_header_alone_is_an_empty_session_with_or_without_its_newline():
    assert read_session(HEADER).entries == ()
    assert not read_session(HEADER).unended
    assert read_session(HEADER[:-1]).unended


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"\0" * 100, HEADER[:-5], BODY, b"\xff\xfe\n"])
def test_a_file_that_does_not_begin_as_a_session_is_refused(data):
    with pytest.raises(SessionError):
        read_session(data)


class TestTree:
    def rows(self, *specs):
        """Lines from (kind, parent, id, text or target)."""
        out = HEADER
        for kind, parent, entry_id, value in specs:
            if kind == "turn":
                out += turn_line(Turn("user", (TextBlock(value),)), parent, entry_id)
            else:
                out += line(kind, {"target": value}, parent, entry_id)
        return fold(read_session(out))

    def said(self, state):
        return [turn.text for turn in state.turns]

    def test_the_last_entry_is_the_leaf(self):
        state = self.rows(("turn", None, "a", "1"), ("turn", "a", "b", "2"), ("turn", "a", "c", "3"))
        assert self.said(state) == ["1", "3"]
        assert state.leaf == "c"

    def test_a_leaf_entry_moves_it(self):
        state = self.rows(("turn", None, "a", "1"), ("turn", "a", "b", "2"), ("leaf", "b", "x", "a"))
        assert self.said(state) == ["1"]
        state = self.rows(("turn", None, "a", "1"), ("leaf", "a", "x", None))
        assert self.said(state) == []
        assert state.leaf is None

    def test_a_second_root_begins_a_conversation_of_its_own(self):
        state = self.rows(("turn", None, "a", "1"), ("turn", None, "b", "2"))
        assert self.said(state) == ["2"]

    @pytest.mark.parametrize("target", ["nowhere", 5, ["a"], {}])
    def test_a_move_to_nowhere_is_reported_and_stays_put(self, target):
        state = self.rows(("turn", None, "a", "1"), ("leaf", "a", "x", target))
        assert self.said(state) == ["1"]
        assert len(state.problems) == 1

    def test_circles_cannot_be_made(self):
        state = self.rows(("turn", "b", "a", "1"), ("turn", "b", "b", "2"), ("turn", "b", "c", "3"))
        assert self.said(state) == ["1", "2", "3"]

    def test_the_first_of_two_entries_with_one_id_counts(self):
        state = self.rows(("turn", None, "a", "1"), ("turn", None, "a", "2"))
        assert self.said(state) == ["1"]
        assert "twice" in state.problems[0]


def test_a_branch_is_copied_whole_even_where_a_move_has_the_id_of_a_turn():
    rows = [turn_line(Turn("user", (TextBlock(text),)), parent, text) for text, parent in [("a", None), ("b", "a")]]
    rows.insert(1, line("leaf", {"target": "a"}, "a", "b"))
    branch = active_branch(read_session(HEADER + b"".join(rows)).entries)
    assert [(entry.type, entry.id, entry.parent) for entry in branch] == [("turn", "a", None), ("turn", "b", "a")]


def test_the_restorer_sees_only_lines_that_refer_to_blobs():
    seen = []
    row = line(
        "custom", {"kind": "x", "data": {"image/png": {"$blob": "0" * 64, "size": 1, "encoding": "text"}}}, None, "z"
    )
    read_session(HEADER + BODY + row, lambda raw: seen.append(raw["id"]) or raw)
    assert seen == ["z"]


def test_every_stored_line_is_json_others_can_read():
    for raw in (HEADER + BODY).splitlines():
        assert isinstance(json.loads(raw), dict)
