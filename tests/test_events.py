"""Events: named, correlated, and one line of JSON each."""

from __future__ import annotations

import dataclasses
import json

import pytest

from zidane_lab import events
from zidane_lab.events import EVENTS, Ids, ToolAfter, ToolGate, event_to_json
from zidane_lab.turns import TextBlock, ToolResultBlock, Turn, Usage

SAMPLES = {
    str: "text",
    int: 3,
    float: 0.5,
    bool: True,
}


def sample(cls):
    """Build an event with plausible values for its fields."""
    values = {}
    for spec in dataclasses.fields(cls):
        kind = str(spec.type)
        if spec.name == "ids":
            values["ids"] = Ids("run_1", "turn_1", "call_1")
        elif "tuple[Turn" in kind:
            values[spec.name] = (Turn("user", (TextBlock("hi"),)),)
        elif "tuple[str" in kind:
            values[spec.name] = ("a", "b")
        elif "ToolResultBlock" in kind:
            values[spec.name] = ToolResultBlock("call_1", (TextBlock("x"),))
        elif "Turn" in kind:
            values[spec.name] = Turn("user", (TextBlock("hi"),))
        elif "Usage" in kind:
            values[spec.name] = Usage(input=1)
        elif "Mapping" in kind or "dict" in kind:
            values[spec.name] = {"a": 1}
        elif "bool" in kind:
            values[spec.name] = True
        elif "int" in kind:
            values[spec.name] = 3
        elif "float" in kind:
            values[spec.name] = 0.5
        else:
            values[spec.name] = "text"
    return cls(**values)


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_is_one_json_object(name):
    event = sample(EVENTS[name])
    line = json.dumps(event_to_json(event))
    assert "\n" not in line
    back = json.loads(line)
    assert (back["event"], back["run_id"], back["call_id"]) == (name, "run_1", "call_1")
    assert {spec.name for spec in dataclasses.fields(event)} - {"ids"} <= set(back)


def test_only_questions_can_be_changed():
    mutable = {cls.__name__ for cls in EVENTS.values() if not cls.__dataclass_params__.frozen}
    assert mutable == {
        "BudgetReached",
        "CompactSummarize",
        "ContextTransform",
        "SystemTransform",
        "ToolGate",
        "ToolTransform",
        "TurnBoundary",
    }
    for cls in EVENTS.values():
        assert (cls.__doc__ or "").startswith("Mutable") == (cls.__name__ in mutable)


def test_unset_ids_are_left_out():
    event = ToolGate(Ids("run_1"), "echo", {})
    ids, fields = {"run_id", "depth", "agent_name"}, {"tool", "input", "block", "result", "resumed", "resume_state"}
    assert set(event_to_json(event)) == {"event", *ids, *fields}


def test_results_become_blocks():
    event = ToolAfter(Ids("r"), "t", {}, ToolResultBlock("c", (TextBlock("x"),)), "ok", 0.1)
    assert event_to_json(event)["result"]["parts"] == [{"kind": "text", "text": "x"}]


def test_all_classes_are_exported():
    assert {cls.__name__ for cls in EVENTS.values()} <= set(events.__all__)
