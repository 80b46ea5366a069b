from __future__ import annotations

import pytest

from tests.tools.edits.support import Bench
from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.resolve import resolve_tool


def test_it_applies_or_discards_and_nothing_else(tmp_path):
    bench = Bench("none", tmp_path)
    bench.put("a.txt", "one\n")
    for action, content in (("discard", b"one\n"), ("apply", b"two\n")):
        bench.run(edit_tool, path="a.txt", old_string="one", new_string="two", preview=True)
        bench.run(resolve_tool, action=action, reason="so")
        assert bench.get("a.txt") == content
    with pytest.raises(ToolInputError, match="action"):
        bench.run(resolve_tool, action="maybe", reason="so")
    with pytest.raises(ToolError, match="No preview is waiting"):
        bench.run(resolve_tool, action="apply", reason="so")
