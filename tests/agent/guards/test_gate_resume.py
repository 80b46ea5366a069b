"""Calls that passed the gate are known as such when their run is resumed."""

from __future__ import annotations

import pytest

from zidane_lab.agent.guards.gate_resume import keep_passed, passed_gate, resumed_gate, settle
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import Ids, ToolGate
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ToolResultBlock, Turn

IDS = Ids("run_1", "turn_1", "call_1")
RESULT = ToolResultBlock("", (TextBlock("mine"),))


def gate(**options):
    return ToolGate(IDS, "shell", {"command": "ls"}, **options)


def test_a_live_call_has_nothing_to_restore():
    event = resumed_gate(Session.memory(), IDS, "shell", {"command": "ls"})
    assert (event.resumed, event.resume_state, event.input) == (False, {}, {"command": "ls"})


def test_what_handlers_kept_comes_back_after_the_process_died(tmp_path):
    with Session.create(tmp_path) as session:
        session.append(Turn("user", (TextBlock("go"),)))
        assert keep_passed(session, gate(resume_state={"approvals": {"by": "user"}}))
        path = session.path
    with Session.open(path) as session:
        event = resumed_gate(session, IDS, "shell", {})
        assert (event.resumed, event.resume_state) == (True, {"approvals": {"by": "user"}})
        assert passed_gate(session, "call_2", "shell") is None
        assert passed_gate(session, "call_1", "edit") is None


def test_a_call_passed_with_nothing_kept_has_passed_all_the_same():
    session = Session.memory()
    assert keep_passed(session, gate())
    assert resumed_gate(session, IDS, "shell", {}).resumed


@pytest.mark.parametrize(
    "event",
    [gate(block="no"), gate(result=RESULT), gate(resumed=True), ToolGate(Ids("run_1"), "shell", {})],
    ids=["refused", "answered", "resumed", "no id"],
)
def test_only_calls_that_passed_live_are_recorded(event):
    session = Session.memory()
    assert not keep_passed(session, event)
    assert session.records("gate-state") == ()


def test_state_that_is_not_json_is_named_with_its_handler():
    with pytest.raises(ConfigurationError, match="'approvals'"):
        keep_passed(Session.memory(), gate(resume_state={"approvals": {1, 2}}))


def test_damaged_state_counts_as_none():
    session = Session.memory()
    session.record("gate-state", {"call": "call_1", "tool": "shell", "state": 3})
    assert passed_gate(session, "call_1", "shell") == {}


@pytest.mark.parametrize(
    ("resumed", "runs_again", "block", "result"),
    [
        (False, False, "no", RESULT),
        (True, False, None, None),
        (True, True, "no", None),
    ],
)
def test_what_is_decided_about_a_resumed_call_is_mostly_ignored(resumed, runs_again, block, result):
    event = gate(block="no", result=RESULT, resumed=resumed)
    settle(event, runs_again=runs_again)
    assert (event.block, event.result) == (block, result)


def test_each_event_has_a_state_of_its_own():
    one, other = gate(), gate()
    one.resume_state["x"] = 1
    assert other.resume_state == {}
