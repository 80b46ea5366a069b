"""Carrying out a plan: once more a look whether the files are the same, then the write, whole or not at all.

What was there is kept first, so that a process killed at any moment leaves nothing that cannot be taken back. A stop
in the middle lets the write end, so that what is on disk and what is recorded agree.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import SessionError, ToolError
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.tools.edits.changes import ChangeLog, ChangeSet, change_log_of, put_back
from zidane_lab.tools.edits.files import files_of
from zidane_lab.tools.edits.outcomes import annotate
from zidane_lab.tools.edits.plan import FileEdit, Plan, edit_metadata
from zidane_lab.tools.edits.snapshots import remember
from zidane_lab.tools.paths import show_name
from zidane_lab.turns import TextBlock

__all__ = ["CHANGE", "EDIT", "WRITTEN", "commit", "to_the_end"]

WRITTEN: Final = "written"
"""Key of the metadata of a result that changed files: their absolute paths."""

EDIT: Final = "edit"
"""Key of the metadata of a result that has a diff to draw."""

CHANGE: Final = "change"
"""Key of the metadata of a result that can be taken back: the id of its set of changes."""

_GRACE: Final = 5.0
"""Seconds a stopped write is given to end: a place that does not answer must not hold up the stop."""

T = TypeVar("T")


async def commit(context: ToolContext, plan: Plan) -> ToolOutput:
    """Write what a plan says and return the tool's output.

    Raises
    ------
    ToolError
        A file is not as it was when the plan was made, or cannot be written; nothing was changed.
    """
    if plan.is_error or not plan.files:
        metadata = {EDIT: edit_metadata((), plan.outcomes)} if plan.outcomes else {}
        return ToolOutput((TextBlock(annotate(plan.text, plan.outcomes)),), plan.is_error, metadata)
    return await to_the_end(_carry_out(context, files_of(context), plan))


async def _carry_out(context: ToolContext, files: ExecutionContext, plan: Plan) -> ToolOutput:
    for each in plan.files:
        await _still(files, each)
    metadata: dict[str, Any] = {WRITTEN: [each.path for each in plan.files]}
    metadata[EDIT] = edit_metadata(plan.files, plan.outcomes)
    log, text = change_log_of(context), plan.text
    change, trouble = _keep(log, plan, context.ids.call_id or "")
    if trouble:
        text += f"\n[{trouble}]"
    try:
        await put_back(files, [(each.before, each.after) for each in plan.files], [each.mode for each in plan.files])
    except BaseException:
        if log is not None and change is not None:
            log.drop(change.id)
        raise
    if change is not None:
        metadata[CHANGE] = change.id
    for each in plan.files:
        if each.new is not None:
            remember(context, each.path, each.new)
    return ToolOutput((TextBlock(annotate(text, plan.outcomes)),), metadata=metadata)


def _keep(log: ChangeLog | None, plan: Plan, call_id: str) -> tuple[ChangeSet | None, str]:
    """Keep what is there before it changes; return the set of changes, or why there is none."""
    if log is None:
        return None, ""
    try:
        return log.add(plan.tool, call_id, [(each.before, each.after) for each in plan.files]), ""
    except (OSError, SessionError) as error:
        return None, f"what was there before could not be kept, so undo_edit cannot take this back: {error}"


async def _still(files: ExecutionContext, edit: FileEdit) -> None:
    """Refuse to write over what somebody else just wrote."""
    known = edit.before.info
    try:
        now = await files.stat(edit.path)
    except (FileNotFoundError, NotADirectoryError):
        now = None
    except OSError as error:
        raise ToolError(f"{show_name(edit.path)} cannot be reached: {error.strerror or error}.") from error
    same = (
        now is None if known is None else now is not None and (now.size, now.mtime_ns) == (known.size, known.mtime_ns)
    )
    if not same:
        raise ToolError(
            f"{show_name(edit.path)} was changed by somebody else just now; nothing was written.",
            hint="Read it again, then edit it.",
        )


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for work that must not be left half done: a stop in between takes effect once it has ended."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task], timeout=_GRACE)
        if task.done() and not task.cancelled():
            task.exception()  # looked at, so that nobody warns about it
        task.cancel()
        raise
