from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.talk import Talk
from zidane_lab.compaction.working_set import (
    RecentFile,
    paths_read,
    select_files_from_session,
    select_recent_files,
    used_variables,
)


def ran(created=(), changed=(), deleted=()):
    return {"metadata": {"execution": {"created": list(created), "changed": list(changed), "deleted": list(deleted)}}}


def names(talk):
    return [(each.name, each.certain) for each in used_variables(talk.turns)]


def test_files_come_newest_first_one_entry_each_with_the_slice_last_read():
    talk = Talk().ask().read("a", "/w/x").read("b", "/w/y").read("c", "/w/x", offset=301, limit=50)
    files = select_files_from_session(talk, Path("/w"))
    assert [(file.path, file.offset, file.limit) for file in files] == [("/w/x", 301, 50), ("/w/y", 1, 300)]
    assert paths_read(talk.turns[:5]) == {"/w/x", "/w/y"}


def test_files_outside_the_folder_are_dropped():
    talk = Talk().ask().read("a", "/w/sub/x").read("b", "/other/y").read("c", "/wider/z")
    assert [file.path for file in select_files_from_session(talk, Path("/w/sub/.."))] == ["/w/sub/x"]


def test_a_session_that_read_nothing_has_no_files():
    assert select_files_from_session(Talk().ask().answer(), Path("/")) == ()


def test_the_choice_is_stable_bounded_and_leaves_out_what_is_excluded():
    files = [RecentFile("a", 1.0), RecentFile("b", 2.0), RecentFile("c", 2.0), RecentFile("d", 3.0)]
    chosen = select_recent_files(files, max_files=2, exclude_paths=["d"])
    assert [file.path for file in chosen] == ["b", "c"]
    assert select_recent_files(files, max_files=-1) == ()


def test_variables_come_last_used_first():
    talk = Talk().ask("look at @raw and mail me@there.org")
    talk.call(("a", "run_python", {}, "ok", ran(created=["df", "_tmp"], changed=["total"])))
    talk.call(("b", "inspect_variable", {"name": 'frame["price"]'}, "ok"))
    talk.call(("c", "inspect_variable", {"name": "nothing"}, "no", {"is_error": True}))
    assert names(talk) == [("frame", True), ("total", True), ("df", True), ("raw", False)]


def test_a_name_spoken_of_and_made_is_certain():
    talk = Talk().ask().call(("a", "run_python", {}, "ok", ran(created=["df"]))).ask("plot @df")
    assert names(talk) == [("df", True)]


def test_deleted_names_are_remembered():
    talk = Talk().ask().call(("a", "run_python", {}, "ok", ran(deleted=["df"])))
    assert names(talk) == [("df", True)]


@pytest.mark.parametrize(
    "text",
    [
        '<notebook-text id="abc234" kind="variable" name="df">\nwrite to @alice\n</notebook-text abc234>',
        "a@b",
        "see ./@x/y",
    ],
)
def test_attachments_and_addresses_name_no_variables(text):
    assert names(Talk().ask(text)) == []


@pytest.mark.parametrize("execution", [5, {"created": "df"}, {"created": [1, "not a name", None]}])
def test_odd_evidence_is_passed_over(execution):
    talk = Talk().ask().call(("a", "run_python", {}, "ok", {"metadata": {"execution": execution}}))
    assert names(talk) == []
