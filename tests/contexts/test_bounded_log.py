"""Logs of bounded size: whatever was written, a reader gets what is there at the right positions, and is told of gaps."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.bounded_log import BoundedLog, in_memory, in_session_folder, in_temporary_file


def test_all_of_a_small_output(tmp_path):
    log = BoundedLog(in_memory, limit=1_000)
    log.append(b"one\n")
    log.append(b"two\n")
    assert log.whole() == b"one\ntwo\n"
    assert (log.total, log.gap) == (8, range(0))
    assert log.read(4, 2).data == b"tw"
    assert log.newest(4).data == b"two\n"


def test_nothing_yet():
    log = BoundedLog(in_memory)
    assert (log.whole(), log.read(0, 10).data, log.newest(5).data, log.total) == (b"", b"", b"", 0)


@given(st.lists(st.binary(min_size=1, max_size=900), min_size=1, max_size=40))
def test_positions_are_those_of_the_whole_output(pieces):
    limit = 2_000
    log, everything = BoundedLog(in_memory, limit=limit), b""
    for piece in pieces:
        log.append(piece)
        everything += piece
        assert log.total == len(everything)
        assert len(log.whole()) <= limit + 64
    at, seen = 0, []
    while at < log.total:
        part = log.read(at, 333)
        assert part.data == everything[part.start : part.end]
        assert part.start == at or (at in log.gap and part.start == log.gap.stop)
        seen.append(part)
        at = part.end
    missing = log.total - sum(len(part.data) for part in seen)
    assert missing == len(log.gap)
    assert log.whole().startswith(everything[: min(len(everything), limit // 4)])
    assert log.whole().endswith(everything[-200:])
    if missing:
        assert f"[… {missing:,} bytes left out …]".encode() in log.whole()


def test_a_piece_larger_than_the_log():
    log = BoundedLog(in_memory, limit=1_000)
    log.append(b"x" * 5_000 + b"end")
    assert len(log.whole()) < 1_100
    assert log.newest(3).data == b"end"


def test_the_file_is_made_with_the_first_byte(tmp_path):
    folder = tmp_path / ".zidane" / "sessions" / "work" / "20260131-142059-3f9c0a"
    log = BoundedLog(in_session_folder(folder, "task-1.log"))
    assert not folder.exists()
    log.append(b"")
    assert not folder.exists()
    log.append(b"out\n")
    assert (folder / "tasks" / "task-1.log").read_bytes() == b"out\n"
    log.close()
    assert log.read(1, 2).data == b"ut"
    assert log.whole() == b"out\n"


def test_a_closed_log_whose_file_was_removed(tmp_path):
    log = BoundedLog(in_session_folder(tmp_path / "s", "task-1.log"))
    log.append(b"out\n")
    log.close()
    os.unlink(tmp_path / "s" / "tasks" / "task-1.log")
    assert (log.whole(), log.total) == (b"", 4)


def test_an_existing_file_is_never_written_over(tmp_path):
    (tmp_path / "s" / "tasks").mkdir(parents=True)
    (tmp_path / "s" / "tasks" / "task-1.log").write_text("precious")
    log = BoundedLog(in_session_folder(tmp_path / "s", "task-1.log"))
    log.append(b"out\n")
    assert (tmp_path / "s" / "tasks" / "task-1.log").read_text() == "precious"
    assert log.trouble is not None
    assert log.whole() == b"out\n"


def test_a_linked_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "tasks").symlink_to(tmp_path / "elsewhere")
    log = BoundedLog(in_session_folder(tmp_path / "s", "task-1.log"))
    log.append(b"out\n")
    assert os.listdir(tmp_path / "elsewhere") == []
    assert log.whole() == b"out\n"


def test_a_disk_that_fails_midway(tmp_path):
    class Failing:
        def __init__(self):
            self.file, self.room = in_memory(), 10

        def write(self, data):
            self.room -= len(data)
            if self.room < 0:
                raise OSError(28, "No space left on device")
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    log = BoundedLog(Failing)
    log.append(b"12345")
    log.append(b"too much for it")
    log.append(b" more")
    assert "No space left" in log.trouble
    assert log.total == 25
    assert log.newest(5).data == b" more"
    assert log.read(0, 100).start == 5


@pytest.mark.parametrize("opened", [in_memory, in_temporary_file])
def test_discarding(opened):
    log = BoundedLog(opened)
    log.append(b"x")
    log.discard()
    assert log.whole() == b""
