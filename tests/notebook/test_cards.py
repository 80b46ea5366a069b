"""What cards say: words for what is done to what, and no raw arguments where words or a change would do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab import default_tools
from zidane_lab.chat.toolbox import interaction_tools
from zidane_lab.notebook import bundles
from zidane_lab.notebook.cards import _TITLES, card_for

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** Delete File: c.py\n*** End Patch"
)
UNIFIED = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n--- a note\n+x\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "title", "body"),
    [
        ("read_file", {"path": "notes.md", "offset": 1, "limit": 300}, "Read notes.md", ""),
        ("read_file", {"path": "notes.md", "offset": 301, "limit": 300}, "Read notes.md from 301", ""),
        ("grep", {"pattern": "x y", "path": "src", "glob": "*.py", "mode": "lines"}, "Search “x y” in src, *.py only", ""),
        ("grep", {"pattern": "x", "path": ".", "ignore_case": True}, "Search “x”", "ignore_case: yes"),
        ("glob", {"pattern": "*.py", "path": "."}, "Find *.py", ""),
        ("ast_grep", {"pattern": "f($X)", "paths": ["a", "b"], "globs": None}, "Search code like f($X) in a, b", ""),
        ("list_files", {"path": "data", "depth": 1}, "List files in data", ""),
        ("list_variables", {"pattern": None, "limit": 200}, "List variables", ""),
        ("edit", {"path": "a.py", "old_string": "x\n", "new_string": "y\n"}, "Edit a.py", "-x\n+y"),
        ("edit", {"path": "a", "old_string": "x", "new_string": "", "preview": True}, "Preview: edit a", "-x"),
        (
            "multi_edit",
            {"path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "p", "new_string": "q"}]},
            "Edit a",
            "@@ part 1 @@\n-x\n+y\n@@ part 2 @@\n-p\n+q",
        ),
        (
            "edit_lines",
            {"path": "a", "edits": [{"op": "insert_after", "anchor": "2ab", "text": "x\ny"}, {"op": "delete", "anchor": "9k"}]},
            "Edit a",
            "@@ insert after 2ab @@\n+x\n+y\n@@ delete 9k @@",
        ),
        ("write_file", {"path": "n.md", "content": "# A\n"}, "Write n.md", "# A\n"),
        ("apply_patch", {"patch": PATCH}, "Patch a.py, b.py, c.py", PATCH),
        ("apply_patch", {"patch": UNIFIED}, "Patch a.py, old.py", UNIFIED),
        (
            "ast_edit",
            {"ops": [{"pattern": "f($X)", "rewrite": "g($X)"}], "paths": ["src"]},
            "Preview: rewrite f($X) → g($X) in src",
            "-f($X)\n+g($X)",
        ),
        ("resolve", {"action": "discard", "reason": "not now"}, "Discard the preview: not now", ""),
        ("undo_edit", {}, "Take back the last change", ""),
        ("fetch_url", {"url": "https://a.example/b", "offset": 1}, "Fetch https://a.example/b", ""),
        ("web_search", {"query": "terns", "sites": ["a.org"], "count": 8}, "Search the web for “terns” on a.org", ""),
        ("wait_task", {"ids": ["task-1", "task-2"], "seconds": 20.0}, "Wait for task-1, task-2", ""),
        ("read_task_output", {"task": "task-1", "lines": 200}, "Read the output of task-1", ""),
        ("recipe", {"op": "test -x"}, "Run the project's task test -x", ""),
        ("shell", {"command": "ls -la", "intent": "Look", "cwd": None, "env": None}, "Look", "ls -la"),
        ("shell", {"command": "ls -la\npwd", "background": True}, "Run ls -la pwd", "ls -la\npwd\nbackground: yes"),
        ("run_python", {"code": "1 + 1"}, "Run Python", "1 + 1"),
        ("monitor", {"description": "errors", "command": "tail -f x", "kind": "log"}, "errors", "tail -f x\nkind: log"),
        ("ask_user", {"questions": [{"question": "Which?", "options": [{"label": "a", "description": "first"}, {"label": "b"}], "recommended": 1}]},
         "Ask: Which?", "Which?\n  - a — first\n  - b (recommended)"),
        ("present_plan", {"title": "T", "summary": "S", "steps": [{"title": "one", "details": "d"}, {"title": "two"}]},
         "Propose a plan: T", "S\n1. one\n   d\n2. two"),
        ("of_yours", {"name": "x", "n": [1, 2], "deep": {"a": None}, "text": "p\nq"}, "", 'name: x\nn: 1, 2\ndeep: {\n  "a": null\n}\ntext: \n  p\n  q'),
    ],
)  # fmt: skip
def test_a_card_says_what_is_done_to_what(tool, arguments, title, body):
    card = card_for("c", tool, arguments)
    assert (card.title, card.body) == (title, body)


def test_every_built_in_tool_has_a_title_in_words():
    names = {tool.name for tool in default_tools()} | {tool.name for tool in interaction_tools()}
    names |= {"monitor", "recipe", "wait_task", "list_tasks", "cancel_task", "read_task_output"}
    assert names <= set(_TITLES)
    for name in names:
        assert " " in card_for("c", name, {}).title


def test_a_title_is_one_line_that_hides_nothing():
    card = card_for("c", "read_file", {"path": "a\n\u202eb\x1b[2J" + "x" * 500})
    assert card.title.startswith("Read a \\x202eb\\x1b[2J")
    assert len(card.title) == 100
    assert card.body.startswith("path: ")  # what was cut off the title stands below it
    assert "x" * 500 in card.body


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["path", "paths", "pattern", "edits", "ops", "questions", "steps", "patch", "code", "command", "intent", "ids", "op",
     "title", "sites", "glob", "offset", "preview", "action", "url", "query", "content", "limit", "odd"]
)  # fmt: skip


@given(st.sampled_from([*_TITLES, "of_yours"]), st.dictionaries(KEYS, VALUES))
def test_whatever_a_model_sends_can_be_drawn(tool, arguments):
    bundle = bundles.tool_card(card_for("c", tool, arguments))
    assert "\n" not in bundle[bundles.MIME]["title"]
