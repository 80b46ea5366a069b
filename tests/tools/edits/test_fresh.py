from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.edits.support import Bench
from zidane_lab.tools.apply_patch import apply_patch_tool
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.edits.fresh import changed_places, tagged_around
from zidane_lab.tools.edits.snapshots import remember
from zidane_lab.tools.multi_edit import multi_edit_tool
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import write_file_tool

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
CALLS = {
    edit_tool: {"path": "a.txt", "old_string": "line 9\n", "new_string": "new\nnewer\n"},
    multi_edit_tool: {"path": "a.txt", "edits": [{"old_string": "line 9\n", "new_string": "new\nnewer\n"}]},
    apply_patch_tool: {"patch": "*** Update File: a.txt\n@@\n-line 9\n+new\n+newer\n"},
    write_file_tool: {"path": "a.txt", "content": TEXT.replace("line 9\n", "new\nnewer\n")},
}


@pytest.mark.parametrize("tool", CALLS, ids=lambda tool: tool().name)
def test_after_any_change_the_next_edit_by_anchors_needs_no_reading(bench, tool):
    bench.put("a.txt", TEXT)
    bench.reads("a.txt")
    remember(bench.context, bench.path("a.txt"), TEXT)  # as when it is read with tags
    text = bench.told(tool, **CALLS[tool]).parts[0].text
    shown = text[text.index("Lines of a.txt now:") :]
    anchors = dict(re.findall(r"(?m)^(\d+[a-z]{2})\|(.*)$", shown))
    assert list(anchors.values()) == ["line 7", "line 8", "new", "newer", "line 10", "line 11"]
    edits = [
        {"op": "replace", "anchor": next(each for each, line in anchors.items() if line == "line 11"), "text": "x"}
    ]
    bench.run(edit_lines_tool, path="a.txt", edits=edits)
    assert b"newer\nline 10\nx\nline 12\n" in bench.get("a.txt")
    assert f"{anchor('line 11', 12)}|line 11" in bench.say(undo_edit_tool)


@pytest.mark.parametrize("tool", CALLS, ids=lambda tool: tool().name)
def test_who_has_seen_no_anchors_is_shown_none(bench, tool):
    bench.put("a.txt", TEXT)
    bench.reads("a.txt")
    for _ in range(2):
        assert "now:" not in bench.told(tool, **CALLS[tool]).parts[0].text
        assert "now:" not in bench.told(undo_edit_tool).parts[0].text


def test_reading_with_tags_is_what_turns_it_on(tmp_path):
    bench = Bench("process", tmp_path)
    bench.put("a.txt", TEXT)
    bench.told(read_file_tool, path="a.txt:tagged")
    assert "Lines of a.txt now:" in bench.say(edit_tool, **CALLS[edit_tool])


@given(*[st.lists(st.sampled_from("abc"), max_size=9).map(lambda lines: "".join(f"{line}\n" for line in lines))] * 2)
def test_every_new_line_is_shown_with_its_anchor(old, new):
    shown = list(tagged_around(new, changed_places(old, new)))
    lines = new.splitlines()
    for first, last in changed_places(old, new):
        for number in range(first, last + 1):
            assert f"{anchor(lines[number - 1], number)}|{lines[number - 1]}" in shown
