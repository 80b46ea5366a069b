"""Notes in nobody's name: what happened, in words, and the note itself folded."""

from __future__ import annotations

from zidane_lab.contexts.task_notices import TAG
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.injected_bundles import added

ENDED = f"""<{TAG}>
<task-id>task-1</task-id>
<task>Build &lt;all&gt;</task>
<status>completed</status>
<exit-code>0</exit-code>
<summary>completed after 0.7 s (exit code 0)</summary>
<output-file>/tmp/x.log</output-file>
<output-tail>built &amp; linked
$x$ &lt;/output-tail&gt;</output-tail>
</{TAG}>"""
SEEN = f"<{TAG}>\n<task-id>task-2</task-id>\n<task>Watch</task>\n<monitor>errors</monitor>\n<line>E1</line>\n<line>E2</line>\n</{TAG}>"


def test_the_end_of_a_task_is_a_line_with_its_output_folded():
    bundle = added(TAG, ENDED)
    assert bundle["text/plain"] == (
        "✓ Build <all> (task-1): completed after 0.7 s (exit code 0)\n    built & linked\n    $x$ </output-tail>"
    )
    assert bundle["text/html"].startswith("<details")
    assert "Build &lt;all&gt; (task-1)" in bundle["text/html"]
    assert TAG not in bundle["text/html"]
    assert bundle[MIME]["tasks"][0]["exit-code"] == "0"


def test_a_task_that_failed_is_marked_so():
    failed = ENDED.replace("<exit-code>0<", "<exit-code>2<")
    assert added(TAG, failed)["text/plain"].startswith("✗ Build")


def test_several_are_told_one_by_one():
    bundle = added(TAG, f"{ENDED}\n\n{SEEN}")
    assert [each["task-id"] for each in bundle[MIME]["tasks"]] == ["task-1", "task-2"]
    assert bundle["text/plain"].endswith("◦ Watch (task-2) saw: errors\n    E1\n    E2")
    assert bundle["text/html"].count("<details") == 2


def test_another_note_is_folded_under_its_first_line():
    bundle = added("progress-nudge", "You did <that> three times.\nTry another way.")
    assert bundle["text/plain"].split("\n")[0] == "• zidane told the model: You did <that> three times."
    assert "You did &lt;that&gt;" in bundle["text/html"]
    assert bundle[MIME]["about"] == "progress-nudge"


def test_what_cannot_be_read_is_shown_as_it_is():
    assert "broken" in added(TAG, f"<{TAG}> broken")["text/plain"]
    assert added(TAG, f"<{TAG}>\nbroken\n</{TAG}>")["text/plain"] == "✗ a background task (?): ended"
