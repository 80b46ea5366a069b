from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.talk import Talk
from zidane_lab.compaction.stale_reads import (
    collect_newly_stale_read_paths,
    elide_stale_reads,
    render_stale_read_notice,
    stale_reads,
)
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock
from zidane_lab.wire.state import WireState

CWD = Path("/w")


def edit(path, *, tool="edit", is_error=False, metadata=None):
    return (
        ToolCallBlock("e", tool, {"path": path}),
        ToolResultBlock("e", (TextBlock("ok"),), is_error, metadata or {}),
    )


def newly(talk, *batch, **options):
    return collect_newly_stale_read_paths(talk.turns, batch, cwd=CWD, **options)


@pytest.mark.parametrize("tool", ["write_file", "edit", "multi_edit"])
def test_an_edit_makes_an_earlier_read_stale(tool):
    assert newly(Talk().ask().read("a", "/w/x"), edit("x", tool=tool)) == ("/w/x",)


@pytest.mark.parametrize(
    "metadata", [{"written": ["/w/x"]}, {"execution": {"files_written": ["x"]}}, {"written": ("./x", 3, None)}]
)
def test_code_that_wrote_the_file_does_too(metadata):
    batch = edit("", tool="run_python", metadata=metadata, is_error=True)
    assert newly(Talk().ask().read("a", "/w/x"), batch) == ("/w/x",)


def test_one_read_is_announced_once_however_many_edits_follow():
    talk = Talk().ask().read("a", "/w/x")
    assert newly(talk, edit("x"), edit("/w/x")) == ("/w/x",)
    talk.call(("e1", "edit", {"path": "x"}, "ok"))
    assert newly(talk, edit("x")) == ()
    talk.read("b", "/w/x")
    assert newly(talk, edit("x")) == ("/w/x",)


def test_what_was_not_read_or_not_changed_is_not_announced():
    talk = Talk().ask().read("a", "/w/x").call(("r", "read_file", {"path": "z"}, "no", {"is_error": True}))
    assert newly(talk, edit("y")) == ()
    assert newly(talk, edit("x", is_error=True)) == ()
    assert newly(talk, edit("z")) == ()
    assert newly(talk, edit("x", tool="delete_everything")) == ()
    assert newly(talk, edit(5)) == ()


def test_a_read_that_is_no_longer_sent_is_not_announced():
    talk = Talk().ask().read("a", "/w/x")
    assert newly(talk, edit("x"), state=WireState({"a": "left out"})) == ()


def test_files_are_listed_in_the_order_of_their_changes():
    talk = Talk().ask().read("a", "/w/x").read("b", "/w/y")
    assert newly(talk, edit("y"), edit("x")) == ("/w/y", "/w/x")


def test_both_modes_find_the_same():
    talk = Talk().ask().read("a", "/w/x").read("b", "/w/y").read("c", "/w/x", offset=301)
    announced = newly(talk, edit("x"))
    talk.call(("e", "edit", {"path": "x"}, "ok")).answer()
    stale = stale_reads(talk.turns, WireState(), cwd=CWD)
    assert [each.call.id for each in stale] == ["a", "c"]
    assert {each.call.input["path"] for each in stale} == set(announced)


def test_old_reads_are_left_out_and_later_ones_stay():
    talk = Talk().ask().read("a", "/w/x").call(("e", "edit", {"path": "x"}, "ok")).read("b", "/w/x").answer()
    elision = elide_stale_reads(talk.turns, WireState(), cwd=CWD)
    assert list(elision.results) == ["a"]
    assert elide_stale_reads(talk.turns, WireState(elision.results), cwd=CWD) is None


def test_order_within_one_batch_counts():
    steps = ("e", "edit", {"path": "x"}, "ok"), ("a", "read_file", {"path": "x"}, "y" * 400)
    assert not stale_reads(Talk().ask().call(*steps).answer().turns, WireState(), cwd=CWD)
    assert stale_reads(Talk().ask().call(*reversed(steps)).answer().turns, WireState(), cwd=CWD)


def test_a_read_the_model_has_not_seen_stays():
    talk = Talk().ask().call(("a", "read_file", {"path": "x"}, "y" * 400), ("e", "edit", {"path": "x"}, "ok"))
    assert elide_stale_reads(talk.turns, WireState(), cwd=CWD) is None


def test_the_notice_is_one_line_whatever_a_file_is_called():
    notice = render_stale_read_notice(("/w/x", "/w/odd\nname"))
    assert notice == render_stale_read_notice(("/w/x", "/w/odd\nname"))
    assert "/w/x, /w/odd\\nname" in notice
    assert "\n" not in notice
    assert render_stale_read_notice(()) == ""


def test_a_batch_that_changed_no_file_does_not_go_over_the_conversation():
    class Untouched(tuple):
        __slots__ = ()

        def __iter__(self):
            raise AssertionError("The conversation was gone over.")

    batch = [(ToolCallBlock("c1", "look", {}), ToolResultBlock("c1", (TextBlock("x"),)))]
    assert collect_newly_stale_read_paths(Untouched(), batch) == ()


@pytest.mark.parametrize("tool", ["write_file", "edit", "multi_edit"])
@pytest.mark.parametrize("metadata", [{"pending": "p1", "edit": {}}, {"written": []}])
def test_a_preview_and_what_had_nothing_to_do_changed_nothing(tool, metadata):
    assert newly(Talk().ask().read("a", "/w/x"), edit("x", tool=tool, metadata=metadata)) == ()
