from __future__ import annotations

import itertools

import pytest

from zidane_lab.approvals.modes import MODES, Case, decide

TIERS = ("read", "write", "execute", "network")
REACHES = ("read", "compute", "write", "network", "execute")


def cases(**given):
    flags = ("is_critical", "touches_own", "is_allowed", "is_denied", "in_project")
    free = [name for name in flags if name not in given]
    for tier, reach in itertools.product(TIERS, REACHES):
        for values in itertools.product((False, True), repeat=len(free)):
            yield Case(tier, reach, **dict(zip(free, values, strict=True)), **given)


@pytest.mark.parametrize(
    ("mode", "tier", "reach", "kind"),
    [
        ("ask", "read", "read", "allow"),
        ("ask", "execute", "read", "ask"),
        ("ask", "execute", "compute", "ask"),
        ("ask", "write", "write", "ask"),
        ("auto", "read", "read", "allow"),
        ("auto", "execute", "read", "allow"),
        ("auto", "execute", "compute", "allow"),
        ("auto", "write", "write", "ask"),
        ("auto", "execute", "execute", "ask"),
        ("auto", "network", "network", "ask"),
        ("accept-edits", "write", "write", "allow"),
        ("accept-edits", "execute", "write", "allow"),
        ("accept-edits", "execute", "execute", "ask"),
        ("accept-edits", "network", "network", "ask"),
        ("plan", "read", "read", "allow"),
        ("plan", "execute", "read", "allow"),
        ("plan", "execute", "compute", "deny"),
        ("plan", "write", "write", "deny"),
        ("bypass", "execute", "execute", "allow"),
        ("bypass", "network", "network", "allow"),
    ],
)
def test_the_table(mode, tier, reach, kind):
    assert decide(mode, Case(tier, reach, in_project=True)).kind == kind


@pytest.mark.parametrize("mode", MODES)
def test_what_is_denied_never_runs(mode):
    assert {decide(mode, case).kind for case in cases(is_denied=True)} == {"deny"}


@pytest.mark.parametrize("mode", MODES)
def test_the_agents_own_files_never_run_unasked(mode):
    assert "allow" not in {decide(mode, case).kind for case in cases(touches_own=True)}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "bypass"])
def test_what_is_critical_never_runs_unasked(mode):
    assert "allow" not in {decide(mode, case).kind for case in cases(is_critical=True)}


def test_plan_lets_nothing_run_but_looking_whatever_was_allowed():
    assert {decide("plan", case).kind for case in cases() if case.reach != "read"} == {"deny"}


def test_only_what_lies_in_the_project_is_an_edit_to_accept():
    for case in cases(in_project=False, is_allowed=False):
        if case.reach in {"write", "execute", "network"}:
            assert decide("accept-edits", case).kind != "allow"


@pytest.mark.parametrize("mode", ["ask", "auto", "accept-edits"])
def test_what_was_allowed_runs(mode):
    for case in cases(is_allowed=True, is_critical=False, touches_own=False, is_denied=False):
        assert decide(mode, case).kind == "allow"


def test_a_mode_that_does_not_exist_lets_nothing_run_but_nothing():
    for case in cases():
        if case.tier != "read":
            assert decide("yolo", case).kind != "allow"


def test_refusals_tell_the_model_what_to_do():
    assert "Put this step into your plan" in decide("plan", Case("write", "write")).reason
    assert "Do not try the same another way" in decide("auto", Case("write", "write", is_denied=True)).reason
