"""What opening a damaged session does to it: the least that makes it whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_lab.session import Session, sessions_folder
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import wire_turns

PNG = bytes(range(256)) * 20


def user(*blocks, **kw):
    return Turn("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def assistant(*blocks, **kw):
    return Turn("assistant", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def call(call_id):
    return ToolCallBlock(call_id, "run_python", {"code": "1"})


def result(call_id, text="1"):
    return ToolResultBlock(call_id, (TextBlock(text),))


def lines(session):
    return [json.loads(line) for line in session.path.read_bytes().splitlines()]


def reopened(session):
    session.close()
    return Session.open(session.path)


@pytest.fixture
def session(folder, tmp_path):
    with Session.create(folder, notebook=tmp_path / "analysis.ipynb", cwd=tmp_path, kernel="k1") as session:
        yield session


def torn(session, tail):
    session.append(user("a"))
    session.append(assistant("b"))
    session.close()
    whole = session.path.read_bytes()
    session.path.write_bytes(whole + tail)
    return whole


def test_a_torn_line_is_put_aside_and_recorded_with_the_next_write(session):
    whole = torn(session, b'{"type":"turn","id"')
    again = Session.open(session.path)
    assert again.turns == session.turns
    assert len(again.repairs) == 1
    assert "cut off" in again.repairs[0]
    assert again.path.read_bytes() == whole
    assert (again.folder / "torn-1.txt").read_bytes() == b'{"type":"turn","id"'
    again.append(user("c"))
    assert [line["type"] for line in lines(again)] == ["session", "turn", "turn", "repair", "turn"]
    assert lines(again)[3]["what"] == list(again.repairs)
    again.set_title("once")
    assert len(lines(again)) == 6
    with reopened(again) as third:
        assert third.repairs == ()
        assert [turn.text for turn in third.turns] == ["a", "b", "c"]


def test_each_torn_line_has_a_file_of_its_own(session):
    torn(session, b"one")
    Session.open(session.path).close()
    with session.path.open("ab") as file:
        file.write(b"two")
    with Session.open(session.path) as again:
        assert sorted(path.name for path in again.folder.iterdir()) == ["torn-1.txt", "torn-2.txt"]


def test_a_missing_newline_is_added(session):
    session.append(user("a"))
    session.close()
    session.path.write_bytes(session.path.read_bytes()[:-1])
    with Session.open(session.path) as again:
        assert again.repairs == ()
        again.append(user("b"))
        assert len(lines(again)) == 3


def test_a_damaged_line_stays_in_the_file_and_is_told_until_it_is_recorded(session):
    for text in "abc":
        session.append(user(text))
    session.close()
    rows = session.path.read_bytes().splitlines(keepends=True)
    rows[2] = b"damage \xff\n"
    session.path.write_bytes(b"".join(rows))
    for _ in range(2):
        with Session.open(session.path) as again:
            assert [turn.text for turn in again.turns] == ["a", "c"]
            assert "Line 3 is damaged" in again.repairs[0]
    with Session.open(session.path) as again:
        again.append(user("d"))
    assert again.path.read_bytes().startswith(b"".join(rows))
    with Session.open(session.path) as again:
        assert again.repairs == ()
        assert [turn.text for turn in again.turns] == ["a", "c", "d"]


def test_a_missing_picture_costs_only_itself(session):
    session.append(user("see", ImageBlock("image/png", PNG)))
    session.close()
    (blob,) = (session.folder / "blobs").iterdir()
    blob.unlink()
    with Session.open(session.path) as again:
        assert again.turns[0].blocks[0] == TextBlock("see")
        assert blob.name in again.turns[0].blocks[1].text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 3000), st.binary(max_size=30))
def test_a_session_cut_anywhere_opens_goes_on_and_opens_again(tmp_path, cut, rest):
    with Session.create(sessions_folder(notebook=tmp_path / "cut.ipynb")) as session:
        session.append(user("q", ImageBlock("image/png", PNG)))
        session.append(assistant("é", call("1")))
        session.append(user(result("1")))
        session.append(assistant("a"))
    data = session.path.read_bytes()
    start = data.index(b"\n") + 1
    session.path.write_bytes(data[: start + cut] + rest)
    with Session.open(session.path) as again:
        kept = again.turns
        assert kept == session.turns[: len(kept)]
        assert len(kept) >= data[: start + cut].count(b"\n") - 1
        wire_turns(kept)
        again.start_run("go on")
        again.append(user("next"))
        closed = again.turns
    with Session.open(session.path) as third:
        assert third.turns == closed
        assert third.repairs == ()
        assert wire_turns(third.turns, strict=True) is third.turns
