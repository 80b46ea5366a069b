from __future__ import annotations

import gc

from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edits import snapshots
from zidane_lab.tools.edits.snapshots import MAX_CHARS, MAX_PATHS, VERSIONS, Snapshots, remember, snapshots_of


def test_the_last_texts_of_a_file_come_first():
    kept = Snapshots()
    for text in ("a", "b", "a", "c", "d", "e"):
        kept.add("/f", text)
    assert kept.of("/f") == ("e", "d", "c", "a")[:VERSIONS]
    assert kept.of("/g") == ()


def test_only_so_many_files_and_no_huge_ones_are_kept():
    kept = Snapshots()
    for number in range(MAX_PATHS + 5):
        kept.add(f"/{number}", "x")
    kept.add("/huge", "x" * (MAX_CHARS + 1))
    assert kept.of("/4") == ()
    assert kept.of("/5") == ("x",)
    assert kept.of("/huge") == ()


def test_conversations_do_not_see_each_other_and_leave_nothing_behind(tmp_path):
    one, two = (ToolContext(cwd=tmp_path, outputs=Session.memory()) for _ in range(2))
    remember(one, "/f", "text")
    assert snapshots_of(one).of("/f") == ("text",)
    assert snapshots_of(two).of("/f") == ()
    before = len(snapshots._KEPT)
    del one, two
    gc.collect()
    assert len(snapshots._KEPT) < before


def test_a_call_outside_a_conversation_remembers_nothing(tmp_path):
    context = ToolContext(cwd=tmp_path)
    remember(context, "/f", "text")
    assert snapshots_of(context).of("/f") == ()
