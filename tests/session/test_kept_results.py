from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from zidane_lab.session.kept_results import cleanup_persisted_session, copy_kept, locate, release_replaced_turns
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn

OWN, OTHER = "20260131-142059-3f9c0a", "20260131-142059-aaaaaa"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / OWN
    for inner in ("tool-results/released", "outputs", "blobs"):
        (folder / inner).mkdir(parents=True)
    for name in ("tool-results/a.txt", "tool-results/released/r.txt", "outputs/1.x.txt", "blobs/b", "top.txt"):
        (folder / name).write_text(name)
    return folder


@pytest.mark.parametrize("name", ["tool-results/a.txt", "tool-results/released/r.txt", "outputs/1.x.txt"])
def test_kept_results_are_found_by_whole_and_by_short_path(folder, name):
    assert locate(folder, folder / name) == folder / name
    assert locate(folder, str(folder / "blobs" / ".." / name)) == folder / name
    assert locate(folder, name) == folder / name


@pytest.mark.parametrize(
    "name",
    [
        "top.txt",
        "blobs/b",
        "tool-results",
        "tool-results/released",
        "tool-results/missing.txt",
        "tool-results/../top.txt",
        "../tool-results/a.txt",
        "/etc/passwd",
        "/outputs/1.x.txt",
        "/home/me/project/outputs/1.x.txt",
        "",
        "/",
    ],
)
def test_nothing_else_is(folder, name):
    assert locate(folder, name) is None


def test_after_a_branch_the_copies_stand_for_the_originals(folder, tmp_path):
    child = tmp_path / OTHER
    assert copy_kept(folder, child) == 3
    for name in ("tool-results/a.txt", "tool-results/released/r.txt", "outputs/1.x.txt"):
        assert locate(child, folder / name) == child / name
        assert (child / name).read_text() == name
    assert not (child / "blobs").exists()
    assert copy_kept(tmp_path / "none", child) == 0


def test_links_are_refused_wherever_they_are(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.txt").write_text("secret")
    (folder / "outputs" / "link.txt").symlink_to(secret / "a.txt")
    assert locate(folder, "outputs/link.txt") is None
    (folder / "outputs").rename(folder / "elsewhere")
    (folder / "outputs").symlink_to(secret)
    assert locate(folder, "outputs/a.txt") is None
    linked = tmp_path / OTHER
    linked.symlink_to(folder)
    assert locate(linked, "tool-results/a.txt") is None


def replaced(*blocks):
    calls = tuple(ToolCallBlock(block.call_id, "f") for block in blocks)
    return (Turn("assistant", calls, id="t1"), Turn("user", blocks, id="t2"), Turn("user", blocks, id="t3"))


def release(turns, ids, folder, **options):
    return asyncio.run(release_replaced_turns(turns, ids, folder, threshold=100, **options))


def test_large_results_behind_a_summary_move_to_files(tmp_path):
    folder = tmp_path / "s" / "tool-results"
    turns = replaced(ToolResultBlock("c", (TextBlock("x" * 101),), metadata={"kept": 1}))
    out = release(turns, {"t1", "t2"}, folder)
    assert (out.files, out.bytes) == (1, 101)
    (block,) = out.turns[1].tool_results
    assert (folder / "released" / "c.txt").read_text() == "x" * 101
    assert block.text.startswith('<persisted-output tool="f" bytes="101"')
    assert block.metadata == {"kept": 1, "persisted": {"path": str(folder / "released" / "c.txt"), "bytes": 101}}
    assert out.turns[0] is turns[0]
    assert out.turns[2] is turns[2]
    assert release(out.turns, {"t2"}, folder).turns is out.turns


@pytest.mark.parametrize(
    "block",
    [
        ToolResultBlock("c", (TextBlock("x" * 100),)),
        ToolResultBlock("c", (TextBlock("x" * 200), ImageBlock("image/png", b"x"))),
        ToolResultBlock("../c", (TextBlock("x" * 200),)),
    ],
)
def test_other_results_stay_and_the_turns_are_the_same_object(tmp_path, block):
    turns = replaced(block)
    assert release(turns, {"t2"}, tmp_path / "s" / "tool-results").turns is turns


def test_what_cannot_be_written_stays_in_memory(tmp_path):
    (tmp_path / "s").write_text("in the way")
    turns = replaced(ToolResultBlock("c", (TextBlock("x" * 200),)))
    assert release(turns, {"t2"}, tmp_path / "s" / "tool-results").turns is turns


def test_cleaning_up_is_harmless_twice_and_follows_no_link(folder, tmp_path):
    cleanup_persisted_session(folder / "tool-results")
    cleanup_persisted_session(folder / "tool-results")
    assert not (folder / "tool-results").exists()
    (tmp_path / "link").symlink_to(folder)
    cleanup_persisted_session(tmp_path / "link")
    assert (folder / "top.txt").exists()
    assert Path(tmp_path / "link").is_symlink()
