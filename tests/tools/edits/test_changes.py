from __future__ import annotations

import asyncio
import dataclasses

import pytest

from tests.tools.edits.support import Bench
from zidane_lab.errors import ToolError
from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.edits.changes import CHANGE_SET, ChangeLog, ChangeSet, MemoryStore, change_log_of
from zidane_lab.tools.edits.files import Stored, files_of
from zidane_lab.tools.edits.undo import undo
from zidane_lab.tools.write_file import write_file_tool


def take_back(bench, change_id=None):
    return asyncio.run(undo(change_log_of(bench.context), files_of(bench.context), change_id=change_id))


def test_the_bytes_of_before_come_back_one_change_after_the_other(bench):
    first = b"\xef\xbb\xbfa\r\nb\r\nc"
    bench.put("a.txt", first, mode=0o750)
    bench.run(edit_tool, path="a.txt", old_string="b", new_string="B")
    second = bench.get("a.txt")
    bench.run(edit_tool, path="a.txt", old_string="a", new_string="A")
    take_back(bench)
    assert bench.get("a.txt") == second
    take_back(bench)
    assert (bench.get("a.txt"), bench.mode("a.txt")) == (first, 0o750)
    with pytest.raises(ToolError, match="no change to take back"):
        take_back(bench)


def test_a_new_file_is_removed_again(bench):
    bench.run(write_file_tool, path="new.txt", content="x")
    take_back(bench)
    assert not bench.has("new.txt")


def test_what_somebody_changed_since_is_theirs(bench):
    bench.run(write_file_tool, path="a.txt", content="x")
    bench.put("a.txt", "theirs")
    with pytest.raises(ToolError, match=r"was changed since.*nothing was touched"):
        take_back(bench)
    assert bench.get("a.txt") == b"theirs"


def test_a_file_that_is_gone_is_not_brought_back(bench):
    bench.put("a.txt", "x")
    bench.run(edit_tool, path="a.txt", old_string="x", new_string="y")
    asyncio.run(files_of(bench.context).remove(bench.path("a.txt")))
    with pytest.raises(ToolError, match="is gone"):
        take_back(bench)


def test_a_set_can_be_named(bench):
    change = bench.run(write_file_tool, path="a.txt", content="x").metadata["change"]
    bench.run(write_file_tool, path="b.txt", content="x")
    assert take_back(bench, change).change.id == change
    assert not bench.has("a.txt")
    assert bench.has("b.txt")


def test_it_survives_a_restart(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"before\r\n")
    with Session.create(sessions_folder(notebook=tmp_path / "w.ipynb")) as session:
        session.start_run("go")
        Bench("none", tmp_path, session).run(edit_tool, path="a.txt", old_string="before", new_string="after")
        path = session.path
    with Session.open(path) as again:
        [record] = again.records(CHANGE_SET)
        assert record["tool"] == "edit"
        assert "before" not in str({**record, "files": None})
        take_back(Bench("none", tmp_path, again))
        assert (tmp_path / "a.txt").read_bytes() == b"before\r\n"
    with Session.open(path) as third, pytest.raises(ToolError, match="no change"):
        take_back(Bench("none", tmp_path, third))


def test_a_lost_content_is_not_made_up(tmp_path):
    (tmp_path / "a.txt").write_text("before")
    with Session.create(sessions_folder(notebook=tmp_path / "w.ipynb")) as session:
        session.start_run("go")
        bench = Bench("none", tmp_path, session)
        bench.run(edit_tool, path="a.txt", old_string="before", new_string="after")
        for blob in (session.folder / "blobs").iterdir():
            blob.write_bytes(b"damaged")
        with pytest.raises(ToolError, match="no longer kept"):
            take_back(bench)
    assert (tmp_path / "a.txt").read_text() == "after"


def test_what_cannot_be_kept_is_said_and_the_edit_made(tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MemoryStore, "put", full)
    bench = Bench("none", tmp_path)
    bench.put("a.txt", "x")
    output = bench.run(edit_tool, path="a.txt", old_string="x", new_string="y")
    assert "undo_edit cannot take this back: [Errno 28]" in output.parts[0].text
    assert "change" not in output.metadata
    assert bench.get("a.txt") == b"y"


def test_all_files_are_put_back_or_none(tmp_path):
    bench = Bench("far", tmp_path)
    log = change_log_of(bench.context)
    bench.put("a.txt", "1")
    bench.put("b.txt", "1")
    log.add("t", "c", [(Stored(bench.path(name), None, b"0"), b"1") for name in ("a.txt", "b.txt")])
    bench.place.broken = "b.txt"
    with pytest.raises(ToolError, match=r"b\.txt cannot be written: Permission denied\. Nothing was changed"):
        take_back(bench)
    assert bench.get("a.txt") == b"1"
    bench.place.broken = ""
    take_back(bench)
    assert (bench.get("a.txt"), bench.get("b.txt")) == (b"0", b"0")


@pytest.mark.parametrize(
    "damage",
    [{"id": 3}, {"files": None}, {"files": []}, {"files": [{"path": 1}]}, {"files": [{"path": "/a", "before": 3}]}],
)
def test_damaged_records_are_passed_over(damage):
    store = MemoryStore()
    log = ChangeLog(store)
    good = log.add("t", "c", [(Stored("/a"), b"x")])
    store.record(CHANGE_SET, good.to_json() | damage)
    assert log.standing() == (good,)
    assert ChangeSet.from_json(good.to_json()) == good


def test_memory_keeps_the_newest_contents():
    store = MemoryStore(room=10)
    keys = [store.put(bytes([number]) * 6) for number in range(3)]
    assert [store.get(key) is not None for key in keys] == [False, False, True]
    assert store.get(store.put(b"x" * 50)) == b"x" * 50


def test_a_call_outside_a_conversation_keeps_nothing(tmp_path):
    assert change_log_of(ToolContext(cwd=tmp_path)) is None
    bench = Bench("none", tmp_path)
    bench.context = dataclasses.replace(bench.context, outputs=None)
    assert bench.say(write_file_tool, path="a.txt", content="x").startswith("Created a.txt")
