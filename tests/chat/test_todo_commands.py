"""A person looks at the plan and changes it."""

from __future__ import annotations

import pytest

from tests.agent.strict import must_be_valid
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext
from zidane_lab.chat.place import Place
from zidane_lab.chat.todo_commands import _todo, changed
from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.todo_plan import Todo, plan_in

PLAN = (Todo("load", "completed"), Todo("clean", "in_progress"), Todo("plot", "pending", "Show"))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("done 2", [*PLAN[:1], Todo("clean", "completed"), Todo("plot", "in_progress", "Show")]),
        ("drop 3", [*PLAN[:2], Todo("plot", "dropped", "Show")]),
        ("block 2", [*PLAN[:1], Todo("clean", "blocked"), Todo("plot", "in_progress", "Show")]),
        ("open 1", [Todo("load"), *PLAN[1:]]),
        ("add sum it up", [*PLAN, Todo("sum it up", "pending", "Show")]),
        ("clear", []),
        ("- [x] a\n- [ ] b", [Todo("a", "completed"), Todo("b", "in_progress")]),
    ],
)
def test_a_change_in_words(what, expected):
    assert list(changed(PLAN, what)) == expected


@pytest.mark.parametrize(
    "what", ["done", "done 0", "done 4", "done ²", "done 1e1", "add", "add  ", "shuffle", "- what"]
)
def test_what_cannot_be_read_changes_nothing(what):
    with pytest.raises(ConfigurationError):
        changed(PLAN, what)


@pytest.mark.asyncio
async def test_the_change_is_part_of_the_conversation(tmp_path):
    chat = Chat(Place(None, tmp_path, "a test"), env={"ZIDANE_HOME": str(tmp_path)})
    context = CommandContext(chat)
    try:
        assert (await _todo.run(context, "")).text == "There is no plan."
        reply = await _todo.run(context, "add load the table")
        assert reply.text == "0 of 1 done\n\n- [/] load the table"
        assert (await _todo.run(context, "")).text == reply.text
        assert [each.content for each in plan_in(chat.session.turns).todos] == ["load the table"]
        must_be_valid(chat.session)
        await _todo.run(context, "done 1")
        assert (await _todo.run(context, "")).text == "1 of 1 done\n\n- [x] load the table"
        chat.agent = object()
        with pytest.raises(ConfigurationError, match="run is under way"):
            await _todo.run(context, "add more")
    finally:
        chat.agent = None
        await chat.close()
