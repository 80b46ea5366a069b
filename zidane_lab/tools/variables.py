"""The ``list_variables`` and ``inspect_variable`` tools: look at the live namespace without running code."""

from __future__ import annotations

import functools
from typing import Annotated

from zidane_lab.errors import ToolError
from zidane_lab.kernel.execution import Executor
from zidane_lab.tools.base import Tool, ToolContext

__all__ = ["inspect_variable", "inspect_variable_tool", "list_variables", "list_variables_tool"]

_MAX_BUDGET = 40_000
_MAX_LIMIT = 1_000


@functools.cache
def list_variables_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool
    from zidane_lab.tools.useless import flag_useless

    return tool(tier="read", concurrency="shared")(flag_useless(_found_nothing)(list_variables))


@functools.cache
def inspect_variable_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="read", concurrency="shared")(inspect_variable)


async def list_variables(
    context: ToolContext,
    pattern: Annotated[str | None, "Only names that match, as in `df*`."] = None,
    limit: Annotated[int, f"Most variables to list, at most {_MAX_LIMIT}."] = 200,
) -> str:
    """List the user's variables in the live kernel: name, type and a short summary of each.

    Raises
    ------
    ToolError
        There is no kernel to look into.
    """
    found = await _kernel(context).list_variables(pattern=pattern, limit=min(max(1, limit), _MAX_LIMIT))
    rows = list(found.get("variables", ()))
    total = int(found.get("total", len(rows)))
    matching = f" that match {pattern!r}" if pattern else ""
    if not rows:
        return f"There are no variables{matching}."
    lines = [_row(str(row.get("name")), str(row.get("type", "")), str(row.get("summary", ""))) for row in rows]
    if total > len(rows):
        lines.append(f"[{len(rows):,} of {total:,} variables{matching}; narrow the list with `pattern`]")
    return "\n".join(lines)


async def inspect_variable(
    context: ToolContext,
    name: str,
    budget: Annotated[int, f"About how many characters to describe it in, at most {_MAX_BUDGET}."] = 4_000,
) -> str:
    """Describe one variable of the live kernel: its type, shape, columns or fields, and some of its values.

    Raises
    ------
    ToolInputError
        There is no variable of that name; the message names near ones.
    ToolError
        There is no kernel to look into.
    """
    return await _kernel(context).inspect_variable(name.strip(), budget=min(max(200, budget), _MAX_BUDGET))


def _kernel(context: ToolContext) -> Executor:
    if context.executor is None:
        raise ToolError("There is no kernel here, so there are no variables.", hint="Work with files instead.")
    return context.executor


def _row(name: str, kind: str, summary: str) -> str:
    """Write one variable on one line, whatever its summary holds."""
    text = " ".join(summary.split())
    return f"{name}: {kind}" + (f" — {text}" if text and text != kind else "")


def _found_nothing(text: str) -> bool:
    return text.startswith("There are no variables")
