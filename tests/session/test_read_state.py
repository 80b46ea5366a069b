from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from zidane_lab.session.persisted import PERSISTED
from zidane_lab.session.read_state import read_entry, read_evidence, read_state, reads, unchanged_read
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolResultBlock, Turn, turn_from_json, turn_to_json
from zidane_lab.wire.state import WireState

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def shown(call_id, path="/w/x", *, minute=0, offset=1, is_error=False, **evidence):
    metadata = read_evidence(path, offset, 300, **({"mtime": 1.25, "size": 7} | evidence))
    block = ToolResultBlock(call_id, (TextBlock("text"),), is_error, metadata)
    return Turn("user", (block,), id=f"turn-{call_id}", created_at=MOMENT + timedelta(minutes=minute))


def test_the_tool_leaves_what_it_takes(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    (tmp_path / "sub").mkdir()
    output = read_file(ToolContext(cwd=tmp_path / "sub" / ".."), "a.txt", offset=-3, limit=10)
    entry = read_entry(ToolResultBlock("c", output.parts, metadata=output.metadata), MOMENT)
    assert entry.key == (str(file), 1, 10)
    assert (entry.mtime, entry.size, entry.call_id, entry.complete) == (file.stat().st_mtime, 8, "c", True)


def test_the_memory_survives_the_session_file(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    output = read_file(ToolContext(cwd=tmp_path), "a.txt")
    turn = Turn("user", (ToolResultBlock("c", output.parts, metadata=output.metadata),))
    again = turn_from_json(turn_to_json(turn))
    status = file.stat()
    known = read_state([again])
    assert unchanged_read(known, str(file), 1, 300, mtime=status.st_mtime, size=status.st_size).call_id == "c"


def test_of_one_slice_the_newest_read_counts_and_slices_are_told_apart():
    state = read_state([shown("a"), shown("b", offset=301), shown("c", minute=1)])
    assert [(key[1], entry.call_id) for key, entry in state.items()] == [(301, "b"), (1, "c")]


@pytest.mark.parametrize(("mtime", "size"), [(1.5, 7), (1.25, 8)])
def test_a_changed_file_must_be_read_again(mtime, size):
    known = read_state([shown("a")])
    assert unchanged_read(known, "/w/x", 1, 300, mtime=1.25, size=7).call_id == "a"
    assert unchanged_read(known, "/w/x", 1, 300, mtime=mtime, size=size) is None
    assert unchanged_read(known, "/w/x", 2, 300, mtime=1.25, size=7) is None


def test_what_the_model_no_longer_has_does_not_count_with_a_wire_state():
    turns = [shown("a"), shown("b", "/w/y")]
    assert set(read_state(turns, WireState({"a": "left out"}))) == {("/w/y", 1, 300)}
    turns.append(Turn("user", (CompactSummaryBlock("s", ("turn-b",)),), id="m"))
    assert set(read_state(turns, WireState())) == {("/w/x", 1, 300)}
    assert len(read_state(turns, WireState(undone=frozenset({"m"})))) == 2
    assert len(read_state(turns)) == 2


@pytest.mark.parametrize("evidence", [{"partial": True}, {"unchanged": True}])
def test_a_read_that_shows_less_than_the_slice_hides_no_earlier_one(evidence):
    turns = [shown("a"), shown("b", **evidence)]
    assert read_state(turns, WireState())["/w/x", 1, 300].call_id == "a"
    assert read_state(turns)["/w/x", 1, 300].call_id == "b"


def test_a_read_that_went_to_a_file_is_not_complete():
    (block,) = shown("a").tool_results
    block = ToolResultBlock("a", block.parts, metadata={**block.metadata, PERSISTED: {"path": "/f", "bytes": 9}})
    assert not read_entry(block, MOMENT).complete


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"read": 5},
        {"read": {"path": 1, "offset": 1, "limit": 1}},
        {"read": {"path": "/x", "offset": "1", "limit": 1}},
    ],
)
def test_odd_metadata_are_no_reads(metadata):
    turn = Turn("user", (ToolResultBlock("a", metadata=metadata),))
    assert list(reads([turn, shown("b", is_error=True)])) == []
