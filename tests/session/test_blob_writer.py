from __future__ import annotations

import asyncio
import os

import pytest

from zidane_lab.session.blob_writer import LocalWriter, encode


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "session" / "tool-results"


def write(folder, name, text, limit=None):
    return asyncio.run(LocalWriter(limit).write(folder / name, text))


def test_a_text_is_written_as_it_is_and_no_draft_stays(folder):
    written = write(folder, "a.txt", "é\r\nline\n")
    assert written.path.read_bytes() == "é\r\nline\n".encode()
    assert os.listdir(folder) == ["a.txt"]


def test_lone_surrogates_are_written_readably(folder):
    assert write(folder, "a.txt", "x\ud800").path.read_text() == "x\\ud800"
    assert encode("é") == "é".encode()


def test_another_content_under_the_same_name_never_replaces_the_first(folder):
    first = write(folder, "a.txt", "one").path
    second = write(folder, "a.txt", "two").path
    assert first != second
    assert (first.read_text(), second.read_text()) == ("one", "two")
    assert write(folder, "a.txt", "two").path == second
    assert write(folder, "a.txt", "one").path == first


def test_a_failing_disk_leaves_nothing_behind(folder, monkeypatch):
    def fail(_handle):
        raise OSError("no space")

    folder.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        write(folder, "a.txt", "text")
    assert os.listdir(folder) == []


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_links_are_never_followed(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    folder.parent.mkdir()
    folder.symlink_to(outside)
    with pytest.raises(OSError, match="symbolic link"):
        write(folder, "a.txt", "text")
    folder.unlink()
    folder.mkdir()
    (outside / "target").write_text("mine")
    (folder / "a.txt").symlink_to(outside / "target")
    assert write(folder, "a.txt", "text").path.read_text() == "text"
    assert (outside / "target").read_text() == "mine"
    assert sorted(os.listdir(outside)) == ["target"]


def test_the_oldest_go_by_time_and_other_files_stay(folder):
    folder.mkdir(parents=True)
    for age, name in enumerate(["new.txt", "old.txt", "other.log"]):
        (folder / name).write_text("x" * 10)
        os.utime(folder / name, (1_000 - age, 1_000 - age))
    (folder / "released").mkdir()
    (folder / "released" / "kept.txt").write_text("x" * 1_000)
    written = write(folder, "a.txt", "y" * 10, 20)
    assert (written.evicted_bytes, written.evicted_files) == (10, 1)
    assert sorted(os.listdir(folder)) == ["a.txt", "new.txt", "other.log", "released"]
    assert (folder / "released" / "kept.txt").exists()


def test_the_new_file_stays_even_when_it_alone_is_over_the_limit(folder):
    write(folder, "a.txt", "x" * 10)
    assert write(folder, "b.txt", "y" * 100, 5).evicted_files == 1
    assert os.listdir(folder) == ["b.txt"]


@pytest.mark.parametrize("limit", [None, 0, -1, float("nan"), float("inf")])
def test_no_sensible_limit_is_no_limit(folder, limit):
    write(folder, "a.txt", "x" * 10)
    assert write(folder, "b.txt", "y" * 10, limit).evicted_files == 0
    assert len(os.listdir(folder)) == 2
