from __future__ import annotations

import asyncio
import re

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.edits.pending import MOST_PENDING, carry_out, pending_of, resolve_staged
from zidane_lab.tools.edits.plan import Plan
from zidane_lab.tools.multi_edit import multi_edit_tool
from zidane_lab.tools.resolve import resolve_tool
from zidane_lab.tools.write_file import write_file_tool


def preview(bench, old="b", new="B", name="a.txt"):
    return bench.run(edit_tool, path=name, old_string=old, new_string=new, preview=True)


@pytest.fixture
def staged(bench):
    bench.put("a.txt", "a\nb\nc\n")
    return bench


def test_a_preview_writes_nothing_and_shows_the_diff(staged):
    output = preview(staged)
    text = output.parts[0].text
    assert text.startswith("Preview of edit of a.txt:\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
    assert "Call resolve" in text
    assert "written" not in output.metadata
    assert output.metadata["pending"]
    assert staged.get("a.txt") == b"a\nb\nc\n"
    assert "edit of a.txt" in pending_of(staged.context).reminder


def test_applying_writes_what_was_shown(staged):
    preview(staged)
    output = staged.run(resolve_tool, action="apply", reason="fits")
    assert staged.get("a.txt") == b"a\nB\nc\n"
    assert output.metadata["written"] == [staged.path("a.txt")]
    assert output.metadata["resolve"] == {"action": "apply", "reason": "fits", "tool": "edit", "label": "edit of a.txt"}
    assert pending_of(staged.context).reminder is None


def test_discarding_leaves_the_file(staged):
    preview(staged)
    assert staged.say(resolve_tool, action="discard", reason="no") == "Discarded: edit of a.txt. Reason: no"
    assert staged.get("a.txt") == b"a\nb\nc\n"


@pytest.mark.parametrize("now", ["a\nb\nc\nd\n", "nothing\n", "a\nB\nc\n"])
def test_a_file_that_changed_meanwhile_is_not_touched(staged, now):
    preview(staged)
    staged.put("a.txt", now)
    with pytest.raises(ToolError, match=r"no longer fits.*Nothing was written"):
        staged.run(resolve_tool, action="apply", reason="")
    assert staged.get("a.txt") == now.encode()
    with pytest.raises(ToolError, match="No preview is waiting"):
        staged.run(resolve_tool, action="apply", reason="")


def test_a_file_written_anew_with_the_same_content_is_the_same(staged):
    preview(staged)
    staged.put("a.txt", "a\nb\nc\n")
    staged.run(resolve_tool, action="apply", reason="")
    assert staged.get("a.txt") == b"a\nB\nc\n"


def test_nothing_waiting_is_an_error(bench):
    with pytest.raises(ToolError, match="No preview is waiting"):
        bench.run(resolve_tool, action="discard", reason="")


def test_what_could_not_be_written_waits_on(staged, monkeypatch):
    preview(staged)

    async def fail(*_arguments, **_named):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(staged._files), "write", fail)
        with pytest.raises(ToolError, match="cannot be written: Permission denied"):
            staged.run(resolve_tool, action="apply", reason="")
    staged.run(resolve_tool, action="apply", reason="")
    assert staged.get("a.txt") == b"a\nB\nc\n"


def test_the_oldest_comes_first_and_one_can_be_named(staged):
    first, second = preview(staged), preview(staged, "c", "C")
    asyncio.run(resolve_staged(staged.context, "apply", "", staged_id=second.metadata["pending"]))
    assert staged.get("a.txt") == b"a\nb\nC\n"
    with pytest.raises(ToolError, match="no longer fits"):  # its file has another text now
        asyncio.run(resolve_staged(staged.context, "apply", "", staged_id=first.metadata["pending"]))


def test_not_too_many_wait(staged):
    for _ in range(MOST_PENDING):
        preview(staged)
    with pytest.raises(ToolError, match="waiting already"):
        preview(staged)


def test_every_editing_tool_can_be_previewed(staged):
    calls = (
        (write_file_tool, {"path": "new.txt", "content": "x\n"}),
        (
            multi_edit_tool,
            {
                "path": "a.txt",
                "edits": [{"old_string": "a", "new_string": "A"}, {"old_string": "zz", "new_string": "y"}],
            },
        ),
        (edit_lines_tool, {"path": "a.txt", "edits": [{"op": "delete", "anchor": anchor("b", 2)}]}),
    )
    for tool, arguments in calls:
        output = staged.run(tool, **arguments, preview=True)
        assert output.metadata["edit"]["diff"]
        assert not staged.has("new.txt")
        assert staged.get("a.txt") == b"a\nb\nc\n"
        applied = staged.run(resolve_tool, action="apply", reason="").parts[0].text
        assert re.match(r"Created new\.txt|Edited a\.txt", applied)
        asyncio.run(staged._files.write(staged.path("a.txt"), b"a\nb\nc\n"))
        if staged.has("new.txt"):
            asyncio.run(staged._files.remove(staged.path("new.txt")))


def test_a_call_that_fails_is_not_staged(staged):
    output = staged.run(multi_edit_tool, path="a.txt", edits=[{"old_string": "zz", "new_string": "y"}], preview=True)
    assert output.is_error
    assert pending_of(staged.context).waiting == ()


def test_a_tool_of_ones_own_can_stage_what_is_no_file(bench):
    done, count = [], [3]

    async def plan(_context):
        return Plan("rename_all", (), f"Renames {count[0]} things.", act=lambda: done.append(1) or "Renamed them.")

    output = asyncio.run(carry_out(bench.context, plan, preview=True))
    assert output.parts[0].text.startswith("Preview of rename_all:\nRenames 3 things.\nThis is a preview")
    count[0] = 4
    with pytest.raises(ToolError, match="no longer fits"):
        bench.run(resolve_tool, action="apply", reason="")
    assert not done
    asyncio.run(carry_out(bench.context, plan, preview=True))
    assert bench.say(resolve_tool, action="apply", reason="") == "Renamed them."
    assert done == [1]
