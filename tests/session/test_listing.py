"""Sessions at a glance, newest first, from the ends of their files."""

from __future__ import annotations

import os

import pytest

from zidane_lab.errors import SessionError
from zidane_lab.session import Session, find_session, list_sessions
from zidane_lab.session import listing as listing_module
from zidane_lab.turns import ImageBlock, TextBlock, Turn


def talk(folder, question, *, answers=1, size=10, runs=True):
    session = Session.create(folder, kernel="k")
    session.set_model("p/m")
    for n in range(answers):
        run = session.start_run(question) if runs else None
        session.append(Turn("user", (TextBlock(f"{question} {n}" if n else question),)))
        session.append(Turn("assistant", (TextBlock("a" * size),)))
        if run:
            session.end_run(run.id, "completed")
    return session


def age(session, seconds):
    moment = session.path.stat().st_mtime - seconds
    os.utime(session.path, (moment, moment))


def test_newest_first_with_what_a_person_wants_to_know(folder):
    old, new = talk(folder, "old"), talk(folder, "new", answers=2)
    new.set_title("A title")
    new.set_model("p/other")
    old.close()
    age(old, 100)
    first, second = list_sessions(folder)
    assert (first.id, first.title, first.turns, first.model, first.path) == (new.id, "A title", 4, "p/other", new.path)
    assert first.locked_by.kernel == "k"
    assert (second.id, second.title, second.turns, second.model, second.locked_by) == (old.id, "old", 2, "p/m", None)
    assert first.updated > second.updated
    assert first.created == new.header.created_at
    new.close()


def test_a_long_session_is_told_by_its_ends(folder, monkeypatch):
    with talk(folder, "the first question", answers=60, size=3000) as session:
        pass
    assert session.path.stat().st_size > 180_000
    read = []

    class Counting:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def read(self, size):
            data = self.file.read(size)
            read.append(len(data))
            return data

        def __getattr__(self, name):
            return getattr(self.file, name)

    plain = listing_module.Path.open
    monkeypatch.setattr(listing_module.Path, "open", lambda path, mode: Counting(plain(path, mode)))
    (info,) = list_sessions(folder)
    assert (info.title, info.turns, info.model) == ("the first question", 120, "p/m")
    assert sum(read) <= 64 * 1024


def test_turns_after_the_last_summary_are_counted(folder):
    with talk(folder, "q", answers=60, size=3000) as session:
        session.append(Turn("user", (TextBlock("more"),)))
        session.set_title("Late title")
    (info,) = list_sessions(folder)
    assert (info.turns, info.title) == (121, "Late title")


def test_after_a_move_the_count_is_unknown_until_the_next_run(folder):
    with talk(folder, "q", answers=60, size=3000) as session:
        session.move_to(session.turns[1].id)
        session.append(Turn("user", (TextBlock("again"),)))
        assert list_sessions(folder)[0].turns is None
        session.start_run("again")
        assert list_sessions(folder)[0].turns == 3


@pytest.mark.parametrize("answers", [8, 13, 16])
def test_a_session_of_middling_length_is_read_whole_once(folder, answers):
    with talk(folder, "q", answers=answers, size=3000, runs=False) as session:
        assert 20_000 < session.path.stat().st_size < 64_000
    assert list_sessions(folder)[0].turns == 2 * answers


def test_where_the_ends_do_not_tell_the_count_is_unknown(folder):
    with talk(folder, "q", answers=60, size=3000, runs=False):
        pass
    (info,) = list_sessions(folder)
    assert info.turns is None
    assert info.title == "q"


def test_one_line_longer_than_what_is_read(folder):
    with Session.create(folder) as session:
        session.append(Turn("user", (TextBlock("q"),)))
        session.append(Turn("assistant", (TextBlock("a" * 300_000),)))
    (info,) = list_sessions(folder)
    assert (info.title, info.turns) == ("q", None)


def test_a_question_with_a_picture_gives_the_title(folder):
    with Session.create(folder) as session:
        session.append(Turn("user", (ImageBlock("image/png", b"x"), TextBlock("what is this?"))))
    (info,) = list_sessions(folder)
    assert (info.title, info.turns) == ("what is this?", 1)


def test_what_is_no_session_is_skipped_with_a_note(folder):
    with talk(folder, "good") as session:
        pass
    (folder / "20260131-142059-aaaaaa.jsonl").write_bytes(b"garbage")
    (folder / "20260131-142059-bbbbbb.jsonl").write_bytes(b"")
    (folder / "20260131-142059-cccccc.jsonl").symlink_to(session.path)
    (folder / "20260131-142059-dddddd.jsonl").mkdir()
    (folder / "notes.jsonl").write_text("mine")
    notes = {}
    assert [info.title for info in list_sessions(folder, lambda path, why: notes.update({path.stem[-6:]: why}))] == [
        "good"
    ]
    assert set(notes) == {"aaaaaa", "bbbbbb", "cccccc", "dddddd"}
    assert "symbolic link" in notes["cccccc"]
    assert [info.title for info in list_sessions(folder)] == ["good"]


def test_no_folder_no_sessions(folder):
    assert list_sessions(folder) == []
    with pytest.raises(SessionError, match="No session"):
        find_session(folder, "2")


def test_listing_writes_nothing(folder):
    with talk(folder, "q"):
        pass
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    list_sessions(folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


class TestFind:
    @pytest.fixture
    def two(self, folder):
        folder.mkdir(parents=True)
        header = b'{"type":"session","version":1,"id":"x"}\n'
        for name in ("20260131-142059-aaaaaa", "20260131-150000-bbbbbb"):
            (folder / f"{name}.jsonl").write_bytes(header)
        (folder / "20260131-notes.jsonl").write_bytes(header)
        return folder

    def test_the_one_that_begins_so(self, two):
        assert find_session(two, "20260131-14").name == "20260131-142059-aaaaaa.jsonl"
        assert find_session(two, "20260131-150000-bbbbbb").name == "20260131-150000-bbbbbb.jsonl"

    def test_several_are_named(self, two):
        with pytest.raises(SessionError, match="begins 2 session ids: 20260131-142059-aaaaaa, 20260131-150000-bbbbbb"):
            find_session(two, "20260131")

    @pytest.mark.parametrize(
        "prefix", ["", "..", "../../../etc/passwd", "20260131-n", "/", "*", "2027", "20260131-142059-aaaaaa.jsonl"]
    )
    def test_anything_else_finds_nothing_and_names_the_newest(self, two, prefix):
        with pytest.raises(SessionError, match="The newest: 20260131-150000-bbbbbb"):
            find_session(two, prefix)


def test_a_pipe_named_like_a_session_is_passed_over(tmp_path):
    import os

    from zidane_lab.session.layout import mint_session_id

    os.mkfifo(tmp_path / f"{mint_session_id()}.jsonl")
    skipped = []
    assert list_sessions(tmp_path, on_skip=lambda path, why: skipped.append(why)) == []
    assert "no ordinary file" in skipped[0]
