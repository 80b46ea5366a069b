"""Loops: noticed, spoken about, refused, ended; and what is no loop is left in peace."""

from __future__ import annotations

import pytest

from tests.agent.guards.support import Counting, Stage, evidence
from tests.agent.support import simple_tool
from zidane_lab.agent.guards.repeat_guard import (
    ABORT_AT,
    BLOCK_AT,
    NOTE_AT,
    RepeatGuard,
    default_repeat_guard_normalize,
    default_repeat_guard_tracked,
)
from zidane_lab.errors import AbortedError, ConfigurationError, ToolError
from zidane_lab.session.read_state import read_evidence
from zidane_lab.tools.base import ToolOutput
from zidane_lab.turns import TextBlock

LS = ("shell", {"command": "ls"})
READ = ("read_file", {"path": "a", "offset": 1})
EDIT = ("edit", {"path": "a"})


async def stage(guard=None, **handlers):
    handlers = {name: Counting() for name in ("shell", "read_file", "edit", "query", "run_python")} | handlers
    tools = [simple_tool(name, handler) for name, handler in handlers.items()]
    it = Stage(*tools, guards=[guard or RepeatGuard()])
    await it.start()
    return it


def code(text):
    return ("run_python", {"code": text, "intent": "look", "timeout": None})


async def play(it, *calls):
    """One call a turn; what came of each: ``-`` nothing, ``N`` a note after it, ``B`` a refusal, ``A`` the end."""
    said = ""
    for call in calls:
        try:
            event = await it.boundary(call)
        except AbortedError:
            return said + "A"
        blocked = event.results.tool_results[0].text.startswith("Blocked: ")
        notes = [injection for injection in event.inject if injection.reason == "progress-nudge"]
        said += "B" if blocked else "N" if notes else "-"
    return said


@pytest.mark.asyncio
async def test_a_repeated_call_is_spoken_about_then_refused_then_ends_the_run():
    it = await stage()
    assert await play(it, *[LS] * 12) == "--NNBBBA"
    assert (NOTE_AT, BLOCK_AT, ABORT_AT) == (3, 5, 8)
    assert it.hits("repeat-guard")[-1].startswith("run stopped: The model repeated the same step (shell) 8 times")


@pytest.mark.asyncio
async def test_the_run_ends_between_turns_so_every_call_has_its_result():
    it = await stage()
    for _ in range(7):
        await it.boundary(LS)
    with pytest.raises(AbortedError, match="repeated the same step"):
        await it.boundary(LS)
    last = it.session.turns[-1]
    assert last.tool_results[0].text.startswith("Blocked: this is repetition 8")


@pytest.mark.asyncio
@pytest.mark.parametrize("other", [("shell", {"command": "pwd"}), EDIT, code("x"), ("read_file", {"path": "b"})])
async def test_any_other_call_between_ends_the_repetition(other):
    it = await stage()
    assert await play(it, LS, LS, other, LS, LS, LS) == "-----N"


@pytest.mark.asyncio
async def test_a_refusal_stands_until_something_else_is_tried():
    it = await stage()
    assert await play(it, *[LS] * 6, READ, LS) == "--NNBB--"


@pytest.mark.asyncio
async def test_a_word_from_the_person_starts_the_count_anew_one_from_the_loop_does_not():
    it = await stage()
    assert await play(it, *[LS] * 4) == "--NN"
    await it.says("go on", "injected")
    assert await play(it, LS) == "B"
    await it.says("again please", "steer")
    assert await play(it, *[LS] * 2) == "--"
    await it.end()
    await it.start("run_2")
    assert await play(it, *[LS] * 3) == "--N"


@pytest.mark.asyncio
async def test_commands_dressed_up_differently_are_the_same():
    it = await stage()
    dressed = ["pytest -q", "cd /app && pytest  -q", "pytest -q ; sleep 2 && tail log"]
    assert await play(it, *[("shell", {"command": command}) for command in dressed]) == "--N"
    assert await play(it, ("shell", {"command": "pytest -v"})) == "-"


@pytest.mark.asyncio
@pytest.mark.parametrize("cycle", [(LS, READ), (LS, READ, ("read_file", {"path": "b"}))])
async def test_going_round_in_a_small_circle_is_a_repetition(cycle):
    it = await stage()
    rest = "-" * (len(cycle) - 1)
    assert await play(it, *cycle * 4) == rest + "-" + rest + "-" + rest + "N" + rest + "N"
    assert await play(it, *cycle * 2) == rest + "B" + "B" * len(cycle)


@pytest.mark.asyncio
async def test_editing_and_testing_is_work_as_long_as_the_edits_differ():
    it = await stage()
    steps = [step for n in range(8) for step in (LS, ("edit", {"path": "a", "text": str(n)}))]
    assert await play(it, *steps) == "-" * 16
    it = await stage()
    assert "N" in await play(it, *[LS, EDIT] * 4, LS)


@pytest.mark.asyncio
async def test_tools_that_are_not_tracked_may_be_repeated():
    it = await stage()
    assert await play(it, *[EDIT] * 12) == "-" * 12
    assert [tool for tool in ("shell", "read_file", "run_python", "edit") if default_repeat_guard_tracked(tool)] == [
        "shell",
        "read_file",
        "run_python",
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize("tools", [{"query"}, lambda name: name == "query"])
async def test_more_tools_can_be_tracked_and_told_apart_by_their_own_rule(tools):
    guard = RepeatGuard(tools, lambda name, arguments: arguments["sql"].lower() if name == "query" else None)
    it = await stage(guard)
    sqls = ["SELECT 1", "select 1", "Select 1"]
    assert await play(it, *[("query", {"sql": sql}) for sql in sqls]) == "--N"
    assert await play(it, *[LS] * 3) == "--N"


@pytest.mark.asyncio
async def test_calls_without_arguments_are_not_told_apart_so_they_do_not_count():
    it = await stage(RepeatGuard({"query"}))
    assert await play(it, *[("query", {})] * 9) == "-" * 9


@pytest.mark.asyncio
async def test_python_that_comes_to_the_same_is_a_repetition_whatever_its_time_and_its_intent():
    outputs = [evidence("42", seconds=n) for n in range(20)]
    it = await stage(run_python=Counting(*outputs))
    calls = [("run_python", {"code": f"print(x)\n{blank}", "intent": blank}) for blank in ("", "\n", " \n", "\n\n", "")]
    assert await play(it, *calls) == "--NNB"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "outputs",
    [
        [evidence(str(n)) for n in range(20)],
        [evidence("", created=("df",))],
        [evidence("", changed=("state",))],
        [evidence("", deleted=("x",))],
    ],
    ids=["another output", "created", "changed", "deleted"],
)
async def test_python_that_gets_somewhere_is_none(outputs):
    it = await stage(run_python=Counting(*outputs))
    assert await play(it, *[code("step()")] * 12) == "-" * 12


@pytest.mark.asyncio
async def test_watching_a_file_that_grows_is_none_reading_one_that_does_not_is():
    def seen(size):
        evidence = read_evidence("/log", 1, 300, mtime=1.5, size=size)
        return ToolOutput((TextBlock("…"),), metadata=evidence)

    growing = await stage(read_file=Counting(*[seen(n) for n in range(20)]))
    assert await play(growing, *[READ] * 12) == "-" * 12
    still = await stage(read_file=Counting(seen(1)))
    assert await play(still, *[READ] * 5) == "--NNB"


@pytest.mark.asyncio
async def test_python_that_fails_the_same_way_is_one_though_its_traceback_counts_cells():
    failures = [
        evidence(status="error", created=("x",), error={"name": "KeyError", "message": "'a'", "traceback": f"In[{n}]"})
        for n in range(20)
    ]
    it = await stage(run_python=Counting(*failures))
    assert await play(it, *[code("df.a")] * 5) == "--NNB"
    nowhere = await stage(run_python=Counting(ToolError("There is no kernel.", hint="")))
    assert await play(nowhere, *[code("df.a")] * 5) == "--NNB"


@pytest.mark.asyncio
async def test_repetitions_within_one_batch_are_refused_but_do_not_end_the_run():
    it = await stage()
    event = await it.boundary(*[LS] * 10)
    assert [result.text.startswith("Blocked: ") for result in event.results.tool_results] == [False] * 4 + [True] * 6
    assert await play(it, LS) == "A"  # it has read the refusals by now


@pytest.mark.asyncio
async def test_repetitions_that_others_answer_or_refuse_count_too():
    it = await stage()
    it.hooks.on("tool:gate", lambda event: setattr(event, "block", event.block or "not allowed"))
    for _ in range(5):
        event = await it.boundary(LS)
    assert event.results.tool_results[0].text.startswith("Blocked: this is repetition 5")
    assert it.hits("repeat-guard")[-1] == "refused: repetition 5 of the same step"


@pytest.mark.asyncio
async def test_one_note_at_a_boundary_is_enough():
    from zidane_lab.events import Injection, TurnBoundary

    it = await stage()
    it.hooks._entries.insert(
        0, (TurnBoundary.name, lambda event: event.inject.append(Injection("progress-nudge", "other")))
    )
    for _ in range(3):
        event = await it.boundary(LS)
    assert [injection.text for injection in event.inject] == ["other"]


@pytest.mark.asyncio
async def test_a_broken_rule_lets_the_call_run():
    def broken(*_):
        raise ValueError("oops")

    it = await stage(RepeatGuard(normalize=broken))
    assert await play(it, *[LS] * 6) == "-" * 6
    assert set(it.hits("repeat-guard")) == {"left alone: its normalizer failed (ValueError: oops)"}


@pytest.mark.parametrize(
    ("tool", "arguments", "key"),
    [
        ("shell", {"command": "cd x && ls", "timeout": 3}, "ls"),
        ("shell", {"command": "  "}, None),
        ("run_python", {"code": "a = 1  \n\n\nb = 2\n", "intent": "x"}, "a = 1\nb = 2"),
        ("run_python", {"code": "if x:\n  y()", "intent": "x"}, "if x:\n  y()"),
        ("read_file", {"path": "a", "offset": 1, "limit": None}, '{"offset":1,"path":"a"}'),
        ("query", {"b": 1, "a": {"d": 1, "c": 2}}, '{"a":{"c":2,"d":1},"b":1}'),
        ("query", {}, None),
        ("query", {"intent": "look"}, None),
    ],
)
def test_default_keys(tool, arguments, key):
    assert default_repeat_guard_normalize(tool, arguments) == key


@pytest.mark.parametrize("counts", [(1, 5, 8), (5, 4, 8), (3, 8, 5)])
def test_counts_that_do_not_rise_are_refused(counts):
    with pytest.raises(ConfigurationError, match="cannot tell"):
        RepeatGuard(note_at=counts[0], block_at=counts[1], abort_at=counts[2])
