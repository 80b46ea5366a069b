from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.patches import FilePatch, Hunk, PatchError, parse_patch, patched_paths

ENVELOPE = """\
*** Begin Patch
*** Add File: new/a.py
+x = 1
+
*** Delete File: gone.py
*** Update File: old.py
*** Move to: moved.py
@@ class A:
@@ def f(self):
 a
-b
+c
*** End of File
*** End Patch
"""


def test_the_envelope_is_read():
    added, deleted, updated = parse_patch(ENVELOPE)
    assert added == FilePatch("add", "new/a.py", (Hunk((("+", "x = 1\n"), ("+", "\n"))),))
    assert added.content == "x = 1\n\n"
    assert deleted == FilePatch("delete", "gone.py")
    assert (updated.op, updated.path, updated.target) == ("update", "old.py", "moved.py")
    (hunk,) = updated.hunks
    assert hunk == Hunk(((" ", "a\n"), ("-", "b\n"), ("+", "c\n")), None, ("class A:", "def f(self):"), at_end=True)
    assert (hunk.old, hunk.new) == (("a\n", "b\n"), ("a\n", "c\n"))


def test_all_paths_are_told():
    assert patched_paths(ENVELOPE) == ("new/a.py", "gone.py", "old.py", "moved.py")


DIFF = "--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c\n"


@pytest.mark.parametrize(
    "patch",
    [
        DIFF,
        DIFF.replace("\n", "\r\n"),
        f"Here it is:\n\n{DIFF}",
        f"```diff\n{DIFF}```\n",
        f"git apply <<'EOF'\n{DIFF}EOF\n",
        f"diff --git a/f.py b/f.py\nindex 1..2 100644\n{DIFF}",
        DIFF.replace("a/f.py", "f.py").replace("b/f.py", "f.py\t2024-01-01 00:00:00"),
        DIFF.replace("1,2 +1,2", "1,9 +1,7"),  # models count badly
        DIFF.replace("1,2 +1,2", "1 +1"),
        f"{DIFF}-- \n2.39.5\n",
    ],
)
def test_a_unified_diff_is_read_however_it_is_wrapped(patch):
    assert parse_patch(patch) == (FilePatch("update", "f.py", (Hunk(((" ", "a\n"), ("-", "b\n"), ("+", "c\n")), 1),)),)


def test_files_one_after_the_other_are_told_apart_also_where_the_counts_are_wrong():
    second = DIFF.replace("f.py", "g.py")
    for first in (DIFF, DIFF.replace("1,2 +1,2", "1,3 +1,3")):
        assert [part.path for part in parse_patch(first + second)] == ["f.py", "g.py"]


def test_removed_lines_that_look_like_headers_stay_lines():
    patch = "--- a/f.sql\n+++ b/f.sql\n@@ -1,3 +1,3 @@\n x\n--- old\n+++ new\n y\n"
    (part,) = parse_patch(patch)
    assert part.hunks[0].lines == ((" ", "x\n"), ("-", "-- old\n"), ("+", "++ new\n"), (" ", "y\n"))


def test_lines_without_an_end_are_told():
    (part,) = parse_patch(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )
    assert part.hunks[0].lines == (("-", "b"), ("+", "c"))


def test_new_and_deleted_files_of_a_diff():
    added, deleted = parse_patch(
        "diff --git a/n.sh b/n.sh\nnew file mode 100755\n--- /dev/null\n+++ b/n.sh\n@@ -0,0 +1 @@\n+x\n"
        "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n"
    )
    assert (added.op, added.path, added.content, added.mode) == ("add", "n.sh", "x\n", 0o755)
    assert (deleted.op, deleted.path) == ("delete", "old")


def test_renames_and_empty_files_need_no_lines():
    patch = (
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
        "diff --git a/e b/e\nnew file mode 100644\nindex 000..e69\n"
    )
    assert parse_patch(patch) == (FilePatch("update", "x", (), "y"), FilePatch("add", "e"))


def test_quoted_names_are_those_of_git():
    patch = '--- "a/na\\303\\257ve \\"x\\".py"\n+++ "b/na\\303\\257ve \\"x\\".py"\n@@ -1 +1 @@\n-a\n+b\n'
    assert parse_patch(patch)[0].path == 'naïve "x".py'


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "no change of a file"),
        ("hello", "no change of a file"),
        ("*** Begin Patch\n*** End Patch", "no change of a file"),
        ("*** Begin Patch\nx\n*** End Patch", "outside of any file"),
        ("*** Add File: a\nx", r"begins with \+"),
        ("*** Update File: a\n", "nothing is to be changed in a"),
        ("*** Update File: a\n@@\nxyz", "neither a space"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a change of no file"),
        ("--- a/x\n+++ b/x\n", "nothing is to be changed"),
        ("--- a/x\n+++ b/x\n@@ nonsense\n", "should be like"),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "binary files"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "rights"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "copies"),
        ("*** Add File: a\n+x\0y\n", "zero byte"),
    ],
)
def test_what_is_no_patch_is_told(patch, said):
    with pytest.raises(ToolError, match=said):
        parse_patch(patch)


@given(
    st.lists(
        st.sampled_from(
            [
                *("*** Begin Patch", "*** Update File: a", "*** Add File: b", "*** Move to: c", "*** End of File"),
                *("--- a/f", "+++ b/f", "--- /dev/null", "@@ -1,2 +1,3 @@", "@@ -0,0 +1 @@", "diff --git a/x b/x"),
                *("rename from x", "rename to y", "\\ No newline", " a", "-b", "+c", "", "text", '"', "@@ x", "```"),
            ]
        ),
        max_size=14,
    ).map("\n".join)
    | st.text(max_size=60)
)
def test_any_text_is_read_or_refused_in_words(text):
    try:
        parts = parse_patch(text)
    except ToolError as error:
        assert isinstance(error, PatchError) or "zero byte" in str(error)  # noqa: PT017
    else:
        assert parts
        assert all(part.path for part in parts)
