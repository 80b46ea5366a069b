from __future__ import annotations

import os
import re

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools import walk as walk_module
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.list_files import list_files, list_files_tool


def test_folders_come_first_with_sizes_and_iso_times(tmp_path):
    (tmp_path / "zeta").mkdir()
    (tmp_path / "Beta.txt").write_text("x" * 2048)
    (tmp_path / "alpha.txt").write_text("abc")
    header, *lines = list_files(ToolContext(cwd=tmp_path)).splitlines()
    assert header == str(tmp_path)
    assert [line.split("  ")[0] for line in lines] == ["zeta/", "alpha.txt", "Beta.txt"]
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d"
    assert re.fullmatch(rf"alpha\.txt  3 B  {stamp}", lines[1])
    assert re.fullmatch(rf"Beta\.txt  2\.0 KB  {stamp}", lines[2])


def test_depth_lists_level_by_level(tmp_path):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "one.txt").write_text("")
    (tmp_path / "two.txt").write_text("")
    names = [line.split("  ")[0] for line in list_files(ToolContext(cwd=tmp_path), depth=2).splitlines()[1:]]
    assert names == ["a/", "two.txt", "a/b/", "a/one.txt"]


def test_the_limit_says_what_was_left_out(tmp_path):
    for number in range(250):
        (tmp_path / f"{number:03}.txt").write_text("")
    lines = list_files(ToolContext(cwd=tmp_path)).splitlines()
    assert len(lines) == 202
    assert lines[-1] == "[50 more entries left out; list a folder of it, or raise `limit`]"


def test_ignored_entries_are_hidden_counted_and_shown_when_asked(tmp_path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("node_modules", "__pycache__", ".venv", ".zidane", ".ipynb_checkpoints", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "a.log").write_text("")
    (tmp_path / "a.txt").write_text("")
    text = list_files(ToolContext(cwd=tmp_path))
    assert [line.split("  ")[0] for line in text.splitlines()[1:-1]] == [".gitignore", "a.txt"]
    assert text.endswith("[7 ignored entries hidden; `ignored` true shows them]")
    assert "node_modules/" in list_files(ToolContext(cwd=tmp_path), ignored=True)


def test_an_ignored_folder_asked_for_by_name_is_listed(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("out/\n*.log\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.log").write_text("")
    assert "a.log" in list_files(ToolContext(cwd=tmp_path), path="out")


def test_links_are_shown_and_never_entered(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to("nowhere")
    text = list_files(ToolContext(cwd=tmp_path), depth=10)
    assert text.splitlines()[1:] == ["gone -> nowhere", f"loop -> {tmp_path}"]


def test_odd_names_stay_on_one_line(tmp_path):
    (tmp_path / "a\nb\x1b[31m").write_text("")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.txt", os.O_CREAT | os.O_WRONLY))
    lines = list_files(ToolContext(cwd=tmp_path)).splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == ["a\\nb\\x1b[31m", "\\udcff.txt"]


def test_an_endless_folder_is_left_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(walk_module, "MOST_ENTRIES", 5)
    for number in range(10):
        (tmp_path / f"{number}.txt").write_text("")
    assert "[stopped after 5 entries: there may be more; look into a smaller folder]" in list_files(
        ToolContext(cwd=tmp_path)
    )


def test_what_is_not_a_folder_is_an_error_with_a_way_on(tmp_path):
    (tmp_path / "Data.csv").write_text("")
    with pytest.raises(ToolError, match="read_file"):
        list_files(ToolContext(cwd=tmp_path), path="Data.csv")
    with pytest.raises(ToolError, match=r"does not exist\. Near names there: Data\.csv"):
        list_files(ToolContext(cwd=tmp_path), path="data.cvs")
    with pytest.raises(ToolError, match="of its folders only"):
        list_files(ToolContext(cwd=tmp_path), path="no/such/folder")
    with pytest.raises(ToolError, match="is not a path"):
        list_files(ToolContext(cwd=tmp_path), path="a\0b")


def test_an_empty_folder_is_said_to_be_empty(tmp_path):
    assert list_files(ToolContext(cwd=tmp_path)) == f"{tmp_path} is empty"


def test_the_tool_reads_and_may_overlap_others():
    made = list_files_tool()
    assert (made.name, made.tier, made.concurrency) == ("list_files", "read", "shared")
    assert made.parameters.get("required") is None
