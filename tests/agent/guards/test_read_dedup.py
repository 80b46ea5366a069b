"""Unchanged files are not read twice, and nothing else is kept from being read."""

from __future__ import annotations

import os

import pytest

from tests.agent.guards.support import Stage
from zidane_lab.agent.guards.read_dedup import ReadDedup
from zidane_lab.session.read_state import read_state
from zidane_lab.session.session import Session
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolResultBlock, Turn
from zidane_lab.wire.state import COMPACT_UNDO, ELIDE

pytestmark = pytest.mark.asyncio
READ = "has not changed since you read these lines"


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("".join(f"line {n}\n" for n in range(1, 11)))
    return path


def stage(tmp_path, session=None, **options):
    session = session if session is not None else Session.memory()
    return Stage(read_file_tool(), guards=[ReadDedup(session, tmp_path, **options)], cwd=tmp_path, session=session)


async def read(it, path="notes.txt", **slice_):
    (result,) = await it.turn(("read_file", {"path": str(path), **slice_}))
    return result


async def test_an_unchanged_file_is_answered_by_the_name_of_the_earlier_call(tmp_path, notes):
    it = stage(tmp_path)
    first, again = await read(it), await read(it)
    assert first.text.startswith("line 1\n")
    assert READ in again.text
    assert "(call_1)" in again.text
    assert str(notes) in again.text
    assert not again.is_error
    assert it.hits("read-dedup") == [f"{notes} has not changed since call_1 read it"]


async def test_however_often_it_is_asked_the_full_result_is_the_one_named(tmp_path, notes):
    it = stage(tmp_path)
    texts = [(await read(it)).text for _ in range(4)]
    assert texts[1] == texts[2] == texts[3]
    assert "(call_1)" in texts[3]


async def test_the_answer_says_for_the_record_that_the_file_was_asked_for_again(tmp_path, notes):
    it = stage(tmp_path)
    await read(it)
    again = await read(it)
    assert again.metadata["read"]["unchanged"] is True
    assert read_state(it.session.turns, it.session.wire_state)[str(notes), 1, 300].call_id == "call_1"


@pytest.mark.parametrize("name", ["notes.txt", "./notes.txt", "sub/../notes.txt"])
async def test_one_file_has_many_names(tmp_path, notes, name):
    (tmp_path / "sub").mkdir()
    it = stage(tmp_path)
    await read(it, notes)
    assert READ in (await read(it, name)).text


async def test_other_lines_are_read(tmp_path, notes):
    it = stage(tmp_path)
    await read(it)
    assert "line 3" in (await read(it, offset=3)).text
    assert "line 1" in (await read(it, limit=2)).text
    assert READ in (await read(it, offset=3)).text
    assert READ in (await read(it, offset=0)).text  # the tool counts from 1


async def test_a_changed_file_is_read_whoever_changed_it(tmp_path, notes):
    it = stage(tmp_path)
    await read(it)
    notes.write_text("other\n")
    assert "other" in (await read(it)).text
    assert READ in (await read(it)).text


async def test_a_change_that_keeps_the_size_counts_and_so_does_one_that_keeps_the_time(tmp_path, notes):
    it = stage(tmp_path)
    before = notes.stat()
    await read(it)
    notes.write_text(notes.read_text().upper())
    os.utime(notes, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    assert "LINE 1" in (await read(it)).text
    notes.write_text("more " + notes.read_text())
    os.utime(notes, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    assert "more LINE 1" in (await read(it)).text


async def test_a_time_in_whole_seconds_is_believed_only_when_it_is_past(tmp_path, notes):
    import time

    it = stage(tmp_path)
    now = int(time.time())
    os.utime(notes, (now, now))
    assert [READ in (await read(it)).text for _ in range(2)] == [False, False]
    os.utime(notes, (now - 60, now - 60))
    assert [READ in (await read(it)).text for _ in range(2)] == [False, True]


async def test_a_file_that_is_gone_is_the_tools_own_error(tmp_path, notes):
    it = stage(tmp_path)
    await read(it)
    notes.unlink()
    gone = await read(it)
    assert gone.is_error
    assert "does not exist" in gone.text
    assert (await read(it, "a\0b")).is_error


async def test_a_failed_read_is_no_read(tmp_path):
    it = stage(tmp_path)
    assert (await read(it)).is_error
    assert (await read(it)).is_error
    assert it.hits("read-dedup") == []


async def test_what_the_model_no_longer_has_before_it_is_read_again(tmp_path, notes):
    it = stage(tmp_path)
    await read(it)
    it.session.record(ELIDE, {"results": {"call_1": "[left out]"}})
    assert "line 1" in (await read(it)).text
    assert "(call_2)" in (await read(it)).text


async def test_what_a_summary_stands_for_is_read_again_and_counts_when_that_is_undone(tmp_path, notes):
    it = stage(tmp_path)
    await read(it)
    summary = it.session.append(
        Turn("user", (CompactSummaryBlock("We read notes.", tuple(turn.id for turn in it.session.turns)),))
    )
    assert "line 1" in (await read(it, limit=5)).text
    assert "line 1" in (await read(it)).text
    it.session.record(COMPACT_UNDO, {"turn": summary.id})
    assert READ in (await read(it)).text


async def test_a_result_that_went_to_a_file_does_not_count_as_seen(tmp_path, notes):
    session = Session.memory()
    it = stage(tmp_path, session)

    def spill(event):
        if event.ids.call_id == "call_1":
            event.result = ToolResultBlock(
                "", (TextBlock('<persisted-output tool="read_file">\nline 1'),), metadata=event.result.metadata
            )

    it.hooks.on("tool:transform", spill)
    await read(it)
    assert (await read(it)).text.startswith("line 1")
    assert "(call_2)" in (await read(it)).text


async def test_the_host_has_the_last_word_on_what_is_visible(tmp_path, notes):
    asked = []
    it = stage(tmp_path, visible=lambda call_id: asked.append(call_id) or False)
    await read(it)
    assert READ not in (await read(it)).text
    assert asked == ["call_1"]


async def test_another_branch_has_not_seen_it(tmp_path, notes):
    it = stage(tmp_path)
    start = it.session.append(Turn("user", (TextBlock("go"),)))
    await read(it)
    it.session.move_to(start.id)
    assert READ not in (await read(it)).text


async def test_reads_are_known_after_a_restart(tmp_path, notes):
    with Session.create(tmp_path / "sessions") as session:
        it = stage(tmp_path, session)
        await it.start()
        await read(it)
        path = session.path
    with Session.open(path) as session:
        it = stage(tmp_path, session)
        it.calls = 10
        assert "(call_1)" in (await read(it)).text


async def test_reads_of_one_batch_are_not_known_yet(tmp_path, notes):
    it = stage(tmp_path)
    results = await it.turn(("read_file", {"path": "notes.txt"}), ("read_file", {"path": "notes.txt"}))
    assert not any(READ in result.text for result in results)


async def test_a_refused_call_stays_refused(tmp_path, notes):
    session = Session.memory()
    it = Stage(read_file_tool(), cwd=tmp_path, session=session)
    await read(it)
    it.hooks.on("tool:gate", lambda event: setattr(event, "block", "no"))
    it.hooks.use(ReadDedup(session, tmp_path))
    assert (await read(it)).text == "Blocked: no"
    assert it.hits("read-dedup") == []
