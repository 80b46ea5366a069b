"""Lines: whatever is said can be written on one, and read again."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import SessionError
from zidane_lab.session.entries import Entry, Header, dump_line, entry_from_json, header_from_json, new_entry_id, plain

ANY_TEXT = st.text(st.characters())  # half surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(ANY_TEXT, JSON, max_size=5))
def test_any_json_comes_back_from_one_line(data):
    line = dump_line(data)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == data


def test_text_stays_readable_in_the_file():
    assert "naïve 数据" in dump_line({"text": "naïve 数据"}).decode()


class Strange:
    def __repr__(self):
        return "<strange>"


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({1: "a", None: "b"}, {"1": "a", "null": "b"}),
        ({(1, 2): "a"}, {"(1, 2)": "a"}),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (b"x", "b'x'"),
        (Strange(), "<strange>"),
        ([Strange()], ["<strange>"]),
    ],
)
def test_what_json_cannot_say_is_written_another_way(value, stored):
    assert json.loads(dump_line({"v": value})) == {"v": stored}


def test_data_that_contains_itself_is_written_once():
    loop: dict = {"a": 1}
    loop["self"] = [loop, loop]
    assert json.loads(dump_line(loop)) == {"a": 1, "self": ["[nested in itself, or too deeply]"] * 2}


def test_bottomless_data_ends():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert "too deeply" in json.dumps(plain({"deep": deep}))


def test_numbers_json_lacks_survive():
    assert math.isnan(json.loads(dump_line({"v": math.nan}))["v"])


def test_an_entry_comes_back():
    entry = Entry("custom", {"kind": "x", "data": {"a": 1}}, None, "aaaaaaaa")
    assert entry_from_json(json.loads(dump_line(entry.to_json()))) == entry


@pytest.mark.parametrize(
    "raw",
    [
        None,
        1,
        [],
        {},
        {"type": "x"},
        {"type": "x", "id": 1, "parent": None},
        {"type": 1, "id": "a"},
        {"type": "x", "id": "a", "parent": 3},
    ],
)
def test_what_is_no_entry_is_none(raw):
    assert entry_from_json(raw) is None


def test_payload_cannot_pose_as_the_entrys_own_fields():
    entry = Entry("turn", {"id": "evil", "parent": "evil", "type": "evil", "at": "evil"}, None, "aaaaaaaa", "now")
    assert entry.to_json() == {"id": "aaaaaaaa", "parent": None, "type": "turn", "at": "now"}


def test_a_header_comes_back():
    header = Header("20260131-142059-3f9c0a", notebook="a.ipynb", cwd="/w", parent_session="p", zidane_lab="1")
    raw = json.loads(dump_line(header.to_json()))
    assert raw["type"] == "session"
    assert raw["version"] == 1
    assert header_from_json(raw) == header
    assert "parent_session" not in Header("x").to_json()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (None, "does not begin"),
        ([], "does not begin"),
        ({"type": "turn"}, "does not begin"),
        ({"type": "session", "version": 1}, "does not begin"),
        ({"type": "session", "id": "a"}, "version None"),
        ({"type": "session", "id": "a", "version": "1"}, "version '1'"),
        ({"type": "session", "id": "a", "version": True}, "version True"),
        ({"type": "session", "id": "a", "version": 2}, "reads up to 1"),
    ],
)
def test_other_first_lines_are_refused_with_the_reason(raw, says):
    with pytest.raises(SessionError, match=says):
        header_from_json(raw)


def test_entry_ids_are_not_used_twice():
    class AllButZeros:
        tries = 0

        def __contains__(self, _):
            self.tries += 1
            return self.tries < 5

    taken = AllButZeros()
    assert len(new_entry_id(taken)) == 8
    assert taken.tries == 5


def test_a_number_that_python_will_not_write_costs_no_line():
    line = dump_line({"type": "custom", "id": "a", "parent": None, "n": 10**5000, "m": 10**3000})
    raw = json.loads(line)
    assert raw["n"] == "[a number of 16,610 bits]"
    assert raw["m"] == 10**3000
