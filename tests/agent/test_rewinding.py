"""Checkpoint and rewind in real runs: a report stands for a detour, and for nothing else."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.runs import QUICK, SMALL, FullDisk, Service, counted, talk, wire_texts
from tests.agent.strict import check_request, must_be_valid
from tests.agent.support import Recorder, Slow, echo, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.kit import Continuity
from zidane_lab.agent.rewinding import MOST_REFUSALS, REFUSAL, Rewinding, detour_of
from zidane_lab.agent.todo_reminder import TodoReminder
from zidane_lab.errors import BudgetExceededError
from zidane_lab.kernel.embedded import embedded_shell
from zidane_lab.kernel.live import LiveExecutor
from zidane_lab.providers.scripted import call, say
from zidane_lab.session.entries import Header
from zidane_lab.session.session import Session
from zidane_lab.session.usage_stats import answers_of
from zidane_lab.tools.rewind import rewind_tools
from zidane_lab.tools.run_python import RUN_PYTHON
from zidane_lab.tools.todo import todo_tools
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.cutoff import SUMMARY_HEAD, active_markers

CHECKPOINT = call("checkpoint", goal="which parser is faster")
LOOK = call("echo", text="a long output")
REWIND = call("rewind", report="The second one: 3.2 s against 9.1 s.")
SET = "The checkpoint is set. Explore, then call rewind with a concise report."
REPORT = (
    f"{SUMMARY_HEAD}\n\nYou went back to the checkpoint you had set to find out: which parser is faster\n\n"
    "Your report:\n\nThe second one: 3.2 s against 9.1 s."
)


def agent_with(*answers, session=None, tools=(), behavior=None, **options):
    session = session if session is not None else Session.memory()
    continuity, hooks = Continuity(), HookBus()
    hooks.use(Rewinding(session, continuity))
    hooks.use(TodoReminder(session))
    return Agent(
        Service("main", answers),
        tools=[simple_tool("echo", echo), *rewind_tools(), *todo_tools(), *tools],
        session=session,
        hooks=hooks,
        continuity=continuity,
        behavior=behavior or Behavior(retry=QUICK),
        **options,
    )


def sent(agent, number=-1):
    """What the model was sent."""
    check_request(agent.provider.requests[number])
    return wire_texts(agent.provider.requests[number])


def results(agent):
    return [result for turn in agent.session.turns for result in turn.tool_results]


def marks(agent):
    return active_markers(agent.session.turns, agent.session.wire_state.undone)


# --- the way there and back -----------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_report_takes_the_place_of_the_detour_and_of_nothing_else():
    agent = agent_with(LOOK, CHECKPOINT, LOOK, [say("Hm."), LOOK], REWIND, "The second one.", "Yes.")
    result = await agent.run("Which parser is faster?")
    assert result.text == "The second one."
    assert sent(agent) == ["Which parser is faster?", "", "echo a long output", "", SET, REPORT]
    assert len(agent.session.turns) == 13, "every turn is still in the session"
    await agent.run("Sure?")
    assert sent(agent)[5:] == [REPORT, "The second one.", "Sure?"]


@pytest.mark.asyncio
async def test_what_was_sent_before_the_checkpoint_is_sent_again_byte_for_byte():
    agent = agent_with(LOOK, CHECKPOINT, LOOK, REWIND, "Done.")
    await agent.run("go")
    before, after = agent.provider.requests[2], agent.provider.requests[-1]
    assert after.turns[: len(before.turns)] == before.turns
    assert (after.system, after.tools) == (before.system, before.tools)


@pytest.mark.asyncio
async def test_it_is_told_like_a_compaction():
    agent = agent_with(CHECKPOINT, LOOK, REWIND, "Done.")
    seen = Recorder(agent.hooks)
    await agent.run("go")
    (start,), (end,) = seen.of("compact:start"), seen.of("compact:end")
    assert (start.reason, start.turns, start.kept) == ("rewind", 4, 3)
    assert (end.reason, end.status, end.model, end.replaced) == ("rewind", "compacted", "main/script", 4)
    assert end.summary_turn in agent.session.turns
    assert 0 < end.after < end.before == start.tokens
    assert (end.usage, answers_of([end.summary_turn])) == (None, ())
    (block,) = end.summary_turn.blocks
    assert isinstance(block, CompactSummaryBlock)
    assert (block.metadata["reason"], len(block.replaces)) == ("rewind", 4)


@pytest.mark.asyncio
async def test_it_is_undone_like_a_compaction():
    agent = agent_with(CHECKPOINT, LOOK, REWIND, "Done.", "Yes.")
    await agent.run("go")
    assert agent.undo_compaction() == agent.session.turns[-2].id
    must_be_valid(agent.session)
    await agent.run("and now?")
    assert sent(agent)[3:7] == ["", "echo a long output", "", "The report stands for the detour from here on."]
    assert agent.provider.requests[-1].turns[5].tool_calls[0].input["report"] == "The second one: 3.2 s against 9.1 s."


@pytest.mark.asyncio
async def test_several_in_a_row_and_a_summary_of_all():
    summary = counted("<summary>All is well.</summary>", context=500, output=30)
    agent = agent_with(CHECKPOINT, LOOK, REWIND, CHECKPOINT, LOOK, REWIND, "Done.", summary, "Yes.")
    await agent.run("go")
    assert sent(agent) == ["go", "", SET, REPORT, "", SET, REPORT]
    await agent.compact("full")
    await agent.run("and now?")
    assert sent(agent) == [f"{SUMMARY_HEAD}\n\nAll is well.", "and now?"]
    agent.undo_compaction()
    assert len(marks(agent)) == 2
    must_be_valid(agent.session)


# --- what is not the detour's ---------------------------------------------------------------------


@pytest.mark.asyncio
async def test_what_a_person_says_meanwhile_stays():
    slow = Slow()
    agent = agent_with(CHECKPOINT, call("slow"), REWIND, "Done.", tools=[simple_tool("slow", slow)])
    run = asyncio.ensure_future(agent.run("go"))
    await slow.started.wait()
    agent.steer("Mind the memory, too.")
    slow.release.set()
    await run
    assert sent(agent) == ["go", "", SET, REPORT, "Mind the memory, too."]


@pytest.mark.asyncio
async def test_calls_beside_the_checkpoint_stay_and_none_may_be_beside_the_way_back():
    agent = agent_with([LOOK, CHECKPOINT], [LOOK, REWIND], REWIND, "Done.")
    await agent.run("go")
    assert "Other calls were made beside rewind" in results(agent)[3].text
    assert sent(agent) == ["go", "", f"echo a long output | {SET}", REPORT]


@pytest.mark.asyncio
async def test_a_plan_written_on_the_detour_is_put_back():
    plan = call("todowrite", todos=[{"content": "measure", "status": "blocked"}])
    agent = agent_with(CHECKPOINT, plan, REWIND, "Done.")
    await agent.run("go")
    assert sent(agent)[:5] == ["go", "", SET, REPORT, ""]
    assert "0 of 1 done\n\n- [!] measure" in sent(agent)[5]


@pytest.mark.asyncio
async def test_a_summary_that_takes_in_the_checkpoint_stays_with_what_was_put_back():
    plan = call("todowrite", todos=[{"content": "measure", "status": "blocked"}])
    fat, summary = counted(LOOK, context=9_000), counted("<summary>All is well.</summary>")
    agent = agent_with(
        plan, CHECKPOINT, LOOK, LOOK, LOOK, fat, summary, LOOK, REWIND, "Done.",
        session=talk(4), behavior=Behavior(compaction=SMALL, retry=QUICK),
    )  # fmt: skip
    await agent.run("go")
    said = sent(agent)
    assert said[:3] == [f"{SUMMARY_HEAD}\n\nAll is well.", REPORT, ""]
    assert "- [!] measure" in said[3]
    assert len(said) == 4
    for left in (1, 0):
        agent.undo_compaction()
        must_be_valid(agent.session)
        assert len(marks(agent)) == left


def test_of_the_detour_is_what_is_neither_a_persons_nor_put_back():
    def turn(turn_id, role="user", *blocks, injected=None):
        return Turn(role, blocks or (TextBlock(turn_id),), id=turn_id, injected=injected)

    turns = (
        turn("asked"),
        turn("set"),
        turn("look", "assistant"),
        turn("seen", "user", ToolResultBlock("c")),
        turn("nudge", injected="progress-nudge"),
        turn("steer"),
        turn("task", injected="task-notification"),
        turn("mark", "user", CompactSummaryBlock("All.", ("asked",))),
        turn("back", "assistant", injected="restore"),
        turn("shown", "user", ToolResultBlock("r"), injected="restore"),
        turn("answer", "assistant"),
    )
    assert [each.id for each in detour_of(turns, "set")] == ["look", "seen", "nudge", "answer"]
    assert detour_of(turns, "nowhere") == ()


# --- the rules ------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_there_is_one_at_a_time():
    agent = agent_with(CHECKPOINT, CHECKPOINT, [REWIND], [CHECKPOINT, CHECKPOINT], REWIND, "Done.")
    await agent.run("go")
    assert [result.is_error for result in results(agent)] == [False, True, False, False, True, False]
    assert "A checkpoint is set already" in results(agent)[1].text


@pytest.mark.asyncio
async def test_a_run_does_not_end_before_the_model_has_gone_back():
    agent = agent_with(CHECKPOINT, LOOK, "The second one.", REWIND, "The second one, as I said.")
    result = await agent.run("go")
    assert result.text == "The second one, as I said."
    assert [turn.text for turn in agent.session.turns if turn.injected] == [REFUSAL]
    assert sent(agent) == ["go", "", SET, REPORT], "the refusal belongs to the detour"


@pytest.mark.asyncio
async def test_a_model_that_will_not_go_back_is_let_go_and_a_person_is_told():
    agent = agent_with(CHECKPOINT, *["No."] * (MOST_REFUSALS + 1), REWIND, "Done.")
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert len([turn for turn in agent.session.turns if turn.injected]) == MOST_REFUSALS
    assert "ended on a detour" in seen.of("guard:hit")[0].text
    await agent.run("again")
    assert "No checkpoint is set in this run" in results(agent)[-1].text, "it ended with its run"
    assert marks(agent) == ()


@pytest.mark.parametrize("wrong", [call("checkpoint", goal="  "), call("rewind", report="x"), call("checkpoint")])
@pytest.mark.asyncio
async def test_calls_that_make_no_sense_do_nothing(wrong):
    agent = agent_with(wrong, "Done.")
    await agent.run("go")
    assert results(agent)[0].is_error
    assert marks(agent) == ()


@pytest.mark.asyncio
async def test_an_empty_report_is_refused():
    agent = agent_with(CHECKPOINT, call("rewind", report=" \n"), REWIND, "Done.")
    await agent.run("go")
    assert results(agent)[1].is_error
    assert len(marks(agent)) == 1


@pytest.mark.asyncio
async def test_agents_within_agents_have_none():
    agent = agent_with(CHECKPOINT, "Done.", depth=1)
    await agent.run("go")
    assert "Only the agent the user talks to" in results(agent)[0].text


# --- ends of all kinds ----------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_stop_ends_the_checkpoint():
    slow = Slow()
    agent = agent_with(CHECKPOINT, call("slow"), "Fine.", REWIND, "Done.", tools=[simple_tool("slow", slow)])
    run = asyncio.ensure_future(agent.run("go"))
    await slow.started.wait()
    agent.abort()
    assert (await run).status == "aborted"
    assert (await agent.run("again")).text == "Fine."
    await agent.run("and again")
    assert results(agent)[-1].is_error
    must_be_valid(agent.session)


@pytest.mark.asyncio
async def test_a_limit_ends_the_checkpoint():
    agent = agent_with(CHECKPOINT, LOOK, "Fine.", behavior=Behavior(max_turns=2, retry=QUICK))
    with pytest.raises(BudgetExceededError):
        await agent.run("go")
    assert (await agent.run("again")).text == "Fine."


@pytest.mark.parametrize("cut", range(1, 10))
@pytest.mark.asyncio
async def test_a_session_cut_anywhere_goes_on(tmp_path, cut):
    agent = agent_with(CHECKPOINT, LOOK, REWIND, "Done.", session=Session.create(tmp_path))
    await agent.run("go")
    agent.session.close()
    path = agent.session.path
    turns = 0
    kept = []
    for line in path.read_bytes().splitlines(keepends=True):  # as a kill after the cut-th turn leaves it
        turns += b'"type":"turn"' in line.replace(b" ", b"")
        if turns > cut:
            break
        kept.append(line)
    path.write_bytes(b"".join(kept))
    with Session.open(path) as session:
        must_be_valid(session)
        again = agent_with(REWIND, "Fine.", session=session)
        result = await again.run("go on")
        assert result.text == "Fine."
        assert "No checkpoint is set in this run" in results(again)[-1].text
        sent(again)


@pytest.mark.asyncio
async def test_a_copy_and_a_restart_send_the_same(tmp_path):
    agent = agent_with(CHECKPOINT, LOOK, REWIND, "Done.", session=Session.create(tmp_path))
    await agent.run("go")
    expected = wire_turns(agent.session.turns, state=agent.session.wire_state)
    with Session.branch(agent.session.path) as copy:
        assert wire_turns(copy.turns, state=copy.wire_state) == expected
    agent.session.close()
    with Session.open(agent.session.path) as again:
        assert wire_turns(again.turns, state=again.wire_state) == expected


@pytest.mark.asyncio
async def test_going_back_in_the_session_leaves_the_report_behind():
    agent = agent_with(CHECKPOINT, LOOK, REWIND, "Done.", "Yes.")
    await agent.run("go")
    agent.session.move_to(agent.session.turns[4].id)  # on the detour
    await agent.run("go on from here")
    assert sent(agent) == ["go", "", SET, "", "echo a long output", "go on from here"]


@pytest.mark.asyncio
async def test_a_disk_that_fails_at_the_report_loses_nothing():
    session = Session(FullDisk(Header("20261130-000000-abcdef"), "compact-summary"))
    agent = agent_with(CHECKPOINT, LOOK, REWIND, "Done.", session=session)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert sent(agent) == ["go", "", SET, REPORT]
    assert len(seen.of("compact:end")) == 1
    assert len(seen.of("hook:failed")) == 1


@pytest.mark.asyncio
async def test_what_was_counted_no_longer_holds():
    agent = agent_with(CHECKPOINT, counted(REWIND, context=5_000), "Done.")
    known = []
    agent.hooks.on("compact:end", lambda event: known.append((event.before, agent.continuity.measured)))
    await agent.run("go")
    ((before, measured),) = known
    assert 5_010 < before < 5_200, "what the service counted, and the result behind it"
    assert measured is None


# --- variables and files --------------------------------------------------------------------------


def python(code):
    return call("run_python", code=code, intent="try")


def in_kernel(*answers, **names):
    shell = embedded_shell(dict(names))
    return shell, agent_with(*answers, tools=[RUN_PYTHON], executor=LiveExecutor(shell))


@pytest.mark.asyncio
async def test_the_report_tells_what_the_detour_left_in_the_kernel():
    shell, agent = in_kernel(
        CHECKPOINT, python("a = 1; b = 2; table.append(4); del gone; c = 3"), python("del c; a = 5"), REWIND, "Done.",
        table=[1, 2], gone=1, untouched=0,
    )  # fmt: skip
    await agent.run("go")
    assert sent(agent)[-1] == (
        f"{REPORT}\n\nOnly the conversation went back. The detour left:\n"
        "- variables made: a, b\n- variables changed: table\n- variables deleted: gone"
    )
    assert results(agent)[-1].text.endswith("Variables made since the checkpoint: a, b.")
    assert shell.user_ns["a"] == 5


@pytest.mark.asyncio
async def test_what_the_detour_made_can_be_forgotten():
    forget = call("rewind", report="It works.", forget=["a", "a"])
    shell, agent = in_kernel(python("old = 1"), CHECKPOINT, python("a = 1; b = 2"), forget, "Done.")
    await agent.run("go")
    assert "a" not in shell.user_ns
    assert shell.user_ns["b"] == 2
    assert results(agent)[-1].text == (
        "The report stands for the detour from here on.\nDeleted: a.\nVariables made since the checkpoint: b."
    )
    assert "- variables made: b" in sent(agent)[-1]
    assert "deleted" not in sent(agent)[-1], "what came and went leaves no trace"


@pytest.mark.parametrize("name", ["table", "old", "missing", "changed", "__builtins__", "a; del table", ""])
@pytest.mark.asyncio
async def test_nothing_else_can_be(name):
    forget = call("rewind", report="It works.", forget=["a", name])
    shell, agent = in_kernel(
        python("old = 1"), CHECKPOINT, python("a = 1; changed.append(1)"), forget, REWIND, "Done.",
        table=[1, 2], changed=[],
    )  # fmt: skip
    await agent.run("go")
    assert "Not made since the checkpoint" in results(agent)[-2].text
    assert {"a", "table", "old", "changed", "__builtins__"} <= set(shell.user_ns)
    assert len(marks(agent)) == 1


@pytest.mark.asyncio
async def test_a_name_that_is_code_is_only_a_name():
    name = "x'] or print('run') or ['"
    shell, agent = in_kernel(
        CHECKPOINT,
        python(f"globals()[{name!r}] = 1; y = 2"),
        call("rewind", report="Odd.", forget=[name, "y"]),
        "Done.",
    )
    await agent.run("go")
    assert {name, "y"} & set(shell.user_ns) == set()
    assert not any(output.get("text") for output in results(agent)[-1].metadata["execution"]["outputs"])


@pytest.mark.asyncio
async def test_without_a_kernel_nothing_can_be_deleted():
    agent = agent_with(CHECKPOINT, call("rewind", report="x", forget=["a"]), REWIND, "Done.")
    await agent.run("go")
    assert results(agent)[1].is_error
    assert len(marks(agent)) == 1


@pytest.mark.asyncio
async def test_deleting_that_is_stopped_does_not_go_back():
    class Refuses(LiveExecutor):
        async def execute(self, code, *, timeout=None):
            return await super().execute("1/0" if "globals" in code else code, timeout=timeout)

    shell = embedded_shell({})
    forget = call("rewind", report="x", forget=["a"])
    agent = agent_with(
        CHECKPOINT, python("a = 1"), forget, REWIND, "Done.", tools=[RUN_PYTHON], executor=Refuses(shell)
    )
    await agent.run("go")
    assert "could not be deleted" in results(agent)[-2].text
    assert "a" in shell.user_ns
    assert len(marks(agent)) == 1
