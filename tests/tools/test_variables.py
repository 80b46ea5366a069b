from __future__ import annotations

import pytest

from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.tools.variables import inspect_variable_tool, list_variables_tool


class Kernel:
    """A namespace to look into; code is not run by these tools."""

    def __init__(self, rows=(), total=None):
        self.rows, self.total, self.asked = list(rows), total, []

    async def execute(self, code, *, timeout=None):
        raise AssertionError("these tools run no code")

    async def list_variables(self, *, pattern=None, limit=200):
        self.asked.append((pattern, limit))
        return {"variables": self.rows, "total": self.total if self.total is not None else len(self.rows)}

    async def inspect_variable(self, name, *, budget=4000):
        self.asked.append((name, budget))
        if name != "df":
            raise ToolInputError(f"There is no variable {name}; near: df.")
        return "df: DataFrame, 3 × 2"


ROWS = [
    {"name": "df", "type": "DataFrame", "summary": "3 × 2\n columns a, b"},
    {"name": "n", "type": "int", "summary": "3"},
    {"name": "f", "type": "function", "summary": ""},
]


def text(output: ToolOutput) -> str:
    (part,) = output.parts
    return part.text


@pytest.mark.asyncio
async def test_variables_are_listed_one_a_line():
    kernel = Kernel(ROWS)
    output = await list_variables_tool().run(ToolContext(executor=kernel), {})
    assert text(output) == "df: DataFrame — 3 × 2 columns a, b\nn: int — 3\nf: function"
    assert kernel.asked == [(None, 200)]


@pytest.mark.asyncio
async def test_a_cut_list_says_so_and_limits_are_bounded():
    kernel = Kernel(ROWS, total=500)
    output = await list_variables_tool().run(ToolContext(executor=kernel), {"pattern": "d*", "limit": 10**6})
    assert text(output).endswith("[3 of 500 variables that match 'd*'; narrow the list with `pattern`]")
    assert kernel.asked == [("d*", 1000)]


@pytest.mark.asyncio
async def test_an_empty_namespace_is_said():
    assert text(await list_variables_tool().run(ToolContext(executor=Kernel()), {})) == "There are no variables."


@pytest.mark.asyncio
async def test_one_variable_is_described_within_a_budget():
    kernel = Kernel()
    tool = inspect_variable_tool()
    assert text(await tool.run(ToolContext(executor=kernel), {"name": " df "})) == "df: DataFrame, 3 × 2"
    await tool.run(ToolContext(executor=kernel), {"name": "df", "budget": 10**9})
    assert kernel.asked == [("df", 4000), ("df", 40_000)]
    with pytest.raises(ToolInputError, match="near: df"):
        await tool.run(ToolContext(executor=kernel), {"name": "fd"})


@pytest.mark.asyncio
@pytest.mark.parametrize("made", [list_variables_tool(), inspect_variable_tool()])
async def test_without_a_kernel_both_say_so(made):
    arguments = {"name": "df"} if made.name == "inspect_variable" else {}
    with pytest.raises(ToolError, match="There is no kernel here"):
        await made.run(ToolContext(), arguments)
    assert (made.tier, made.concurrency) == ("read", "shared")
