"""The ``undo_edit`` tool: take back the last change made by the editing tools."""

from __future__ import annotations

import functools

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.changes import Undone, change_log_of, undo
from zidane_lab.tools.edits.commit import EDIT, WRITTEN, to_the_end
from zidane_lab.tools.edits.files import files_of
from zidane_lab.tools.edits.plan import FileEdit, edit_metadata
from zidane_lab.tools.edits.snapshots import remember
from zidane_lab.tools.edits.text import decode
from zidane_lab.tools.paths import show_name
from zidane_lab.turns import TextBlock

__all__ = ["undo_edit", "undo_edit_tool", "undo_last"]


@functools.cache
def undo_edit_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(undo_edit)


async def undo_edit(context: ToolContext) -> ToolOutput:
    """Take back the last change made by write_file, edit, multi_edit or edit_lines; again, the one before it.

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
        See :func:`~zidane_lab.tools.edits.changes.undo`.
    """
    log = change_log_of(context)
    if log is None:
        raise ToolError("There is no conversation, so no change was kept.", hint="Edit the file by hand.")
    done: Undone = await to_the_end(undo(log, files_of(context), change_id=change_id))
    edits = tuple(
        FileEdit(stored, data, _text(stored.data, stored.path), _text(data, stored.path), _name(context, stored.path))
        for stored, data in done.files
    )
    for each in edits:
        if each.new is not None:
            remember(context, each.path, each.new)
    lines = [f"Took back the last {done.change.tool}:"] if change_id is None else [f"Took back {done.change.tool}:"]
    lines += (f"{each.name} {'is as before' if each.after is not None else 'is removed'}" for each in edits)
    metadata = {WRITTEN: [each.path for each in edits], EDIT: edit_metadata(edits), "undone": done.change.id}
    return ToolOutput((TextBlock("\n".join(lines)),), metadata=metadata)


def _name(context: ToolContext, path: str) -> str:
    """Return a path as people write it: relative where it is inside the working folder."""
    folder = context.place.cwd if context.place is not None else str(context.cwd)
    return show_name(path.removeprefix(folder.rstrip("/\\") + "/"))


def _text(data: bytes | None, path: str) -> str | None:
    return None if data is None else decode(data, path).text
