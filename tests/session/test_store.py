"""When the disk is full, read-only or gone: nothing is lost that can be kept, and it is said once."""

from __future__ import annotations

import errno
import json
import shutil

import pytest

from zidane_lab.errors import SessionError, SessionLockedError
from zidane_lab.session import Session
from zidane_lab.session.entries import Header
from zidane_lab.session.layout import SessionPaths, mint_session_id
from zidane_lab.session.lock import Owner
from zidane_lab.session.store import FileStore, MemoryStore, Store
from zidane_lab.turns import ImageBlock, TextBlock, ToolResultBlock, Turn


def said(text):
    return Turn("user", (TextBlock(text),))


def texts(session):
    return [turn.text for turn in session.turns]


def on_disk(path):
    """Each line of the file, parsed: a half line raises."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def session(folder, disk):
    header = Header(mint_session_id())
    session = Session(FileStore(SessionPaths(folder, header.id), header, Owner(), open_file=disk.open))
    yield session
    disk.room = None
    session.close()


@pytest.mark.parametrize("room", [0, 1, 50, 150, 400])
def test_a_full_disk_is_told_once_and_what_waited_is_written_in_order(session, disk, room):
    session.append(said("0"))
    disk.room = room
    raised = []
    for n in range(1, 6):
        try:
            session.append(said(f"{n} {'x' * 100}"))
        except SessionError as error:
            raised.append(error)
    (error,) = raised
    assert "No space left on device" in str(error)
    assert "goes on in memory" in error.hint
    assert session.unsaved
    assert len(session.turns) == 6
    assert len(on_disk(session.path)) == 7 - session.unsaved
    disk.room = None
    session.append(said("6"))
    assert session.unsaved == 0
    assert [line["turn"]["blocks"][0]["text"][0] for line in on_disk(session.path)[1:]] == list("0123456")


def test_a_second_outage_is_told_again(session, disk):
    session.append(said("0"))
    for _ in range(2):
        disk.room = 0
        with pytest.raises(SessionError):
            session.append(said("x"))
        session.append(said("y"))
        disk.room = None
        session.append(said("z"))
    assert len(on_disk(session.path)) == 8


def test_a_disk_full_from_the_first_line_on(session, disk):
    disk.room = 20
    with pytest.raises(SessionError):
        session.append(said("0"))
    session.append(said("1"))
    assert session.path.read_bytes() == b""
    disk.room = None
    session.append(said("2"))
    assert [line["type"] for line in on_disk(session.path)] == ["session", "turn", "turn", "turn"]


def test_closing_on_a_full_disk_says_what_is_lost_and_lets_go(folder, disk):
    header = Header(mint_session_id())
    session = Session(FileStore(SessionPaths(folder, header.id), header, Owner(), open_file=disk.open))
    session.append(said("0"))
    disk.room = 0
    with pytest.raises(SessionError):
        session.append(said("1"))
    with pytest.raises(SessionError, match="1 entries of the session could not be saved"):
        session.close()
    with Session.open(session.path) as again:
        assert texts(again) == ["0"]


def test_closing_after_another_error_does_not_hide_it(folder, disk):
    header = Header(mint_session_id())
    session = Session(FileStore(SessionPaths(folder, header.id), header, Owner(), open_file=disk.open))

    def work():
        with session:
            session.append(said("0"))
            disk.room = 0
            with pytest.raises(SessionError):
                session.append(said("1"))
            raise LookupError("the cause")

    with pytest.raises(LookupError) as caught:
        work()
    assert "could not be saved" in caught.value.__notes__[0]


def test_closing_writes_what_waited(session, disk):
    disk.room = 0
    with pytest.raises(SessionError):
        session.append(said("0"))
    disk.room = None
    session.close()
    assert len(on_disk(session.path)) == 2


def test_a_picture_that_cannot_be_kept_holds_its_turn_back(session, monkeypatch):
    session.append(said("0"))

    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("zidane_lab.session.blobs.BlobStore.put", full)
        with pytest.raises(SessionError):
            session.append(Turn("user", (ImageBlock("image/png", b"png"),)))
        session.append(said("2"))
        assert len(on_disk(session.path)) == 2
    session.append(said("3"))
    session.close()
    with Session.open(session.path) as again:
        assert [turn.blocks[0] for turn in again.turns] == [turn.blocks[0] for turn in session.turns]


def test_a_real_disk_that_fills_up(small_disk):
    folder = small_disk / ".zidane" / "sessions" / "a"

    def fill(session):
        for n in range(40):
            session.append(said(f"{n} " + "y" * 5000))

    with Session.create(folder) as session:
        session.append(said("first"))
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"x" * 180_000)
        with pytest.raises(SessionError, match="No space left"):
            fill(session)
        session.append(said("in memory"))
        assert session.unsaved >= 2
        kept = on_disk(session.path)
        assert len(kept) == 1 + len(session.turns) - session.unsaved
        ballast.unlink()
        session.append(said("space again"))
        assert session.unsaved == 0
        everything = session.turns
    with Session.open(session.path) as again:
        assert again.turns == everything
        assert again.repairs == ()
    assert on_disk(session.path)[: len(kept)] == kept


def test_in_a_read_only_folder_a_session_opens_and_goes_on_in_memory(folder, read_only):
    with Session.create(folder) as first:
        first.append(said("0"))
    read_only(folder)
    session = Session.open(first.path)
    assert texts(session) == ["0"]
    with pytest.raises(SessionError, match="make the folder writable"):
        session.append(said("1"))
    session.append(said("2"))
    assert texts(session) == ["0", "1", "2"]
    assert session.save_output("x", "text") is None
    read_only.undo(folder)
    session.append(said("3"))
    session.close()
    with Session.open(first.path) as again:
        assert texts(again) == ["0", "1", "2", "3"]


def test_beside_a_notebook_in_a_read_only_folder_a_session_lives_in_memory(tmp_path, folder, read_only):
    read_only(tmp_path)
    session = Session.create(folder)
    with pytest.raises(SessionError, match="cannot be saved"):
        session.append(said("0"))
    session.append(said("1"))
    assert texts(session) == ["0", "1"]
    with pytest.raises(SessionError, match="2 entries"):
        session.close()


def test_a_torn_end_in_a_read_only_folder_is_mended_when_that_becomes_possible(folder, read_only):
    with Session.create(folder) as first:
        first.append(said("0"))
    with first.path.open("ab") as file:
        file.write(b'{"torn')
    read_only(folder)
    session = Session.open(first.path)
    assert texts(session) == ["0"]
    read_only.undo(folder)
    session.append(said("1"))
    session.close()
    assert [line["type"] for line in on_disk(first.path)] == ["session", "turn", "repair", "turn"]
    assert (first.folder / "torn-1.txt").read_bytes() == b'{"torn'


def test_a_session_deleted_under_us_goes_on_in_memory_and_is_not_made_again(session, tmp_path):
    session.append(said("0"))
    shutil.rmtree(tmp_path / ".zidane")
    with pytest.raises(SessionError):
        session.append(said("1"))
    session.append(said("2"))
    assert texts(session) == ["0", "1", "2"]
    assert not (tmp_path / ".zidane").exists()
    with pytest.raises(SessionError, match="2 entries"):
        session.close()


def test_a_folder_renamed_under_us_takes_the_session_along(folder, tmp_path):
    with Session.create(folder) as session:
        session.append(said("0"))
        folder.rename(tmp_path / "elsewhere")
        session.append(said("1"))
    with Session.open(tmp_path / "elsewhere" / session.path.name) as again:
        assert texts(again) == ["0", "1"]


def test_a_deleted_lock_file_is_taken_anew(session):
    session.append(said("0"))
    session.path.with_suffix(".lock").unlink()
    session.append(said("1"))
    with pytest.raises(SessionLockedError):
        Session.open(session.path)
    assert texts(session) == ["0", "1"]


def test_a_session_written_by_another_hand_is_never_mixed(session):
    session.append(said("0"))
    session.path.with_suffix(".lock").unlink()
    with Session.open(session.path) as other:
        with pytest.raises(SessionLockedError, match="is being written by"):
            session.append(said("mine"))
        other.append(said("theirs"))
    with pytest.raises(SessionLockedError, match="changed by another process"):
        session.append(said("mine again"))
    assert texts(session) == ["0", "mine", "mine again"]
    with Session.branch(session.path) as branch:
        assert texts(branch) == ["0", "theirs"]
    with pytest.raises(SessionError, match="2 entries"):
        session.close()


def test_nested_and_odd_tool_data_is_stored_all_the_same(session):
    deep: list = []
    for _ in range(400):
        deep = [deep]
    loop: dict = {}
    loop["loop"] = loop
    metadata = {"deep": deep, "loop": loop, "set": {1}, 5: object, "bytes": b"x", "text": "\ud800"}
    session.append(Turn("user", (ToolResultBlock("c", (TextBlock("ok"),), metadata=metadata),)))
    session.append(said("after"))
    session.close()
    with Session.open(session.path) as again:
        assert again.turns[0].blocks[0].parts == (TextBlock("ok"),)
        assert again.turns[0].blocks[0].metadata["text"] == "\ud800"
        assert again.repairs == ()


def test_both_stores_are_stores(folder):
    header = Header(mint_session_id())
    stores: list[Store] = [MemoryStore(header), FileStore(SessionPaths(folder, header.id), header, Owner())]
    for store in stores:
        assert store.load().header == header
        store.close()
    assert not folder.exists()
