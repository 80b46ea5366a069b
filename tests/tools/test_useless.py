from __future__ import annotations

import pytest

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.decorator import tool
from zidane_lab.tools.glob import glob
from zidane_lab.tools.useless import flag_useless
from zidane_lab.tools.variables import list_variables

pytestmark = pytest.mark.asyncio


class Empty:
    async def list_variables(self, *, pattern=None, limit=200):
        return {"variables": [], "total": 0}


async def test_a_tool_that_finds_nothing_says_so_in_its_metadata(tmp_path):
    (tmp_path / "a.py").touch()
    finder = tool(tier="read")(flag_useless(lambda text: text.startswith("[nothing in "))(glob))
    context = ToolContext(cwd=tmp_path)
    nothing = await finder.run(context, {"pattern": "*.csv"})
    assert nothing.metadata == {"useless": True}
    assert nothing.parts[0].text.startswith("[nothing in ")
    assert (await finder.run(context, {"pattern": "*.py"})).metadata == {}


async def test_the_tool_is_the_same_to_the_model():
    plain, marked = tool(tier="read")(glob), tool(tier="read")(flag_useless(bool)(glob))
    assert marked.spec == plain.spec


async def test_asynchronous_tools_are_marked_too():
    lister = tool(tier="read")(flag_useless(lambda text: text.startswith("There are no variables"))(list_variables))
    assert (await lister.run(ToolContext(executor=Empty()), {})).metadata == {"useless": True}
