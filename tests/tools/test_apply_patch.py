from __future__ import annotations

import asyncio

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.apply_patch import apply_patch_tool
from zidane_lab.tools.edit_plans import plan_call
from zidane_lab.tools.resolve import resolve_tool
from zidane_lab.tools.undo_edit import undo_edit_tool


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def patch(bench, *sections, preview=False):
    text = "*** Begin Patch\n" + "\n".join(sections) + "\n*** End Patch"
    return bench.told(apply_patch_tool, patch=text, preview=preview)


CHANGE = "*** Update File: a.py\n@@\n-one\n+two"
ADD = "*** Add File: deep/b.sh\n+#!/bin/sh\n+echo"
DELETE = "*** Delete File: c.py"


def test_several_files_are_changed_at_once_and_taken_back_at_once(bench):
    bench.put("a.py", b"\xef\xbb\xbfone\r\nrest\r\n", mode=0o640)
    bench.put("c.py", "old\n")
    bench.reads("c.py")
    output = patch(bench, CHANGE, ADD, DELETE)
    assert output.parts[0].text == (
        "Patched 3 files:\nchanged a.py (1 hunk)\nadded deep/b.sh (2 lines)\ndeleted c.py (1 line)"
    )
    assert bench.get("a.py") == b"\xef\xbb\xbftwo\r\nrest\r\n"
    assert (bench.mode("a.py"), bench.mode("deep/b.sh")) == (0o640, 0o755)
    assert not bench.has("c.py")
    assert output.metadata["written"] == [bench.path(name) for name in ("a.py", "deep/b.sh", "c.py")]
    assert "--- a/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n" in output.metadata["edit"]["diff"]
    bench.run(undo_edit_tool)
    assert bench.get("a.py") == b"\xef\xbb\xbfone\r\nrest\r\n"
    assert bench.get("c.py") == b"old\n"
    assert not bench.has("deep/b.sh")


@pytest.mark.parametrize(
    "wrong",
    [
        "*** Update File: a.py\n@@\n-nowhere\n+x",
        "*** Update File: missing.py\n@@\n-a\n+b",
        "*** Add File: a.py\n+x",
        "*** Delete File: missing.py",
        "*** Update File: n.ipynb\n@@\n-{}\n+[]",
        "*** Add File: new.ipynb\n+{}",
        "*** Update File: a.py\n*** Move to: n.ipynb\n@@\n-one\n+1",
        "*** Update File: made.py\n@@\n-x\n+y",
        "*** Update File: a.py\n*** Move to: made.py",
        "*** Update File: a.py\n@@\n-one\n+one",
        "*** Add File: x\0y\n+x",
    ],
)
def test_one_part_that_does_not_fit_stops_all(bench, wrong):
    before = {"a.py": b"one\n", "n.ipynb": b"{}\n", "made.py": b"# @generated\nx\n"}
    for name, data in before.items():
        bench.put(name, data)
    with pytest.raises(ToolError):
        patch(bench, ADD, wrong)
    assert {name: bench.get(name) for name in before} == before
    assert not bench.has("deep/b.sh")
    assert not bench.has("new.ipynb")
    with pytest.raises(ToolError, match="no change to take back"):
        bench.run(undo_edit_tool)


def test_all_that_does_not_fit_is_told_at_once(bench):
    bench.put("a.py", "one\n")
    with pytest.raises(ToolError, match=r"2 of 3 parts do not fit; nothing was changed:\n- .*\n- .*gone\.py") as told:
        patch(bench, "*** Update File: a.py\n@@\n-x\n+y", ADD, "*** Delete File: gone.py")
    assert "a.py" in str(told.value)


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(tmp_path):
    bench = Bench("far", tmp_path)
    bench.put("a.py", "one\n")
    bench.put("z.py", "one\n")
    bench.place.broken = "z.py"
    with pytest.raises(ToolError, match="Nothing was changed"):
        patch(bench, CHANGE, ADD, CHANGE.replace("a.py", "z.py"))
    assert bench.get("a.py") == b"one\n"
    assert not bench.has("deep/b.sh")


def test_an_unread_file_is_not_deleted_unless_the_patch_knows_all_of_it(bench):
    bench.put("c.py", "old\nlines\n")
    with pytest.raises(ToolError, match="have not read it"):
        patch(bench, DELETE)
    diff = "--- a/c.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-old\n-lines\n"
    with pytest.raises(ToolError, match="not all of its lines"):
        bench.run(apply_patch_tool, patch=diff.replace("1,2", "1").replace("-lines\n", ""))
    bench.run(apply_patch_tool, patch=diff)
    assert not bench.has("c.py")


def test_a_file_is_renamed_with_its_rights(bench):
    bench.put("a.py", "one\n", mode=0o750)
    output = patch(bench, "*** Update File: a.py\n*** Move to: new/b.py\n@@\n-one\n+two")
    assert not bench.has("a.py")
    assert (bench.get("new/b.py"), bench.mode("new/b.py")) == (b"two\n", 0o750)
    assert output.parts[0].text.endswith("renamed a.py to new/b.py")
    bench.run(undo_edit_tool)
    assert (bench.get("a.py"), bench.mode("a.py")) == (b"one\n", 0o750)
    assert not bench.has("new/b.py")


def test_sections_of_one_file_follow_each_other(bench):
    bench.put("a.py", "one\nmore\n")
    patch(bench, CHANGE, "*** Update File: ./a.py\n@@\n-two\n+three", "*** Update File: a.py\n@@\n more\n+end")
    assert bench.get("a.py") == b"three\nmore\nend\n"


def test_a_patch_is_previewed_and_applied(bench):
    bench.put("a.py", "one\n")
    output = patch(bench, CHANGE, ADD, preview=True)
    assert output.metadata["pending"]
    assert bench.get("a.py") == b"one\n"
    bench.run(resolve_tool, action="apply", reason="ok")
    assert bench.get("a.py") == b"two\n"
    assert bench.mode("deep/b.sh") == 0o755


def test_the_diff_is_there_for_the_question(bench):
    bench.put("a.py", "one\n")
    plan = asyncio.run(plan_call(bench.context, "apply_patch", {"patch": CHANGE, "preview": False}))
    assert plan.diff() == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+two\n"
