"""What the summarised turns touched."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.compaction.support import marker
from zidane_lab.compaction.touched import MOST_FILES, Touched, touched_by, with_touched, without_touched
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn


def step(n, tool, *, is_error=False, created=(), changed=(), deleted=(), **arguments):
    execution = {"created": list(created), "changed": list(changed), "deleted": list(deleted)}
    metadata = {"execution": execution} if tool == "run_python" else {}
    return (
        Turn("assistant", (ToolCallBlock(f"c{n}", tool, arguments),), id=f"a{n}"),
        Turn("user", (ToolResultBlock(f"c{n}", (TextBlock("ok"),), is_error, metadata),), id=f"r{n}"),
    )


def test_files_and_variables_in_the_order_they_were_last_touched():
    turns = (
        *step(1, "read_file", path="a.csv"),
        *step(2, "read_file", path="b.csv"),
        *step(3, "read_file", path="a.csv"),
        *step(4, "run_python", code="", created=["df", "x"]),
        *step(5, "run_python", code="", changed=["df"], created=["y"], deleted=["x"]),
    )
    assert touched_by(turns) == Touched(("b.csv", "a.csv"), (), ("y", "df"))


def test_a_changed_file_is_no_longer_one_that_was_read():
    turns = (*step(1, "write_file", path="a.py"), *step(2, "read_file", path="a.py"), *step(3, "read_file", path="b"))
    assert touched_by(turns) == Touched(("b",), ("a.py",), ())


def test_failed_calls_touch_no_file_but_failed_code_leaves_variables():
    turns = (
        *step(1, "read_file", path="gone.csv", is_error=True),
        *step(2, "run_python", code="", created=["half"], is_error=True),
    )
    assert touched_by(turns) == Touched((), (), ("half",))


def test_lists_grow_from_summary_to_summary():
    earlier = Touched(("a.csv", "b.csv"), ("c.py",), ("df", "x"))
    summary = marker("m", "t1", touched=json.loads(json.dumps(earlier.to_json())))
    turns = (summary, *step(1, "write_file", path="b.csv"), *step(2, "run_python", code="", deleted=["x"]))
    assert touched_by(turns) == Touched(("a.csv",), ("c.py", "b.csv"), ("df",))


@pytest.mark.parametrize("raw", [None, 3, [], {"read": "a.csv"}, {"read": [1, None]}, {"variables": {}}])
def test_damaged_lists_count_as_nothing(raw):
    assert Touched.from_json(raw) == Touched()
    assert touched_by((marker("m", touched=raw),)) == Touched()


def test_damaged_metadata_and_arguments_count_as_nothing():
    turns = (
        *step(1, "read_file", path=["a"]),
        Turn("user", (ToolResultBlock("c9", (), metadata={"execution": "x"}),), id="r9"),
    )
    assert touched_by(turns) == Touched()


def test_the_lists_stand_at_the_end_of_the_summary():
    assert with_touched("S", Touched(("a.csv",), ("b.py",), ("df", "x"))) == (
        "S\n\n<touched>\nFiles read: a.csv\nFiles changed: b.py\n"
        "Variables made or changed in the kernel: df, x\n</touched>"
    )


def test_nothing_touched_adds_nothing():
    assert with_touched("S", Touched()) == "S"


def test_lists_of_earlier_summaries_are_replaced():
    old = with_touched("S", Touched(("a.csv",)))
    assert (
        with_touched(old + "\n\nmore", Touched((), ("a.csv",)))
        == "S\n\nmore\n\n<touched>\nFiles changed: a.csv\n</touched>"
    )
    assert without_touched(old) == "S"


def test_of_many_files_the_newest_are_listed():
    text = with_touched("S", Touched(tuple(f"f{n}" for n in range(MOST_FILES + 5))))
    assert "f24 (and 5 more before)" in text
    assert "f4," not in text
    assert "f5," in text


def test_a_file_name_cannot_end_the_list():
    text = with_touched("S", Touched(("a</touched>\nb",)))
    assert without_touched(text) == "S"


def test_long_runs_of_blanks_take_no_time():
    text = "S" + " " * 500_000 + "T"
    assert without_touched(text) == text


def test_what_a_result_says_was_written_counts_for_tools_without_a_path():
    call = ToolCallBlock("c1", "apply_patch", {"patch": "…"})
    done = ToolResultBlock("c1", (TextBlock("Patched."),), metadata={"written": ["/w/a.py", "/w/b.py"]})
    failed = ToolResultBlock("c1", (TextBlock("No."),), is_error=True, metadata={"written": ["/w/c.py"]})
    asked = Turn("assistant", (call,))
    assert touched_by((asked, Turn("user", (done,)))).changed == ("/w/a.py", "/w/b.py")
    assert touched_by((asked, Turn("user", (failed,)))).changed == ()


@pytest.mark.parametrize("metadata", [{"pending": "p1", "edit": {}}, {"written": []}])
def test_a_preview_and_what_had_nothing_to_do_changed_nothing(metadata):
    call, result = step(1, "edit", path="a.py")
    (block,) = result.blocks
    result = replace(result, blocks=(replace(block, metadata=metadata),))
    assert touched_by((call, result)) == Touched()
