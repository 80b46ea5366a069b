"""The budget on tool output of one turn."""

from __future__ import annotations

import pytest

from tests.agent.guards.support import Stage
from tests.agent.support import simple_tool
from zidane_lab.agent.guards.output_budget import BUDGET_EXEMPT_TOOLS, OutputBudget
from zidane_lab.errors import ConfigurationError
from zidane_lab.turns import ImageBlock


async def long(_context, size=0):
    return "é" * (size // 2)


async def picture(_context):
    return ImageBlock("image/png", b"x" * 5000)


def stage(limit=1000, **options):
    names = ("read_file", "spawn", "tool_search", "shell")
    return Stage(*(simple_tool(name, long) for name in names), guards=[OutputBudget(limit, **options)])


@pytest.mark.asyncio
async def test_a_turn_over_the_limit_is_followed_by_a_word_to_consolidate():
    it = stage()
    event = await it.boundary(("read_file", {"size": 900}), ("shell", {"size": 200}))
    (injection,) = event.inject
    assert injection.reason == "tool-output-budget"
    assert "1.1 KB" in injection.text
    assert "1.0 KB" in injection.text
    assert it.hits("output-budget") == ["1.1 KB of tool output in one turn, over 1.0 KB"]
    assert [hit.tool for hit in it.seen.of("guard:hit")] == ["read_file"]


@pytest.mark.asyncio
async def test_bytes_are_counted_per_turn_and_the_limit_itself_is_allowed():
    it = stage()
    for _ in range(3):
        event = await it.boundary(("read_file", {"size": 500}), ("spawn", {"size": 500}))
        assert event.inject == []


@pytest.mark.asyncio
async def test_tools_that_load_context_do_not_count():
    it = stage()
    assert (await it.boundary(("tool_search", {"size": 80_000}))).inject == []
    assert {"read_file", "spawn", "run_python"}.isdisjoint(BUDGET_EXEMPT_TOOLS)
    own = stage(exempt={"shell"})
    assert (await own.boundary(("shell", {"size": 80_000}))).inject == []
    assert (await own.boundary(("tool_search", {"size": 80_000}))).inject != []


@pytest.mark.asyncio
async def test_text_counts_and_pictures_do_not():
    async def run(context, **_):
        from zidane_lab.tools.base import ToolOutput

        return ToolOutput((await picture(context),))

    it = Stage(simple_tool("plot", run), guards=[OutputBudget(1000)])
    assert (await it.boundary(("plot", {}))).inject == []


def test_a_limit_below_one_is_refused():
    with pytest.raises(ConfigurationError, match="budget of 0 bytes"):
        OutputBudget(0)
