from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.edits.outcomes import (
    EditOutcome,
    annotate,
    apply_hunk_mask,
    header,
    merge_outcomes,
    outcomes_json,
    parse_outcomes,
    rewrite_header,
    rewrite_result,
    strip_outcomes,
    with_outcomes,
)
from zidane_lab.turns import TextBlock, ToolResultBlock

YES, NO = EditOutcome("applied"), EditOutcome("denied", "keep the name")
FAILED, SKIPPED = EditOutcome("failed", "not in the file"), EditOutcome("skipped")
OUTCOMES = st.lists(st.sampled_from([YES, NO, FAILED, SKIPPED]), max_size=6)


def test_a_mask_becomes_outcomes_and_says_nothing_about_the_rest():
    assert apply_hunk_mask([True, False], "keep the name") == (YES, NO)
    assert apply_hunk_mask([False], "keep the name", fallback_length=3) == (NO, YES, YES)
    assert apply_hunk_mask([True, True], fallback_length=1) == (YES, YES)
    assert apply_hunk_mask([]) == ()


def test_what_the_tool_found_goes_to_the_edits_that_were_let_through():
    assert merge_outcomes((YES, NO, YES, SKIPPED), (FAILED, YES)) == (FAILED, NO, YES, SKIPPED)
    assert merge_outcomes((YES, NO, YES), ()) == (YES, NO, YES)
    assert merge_outcomes((NO, YES), (YES, FAILED, FAILED)) == (NO, YES)


@given(OUTCOMES, OUTCOMES)
def test_merging_decides_nothing_the_gate_denied(gate, body):
    merged = merge_outcomes(gate, body)
    assert len(merged) == len(gate)
    assert all(new is old for new, old in zip(merged, gate, strict=True) if old.status != "applied")


def test_the_three_headers():
    assert header("a.py", applied=3, total=3, replacements=5) == "Edited a.py: applied 3 edits (5 replacements)."
    assert header("a.py", applied=2, total=3, replacements=2) == "Edited a.py: applied 2 of 3 edits (2 replacements)."
    assert header("a.py", applied=0, total=3) == "multi_edit error: no edits applied to a.py (3 attempted)."


@pytest.mark.parametrize(
    ("first", "outcomes", "expected"),
    [
        (
            "Edited a b.py: applied 2 edits (4 replacements).",
            (YES, NO, YES),
            "Edited a b.py: applied 2 of 3 edits (4 replacements).",
        ),
        (
            "Edited a: applied 1 of 2 edits (1 replacements).",
            (YES, NO, FAILED),
            "Edited a: applied 1 of 3 edits (1 replacements).",
        ),
        (
            "Edited a: applied 2 of 3 edits (7 replacements).",
            (YES, YES),
            "Edited a: applied 2 edits (7 replacements).",
        ),
        (
            "multi_edit error: no edits applied to a (1 attempted).",
            (NO, FAILED),
            "multi_edit error: no edits applied to a (2 attempted).",
        ),
        ("a.py does not exist.", (YES, NO), "a.py does not exist."),
        ("", (YES,), ""),
    ],
)
def test_a_header_is_corrected_to_all_edits(first, outcomes, expected):
    assert rewrite_header(f"{first}\nmore", outcomes) == f"{expected}\nmore"
    assert rewrite_header(first, outcomes) == expected


def test_the_block_is_written_and_read():
    text = annotate("Edited a: …", (YES, NO, EditOutcome("failed", "two\nlines")))
    assert text == (
        "Edited a: …\n\n<edit-outcomes>\n#1 applied\n#2 denied: keep the name\n#3 failed: two lines\n</edit-outcomes>"
    )
    assert parse_outcomes(text) == {1: YES, 2: NO, 3: EditOutcome("failed", "two lines")}
    assert annotate("x", ()) == "x"


@pytest.mark.parametrize(
    "text",
    [
        "no block",
        "prose about <edit-outcomes>\n#1 applied\n</edit-outcomes>",
        "<edit-outcomes>\n#1 applied",
        "<edit-outcomes>\n#1 vanished\n</edit-outcomes>",
        "<edit-outcomes>\n#0 applied\n</edit-outcomes>",
        "<edit-outcomes>\nhello\n</edit-outcomes>",
        "<edit-outcomes>\n</edit-outcomes>",
        "#1 applied",
    ],
)
def test_what_is_no_sound_block_is_none(text):
    assert parse_outcomes(text) is None


def test_stripping_takes_the_first_block_only_and_can_be_repeated():
    one = annotate("text", (YES,))
    assert strip_outcomes(one) == "text"
    assert strip_outcomes(strip_outcomes(one)) == "text"
    assert strip_outcomes(annotate(one, (NO,))) == annotate("text", (NO,))
    prose = "they write <edit-outcomes>\n#1 applied\n</edit-outcomes>"
    assert strip_outcomes(prose) is prose
    assert strip_outcomes("<edit-outcomes>\n#1 applied\n</edit-outcomes>\nrest") == "\nrest"


@given(st.text(st.characters(blacklist_characters="<")), OUTCOMES)
def test_stripping_undoes_annotating(text, outcomes):
    assert strip_outcomes(annotate(text, outcomes)) == text


def test_a_partly_denied_result_is_told_as_a_whole():
    body = annotate("Edited a: applied 1 of 2 edits (1 replacements).\n#2 not there", (YES, FAILED))
    text, outcomes = rewrite_result(body, (NO, YES, YES))
    assert outcomes == (NO, YES, FAILED)
    assert text == annotate("Edited a: applied 1 of 3 edits (1 replacements).\n#2 not there", outcomes)


def test_the_last_result_of_a_call_gets_the_outcomes():
    def result(call_id, **edit):
        return ToolResultBlock(call_id, (TextBlock("x"),), metadata={"edit": {"path": "a", **edit}})

    results = (result("1"), result("2"), result("1", added=3), ToolResultBlock("3"))
    changed = with_outcomes(results, "1", (YES, NO))
    assert changed[:2] == results[:2]
    assert changed[2].metadata["edit"] == {"path": "a", "added": 3, "outcomes": outcomes_json((YES, NO))}
    assert with_outcomes(changed, "1", (YES, NO)) is changed
    assert with_outcomes(results, "3", (YES,)) is results
    assert with_outcomes(results, "4", (YES,)) is results
