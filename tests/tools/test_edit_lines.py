from __future__ import annotations

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.session import Session
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.anchors import StaleAnchorsError, anchor, tagged
from zidane_lab.tools.edits.changes import change_log_of
from zidane_lab.tools.edits.snapshots import remember

LINES = [f"line {number}" for number in range(1, 21)]
TEXT = "".join(f"{line}\n" for line in LINES)


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    bench = Bench(request.param, tmp_path)
    bench.put("a.txt", TEXT)
    return bench


def at(number, text=TEXT):
    return anchor(text.split("\n")[number - 1], number)


def replace(number, text, **more):
    return {"op": "replace", "anchor": at(number), "text": text, **more}


def test_lines_are_replaced_and_shown_with_new_anchors(bench):
    output = bench.run(edit_lines_tool, path="a.txt", edits=[replace(3, "THREE\nand a half\n"), replace(10, "")])
    new = [*LINES[:2], "THREE", "and a half", *LINES[3:9], *LINES[10:]]
    assert bench.get("a.txt").decode() == "".join(f"{line}\n" for line in new)
    shown = output.parts[0].text.split("\n")
    assert shown[0] == "Edited a.txt (2 edits):"
    assert shown[1:7] == tagged("\n".join(new[:6])).split("\n")
    assert shown[7] == "…"
    assert output.metadata["edit"]["added"] == 2


def test_anchors_of_a_result_serve_the_next_call(bench):
    first = bench.say(edit_lines_tool, path="a.txt", edits=[replace(3, "THREE")])
    fresh = next(line for line in first.split("\n") if line.endswith("|THREE"))
    bench.run(edit_lines_tool, path="a.txt", edits=[{"op": "replace", "anchor": fresh, "text": "3"}])
    assert bench.get("a.txt").decode() == TEXT.replace("line 3\n", "3\n")


def test_line_endings_stay_each_its_own(bench):
    bench.put("a.txt", "a\r\nb\nc\r\nd")
    bench.run(edit_lines_tool, path="a.txt", edits=[{"op": "replace", "anchor": anchor("b", 2), "text": "B"}])
    assert bench.get("a.txt") == b"a\r\nB\nc\r\nd"


def test_a_file_that_moved_on_is_merged(bench):
    remember(bench.context, bench.path("a.txt"), TEXT)
    theirs = TEXT.replace("line 1\n", "new first\nnew second\nline 1\n").replace("line 20", "LINE 20")
    bench.put("a.txt", theirs)
    text = bench.say(edit_lines_tool, path="a.txt", edits=[replace(10, "TEN")])
    assert bench.get("a.txt").decode() == theirs.replace("line 10\n", "TEN\n")
    assert "had changed since" in text
    assert f"{anchor('TEN', 12)}|TEN" in text


def test_changes_of_the_same_lines_are_not_merged(bench):
    remember(bench.context, bench.path("a.txt"), TEXT)
    theirs = TEXT.replace("line 10\n", "theirs\n")
    bench.put("a.txt", theirs)
    with pytest.raises(StaleAnchorsError) as caught:
        bench.run(edit_lines_tool, path="a.txt", edits=[replace(10, "ours")])
    assert f"*{anchor('theirs', 10)}|theirs" in caught.value.hint
    assert bench.get("a.txt").decode() == theirs


def test_without_a_snapshot_the_lines_are_shown(bench):
    bench.put("a.txt", "first\n" + TEXT)
    with pytest.raises(StaleAnchorsError, match="has changed since these anchors were given"):
        bench.run(edit_lines_tool, path="a.txt", edits=[replace(10, "TEN")])


def test_anchors_of_several_versions_are_understood(bench):
    """Lines move with each edit; anchors from before still name the same lines."""
    remember(bench.context, bench.path("a.txt"), TEXT)
    bench.run(edit_lines_tool, path="a.txt", edits=[{"op": "insert_before", "anchor": "BOF", "text": "top\n"}])
    bench.run(edit_lines_tool, path="a.txt", edits=[replace(10, "TEN")])
    bench.run(edit_lines_tool, path="a.txt", edits=[replace(15, "FIFTEEN")])
    expected = "top\n" + TEXT.replace("line 10\n", "TEN\n").replace("line 15\n", "FIFTEEN\n")
    assert bench.get("a.txt").decode() == expected


def test_what_we_left_in_a_file_is_known_after_a_restart(tmp_path):
    with Session.create(sessions_folder(notebook=tmp_path / "w.ipynb")) as session:
        session.start_run("go")
        bench = Bench("none", tmp_path, session)
        bench.put("a.txt", "zero\n" + TEXT)
        edit = {"op": "delete", "anchor": anchor("zero", 1)}
        bench.run(edit_lines_tool, path="a.txt", edits=[edit])
        path = session.path
    (tmp_path / "a.txt").write_text("somebody\nelse\n" + TEXT)
    with Session.open(path) as again:
        Bench("none", tmp_path, again).run(edit_lines_tool, path="a.txt", edits=[replace(10, "TEN")])
    assert (tmp_path / "a.txt").read_text() == "somebody\nelse\n" + TEXT.replace("line 10\n", "TEN\n")


def test_several_files_change_together_or_not_at_all(bench):
    bench.put("b.txt", TEXT)
    edits = [replace(1, "A"), replace(2, "B", path="b.txt")]
    output = bench.run(edit_lines_tool, path="a.txt", edits=edits)
    assert output.metadata["written"] == [bench.path("a.txt"), bench.path("b.txt")]
    assert output.metadata["edit"]["diff"].count("--- a/") == 2
    assert len(change_log_of(bench.context).standing()) == 1
    before = bench.get("a.txt")
    with pytest.raises(StaleAnchorsError, match=r"b\.txt"):
        bench.run(
            edit_lines_tool,
            path="a.txt",
            edits=[replace(5, "X"), {**replace(6, "Y"), "path": "b.txt", "anchor": "6zz"}],
        )
    assert bench.get("a.txt") == before


def test_a_write_that_fails_halfway_is_taken_back(tmp_path):
    bench = Bench("far", tmp_path)
    bench.put("a.txt", TEXT)
    bench.put("b.txt", TEXT)
    bench.place.broken = "b.txt"
    with pytest.raises(ToolError, match=r"b\.txt cannot be written.*Nothing was changed"):
        bench.run(edit_lines_tool, path="a.txt", edits=[replace(1, "A"), replace(2, "B", path="b.txt")])
    assert bench.get("a.txt").decode() == TEXT


def test_changing_nothing_is_an_error(bench):
    with pytest.raises(ToolError, match="change nothing"):
        bench.run(edit_lines_tool, path="a.txt", edits=[replace(3, "line 3")])
    with pytest.raises(ToolError, match="no edits"):
        bench.run(edit_lines_tool, path="a.txt", edits=[])


def test_a_big_change_shows_its_beginning(bench):
    text = bench.say(edit_lines_tool, path="a.txt", edits=[replace(1, "x\n" * 100)])
    assert text.endswith("[62 more changed lines are not shown]")
