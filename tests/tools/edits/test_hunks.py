from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from zidane_lab.tools.edits.diff import split_lines, unified
from zidane_lab.tools.edits.hunks import apply_hunks
from zidane_lab.tools.edits.patches import parse_patch
from zidane_lab.tools.edits.replace import MatchError
from zidane_lab.tools.edits.text import TextFile

TEXT = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"


def patched(text, body, head="*** Update File: f\n"):
    (part,) = parse_patch(head + body)
    hunked = apply_hunks(text, part.hunks, where="f")
    return TextFile(text).splice(hunked.spans).text, hunked.notes


def diffed(text, body):
    return patched(text, body, "--- a/f\n+++ b/f\n")


def test_the_line_above_says_which_place_is_meant():
    new, _ = patched(TEXT, "@@ class B:\n         return 1\n+        # two\n")
    assert new == TEXT + "        # two\n"
    new, _ = patched(TEXT, "@@ class B:\n@@ def f(self):\n-        return 1\n+        return 2\n")
    assert new == TEXT[: -len("1\n")] + "2\n"


def test_two_places_are_one_too_many():
    with pytest.raises(MatchError, match="fits in 2 places: at lines 3, 7"):
        patched(TEXT, "@@\n-        return 1\n+        return 2\n")


def test_a_number_decides_between_places():
    new, notes = diffed(TEXT, "@@ -7 +7 @@\n-        return 1\n+        return 2\n")
    assert new.endswith("return 2\n")
    assert new.count("return 1") == 1
    assert not notes


def test_a_wrong_number_is_forgiven_where_only_one_place_fits():
    new, notes = diffed(TEXT, "@@ -1,2 +1,2 @@\n class B:\n-    def f(self):\n+    def g(self):\n")
    assert new == TEXT.replace("class B:\n    def f", "class B:\n    def g")
    assert notes == ("The hunk of f was found at line 5, not 1",)


def test_hunks_further_down_are_looked_for_where_the_first_one_was_moved_to():
    text = "".join(f"{number % 5}\n" for number in range(5)) + "x\n" + "a\nb\n" * 4
    new, _ = diffed(text, "@@ -1 +1 @@\n-x\n+y\n@@ -4 +4 @@\n-a\n+A\n")
    assert new.split("\n")[8] == "A"


def test_hunks_of_the_envelope_follow_each_other():
    new, _ = patched("start\na\nx\na\nx\n", "@@ start\n a\n-x\n+1\n@@\n a\n-x\n+2\n")
    assert new == "start\na\n1\na\n2\n"


def test_spaces_and_quotes_are_forgiven_and_the_rest_of_the_file_is_not_touched():
    text = "def f():  \n\tsay(“hi”)\n\treturn 1   \n"
    new, notes = patched(text, '@@\n def f():\n     say("hi")\n-    return 1\n+    return 2\n+    # end\n')
    assert new == "def f():  \n\tsay(“hi”)\n\treturn 2\n\t# end\n"
    assert "typographic" in notes[0]


def test_new_lines_go_below_the_line_named_or_to_the_end():
    assert patched("a\nb\n", "@@ a\n+x\n")[0] == "a\nx\nb\n"
    assert patched("a\nb\n", "@@\n+x\n")[0] == "a\nb\nx\n"
    assert patched("", "@@\n+x\n")[0] == "x\n"
    assert patched("a\nb", "@@\n+x\n")[0] == "a\nb\nx"


def test_a_last_line_without_an_end_stays_without():
    assert patched("a\nb", "@@\n a\n-b\n+c\n")[0] == "a\nc"
    assert patched("a\nb", "@@\n a\n b\n+c\n")[0] == "a\nb\nc"
    assert patched("a\nb", "@@\n a\n-b\n")[0] == "a"
    assert diffed("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n")[0] == "a\n"


def test_the_end_of_the_file_can_be_meant():
    assert patched("x\na\nx\n", "@@\n-x\n+y\n*** End of File\n")[0] == "x\na\ny\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("@@\n-nothing like it at all\n+x\n", "nothing like them"),
        ("@@\n-        return 12\n+x\n", "most alike"),
        ("@@ class C:\n-        return 1\n+x\n", "is not there"),
        ("@@ -1,0 +2 @@\n+x\n", "to tell its place by"),
        ("@@\n class A:\n-    def f(self):\n+x\n@@ -2 +2 @@\n-    def f(self):\n+y\n", "overlaps"),
    ],
)
def test_what_does_not_fit_is_told(body, said):
    with pytest.raises(MatchError, match=said):
        patched(TEXT, body)


LINES = st.sampled_from(["a", "b", "", "  c", "\td", "é", "x y ", "}", "\x0c", "\u2028"])
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + "\n" * end, st.lists(LINES, max_size=12), st.booleans())


@given(TEXTS, TEXTS)
def test_our_own_diff_gives_the_text_it_was_made_of(old, new):
    assume(old and old != new)
    diff = unified(old, new, "f", limit=10**9).text
    (part,) = parse_patch(diff)
    assert TextFile(old).splice(apply_hunks(old, part.hunks).spans).text == new


@given(TEXTS, st.lists(st.tuples(st.sampled_from(" -+"), LINES), min_size=1, max_size=6))
def test_what_is_not_told_to_change_does_not(text, lines):
    (part,) = parse_patch("*** Update File: f\n@@ q\n" + "".join(f"{mark}{line}\n" for mark, line in lines) + "+z\n")
    try:
        hunked = apply_hunks("q\n" + text, part.hunks)
    except MatchError:
        return
    new = TextFile("q\n" + text).splice(hunked.spans).text
    removed = sum(mark == "-" for mark, _ in lines)
    added = sum(mark == "+" for mark, _ in lines) + 1
    assert len(split_lines(new)) == len(split_lines("q\n" + text)) - removed + added
