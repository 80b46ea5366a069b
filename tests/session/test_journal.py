"""Every line whole and on disk, or none of it; never over another's work."""

from __future__ import annotations

import os

import pytest

from zidane_lab.errors import SessionLockedError
from zidane_lab.session.journal import Journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


def test_lines_are_on_disk_when_the_call_returns(path, monkeypatch):
    synced = []
    sync = os.fsync
    monkeypatch.setattr(
        "zidane_lab.session.journal.os.fsync", lambda handle: synced.append(path.read_bytes()) or sync(handle)
    )
    journal = Journal(path, None)
    journal.append(b"one\n")
    journal.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert b"one\n" in synced
    assert b"one\ntwo\n" in synced
    journal.close()


def test_a_closed_journal_goes_on_where_it_ended(path):
    journal = Journal(path, None)
    journal.append(b"one\n")
    journal.close()
    journal.append(b"two\n")
    journal.close()
    journal.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_an_existing_file_is_never_made_anew(path):
    path.write_bytes(b"mine\n")
    with pytest.raises(FileExistsError):
        Journal(path, None).append(b"x\n")
    assert path.read_bytes() == b"mine\n"


@pytest.mark.parametrize("room", range(9))
def test_a_write_that_fails_anywhere_is_taken_back(path, disk, room):
    path.write_bytes(b"one\n")
    journal = Journal(path, 4, disk.open)
    disk.room = room
    with pytest.raises(OSError, match="No space"):
        journal.append(b"two lines\n")
    assert path.read_bytes() == b"one\n"
    disk.room = None
    journal.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    journal.close()


def test_what_cannot_be_taken_back_at_once_is_cut_before_the_next_write(path, disk):
    path.write_bytes(b"one\n")
    journal = Journal(path, 4, disk.open)
    disk.room, disk.refuse_truncate = 3, True
    with pytest.raises(OSError, match="No space"):
        journal.append(b"two lines\n")
    assert path.read_bytes() == b"one\ntwo"
    disk.room = None
    with pytest.raises(OSError, match="Input/output"):
        journal.append(b"three\n")
    assert path.read_bytes() == b"one\ntwo"
    disk.refuse_truncate = False
    journal.append(b"three\n")
    assert path.read_bytes() == b"one\nthree\n"
    journal.close()


def test_a_file_that_cannot_be_synced_counts_as_not_written(path, monkeypatch):
    journal = Journal(path, None)
    journal.append(b"one\n")

    def broken(handle):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("zidane_lab.session.journal.os.fsync", broken)
        with pytest.raises(OSError, match="Input/output"):
            journal.append(b"two\n")
    assert path.read_bytes() == b"one\n"
    journal.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    journal.close()


def test_a_cut_that_is_interrupted_does_not_grow_the_file_again(path, monkeypatch):
    path.write_bytes(b"one\ntorn")
    journal = Journal(path, 8)

    def broken(handle):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("zidane_lab.session.journal.os.fsync", broken)
        with pytest.raises(OSError, match="Input/output"):
            journal.cut(4)
    assert path.read_bytes() == b"one\n"
    journal.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    journal.close()


def test_a_file_changed_by_another_hand_is_left_alone(path):
    journal = Journal(path, None)
    journal.append(b"one\n")
    with path.open("ab") as other:
        other.write(b"other\n")
    with pytest.raises(SessionLockedError, match="changed by another process"):
        journal.append(b"two\n")
    assert path.read_bytes() == b"one\nother\n"
    journal.close()


def test_a_deleted_file_is_an_error_and_a_moved_one_is_followed(path, tmp_path):
    journal = Journal(path, None)
    journal.append(b"one\n")
    moved = tmp_path / "moved"
    path.rename(moved)
    journal.append(b"two\n")
    assert moved.read_bytes() == b"one\ntwo\n"
    moved.unlink()
    with pytest.raises(FileNotFoundError):
        journal.append(b"three\n")
    journal.close()
