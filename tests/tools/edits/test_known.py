from __future__ import annotations

import io
import zipfile

import pytest

from tests.tools.edits.support import Bench
from zidane_lab.errors import ToolError
from zidane_lab.session.persisted import PERSISTED
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import write_file_tool
from zidane_lab.turns import TextBlock, ToolResultBlock
from zidane_lab.wire.state import ELIDE

LONG = "".join(f"line {number}\n" for number in range(1, 501))


def overwrite(bench, content="new\n"):
    return bench.told(write_file_tool, path="a.txt", content=content)


def test_a_file_nobody_read_is_not_overwritten(bench):
    bench.put("a.txt", "old\n")
    with pytest.raises(ToolError, match=r"a\.txt exists and you have not read it; nothing was written\. Read it"):
        overwrite(bench)
    assert bench.get("a.txt") == b"old\n"


def test_one_that_was_read_is(bench):
    bench.put("a.txt", "old\n")
    bench.reads("a.txt")
    overwrite(bench)
    assert bench.get("a.txt") == b"new\n"


def test_one_that_changed_since_is_not(bench):
    bench.put("a.txt", "old\n")
    bench.reads("a.txt")
    bench.put("a.txt", "theirs\n")
    with pytest.raises(ToolError, match="was changed since you read it"):
        overwrite(bench)
    assert bench.get("a.txt") == b"theirs\n"


def test_what_the_model_wrote_itself_it_knows(bench):
    overwrite(bench, "first\n")
    overwrite(bench, "second\n")
    bench.told(edit_tool, path="a.txt", old_string="second", new_string="third")
    overwrite(bench, "fourth\n")
    assert bench.get("a.txt") == b"fourth\n"
    bench.told(undo_edit_tool)
    overwrite(bench, "fifth\n")
    assert bench.get("a.txt") == b"fifth\n"


def test_an_edit_of_an_unread_file_is_not_knowledge_of_it(bench):
    bench.put("a.txt", LONG)
    bench.told(edit_tool, path="a.txt", old_string="line 7\n", new_string="")
    with pytest.raises(ToolError, match="have not read it"):
        overwrite(bench)


def test_an_edit_of_a_file_that_was_read_is(bench):
    bench.put("a.txt", "one\ntwo\n")
    bench.reads("a.txt")
    bench.told(edit_tool, path="a.txt", old_string="one", new_string="1")
    bench.told(edit_tool, path="a.txt", old_string="two", new_string="2")
    overwrite(bench)
    assert bench.get("a.txt") == b"new\n"


def test_a_part_is_not_the_whole(bench):
    bench.put("a.txt", LONG)
    bench.reads("a.txt", 1, 300)
    with pytest.raises(ToolError, match=r"only a part of .*line 301 of 500 .*offset=301"):
        overwrite(bench)
    bench.reads("a.txt", 350, 300)
    with pytest.raises(ToolError, match="line 301 of 500"):
        overwrite(bench)
    bench.reads("a.txt", 301, 49)
    overwrite(bench)
    assert bench.get("a.txt") == b"new\n"


def test_a_read_that_is_no_longer_before_the_model_does_not_count(bench):
    bench.put("a.txt", "old\n")
    bench.reads("a.txt")
    call = bench.session.turns[-1].tool_results[0].call_id
    bench.session.record(ELIDE, {"results": {call: "[left out]"}})
    with pytest.raises(ToolError, match="have not read it"):
        overwrite(bench)


def test_a_result_that_went_to_a_file_does_not_count(bench):
    bench.put("a.txt", "old\n")
    bench.reads("a.txt")
    result = bench.session.turns[-1].tool_results[0]
    fresh = type(bench)("none", bench.context.cwd)
    bench.session = fresh.session
    bench.context = type(bench.context)(cwd=bench.context.cwd, outputs=fresh.session, place=bench.place)
    bench.join(ToolResultBlock("c", (TextBlock("…"),), metadata={**result.metadata, PERSISTED: {"path": "/x"}}))
    with pytest.raises(ToolError, match="have not read it"):
        overwrite(bench)


def test_a_preview_was_not_written(bench):
    bench.put("a.txt", "old\n")
    bench.reads("a.txt")
    bench.told(write_file_tool, path="a.txt", content="shown\n", preview=True)
    bench.put("a.txt", "shown\n")  # somebody else had the same idea, and nobody said so
    with pytest.raises(ToolError, match="was changed since"):
        overwrite(bench)


def test_an_empty_file_holds_nothing_to_lose(bench):
    bench.put("a.txt", "")
    overwrite(bench)
    assert bench.get("a.txt") == b"new\n"


def test_a_real_read_counts(tmp_path):
    bench = Bench("none", tmp_path)
    bench.put("sub/a.txt", "old\r\n")
    with pytest.raises(ToolError, match="have not read it"):
        bench.told(write_file_tool, path="sub/a.txt", content="new\n")
    bench.told(read_file_tool, path="sub/../sub/a.txt")
    bench.told(write_file_tool, path="sub/a.txt", content="new\n")
    assert bench.get("sub/a.txt") == b"new\r\n"


def test_reading_an_entry_or_the_list_of_an_archive_is_looking_into_it(bench):
    for look in ("a.zip:in.txt", "a.zip"):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("in.txt", f"old {look}\n")
        bench.put("a.zip", data.getvalue())
        with pytest.raises(ToolError, match=r"looked (?:into|at)"):
            bench.told(write_file_tool, path="a.zip:in.txt", content="new\n")
        bench.told(read_file_tool, path=look)
        bench.told(write_file_tool, path="a.zip:in.txt", content="new\n")
