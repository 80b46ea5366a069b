"""A model that gets nowhere is told so once, and only when it really gets nowhere."""

from __future__ import annotations

import pytest

from zidane_lab.agent.guards.bundle import answered_by
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.nudges import NUDGE_KINDS, ProgressNudges
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import AgentDone, Ids, Injection, TurnBoundary
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn, Usage
from zidane_lab.wire.markers import MARKERS

pytestmark = pytest.mark.asyncio

IDS = Ids("run_1")


def nudged(**options) -> HookBus:
    hooks = HookBus()
    hooks.use(ProgressNudges(**options))
    return hooks


async def boundary(hooks, *outcomes, text="", finish=None, ids=IDS, inject=(), **result) -> list[str]:
    """One turn whose calls had these outcomes (error texts, ``None`` for a success); what is said to the model."""
    calls = tuple(ToolCallBlock(f"c{n}", "run_python", {}) for n in range(len(outcomes)))
    results = tuple(
        ToolResultBlock(call.id, (TextBlock(error or "ok"),), is_error=error is not None, **result)
        for call, error in zip(calls, outcomes, strict=True)
    )
    said = (TextBlock(text),) if text else ()
    event = TurnBoundary(
        ids,
        0,
        Turn("assistant", (*said, *calls)),
        finish or ("tool-calls" if calls else "stop"),
        Turn("user", results) if results else None,
        list(inject),
    )
    assert await hooks.emit(event) == []
    assert all(each.reason == "progress-nudge" for each in event.inject[len(inject) :])
    return [each.text for each in event.inject[len(inject) :]]


async def test_the_same_error_three_turns_in_a_row_is_said_once():
    hooks = nudged()
    assert await boundary(hooks, "boom") == []
    assert await boundary(hooks, "boom") == []
    (text,) = await boundary(hooks, "boom")
    assert "`run_python`" in text
    assert "3 times" in text
    for _ in range(5):
        assert await boundary(hooks, "boom") == []


async def test_tracebacks_that_differ_by_an_address_or_a_cell_s_number_are_the_same():
    hooks = nudged()
    errors = [f"Cell In[{n}], line 1\nTypeError: <object at 0x7f00{n}abc>" for n in range(3)]
    said = [await boundary(hooks, error) for error in errors]
    assert [len(each) for each in said] == [0, 0, 1]


@pytest.mark.parametrize(
    "turns",
    [
        (("boom",), ("boom",), ("other",), ("boom",)),
        (("boom",), ("boom",), (None,), ("boom",), ("boom",)),
        (("boom", "boom", "boom"), ("boom",)),  # one turn tries once, however many calls it makes
        (("KeyError: 1",), ("KeyError: 2",), ("KeyError: 3",)),
        *(((marker,),) * 4 for marker in sorted(MARKERS)),
    ],
)
async def test_trying_something_else_is_progress(turns):
    hooks = nudged()
    for outcomes in turns:
        assert await boundary(hooks, *outcomes) == []


async def test_what_a_guard_answers_is_left_to_the_guard():
    hooks = nudged()
    for _ in range(5):
        assert await boundary(hooks, "seen already", metadata=answered_by("repeat")) == []


async def test_runs_are_told_apart_and_forgotten_when_they_end():
    bundle = ProgressNudges(same_errors=2)
    hooks = HookBus()
    off = hooks.use(bundle)
    other = Ids("run_2")
    assert await boundary(hooks, "boom") == []
    assert await boundary(hooks, "boom", ids=other) == []
    assert len(await boundary(hooks, "boom")) == 1
    await hooks.emit(AgentDone(IDS, "completed", "stop", Usage(), 2, 0.1))
    assert await boundary(hooks, "boom") == []  # a run of the same name begins anew
    off()
    assert await boundary(hooks, "boom", ids=other) == []


async def test_long_silent_work_is_asked_about_where_that_is_on():
    quiet, asked = nudged(), nudged(kinds=frozenset({"silent-work"}), silent_turns=3)
    for _ in range(30):
        assert await boundary(quiet, None) == []
    assert [len(await boundary(asked, None)) for _ in range(2)] == [0, 0]
    assert await boundary(asked, None, text="I found something.") == []
    assert [len(await boundary(asked, None)) for _ in range(4)] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "announces"),
    [
        ("The data are loaded. Now I'll fit the model.", True),
        ("Let me check the missing values:", True),
        ("Done with the first part.\n\nNext, I will plot it.", True),
        ("I’m going to run the tests", True),
        ("The mean is 3.5.", False),
        ("Let me know if you want more.", False),
        ("I'll fit the model. It has an R² of 0.9.", False),
        ("Shall I go on?", False),
        ("I'll delete the file. Is that all right?", False),
        ("I will " + "go on and on " * 30, False),
        ("", False),
    ],
)
async def test_announced_work_is_told_from_an_end(text, announces):
    hooks = nudged(kinds=frozenset({"announced-work"}))
    assert bool(await boundary(hooks, text=text)) == announces
    assert await boundary(hooks, text=text) == []  # at most once
    assert await boundary(nudged(), text=text) == []  # off by default


async def test_announced_work_that_goes_on_needs_no_word():
    announced = "Now I'll fit the model."
    for circumstances in ({"finish": "length"}, {"inject": [Injection("pause-resume", "Continue.")]}):
        hooks = nudged(kinds=frozenset({"announced-work"}))
        assert await boundary(hooks, text=announced, **circumstances) == []
    assert await boundary(nudged(kinds=frozenset({"announced-work"})), None, text=announced) == []


async def test_kinds_and_numbers_are_checked():
    assert set(NUDGE_KINDS) == {"same-error", "silent-work", "announced-work"}
    with pytest.raises(ConfigurationError, match="no nudge 'louder'"):
        ProgressNudges(kinds=frozenset({"louder"}))
    with pytest.raises(ConfigurationError, match="fewer than 2"):
        ProgressNudges(same_errors=1)
