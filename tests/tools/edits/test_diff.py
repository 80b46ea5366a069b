from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.edits.diff import EditHunk, edit_hunks, line_changes, split_lines, unified

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\x0ce\n", "f\u2028\n", "g\r\n"]), max_size=30).map(
    "".join
)


@given(TEXTS, st.sampled_from(["", "x"]))
def test_lines_are_split_after_line_feeds_only(text, rest):
    lines = split_lines(text + rest)
    assert "".join(lines) == text + rest
    assert all(line.endswith("\n") and "\n" not in line[:-1] for line in lines[:-1])


@given(TEXTS, TEXTS)
def test_changes_lead_from_the_old_lines_to_the_new(old, new):
    a, b = split_lines(old), split_lines(new)
    at = back = 0
    for kind, i1, i2, j1, j2 in line_changes(a, b):
        assert (i1, j1) == (at, back)
        assert (kind == "equal") == (a[i1:i2] == b[j1:j2])
        at, back = i2, j2
    assert (at, back) == (len(a), len(b))


@given(TEXTS.filter(lambda text: not text or text.endswith("\n")), TEXTS)
def test_the_text_is_that_of_difflib_when_the_changes_are(old, new):
    diff = unified(old, new, "f")
    assert diff.added - diff.removed == len(split_lines(new)) - len(split_lines(old))
    hunks = [line for line in diff.text.split("\n") if line.startswith("@@")]
    a, b = split_lines(old), split_lines(new)
    if [c for c in line_changes(a, b) if c[0] != "equal"] == [
        c for c in difflib.SequenceMatcher(None, a, b).get_opcodes() if c[0] != "equal"
    ]:
        expected = list(difflib.unified_diff(a, b, "a/f", "b/f", lineterm="\n"))
        assert hunks == [line.rstrip("\n") for line in expected if line.startswith("@@")]
        assert diff.text == "".join(expected)


def test_a_missing_final_newline_is_marked_as_diff_does():
    assert unified("a\nb", "a\nc\n", "f").text == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )


def test_new_and_removed_files_come_from_and_go_to_nowhere():
    made = unified(None, "a\n", "f")
    assert made.text == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
    assert (made.added, made.removed, made.first_line) == (1, 0, 1)
    assert unified("a\n", None, "f").text == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


def test_nothing_changed_is_no_diff():
    assert unified("a\n", "a\n", "f").text == ""


def test_a_long_diff_is_cut_and_says_so():
    diff = unified("", "".join(f"{number}\n" for number in range(1000)), "f", limit=200)
    assert diff.text.endswith(f"[… {diff.omitted:,} more lines of this diff left out …]\n")
    assert diff.added == 1000
    assert len(diff.text) < 300


def test_a_name_cannot_break_the_header():
    assert unified("a\n", "b\n", "x\n+++ y").text.startswith("--- a/x\\n+++ y\n+++ b/x\\n+++ y\n@@")


@pytest.mark.parametrize(
    ("tool", "arguments", "hunks"),
    [
        ("edit", {"old_string": "a", "new_string": "b"}, [EditHunk("a", "b")]),
        (
            "multi_edit",
            {
                "edits": [
                    {"old_string": "a", "new_string": "b", "replace_all": True},
                    {"old_string": "c", "new_string": ""},
                ]
            },
            [EditHunk("a", "b", replace_all=True), EditHunk("c", "")],
        ),
        ("write_file", {"content": "new"}, [EditHunk("before", "new")]),
        ("multi_edit", {"edits": "damaged"}, []),
        ("run_python", {"code": "1"}, []),
    ],
)
def test_a_call_shows_its_hunks(tool, arguments, hunks):
    assert list(edit_hunks(tool, arguments, "before")) == hunks
