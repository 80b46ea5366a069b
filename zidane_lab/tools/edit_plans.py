"""What a call of an editing tool would change, worked out before anybody lets it: for gates, prompts and previews."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from zidane_lab.errors import ToolError
from zidane_lab.tools.apply_patch import plan_apply_patch
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit import plan_edit
from zidane_lab.tools.edit_lines import plan_edit_lines
from zidane_lab.tools.edits.changes import change_log_of
from zidane_lab.tools.edits.files import absolute, files_of
from zidane_lab.tools.edits.inside import may_be_inside
from zidane_lab.tools.edits.patches import patched_paths
from zidane_lab.tools.edits.pending import pending_of
from zidane_lab.tools.edits.plan import Plan
from zidane_lab.tools.multi_edit import plan_multi_edit
from zidane_lab.tools.undo_edit import plan_undo
from zidane_lab.tools.write_file import plan_write

__all__ = ["PLANNERS", "call_targets", "plan_call"]

_Planner: TypeAlias = Callable[..., Awaitable[Plan | None]]


async def _plan_resolve(context: ToolContext, action: str, **_: Any) -> Plan | None:
    """Return the preview that would be applied, as it was shown."""
    waiting = pending_of(context).waiting
    return waiting[0].plan if waiting and action == "apply" else None


PLANNERS: Final[Mapping[str, _Planner]] = {
    "apply_patch": plan_apply_patch,
    "edit": plan_edit,
    "edit_lines": plan_edit_lines,
    "multi_edit": plan_multi_edit,
    "resolve": _plan_resolve,
    "undo_edit": plan_undo,
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


def call_targets(context: ToolContext, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return every file a call may write or remove, without looking into any of them.

    Returns
    -------
    tuple or None
        Absolute paths, links as they are written; empty for a call that writes nothing. ``None`` where it cannot be
        told, and for tools that do not edit: such a call is to be asked about.
    """
    try:
        paths = _paths(context, tool, arguments)
        return None if paths is None else tuple(dict.fromkeys(absolute(files_of(context), path) for path in paths))
    except (ToolError, AttributeError, KeyError, TypeError):  # arguments that do not fit
        return None


def _paths(context: ToolContext, tool: str, arguments: Mapping[str, Any]) -> Iterable[str] | None:
    if tool in {"edit", "multi_edit"}:
        return [arguments["path"]]
    if tool == "edit_lines":
        return [arguments["path"], *(each["path"] for each in arguments["edits"] if each.get("path"))]
    if tool == "write_file":  # which of them it is may change until it runs, so all are named
        path = arguments["path"]
        return [path, *(each.path for each in may_be_inside(path))]
    if tool == "apply_patch":
        return patched_paths(arguments["patch"])
    if tool == "resolve":
        if arguments["action"] != "apply":
            return []
        waiting = pending_of(context).waiting
        if not waiting:
            return []
        plan = waiting[0].plan
        return [each.path for each in plan.files] or None  # a tool of somebody's own may stage what names no file
    if tool == "undo_edit":
        log = change_log_of(context)
        standing = log.standing() if log is not None else ()
        return [each.path for each in standing[-1].files] if standing else []
    return None
