from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.conflicts import describe_conflicts, find_conflicts
from zidane_lab.tools.reading.conflicts import conflict_lines
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import write_file_tool

FIRST = "<<<<<<< HEAD\nours 1\n=======\ntheirs 1\n>>>>>>> branch\n"
TEXT = f"""\
top
{FIRST}middle
<<<<<<< HEAD
ours 2
||||||| base
base 2
=======
>>>>>>> branch
end
"""


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def resolve(bench, which, content):
    return bench.told(write_file_tool, path=f"f.py:conflict:{which}", content=content)


def test_conflicts_are_found_with_their_sides():
    first, second = find_conflicts(TEXT)
    assert (first.first, first.last, first.ours, first.theirs, first.base) == (2, 6, "ours 1\n", "theirs 1\n", None)
    assert (second.number, second.base, second.theirs) == (2, "base 2\n", "")
    assert describe_conflicts(TEXT) == "#1 lines 2–6 (HEAD / branch)\n#2 lines 8–13 (HEAD / branch)"


@given(
    st.lists(
        st.sampled_from(
            ["<<<<<<< HEAD", "<<<<<<<", "=======", ">>>>>>> b", "||||||| x", "a", "", "========", "<<<<<<<x"]
        ),
        max_size=16,
    )
)
def test_they_are_numbered_as_reading_lists_them(lines):
    listed = [line for line in conflict_lines(lines) if re.match(r"#\d", line)]
    mine = [f"#{each.number}  lines {each.first:,}–{each.last:,}" for each in find_conflicts("\n".join(lines) + "\n")]
    assert [line.partition(":")[0] for line in listed] == mine


@pytest.mark.parametrize(
    ("which", "content", "expected"),
    [
        ("1", "ours", TEXT.replace(FIRST, "ours 1\n")),
        ("1", "theirs", TEXT.replace(FIRST, "theirs 1\n")),
        ("1", "both", TEXT.replace(FIRST, "ours 1\ntheirs 1\n")),
        ("1", "mine", TEXT.replace(FIRST, "mine\n")),
        ("1", "ours\n", TEXT.replace(FIRST, "ours\n")),
        ("1", "", TEXT.replace(FIRST, "")),
        ("*", "ours", "top\nours 1\nmiddle\nours 2\nend\n"),
        ("*", "theirs", "top\ntheirs 1\nmiddle\nend\n"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_side_or_lines_take_the_place_of_a_conflict(bench, which, content, expected, ending):
    bench.put("f.py", TEXT.replace("\n", ending).encode())
    bench.reads("f.py", 1, 5)
    output = resolve(bench, which, content)
    assert bench.get("f.py").decode() == expected.replace("\n", ending)
    assert output.metadata["written"] == [bench.path("f.py")]
    bench.run(undo_edit_tool)
    assert bench.get("f.py").decode() == TEXT.replace("\n", ending)


def test_what_is_left_is_told_with_its_new_numbers(bench):
    bench.put("f.py", TEXT)
    bench.reads("f.py")
    assert resolve(bench, 1, "ours").parts[0].text == (
        "Resolved conflict 1 of f.py. Left, with their numbers now:\n#1 lines 4–9 (HEAD / branch)"
    )
    assert (
        resolve(bench, 1, "base").parts[0].text
        == "Resolved conflict 1 of f.py. None is left; `git add` says so to git."
    )
    assert bench.get("f.py") == b"top\nours 1\nmiddle\nbase 2\nend\n"


def test_numbers_that_the_model_has_not_seen_yet_are_not_taken(bench):
    """Two calls at once: the second one's numbers are those before the first."""
    bench.put("f.py", TEXT + TEXT)
    bench.reads("f.py")
    bench.run(write_file_tool, path="f.py:conflict:1", content="ours")  # its result is not before the model
    with pytest.raises(ToolError, match="was changed since you looked at it"):
        resolve(bench, 2, "ours")


def test_an_unread_file_is_not_resolved(bench):
    bench.put("f.py", TEXT)
    with pytest.raises(ToolError, match="was not looked into yet"):
        resolve(bench, 1, "ours")


@pytest.mark.parametrize(
    ("which", "content", "said"),
    [
        ("3", "ours", "no conflict 3"),
        ("0", "ours", "no conflict 0"),
        ("1", "base", "does not say what both sides began with"),
        ("*", "base", "does not say"),
        ("*", "text", "only take one side"),
        ("1", "a\n=======\nb\n", "still have marks"),
    ],
)
def test_what_cannot_be_resolved_is_told_and_nothing_is_written(bench, which, content, said):
    bench.put("f.py", TEXT)
    bench.reads("f.py")
    with pytest.raises(ToolError, match=said):
        resolve(bench, which, content)
    assert bench.get("f.py") == TEXT.encode()


def test_a_file_without_conflicts_and_one_of_that_name(bench):
    bench.put("f.py", "x\n")
    with pytest.raises(ToolError, match=r"no conflict in f\.py"):
        resolve(bench, 1, "ours")
    bench.put("g.py:conflict:1", "")
    bench.run(write_file_tool, path="g.py:conflict:1", content="ours")
    assert bench.get("g.py:conflict:1") == b"ours"
    with pytest.raises(ToolError, match="does not exist"):
        bench.run(write_file_tool, path="h.py:conflict:1", content="ours")
