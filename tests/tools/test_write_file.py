from __future__ import annotations

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.anchors import tagged
from zidane_lab.tools.edits.changes import change_log_of
from zidane_lab.tools.write_file import write_file_tool


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def write(bench, content, path="a.txt"):
    return bench.told(write_file_tool, path=path, content=content)


def test_a_new_file_and_its_folders_are_made(bench):
    output = write(bench, "x\ny\n", "deep/down/a.txt")
    assert bench.get("deep/down/a.txt") == b"x\ny\n"
    assert output.parts[0].text == "Created deep/down/a.txt: 2 lines, 4 B. Its folder was made."
    assert output.metadata["written"] == [bench.path("deep/down/a.txt")]
    edit = output.metadata["edit"]
    assert (edit["path"], edit["added"], edit["removed"]) == (bench.path("deep/down/a.txt"), 2, 0)
    assert edit["diff"] == "--- /dev/null\n+++ b/deep/down/a.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    assert edit["files"][0]["created"] is True


def test_a_script_becomes_executable(bench):
    assert write(bench, "#!/bin/sh\necho\n").parts[0].text.endswith("executable.")
    assert bench.mode("a.txt") == 0o755


def test_encoding_endings_and_mode_of_an_old_file_stay(bench):
    bench.put("a.txt", b"\xef\xbb\xbfold\r\nline\r\n", mode=0o640)
    bench.reads("a.txt")
    output = write(bench, "new\nline\n")
    assert bench.get("a.txt") == b"\xef\xbb\xbfnew\r\nline\r\n"
    assert bench.mode("a.txt") == 0o640
    assert output.parts[0].text == "Replaced a.txt: 2 lines now, 1 added and 1 removed."
    assert output.metadata["edit"]["diff"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-old\n+new\n line\n"


def test_a_new_file_is_written_as_it_was_given(bench):
    write(bench, "a\r\nb\n")
    assert bench.get("a.txt") == b"a\r\nb\n"


def test_the_same_content_writes_nothing(bench):
    bench.put("a.txt", b"x\r\n")
    output = write(bench, "x\n")
    assert output.parts[0].text == "a.txt has exactly this content already; nothing was written."
    assert not output.is_error
    assert not output.metadata.get("written")


@pytest.mark.parametrize(
    ("name", "old", "told"),
    [
        ("a.py", b"# @generated\n", "made by a program"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0", "a PNG image"),
        ("a.ipynb", b'{"cells": [], "nbformat": 4}', "is a notebook"),
    ],
)
def test_files_that_must_not_be_written_are_refused(bench, name, old, told):
    bench.put(name, old)
    bench.reads(name)
    with pytest.raises(ToolError, match=told):
        write(bench, '{"cells": [1], "nbformat": 4}', name)
    assert bench.get(name) == old


def test_a_new_notebook_must_be_one(bench):
    with pytest.raises(ToolError, match="would not be a notebook"):
        write(bench, "print(1)", "new.ipynb")
    write(bench, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "new.ipynb")
    assert bench.has("new.ipynb")


@pytest.mark.parametrize(
    ("content", "told"),
    [("a\0b", "zero byte"), ("x" * (10 * 1_048_576 + 1), "10.0 MB is the most"), ("\ud800", "surrogate")],
)
def test_content_that_is_no_text_or_too_much_is_refused(bench, content, told):
    with pytest.raises(ToolError, match=told):
        write(bench, content)
    assert not bench.has("a.txt")


def test_tags_pasted_from_a_read_are_dropped_and_said(bench):
    assert "tags" in write(bench, tagged("x = 1\ny = 2\n")).parts[0].text
    assert bench.get("a.txt") == b"x = 1\ny = 2\n"


def test_a_folder_is_not_overwritten(bench):
    bench.put("a.txt/b", "")
    with pytest.raises(ToolError, match="is a folder"):
        write(bench, "x")


def test_a_link_stays_one(tmp_path):
    bench = Bench("none", tmp_path)
    (tmp_path / "real.txt").write_text("old\n")
    (tmp_path / "a.txt").symlink_to("real.txt")
    bench.reads("a.txt")
    write(bench, "new\n")
    assert (tmp_path / "a.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new\n"


def test_a_failed_write_leaves_nothing_to_undo(tmp_path):
    bench = Bench("far", tmp_path)
    bench.put("a.txt", "old")
    bench.place.broken = "a.txt"
    bench.reads("a.txt")
    with pytest.raises(ToolError, match=r"cannot be written: Permission denied\. Nothing was changed"):
        write(bench, "new")
    assert bench.get("a.txt") == b"old"
    assert change_log_of(bench.context).standing() == ()
