"""The ``undo_edit`` tool: take back the last change made by the editing tools."""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Any

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.changes import ChangeLog, change_log_of
from zidane_lab.tools.edits.commit import EDIT, WRITTEN, keep_up, to_the_end
from zidane_lab.tools.edits.files import files_of
from zidane_lab.tools.edits.plan import FileEdit, Plan, edit_metadata
from zidane_lab.tools.edits.text import decode
from zidane_lab.tools.edits.undo import Undone, undo, undoing
from zidane_lab.tools.filetypes import HEAD_BYTES, identify
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.places import marked
from zidane_lab.turns import TextBlock

__all__ = ["plan_undo", "undo_edit", "undo_edit_tool", "undo_last"]


@functools.cache
def undo_edit_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(undo_edit)


async def undo_edit(context: ToolContext) -> ToolOutput:
    """Take back the last change made by the editing tools; again, the one before it.

    Raises
    ------
    ToolError
        There is none, or a file was changed since by somebody else.
    """
    return await undo_last(context)


async def undo_last(context: ToolContext, *, change_id: str | None = None) -> ToolOutput:
    """Take back the last change, or the one named: for the tool, for commands and for buttons.

    Raises
    ------
    ToolError
        See :func:`~zidane_lab.tools.edits.undo.undo`.
    """
    done: Undone = await to_the_end(undo(_log(context), files_of(context), change_id=change_id))
    edits = _edits(context, done)
    lines = [f"Took back the last {done.change.tool}:"] if change_id is None else [f"Took back {done.change.tool}:"]
    lines += (f"{each.name} {'is as before' if each.after is not None else 'is removed'}" for each in edits)
    lines += keep_up(context, edits)
    metadata: dict[str, Any] = {
        WRITTEN: [each.path for each in edits],
        EDIT: edit_metadata(edits),
        "undone": done.change.id,
    }
    metadata |= marked(context)
    return ToolOutput((TextBlock("\n".join(lines)),), metadata=metadata)


async def plan_undo(context: ToolContext) -> Plan:
    """Work out what taking the last change back would do, for prompts.

    Raises
    ------
    ToolError
        See :func:`~zidane_lab.tools.edits.undo.undo`.
    """
    done = await undoing(_log(context), files_of(context))
    return Plan("undo_edit", _edits(context, done), f"Takes back the last {done.change.tool}.")


def _log(context: ToolContext) -> ChangeLog:
    log = change_log_of(context)
    if log is None:
        raise ToolError("There is no conversation, so no change was kept.", hint="Edit the file by hand.")
    return log


def _edits(context: ToolContext, done: Undone) -> tuple[FileEdit, ...]:
    return tuple(
        FileEdit(stored, data, _text(stored.data, stored.path), _text(data, stored.path), _name(context, stored.path))
        for stored, data in done.files
    )


def _name(context: ToolContext, path: str) -> str:
    """Return a path as people write it: relative where it is inside the working folder."""
    folder = context.place.cwd if context.place is not None else str(context.cwd)
    return show_name(path.removeprefix(folder.rstrip("/\\") + "/"))


def _text(data: bytes | None, path: str) -> str | None:
    """Return a content as text, for the diff; ``None`` for what is none, such as an archive."""
    return None if data is None or identify(data[:HEAD_BYTES], PurePath(path)) is not None else decode(data, path).text
