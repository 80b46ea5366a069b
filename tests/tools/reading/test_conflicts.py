from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading.conflicts import MOST_LINES, conflict_lines

TEXT = """one
<<<<<<< HEAD
ours 1
ours 2
||||||| 1a2b3c
before
=======
theirs
>>>>>>> feature/x
two
<<<<<<< HEAD
=======
added
>>>>>>> other
"""


def read(folder, name) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name).parts
    return part.text


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n")])
def test_each_conflict_has_its_number_its_lines_and_its_sides(tmp_path, text):
    (tmp_path / "a.py").write_bytes(text.encode())
    page = read(tmp_path, "a.py:conflicts").splitlines()
    assert page[0] == "#1  lines 2–9: ours (HEAD) 3–4, before (1a2b3c) 6, theirs (feature/x) 8"
    assert page[1:9] == [f"{number}: {line}" for number, line in enumerate(TEXT.splitlines()[1:9], 2)]
    assert page[10] == "#2  lines 11–14: ours (HEAD) nothing, theirs (other) 13"
    assert page[-1] == "[2 unresolved merge conflicts in 14 lines]"


def test_there_may_be_none_or_broken_ones(tmp_path):
    (tmp_path / "a.md").write_text("Title\n=======\n\n>>>>>>> quoted\n||||||| x\n")
    assert read(tmp_path, "a.md:conflicts") == "[0 unresolved merge conflicts in 5 lines]\n"
    lines = list(conflict_lines(["<<<<<<< a", "x", "<<<<<<< b", "=======", ">>>>>>> c", "<<<<<<< d"]))
    assert lines[0] == "#1  lines 3–5: ours (b) nothing, theirs (c) nothing"
    assert lines[-2:] == [
        "[a conflict starts and does not end, at line 1, 6]",
        "[1 unresolved merge conflict in 6 lines]",
    ]


def test_a_long_conflict_is_cut_and_says_so():
    lines = list(conflict_lines(["<<<<<<< a", *["x"] * 1000, "=======", ">>>>>>> b"]))
    assert lines[0] == "#1  lines 1–1,003: ours (a) 2–1,001, theirs (b) nothing"
    assert f"[{1003 - MOST_LINES} more lines of it]" in lines


def test_the_evidence_is_of_a_part_only(tmp_path):
    (tmp_path / "a.py").write_text(TEXT)
    assert read_file(ToolContext(cwd=tmp_path), "a.py:conflicts").metadata["read"]["partial"] is True


@given(st.lists(st.sampled_from(["<<<<<<< a", "|||||||", "=======", ">>>>>>> b", "x", ""]), max_size=30))
def test_any_order_of_marks_is_read(lines):
    found = list(conflict_lines(lines))
    assert found[-1].endswith(f"in {len(lines)} lines]")
    assert sum(line.startswith("#") for line in found) <= lines.count(">>>>>>> b")
