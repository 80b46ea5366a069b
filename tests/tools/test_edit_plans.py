from __future__ import annotations

import asyncio

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.apply_patch import apply_patch_tool
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edit_plans import PLANNERS, call_targets, plan_call
from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.edits.pending import carry_out
from zidane_lab.tools.edits.plan import Plan
from zidane_lab.tools.multi_edit import multi_edit_tool
from zidane_lab.tools.resolve import resolve_tool
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import write_file_tool


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit", {"path": "a.txt", "old_string": "one", "new_string": "two", "replace_all": False, "preview": False}),
        ("multi_edit", {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}),
        ("edit_lines", {"path": "a.txt", "edits": [{"op": "replace", "anchor": anchor("one", 1), "text": "two"}]}),
    ],
)
def test_what_a_call_would_change_is_shown_without_changing_it(tmp_path, kind, tool, arguments):
    bench = Bench(kind, tmp_path)
    bench.put("a.txt", "one\n")
    plan = asyncio.run(plan_call(bench.context, tool, arguments))
    assert plan.diff() == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    assert bench.get("a.txt") == b"one\n"


def test_a_new_file_is_all_additions(tmp_path):
    bench = Bench("none", tmp_path)
    plan = asyncio.run(plan_call(bench.context, "write_file", {"path": "n.txt", "content": "x\n", "preview": False}))
    assert plan.diff() == "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+x\n"
    assert not bench.has("n.txt")


def test_a_call_that_would_fail_says_so_and_others_have_no_plan(tmp_path):
    bench = Bench("none", tmp_path)
    with pytest.raises(ToolError, match="does not exist"):
        asyncio.run(plan_call(bench.context, "edit", {"path": "n.txt", "old_string": "a", "new_string": "b"}))
    assert asyncio.run(plan_call(bench.context, "run_python", {"code": "1"})) is None


PATCH = "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** Add File: c.txt\n+x\n*** Delete File: d.txt\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("edit", {"path": "sub/../a.txt"}, ["a.txt"]),
        ("multi_edit", {"path": "a.txt", "edits": []}, ["a.txt"]),
        ("edit_lines", {"path": "a.txt", "edits": [{"path": "b.txt"}, {"path": None}, {}]}, ["a.txt", "b.txt"]),
        ("write_file", {"path": "a.txt", "content": ""}, ["a.txt"]),
        ("write_file", {"path": "a.zip:../x", "content": ""}, ["a.zip:../x", "a.zip"]),
        ("write_file", {"path": "d.db:t:1", "content": ""}, ["d.db:t:1", "d.db"]),
        ("write_file", {"path": "f.py:conflict:1", "content": ""}, ["f.py:conflict:1", "f.py"]),
        ("apply_patch", {"patch": PATCH}, ["a.txt", "b.txt", "c.txt", "d.txt"]),
        ("resolve", {"action": "apply", "reason": ""}, []),
        ("undo_edit", {}, []),
    ],
)
def test_every_file_a_call_may_write_is_told(tmp_path, kind, tool, arguments, expected):
    bench = Bench(kind, tmp_path)
    assert call_targets(bench.context, tool, arguments) == tuple(map(bench.path, expected))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("run_python", {"code": "1"}),
        ("edit", {}),
        ("edit", {"path": 3}),
        ("edit", {"path": "a\0b"}),
        ("edit_lines", {"path": "a", "edits": [3]}),
        ("apply_patch", {"patch": "nothing"}),
        ("resolve", {}),
    ],
)
def test_what_cannot_be_told_is_not_nothing(tmp_path, tool, arguments):
    assert call_targets(Bench("process", tmp_path).context, tool, arguments) is None


@pytest.mark.parametrize("kind", KINDS)
def test_previews_and_what_can_be_taken_back_have_files_and_a_diff(tmp_path, kind):
    bench = Bench(kind, tmp_path)
    bench.put("a.txt", "one\n")
    bench.run(edit_tool, path="a.txt", old_string="one", new_string="two", preview=True)
    apply, discard = ({"action": action, "reason": ""} for action in ("apply", "discard"))
    assert call_targets(bench.context, "resolve", apply) == (bench.path("a.txt"),)
    assert call_targets(bench.context, "resolve", discard) == ()
    assert "-one\n+two\n" in asyncio.run(plan_call(bench.context, "resolve", apply)).diff()
    assert asyncio.run(plan_call(bench.context, "resolve", discard)) is None
    bench.run(resolve_tool, **apply)
    assert call_targets(bench.context, "undo_edit", {}) == (bench.path("a.txt"),)
    assert "-two\n+one\n" in asyncio.run(plan_call(bench.context, "undo_edit", {})).diff()
    assert bench.get("a.txt") == b"two\n"


def test_what_some_tool_staged_without_naming_files_is_not_nothing(tmp_path):
    bench = Bench("process", tmp_path)

    async def plan(_context):
        return Plan("rename_all", (), "Renames 3 things.", act=lambda: "Renamed 3 things.")

    asyncio.run(carry_out(bench.context, plan, preview=True))
    assert call_targets(bench.context, "resolve", {"action": "apply", "reason": ""}) is None


def test_what_is_written_was_told_before(tmp_path):
    """Also through links: what a link leads to is the gate's to find out, from the path that is told."""
    bench = Bench("process", tmp_path)
    bench.put("real/a.txt", "one\n")
    (tmp_path / "link").symlink_to("real")
    calls = [
        (edit_tool, {"path": "link/a.txt", "old_string": "one", "new_string": "two"}),
        (write_file_tool, {"path": "link/n.zip:x.txt", "content": "x"}),
        (apply_patch_tool, {"patch": "*** Update File: link/a.txt\n*** Move to: b.txt\n@@\n-two\n+three\n"}),
        (undo_edit_tool, {}),
    ]
    for make, arguments in calls:
        told = call_targets(bench.context, make().name, arguments)
        assert set(bench.run(make, **arguments).metadata["written"]) <= set(told)


def test_every_editing_tool_writes_and_has_a_plan():
    tools = [edit_tool(), multi_edit_tool(), edit_lines_tool(), write_file_tool(), apply_patch_tool()]
    tools += [resolve_tool(), undo_edit_tool()]
    assert {tool.name for tool in tools} == set(PLANNERS)
    assert {tool.tier for tool in tools} == {"write"}
    assert {tool.concurrency_of({}) for tool in tools} == {"exclusive"}
