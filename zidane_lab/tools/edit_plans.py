"""What a call of an editing tool would change, worked out before anybody lets it: for prompts and previews."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit import plan_edit
from zidane_lab.tools.edit_lines import plan_edit_lines
from zidane_lab.tools.edits.plan import Plan
from zidane_lab.tools.multi_edit import plan_multi_edit
from zidane_lab.tools.write_file import plan_write

__all__ = ["PLANNERS", "plan_call"]

_Planner: TypeAlias = Callable[..., Awaitable[Plan]]

PLANNERS: Final[Mapping[str, _Planner]] = {
    "edit": plan_edit,
    "edit_lines": plan_edit_lines,
    "multi_edit": plan_multi_edit,
    "write_file": plan_write,
}
"""What works out the calls of each tool."""


async def plan_call(context: ToolContext, tool: str, arguments: Mapping[str, Any]) -> Plan | None:
    """Return what a call would do, without doing it; ``None`` for tools that do not edit.

    Parameters
    ----------
    arguments
        As validated by the tool.

    Raises
    ------
    ToolError
        The call cannot be carried out; it would fail with this very error.
    """
    planner = PLANNERS.get(tool)
    if planner is None:
        return None
    return await planner(context, **{name: value for name, value in arguments.items() if name != "preview"})
