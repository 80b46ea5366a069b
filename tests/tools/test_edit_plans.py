from __future__ import annotations

import asyncio

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.edit_plans import plan_call
from zidane_lab.tools.edits.anchors import anchor


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
