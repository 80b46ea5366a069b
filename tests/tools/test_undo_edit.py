from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.apply_patch import apply_patch_tool
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.undo_edit import undo_edit_tool, undo_last
from zidane_lab.tools.write_file import write_file_tool


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def test_the_last_change_is_taken_back_and_drawn(bench):
    bench.put("a.txt", "one\n")
    change = bench.run(edit_tool, path="a.txt", old_string="one", new_string="two").metadata["change"]
    output = bench.run(undo_edit_tool)
    assert bench.get("a.txt") == b"one\n"
    assert output.parts[0].text == "Took back the last edit:\na.txt is as before"
    assert output.metadata["written"] == [bench.path("a.txt")]
    assert output.metadata["undone"] == change
    assert output.metadata["edit"]["diff"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n"


def test_a_new_file_goes(bench):
    bench.run(write_file_tool, path="a.txt", content="x\n")
    assert bench.say(undo_edit_tool) == "Took back the last write_file:\na.txt is removed"
    assert not bench.has("a.txt")


def test_a_file_made_through_a_link_goes_and_the_link_stays(tmp_path):
    bench = Bench("process", tmp_path)
    link = Path(bench.path("link.txt"))
    link.symlink_to("target.txt")
    bench.run(write_file_tool, path="link.txt", content="x\n")
    assert bench.has("target.txt")
    bench.run(undo_edit_tool)
    assert link.is_symlink()
    assert not link.exists()


def test_a_named_change_is_taken_back(bench):
    change = bench.run(write_file_tool, path="a.txt", content="x\n").metadata["change"]
    bench.run(write_file_tool, path="b.txt", content="x\n")
    asyncio.run(undo_last(bench.context, change_id=change))
    assert bench.has("b.txt")
    assert not bench.has("a.txt")


def test_nothing_to_take_back_is_an_error(bench):
    with pytest.raises(ToolError, match="no change to take back"):
        bench.run(undo_edit_tool)
    bench.context = type(bench.context)(cwd=bench.context.cwd)
    with pytest.raises(ToolError, match="no conversation"):
        bench.run(undo_edit_tool)


def test_a_change_that_is_gone_already_does_not_stand_in_the_way(bench):
    """Somebody took it back, or the process ended before it was made."""
    bench.put("a.txt", "one\n")
    bench.run(edit_tool, path="a.txt", old_string="one", new_string="two")
    bench.run(edit_tool, path="a.txt", old_string="two", new_string="three")
    bench.put("a.txt", "two\n")
    with pytest.raises(ToolError, match=r"not there any more, or never was made.*Call again"):
        bench.run(undo_edit_tool)
    assert bench.get("a.txt") == b"two\n"
    bench.run(undo_edit_tool)
    assert bench.get("a.txt") == b"one\n"


def test_a_file_that_changed_since_stops_all_of_a_patch(bench):
    bench.put("a.txt", "one\n")
    bench.run(apply_patch_tool, patch="*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: b.txt\n+x\n")
    bench.put("b.txt", "theirs\n")
    with pytest.raises(ToolError, match=r"b\.txt was changed since.*nothing was touched"):
        bench.run(undo_edit_tool)
    assert (bench.get("a.txt"), bench.get("b.txt")) == (b"two\n", b"theirs\n")


def test_a_script_is_no_longer_one(bench):
    bench.put("a.txt", "echo\n", mode=0o640)
    bench.reads("a.txt")
    output = bench.told(write_file_tool, path="a.txt", content="#!/bin/sh\necho\n")
    assert output.parts[0].text.endswith("It is executable now.")
    assert bench.mode("a.txt") == 0o750
    bench.run(undo_edit_tool)
    assert bench.mode("a.txt") == 0o640
