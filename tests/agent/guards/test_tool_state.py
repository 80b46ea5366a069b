"""What tools remember: staged by a call, kept when it went well, restored from the session."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.guards.support import Stage
from tests.agent.support import simple_tool
from zidane_lab.agent.guards.tool_state import (
    DEFAULT_MAX_VALUE_BYTES,
    TOOL_STATE,
    SessionToolState,
    ToolStateController,
    is_tool_state_ops,
    staged_tool_state,
)
from zidane_lab.errors import ToolError
from zidane_lab.session.session import Session

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def test_a_call_reads_back_what_it_wrote_others_see_it_once_committed():
    controller = ToolStateController()
    view, other = controller.view("search", "call_1"), controller.view("search", "call_2")
    view.set("cursor", 3)
    assert (view.get("cursor"), other.get("cursor"), controller.snapshot) == (3, None, {})
    view.commit()
    assert (other.get("cursor"), other.keys(), controller.snapshot) == (3, ("cursor",), {"search": {"cursor": 3}})
    other.delete("cursor")
    assert (other.get("cursor", "none"), other.keys()) == ("none", ())
    other.commit()
    assert controller.snapshot == {}


def test_tools_do_not_see_each_others_state():
    controller = ToolStateController()
    view = controller.view("a", "call_1")
    view.set("x", 1)
    view.commit()
    assert controller.view("b", "call_2").keys() == ()


def test_what_is_handed_out_is_a_copy():
    controller, value = ToolStateController(), {"list": [1]}
    view = controller.view("a", "call_1")
    view.set("x", value)
    value["list"].append(2)
    view.get("x")["list"].append(3)
    view.commit()
    controller.snapshot["a"]["x"]["list"].append(4)
    assert controller.snapshot == {"a": {"x": {"list": [1]}}}


def test_discarding_forgets():
    controller = ToolStateController()
    view = controller.view("a", "call_1")
    view.set("x", 1)
    view.discard()
    view.commit()
    assert controller.snapshot == {}


def test_a_view_ends_with_its_call():
    view = ToolStateController().view("a", "call_1")
    view.commit()
    for change in (lambda: view.set("x", 1), lambda: view.delete("x")):
        with pytest.raises(ToolError, match="has ended"):
            change()


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), b"x", [float("inf")]])
def test_only_json_is_kept(value):
    with pytest.raises(ToolError, match="not JSON"):
        ToolStateController().view("a", "call_1").set("x", value)


def test_a_value_has_a_limit_in_bytes():
    assert DEFAULT_MAX_VALUE_BYTES == 65_536
    view = ToolStateController().view("a", "call_1")
    view.set("x", "é" * (32_768 - 1))  # with its quotes, the limit itself
    with pytest.raises(ToolError, match="takes 65,538 bytes"):
        view.set("x", "é" * 32_768)
    assert len(view.get("x")) == 32_767
    ToolStateController(max_value_bytes=10**6).view("a", "call_1").set("x", "é" * 32_768)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.none() | JSON), max_size=12))
def test_the_session_restores_exactly_what_held(steps):
    session = Session.memory()
    controller = ToolStateController(SessionToolState(session))
    for n, (tool, key, value) in enumerate(steps):
        view = controller.view(tool, f"call_{n}")
        if value is None:
            view.delete(key)
        else:
            view.set(key, value)
        view.commit()
    assert ToolStateController(SessionToolState(session)).snapshot == controller.snapshot


def test_it_is_there_after_a_restart_and_damaged_records_are_passed_over(tmp_path):
    from zidane_lab.turns import TextBlock, Turn

    with Session.create(tmp_path) as session:
        session.append(Turn("user", (TextBlock("go"),)))
        view = ToolStateController(SessionToolState(session)).view("a", "call_1")
        view.set("x", [1])
        view.commit()
        for damaged in ({}, {"tool": "a"}, {"tool": "a", "ops": [{"op": "set"}]}, {"tool": 3, "ops": []}):
            session.record(TOOL_STATE, damaged)
        path = session.path
    with Session.open(path) as session:
        assert ToolStateController(SessionToolState(session)).snapshot == {"a": {"x": [1]}}


def test_nothing_is_recorded_for_a_call_that_changed_nothing():
    session = Session.memory()
    view = ToolStateController(SessionToolState(session)).view("a", "call_1")
    view.get("x")
    view.commit()
    assert session.records(TOOL_STATE) == ()


@pytest.mark.parametrize(
    ("value", "sound"),
    [
        ([], True),
        ([{"op": "set", "key": "x", "value": None}, {"op": "delete", "key": "y"}], True),
        (None, False),
        ({"op": "set"}, False),
        (["set"], False),
        ([{"op": "set", "key": "x"}], False),
        ([{"op": "set", "key": 1, "value": 1}], False),
        ([{"op": "set", "key": "x", "value": {1}}], False),
        ([{"op": "delete", "key": "x", "value": 1}], False),
        ([{"op": "clear", "key": "x"}], False),
    ],
)
def test_operations_are_checked(value, sound):
    assert is_tool_state_ops(value) is sound
    assert ToolStateController().view("a", "call_1").restore(value) is sound


def test_what_a_call_staged_can_be_journalled_and_restored():
    view = ToolStateController().view("a", "call_1")
    view.set("x", 1)
    view.set("y", 1)
    view.delete("x")
    ops = list(view.ops())
    assert ops == [{"op": "set", "key": "y", "value": 1}, {"op": "delete", "key": "x"}]
    again = ToolStateController().view("a", "call_1")
    assert again.restore(ops)
    assert again.ops() == tuple(ops)
    again.discard()
    assert not again.restore(ops)


def test_a_view_of_the_hosts_own_is_not_staged():
    class Own:
        def get(self, key, default=None):
            return default

        def keys(self):
            return ()

        def set(self, key, value):
            return None

        def delete(self, key):
            return None

    view = ToolStateController().view("a", "call_1")
    assert staged_tool_state(Own()) is None
    assert staged_tool_state(None) is None
    assert staged_tool_state(view) is view


def stage(handler):
    controller = ToolStateController()

    async def run(context, **arguments):
        return await handler(controller.view("count", context.ids.call_id), **arguments)

    return Stage(simple_tool("count", run), guards=[controller]), controller


@pytest.mark.asyncio
async def test_changes_hold_when_the_call_went_well_and_not_when_it_failed():
    async def count(view, fail=False):
        view.set("n", view.get("n", 0) + 1)
        if fail:
            raise ToolError("no", hint="")
        return "ok"

    it, controller = stage(count)
    await it.turn(("count", {}), ("count", {"fail": True}), ("count", {}))
    assert controller.snapshot == {"count": {"n": 2}}


@pytest.mark.asyncio
async def test_changes_of_a_call_that_was_cut_do_not_hold():
    started = asyncio.Event()

    async def count(view):
        view.set("n", 1)
        started.set()
        await asyncio.sleep(60)

    it, controller = stage(count)
    task = asyncio.ensure_future(it.turn(("count", {})))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await it.end()
    assert controller.snapshot == {}
    assert controller._views == {}
