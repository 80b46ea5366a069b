"""Where sessions live, and that nothing but a session's own files can be named by an id."""

from __future__ import annotations

import os
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import SessionError
from zidane_lab.session.layout import (
    CONSOLE,
    is_session_id,
    make_folder,
    make_own_folder,
    mint_session_id,
    paths_in,
    paths_of,
    safe_name,
    sessions_folder,
)


def test_sessions_lie_beside_the_notebook(tmp_path):
    expected = tmp_path / ".zidane" / "sessions" / "analysis"
    assert sessions_folder(notebook=tmp_path / "analysis.ipynb") == expected
    assert sessions_folder(notebook="analysis.ipynb", cwd=tmp_path) == expected
    assert sessions_folder(notebook="x/../analysis.ipynb", cwd=str(tmp_path)) == expected
    assert sessions_folder(notebook="script.py", cwd=tmp_path).name == "script.py"


def test_without_a_notebook_the_working_folder_stands_in(tmp_path, monkeypatch):
    assert sessions_folder(cwd=tmp_path) == tmp_path / ".zidane" / "sessions" / CONSOLE
    monkeypatch.chdir(tmp_path)
    assert sessions_folder() == sessions_folder(cwd=tmp_path)


def test_saying_where_creates_nothing(tmp_path):
    sessions_folder(notebook=tmp_path / "a.ipynb")
    paths_in(tmp_path, mint_session_id())
    assert list(tmp_path.iterdir()) == []


def test_the_paths_of_a_session(tmp_path):
    paths = paths_in(tmp_path, "20260131-142059-3f9c0a")
    names = [
        path.relative_to(tmp_path).as_posix()
        for path in (paths.file, paths.lock, paths.outputs, paths.blobs, paths.tasks)
    ]
    stem = "20260131-142059-3f9c0a"
    assert names == [f"{stem}.jsonl", f"{stem}.lock", f"{stem}/outputs", f"{stem}/blobs", f"{stem}/tasks"]
    assert paths_of(paths.file) == paths


class TestIds:
    def test_they_sort_by_time_whatever_the_time_zone(self):
        start = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
        moments = [start + timedelta(seconds=n) for n in range(4)]
        zones = [timezone(timedelta(hours=n)) for n in (0, 13, -11, 5)]
        ids = [mint_session_id(moment.astimezone(zone)) for moment, zone in zip(moments, zones, strict=True)]
        assert sorted(ids) == ids
        assert ids[0].startswith("20260131-235958-")

    def test_what_is_minted_is_recognised(self):
        assert all(is_session_id(mint_session_id()) for _ in range(50))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "..",
            "../20260131-142059-3f9c0a",
            "20260131-142059-3f9c0a/..",
            "20260131-142059-3f9c0a\n",
            "20260131-142059-3f9c0",
            "20260131-142059-3F9C0A",
            "20260131-142059-3f9c0g",
            "20261331-142059-3f9c0a",
            "20260230-142059-3f9c0a",
            "20260131-256059-3f9c0a",
            "٢٠٢٦٠١٣١-142059-3f9c0a",
            "20260131-142059-3f9c0a.jsonl",
            "/etc/passwd",
        ],
    )
    def test_nothing_else_is(self, text, tmp_path):
        assert not is_session_id(text)
        with pytest.raises(SessionError, match="is not a session id"):
            paths_in(tmp_path, text)

    @given(st.text())
    def test_no_text_that_leads_elsewhere_is_an_id(self, text):
        if is_session_id(text):
            assert not set(text) & set("/\\.\0")


class TestNames:
    @pytest.mark.parametrize("name", ["analysis", "Übung 3", "数据分析", "a (copy).v2", "résumé_été-1", "données+=@~"])
    def test_ordinary_names_of_any_script_stay(self, name):
        assert safe_name(name) == name

    @pytest.mark.parametrize(
        "name",
        ["a/b", "a\\b", "..", ".", "", "a:b", "CON", "nul.txt", "a.", " a", CONSOLE, "x" * 500, "é" * 200, "\ud800"],
    )
    def test_others_change_and_keep_apart(self, name):
        safe = safe_name(name)
        assert safe != name
        assert safe != safe_name(name + "!")

    def test_one_letter_written_two_ways_is_one_name(self):
        assert safe_name(unicodedata.normalize("NFD", "été")) == safe_name("été") == "été"

    @given(st.text(max_size=300))
    def test_any_name_is_safe(self, name):
        safe = safe_name(name)
        assert safe
        assert safe not in (".", "..", CONSOLE)
        assert not set(safe) & set('/\\:*?"<>|\0\n')
        assert len(safe.encode()) <= 140
        assert safe == safe.strip(" .")

    @given(st.text(max_size=40), st.text(max_size=40))
    def test_two_names_never_become_one(self, one, other):
        if unicodedata.normalize("NFC", one) != unicodedata.normalize("NFC", other):
            assert safe_name(one) != safe_name(other)


class TestFolders:
    def test_a_new_hidden_folder_is_private_to_git(self, tmp_path):
        make_folder(sessions_folder(notebook=tmp_path / "a.ipynb"))
        assert (tmp_path / ".zidane" / ".gitignore").read_text() == "*\n"
        assert not (tmp_path / ".zidane" / "sessions" / ".gitignore").exists()

    def test_one_that_is_there_stays_as_it_is_and_only_the_sessions_are_private(self, tmp_path):
        (tmp_path / ".zidane").mkdir()
        make_folder(sessions_folder(notebook=tmp_path / "a.ipynb"))
        assert not (tmp_path / ".zidane" / ".gitignore").exists()
        assert (tmp_path / ".zidane" / "sessions" / ".gitignore").read_text() == "*\n"

    def test_the_owners_decision_is_kept(self, tmp_path):
        folder = sessions_folder(notebook=tmp_path / "a.ipynb")
        make_folder(folder)
        (tmp_path / ".zidane" / ".gitignore").write_text("!sessions\n")
        make_folder(folder)
        make_folder(sessions_folder(notebook=tmp_path / "b.ipynb"))
        assert (tmp_path / ".zidane" / ".gitignore").read_text() == "!sessions\n"

    def test_a_folder_that_cannot_be_made_private_is_not_left_behind(self, tmp_path, monkeypatch):
        folder = sessions_folder(notebook=tmp_path / "a.ipynb")

        def full(self, *_, **__):
            self.touch()
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Path, "write_text", full)
            with pytest.raises(OSError, match="No space"):
                make_folder(folder)
        assert list(tmp_path.iterdir()) == []
        make_folder(folder)
        assert (tmp_path / ".zidane" / ".gitignore").read_text() == "*\n"

    def test_a_sessions_folder_that_is_gone_is_not_made_again(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            make_own_folder(tmp_path / "gone" / "id", "blobs")

    @pytest.mark.parametrize("which", ["id", "id/blobs"])
    def test_own_folders_are_never_links(self, tmp_path, which):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        link = tmp_path / which
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(elsewhere)
        with pytest.raises(OSError, match="symbolic link"):
            make_own_folder(tmp_path / "id", "blobs")
        assert list(elsewhere.iterdir()) == []


class TestOpening:
    def test_only_session_files_are_opened(self, tmp_path):
        for name in ("notes.jsonl", "20260131-142059-3f9c0a.txt", "20260131-142059-3f9c0a (copy).jsonl"):
            with pytest.raises(SessionError):
                paths_of(tmp_path / name)

    @pytest.mark.parametrize("suffix", [".jsonl", ""])
    def test_a_link_in_place_of_the_session_is_refused(self, tmp_path, suffix):
        stem = mint_session_id()
        target = tmp_path / "target"
        target.mkdir() if not suffix else target.write_text("mine")
        (tmp_path / f"{stem}{suffix}").symlink_to(target)
        with pytest.raises(SessionError, match="symbolic link"):
            paths_of(tmp_path / f"{stem}.jsonl")

    def test_links_above_are_followed_as_the_user_wants(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        folder = sessions_folder(notebook=tmp_path / "link" / "a.ipynb")
        make_folder(folder)
        assert folder.is_relative_to(tmp_path / "link")
        assert os.path.samefile(folder, sessions_folder(notebook=tmp_path / "real" / "a.ipynb"))
        assert isinstance(paths_of(folder / f"{mint_session_id()}.jsonl").file, Path)
