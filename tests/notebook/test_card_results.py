"""What cards say of results: the outcome in a few words, the change once, nothing that is for the model only."""

from __future__ import annotations

import pytest

from zidane_lab.notebook.bundles import ToolCard
from zidane_lab.notebook.card_results import ended, own_seconds
from zidane_lab.turns import TextBlock, ToolResultBlock

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def result(text, **metadata):
    return ToolResultBlock("c", (TextBlock(text),), metadata=metadata)


def edited(**more):
    return {"path": "x", "diff": DIFF, "added": 1, "removed": 1, "outcomes": [], "files": [{}], **more}


def card(tool, text, status="ok", **metadata):
    return ended(ToolCard("c", tool, "running", body="before"), status, result(text, **metadata))


@pytest.mark.parametrize(
    ("tool", "text", "metadata", "note"),
    [
        ("grep", "a.py\n4: x\n[4 matching lines in 1 file]", {}, "4 matching lines in 1 file"),
        ("grep", "[nothing]", {"useless": True}, "nothing found"),
        ("ast_grep", "a.py\nf()\n[1–20 of 1,204 matches in 3 files; go on with skip=20]", {}, "1–20 of 1,204 matches in 3 files"),
        ("glob", "/work\na.py  1 B\nb.py  2 B\n[3 ignored entries hidden; `ignored` true shows them]", {}, "2 files"),
        ("list_files", "/work\nsrc/", {}, "1 entry"),
        ("list_variables", "a: int — 1\nb: int — 2\n[2 more]", {}, "2 variables"),
        ("read_file", "a\nb\n", {}, "2 lines"),
        ("read_file", "a\n[lines 1–300 of 900; go on with offset=301]", {}, "lines 1–300 of 900"),
        ("fetch_url", "URL: x\nType: text/html, 1.6 KB\nMethod: m\n\n---\nT", {}, "text/html, 1.6 KB"),
        ("web_search", "1. …", {"sources": [{}, {}]}, "2 results"),
        ("edit", "Edited.", {"edit": edited()}, "+1 −1"),
        ("apply_patch", "Done.", {"edit": edited(files=[{}, {}], added=3, removed=0)}, "2 files, +3 −0"),
        ("multi_edit", "Done.", {"edit": edited(outcomes=[{"status": "applied"}, {"status": "failed"}])}, "+1 −1, 1 of 2 parts"),
        ("edit", "Preview", {"edit": edited(), "pending": "preview_1"}, "not written yet, +1 −1"),
        ("shell", "x", {"shell": {"exit_code": 0, "seconds": 1.0}}, ""),
        ("shell", "x", {"shell": {"task": "task-1"}}, "in the background as task-1"),
        ("of_yours", "[4 matching lines in 1 file]", {}, ""),
    ],
)  # fmt: skip
def test_the_outcome_is_told_in_a_few_words(tool, text, metadata, note):
    assert card(tool, text, **metadata).note == note


@pytest.mark.parametrize(
    ("shell", "note"), [({"exit_code": 2}, "exit code 2"), ({"timed_out": True}, "timed out"), ({"signal": 9}, "")]
)
def test_a_command_that_failed_says_how(shell, note):
    assert card("shell", "x", "error", shell=shell).note == note


def test_a_failure_counts_nothing():
    assert card("read_file", "It does not exist.", "error").note == ""
    assert card("edit", "Nothing was changed.", "error", edit={"diff": "", "outcomes": []}).note == ""


def test_a_change_is_shown_once_and_as_a_diff():
    shown = card("edit", f"Preview of edit of x:\n{DIFF}This is a preview.", edit=edited())
    assert (shown.body, shown.is_diff) == (DIFF, True)
    assert shown.result == "Preview of edit of x:\nThis is a preview."


def test_what_is_only_for_the_model_is_left_out():
    text = "Edited x.\n\n<edit-outcomes>\n#1 applied\n#2 failed: no\n</edit-outcomes>"
    assert card("multi_edit", text).result == "Edited x.\n#1 applied\n#2 failed: no"
    assert card("present_plan", 'Approved.\n{"decision": "approve"}', answered=True).result == "Approved."
    assert card("ask_user", 'yes\n{"answers": {"a": true}}', answered=True).note == "answered"
    assert card("shell", "[started in the background as task-1]\n[You will be told when task-1 ends. x]").result == (
        "[started in the background as task-1]"
    )


def test_json_of_other_tools_stays():
    assert card("of_yours", 'x\n{"a": 1}').result == 'x\n{"a": 1}'


@pytest.mark.parametrize(
    ("tool", "metadata", "measured", "seconds"),
    [
        ("edit", {}, 0.2, 0.2),
        ("edit", {}, None, None),
        ("shell", {"shell": {"seconds": 1.5}}, 9.0, 1.5),
        ("run_python", {"execution": {"wall_seconds": 0.5}}, 9.0, 0.5),
        ("ask_user", {}, 60.0, None),
        ("shell", {"shell": {"task": "task-1"}}, 0.1, 0.1),
    ],
)
def test_the_time_of_a_call_is_its_own(tool, metadata, measured, seconds):
    assert own_seconds(tool, result("x", **metadata), measured) == seconds
