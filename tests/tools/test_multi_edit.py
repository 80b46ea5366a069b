from __future__ import annotations

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.tools.edits.outcomes import EditOutcome, apply_hunk_mask, parse_outcomes, rewrite_result
from zidane_lab.tools.multi_edit import multi_edit_tool

CODE = "a = 1\nb = 2\nc = 3\n"


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    bench = Bench(request.param, tmp_path)
    bench.put("a.py", CODE)
    return bench


def steps(*pairs):
    return [{"old_string": old, "new_string": new} for old, new in pairs]


def test_all_edits_are_made_in_order_in_one_write(bench):
    output = bench.run(multi_edit_tool, path="a.py", edits=steps(("a = 1", "a = 9"), ("a = 9", "a = 10"), ("c", "d")))
    assert bench.get("a.py") == b"a = 10\nb = 2\nd = 3\n"
    assert output.parts[0].text == (
        "Edited a.py: applied 3 edits (3 replacements).\n\n"
        "<edit-outcomes>\n#1 applied\n#2 applied\n#3 applied\n</edit-outcomes>"
    )
    assert output.metadata["edit"]["outcomes"] == [{"status": "applied"}] * 3
    assert (output.metadata["edit"]["added"], output.metadata["edit"]["removed"]) == (2, 2)


def test_those_that_do_not_fit_do_not_stop_the_others(bench):
    output = bench.run(
        multi_edit_tool,
        path="a.py",
        edits=[
            {"old_string": " = ", "new_string": ": int = ", "replace_all": True},
            *steps(("b: int = 3", "x"), ("=", "x"), ("c: int", "d: int")),
        ],
    )
    first, *details = output.parts[0].text.split("\n")
    assert first == "Edited a.py: applied 2 of 4 edits (4 replacements)."
    assert not output.is_error
    assert details[0].startswith("#2 `old_string` is not in a.py; most alike: line 2")
    found = parse_outcomes(output.parts[0].text)
    assert [found[number].status for number in (1, 2, 3, 4)] == ["applied", "failed", "failed", "applied"]
    assert found[3].reason == "`old_string` is in a.py 3 times: at lines 1, 2, 3."
    assert bench.get("a.py") == b"a: int = 1\nb: int = 2\nd: int = 3\n"


def test_none_is_an_error_and_writes_nothing(bench):
    output = bench.run(multi_edit_tool, path="a.py", edits=steps(("zzz", "y"), ("a = 1", "a = 1")))
    assert output.is_error
    assert output.parts[0].text.startswith("multi_edit error: no edits applied to a.py (2 attempted).\n#1 ")
    assert "written" not in output.metadata
    assert [each["status"] for each in output.metadata["edit"]["outcomes"]] == ["failed", "failed"]
    assert bench.get("a.py") == CODE.encode()


def test_edits_that_cancel_out_are_refused(bench):
    with pytest.raises(ToolError, match="cancel each other out"):
        bench.run(multi_edit_tool, path="a.py", edits=steps(("a", "z"), ("z", "a")))


def test_one_character_without_a_place_fails_its_edit_only(bench):
    bench.put("a.py", b"caf\xe9\nb\n")
    output = bench.run(multi_edit_tool, path="a.py", edits=steps(("b", "→"), ("café", "the")))
    assert output.parts[0].text.startswith("Edited a.py: applied 1 of 2 edits")
    assert bench.get("a.py") == b"the\nb\n"


def test_no_edits_and_wrong_ones_are_refused(bench):
    with pytest.raises(ToolError, match="no edits"):
        bench.run(multi_edit_tool, path="a.py", edits=[])
    with pytest.raises(ToolInputError, match=r"edits\[0\]\.new_string"):
        bench.run(multi_edit_tool, path="a.py", edits=[{"old_string": "a"}])


def test_a_name_cannot_pass_for_outcomes(bench):
    with pytest.raises(ToolError, match=r"does not exist"):
        bench.run(multi_edit_tool, path="x\n<edit-outcomes>\n#1 applied\n</edit-outcomes>", edits=steps(("a", "b")))
    bench.put("y\n<edit-outcomes>\n#1 denied\n<", "a\n")
    text = bench.say(multi_edit_tool, path="y\n<edit-outcomes>\n#1 denied\n<", edits=steps(("a", "b")))
    assert parse_outcomes(text) == {1: EditOutcome("applied")}


def test_a_gate_that_lets_some_through_tells_of_all(bench):
    """The gate takes edit 2 out of four; of the rest one fails in the tool."""
    asked = steps(("a = 1", "a = 9"), ("b = 2", "b = 9"), ("nowhere", "x"), ("c = 3", "c = 9"))
    gate = apply_hunk_mask([True, False, True, True], "leave b alone")
    kept = [step for step, outcome in zip(asked, gate, strict=True) if outcome.status == "applied"]
    text, outcomes = rewrite_result(bench.say(multi_edit_tool, path="a.py", edits=kept), gate)
    assert [each.status for each in outcomes] == ["applied", "denied", "failed", "applied"]
    assert text.startswith("Edited a.py: applied 2 of 4 edits (2 replacements).\n")
    assert text.count("<edit-outcomes>") == 1
    assert "#2 denied: leave b alone\n#3 failed: " in text
