"""``todowrite`` and ``todoread`` in real runs: what the model reads, what holds afterwards, on which branch."""

from __future__ import annotations

import pytest

from zidane_lab.agent.agent import Agent
from zidane_lab.approvals.safelist import IMPLICITLY_SAFE
from zidane_lab.errors import ToolInputError
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.todo import todo_tools
from zidane_lab.tools.todo_plan import TODOS, plan_in

pytestmark = pytest.mark.asyncio


def write(*found):
    """A call that writes steps given as ``"status content"``."""
    parts = [text.partition(" ") for text in found]
    return call("todowrite", todos=[{"content": content, "status": status} for status, _, content in parts])


READ = call("todoread")
FIRST = write("in_progress load the table", "pending plot it")
FIRST_TEXT = "0 of 2 done\n\n- [/] load the table\n- [ ] plot it"


def agent_with(*answers, session=None):
    return Agent(ScriptedProvider(list(answers)), tools=todo_tools(), session=session)


def results(agent):
    return [result for turn in agent.session.turns for result in turn.tool_results]


async def test_what_is_written_is_shown_kept_and_read_back():
    agent = agent_with(FIRST, READ, "ok")
    await agent.run("go")
    written, read = results(agent)
    assert written.text == read.text == FIRST_TEXT
    assert written.metadata[TODOS] == [
        {"content": "load the table", "status": "in_progress"},
        {"content": "plot it", "status": "pending"},
    ]


async def test_a_plan_that_is_none_changes_nothing_and_says_what_holds():
    agent = agent_with(FIRST, write("in_progress a", "in_progress b"), "ok")
    await agent.run("go")
    failed = results(agent)[1]
    assert failed.is_error
    assert "2 steps are in progress: a; b." in failed.text
    assert failed.text.endswith("Nothing was changed; the plan is still:\n\n- [/] load the table\n- [ ] plot it")
    assert [each.content for each in plan_in(agent.session.turns).todos] == ["load the table", "plot it"]


@pytest.mark.parametrize(
    "wrong", [{}, {"todos": "a"}, {"todos": [{"content": "a"}]}, {"todos": [{"content": "a", "status": "begun"}]},
              {"todos": [{"content": None, "status": "pending"}]}],
)  # fmt: skip
async def test_arguments_that_are_no_steps_are_refused_before_anything_runs(wrong):
    with pytest.raises(ToolInputError):
        await todo_tools()[0].run(ToolContext(), wrong)


async def test_reading_beside_writing_is_refused_since_it_would_show_the_plan_before():
    agent = agent_with(FIRST, [write("completed load the table"), READ], "ok")
    await agent.run("go")
    assert results(agent)[2].is_error
    assert "result of todowrite shows it" in results(agent)[2].text


async def test_an_empty_list_ends_the_plan():
    agent = agent_with(FIRST, write(), READ, "ok")
    await agent.run("go")
    assert [result.text for result in results(agent)[1:]] == ["There is no plan."] * 2


async def test_a_finished_plan_is_read_in_its_run_and_not_in_the_next():
    agent = agent_with(write("completed a"), READ, "ok", READ, "ok")
    await agent.run("go")
    await agent.run("again")
    assert [result.text for result in results(agent)[1:]] == ["1 of 1 done\n\n- [x] a", "There is no plan."]


async def test_the_plan_survives_a_kernel_and_goes_along_with_a_copy(tmp_path):
    agent = agent_with(FIRST, "ok", session=Session.create(tmp_path))
    await agent.run("go")
    path = agent.session.path
    with Session.branch(path) as copy:  # while the first is still open, as after a kill
        branched = agent_with(write("completed load the table", "pending plot it"), READ, "ok", session=copy)
        await branched.run("go on")
        assert results(branched)[-1].text == "1 of 2 done\n\n- [x] load the table\n- [/] plot it"
    agent.session.close()
    with Session.open(path) as again:
        assert plan_in(again.turns) == plan_in(agent.session.turns)
        resumed = agent_with(READ, "ok", session=again)
        await resumed.run("what is left?")
        assert results(resumed)[-1].text == FIRST_TEXT


async def test_going_back_to_an_earlier_turn_goes_back_to_its_plan():
    agent = agent_with(FIRST, "ok", write("completed load the table"), "ok", READ, "ok")
    await agent.run("go")
    fork = agent.session.turns[-1].id
    await agent.run("again")
    agent.session.move_to(fork)
    await agent.run("what is left?")
    assert results(agent)[-1].text == FIRST_TEXT


async def test_outside_of_a_conversation_there_is_no_plan():
    write_tool, read_tool = todo_tools()
    output = await write_tool.run(ToolContext(), {"todos": [{"content": "a", "status": "pending", "phase": "One"}]})
    assert output.parts[0].text == "0 of 1 done\n\n## One\n- [/] a"
    assert (await read_tool.run(ToolContext(), {})).parts[0].text == "There is no plan."


async def test_they_are_never_asked_about():
    assert {tool.name for tool in todo_tools()} <= IMPLICITLY_SAFE
    assert {tool.tier for tool in todo_tools()} == {"read"}
