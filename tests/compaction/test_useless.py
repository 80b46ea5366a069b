from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.talk import Talk, tokens
from zidane_lab.compaction.useless import drop_superseded, drop_useless, useless_calls
from zidane_lab.wire.markers import INTERRUPTED
from zidane_lab.wire.state import WireState

USELESS = {"metadata": {"useless": True}}
FAILED = {"is_error": True}


def gone(elision):
    return list(elision.results) if elision else []


def test_flagged_results_go_while_little_follows():
    talk = Talk().ask().call(("a", "glob", {}, tokens(20), USELESS)).answer(tokens(7_999))
    assert gone(drop_useless(talk.turns, WireState())) == ["a"]
    talk.answer(tokens(2))
    assert drop_useless(talk.turns, WireState()) is None
    assert gone(drop_useless(talk.turns, WireState(), cache_expired=True)) == ["a"]


def test_a_result_smaller_than_the_notice_stays():
    talk = Talk().ask().call(("a", "glob", {}, "none", USELESS)).answer()
    assert drop_useless(talk.turns, WireState()) is None


def test_results_are_left_until_the_model_has_seen_them():
    talk = Talk().ask().call(("a", "glob", {}, tokens(20), USELESS))
    assert drop_useless(talk.turns, WireState()) is None


def test_protected_tools_stay():
    talk = Talk().ask().call(("a", "glob", {}, tokens(20), USELESS)).answer()
    assert drop_useless(talk.turns, WireState(), protected=frozenset({"glob"})) is None


def test_an_error_is_never_useless_by_its_flag():
    talk = Talk().ask().call(("a", "search", {}, tokens(20), USELESS | FAILED)).answer()
    assert useless_calls(talk.turns, WireState()) == frozenset()


def test_a_failed_lookup_goes_once_the_same_tool_went_well():
    talk = Talk().ask().call(("a", "inspect_variable", {"name": "fd"}, tokens(30), FAILED)).answer()
    assert drop_useless(talk.turns, WireState()) is None
    talk.call(("b", "inspect_variable", {"name": "df"}, tokens(30))).answer()
    assert gone(drop_useless(talk.turns, WireState())) == ["a"]


@pytest.mark.parametrize("text", ["Blocked: refused by the user. " + tokens(30), INTERRUPTED + tokens(30)])
def test_refusals_and_stops_always_tell_something(text):
    talk = Talk().ask().call(("a", "read_file", {}, text, FAILED)).read("b", "/w/x").answer()
    assert drop_useless(talk.turns, WireState()) is None


def test_failed_code_is_evidence():
    talk = Talk().ask().call(("a", "run_python", {}, tokens(30), FAILED)).call(("b", "run_python", {}, "1")).answer()
    assert drop_useless(talk.turns, WireState()) is None


def test_a_read_of_the_same_slice_makes_the_older_one_superfluous():
    talk = Talk().ask().read("a", "/w/x").read("b", "/w/x", offset=301).read("c", "/w/y").read("d", "/w/x").answer()
    assert gone(drop_superseded(talk.turns, WireState())) == ["a"]


def test_paths_are_compared_as_they_are_meant():
    talk = Talk().ask()
    for name, path in (("a", "x.py"), ("b", "./sub/../x.py"), ("c", "/w/x.py")):
        talk.call((name, "read_file", {"path": path}, tokens(50)))
    assert gone(drop_superseded(talk.answer().turns, WireState(), cwd=Path("/w"))) == ["a", "b"]


@pytest.mark.parametrize("evidence", [{"unchanged": True}, {"partial": True}])
def test_a_read_that_does_not_show_it_all_supersedes_nothing(evidence):
    talk = Talk().ask().read("a", "/w/x").read("b", "/w/x", **evidence).answer()
    assert drop_superseded(talk.turns, WireState()) is None


def test_a_later_read_that_failed_or_is_gone_supersedes_nothing():
    talk = Talk().ask().read("a", "/w/x").call(("b", "read_file", {"path": "/w/x"}, "gone", FAILED)).answer()
    assert drop_superseded(talk.turns, WireState()) is None
    talk = Talk().ask().read("a", "/w/x").read("b", "/w/x").answer()
    assert drop_superseded(talk.turns, WireState({"b": "left out"})) is None


@pytest.mark.parametrize("tool", ["list_variables", "inspect_variable", "list_files", "glob"])
def test_the_same_look_taken_again_supersedes_the_older_one(tool):
    talk = (
        Talk()
        .ask()
        .call(("a", tool, {"name": "x", "limit": None}, tokens(50)))
        .call(("b", tool, {"name": "y"}, tokens(50)))
    )
    talk.call(("c", tool, {"name": "x"}, tokens(50))).answer()
    assert gone(drop_superseded(talk.turns, WireState())) == ["a"]


def test_code_run_twice_is_not_a_look():
    talk = (
        Talk()
        .ask()
        .call(("a", "run_python", {"code": "x"}, tokens(50)))
        .call(("b", "run_python", {"code": "x"}, tokens(50)))
    )
    assert drop_superseded(talk.answer().turns, WireState()) is None
