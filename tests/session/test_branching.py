"""Going back within a session, and going on from it in one of its own."""

from __future__ import annotations

import json

import pytest

from zidane_lab.errors import SessionError, SessionLockedError
from zidane_lab.session import Session, sessions_folder
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.state import ELIDE

PNG = bytes(range(256)) * 20


def user(*blocks, **kw):
    return Turn("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def assistant(*blocks, **kw):
    return Turn("assistant", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def call(call_id):
    return ToolCallBlock(call_id, "run_python", {"code": "1"})


def lines(session):
    return [json.loads(line) for line in session.path.read_bytes().splitlines()]


def reopened(session):
    session.close()
    return Session.open(session.path)


@pytest.fixture
def session(folder, tmp_path):
    with Session.create(folder, notebook=tmp_path / "analysis.ipynb", cwd=tmp_path, kernel="k1") as session:
        yield session


def test_going_back_loses_nothing_and_survives_opening(session):
    first = session.append(user("q1"))
    session.append(assistant("a1"))
    last = session.append(user("q2"))
    session.set_model("p/late")
    session.move_to(first.id)
    assert [turn.text for turn in session.turns] == ["q1"]
    assert session.model is None
    assert session.append(assistant("a1 again")).parent_id == first.id
    session = reopened(session)
    assert [turn.text for turn in session.turns] == ["q1", "a1 again"]
    session.move_to(last.id)
    assert [turn.text for turn in session.turns] == ["q1", "a1", "q2"]
    session.move_to(None)
    assert session.turns == ()
    with reopened(session) as again:
        assert again.turns == ()
        assert again.append(user("new")).parent_id is None
        with pytest.raises(SessionError, match="no turn"):
            again.move_to("turn_x")


def test_a_session_in_use_is_branched_into_one_of_its_own(session):
    run = session.start_run("q", model="p/m")
    session.append(user("q", ImageBlock("image/png", PNG)))
    dead_end = session.append(assistant("dead end"))
    session.move_to(session.turns[0].id)
    session.append(assistant("a"))
    session.end_run(run.id, "completed")
    session.set_title("Mine")
    session.record("evidence", {"x": 1})
    with pytest.raises(SessionLockedError, match="kernel k1"):
        Session.open(session.path, kernel="k2")
    before = session.path.read_bytes()
    with Session.branch(session.path, kernel="k2") as branch:
        assert branch.turns == session.turns
        assert dead_end.id not in branch.path.read_text()
        assert branch.id != session.id
        assert lines(branch)[0]["parent_session"] == session.id
        assert branch.header.notebook == session.header.notebook
        assert (branch.title, branch.runs, branch.records("evidence")) == ("Mine", session.runs, ({"x": 1},))
        branch.append(user("mine"))
        session.append(user("theirs"))
        assert branch.start_run("next").id == "run_2"
    with Session.open(branch.path) as again:
        assert [turn.text for turn in again.turns] == ["q", "a", "mine"]
        assert again.turns[0].blocks[1].data == PNG
        assert again.repairs == ()
    assert session.path.read_bytes().startswith(before)
    assert [turn.text for turn in session.turns] == ["q", "a", "theirs"]


def test_a_branch_elsewhere_takes_its_pictures_along(session, tmp_path):
    session.append(user("q", ImageBlock("image/png", PNG)))
    with Session.branch(session.path, folder=sessions_folder(notebook=tmp_path / "sub" / "b.ipynb")) as branch:
        pass
    assert branch.path.is_relative_to(tmp_path / "sub" / ".zidane")
    assert len(list((branch.folder / "blobs").iterdir())) == 1


def test_a_torn_end_of_the_other_is_neither_copied_nor_mended(session):
    session.append(user("q"))
    with session.path.open("ab") as file:
        file.write(b'{"half')
    before = session.path.read_bytes()
    with Session.branch(session.path) as branch:
        assert branch.turns == session.turns
    assert session.path.read_bytes() == before


def test_call_ids_are_never_used_again_whatever_branch_had_them(session):
    first = session.append(user("q"))
    session.append(assistant(call("call_1")))
    session.append(Turn("user", (ToolResultBlock("call_1", (TextBlock("old"),)),)))
    session.record(ELIDE, {"results": {"call_1": "[left out]"}, "after": session.turns[-1].id})
    session.move_to(first.id)
    with reopened(session) as again:  # the same after a restart
        made = again.append(assistant(call("call_1"))).tool_calls[0].id
        again.append(Turn("user", (ToolResultBlock(made, (TextBlock("new"),)),)))
        assert made == "call_1_r1"
        assert wire_turns(again.turns, state=again.wire_state)[-1].tool_results[0].text == "new"


def test_a_turn_of_another_branch_is_still_held(session):
    first, gone = session.append(user("q")), session.append(assistant("a"))
    session.move_to(first.id)
    assert session.holds(gone.id)
    assert not session.holds("turn_nobody")
