"""Carrying out a plan: once more a look whether the files are the same, then the write, whole or not at all.

What was there is kept first, so that a process killed at any moment leaves nothing that cannot be taken back. A stop
in the middle lets the write end, so that what is on disk and what is recorded agree.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, Final, TypeVar

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import SessionError, ToolError
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.tools.edits.changes import ChangeLog, ChangeSet, change_log_of
from zidane_lab.tools.edits.files import files_of
from zidane_lab.tools.edits.fresh import changed_places, tagged_around
from zidane_lab.tools.edits.outcomes import annotate
from zidane_lab.tools.edits.plan import FileEdit, Plan, edit_metadata
from zidane_lab.tools.edits.snapshots import remember, snapshots_of
from zidane_lab.tools.edits.writing import put_back, writing
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.places import marked
from zidane_lab.turns import TextBlock

__all__ = ["CHANGE", "EDIT", "WRITTEN", "commit", "keep_up", "to_the_end"]

WRITTEN: Final = "written"
"""Key of the metadata of a result that changed files: their absolute paths; none where nothing had to be done."""

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
    if plan.is_error or not (plan.files or plan.act):
        metadata: dict[str, Any] = {} if plan.is_error else {WRITTEN: []}
        if plan.outcomes:
            metadata[EDIT] = edit_metadata((), plan.outcomes)
        return ToolOutput((TextBlock(annotate(plan.text, plan.outcomes)),), plan.is_error, metadata)
    return await to_the_end(_carry_out(context, files_of(context), plan))


async def _carry_out(context: ToolContext, files: ExecutionContext, plan: Plan) -> ToolOutput:
    metadata: dict[str, Any] = {WRITTEN: list(dict.fromkeys(each.path for each in plan.files)), **marked(context)}
    metadata[EDIT] = await asyncio.to_thread(edit_metadata, plan.files, plan.outcomes)  # of up to a thousand files
    text = plan.text
    async with writing(files, metadata[WRITTEN]):
        if plan.act is not None:
            text = await asyncio.to_thread(plan.act)
            return ToolOutput((TextBlock(annotate(text, plan.outcomes)),), metadata=metadata)
        for each in plan.files:
            await _still(files, each)
        log = change_log_of(context)
        change, trouble = _keep(log, plan, context.ids.call_id or "")
        pairs = [(each.before, each.after) for each in plan.files]
        try:
            await put_back(files, pairs, [each.mode for each in plan.files])
        except ToolError:  # after a stop nobody knows how far it came: then the set stays, and undo looks at the files
            if log is not None and change is not None:
                log.drop(change.id)
            raise
    if trouble:
        text += f"\n[{trouble}]"
    if change is not None:
        metadata[CHANGE] = change.id
    text = "\n".join([text, *keep_up(context, plan.files, shows_tags=plan.shows_tags)])
    return ToolOutput((TextBlock(annotate(text, plan.outcomes)),), metadata=metadata)


def keep_up(context: ToolContext, files: Sequence[FileEdit], *, shows_tags: bool = False) -> Iterator[str]:
    """Remember what changed files say now, and yield the new anchors where the model has seen old ones."""
    snapshots = snapshots_of(context)
    for each in files:
        if each.new is None or each.inside:
            continue
        if snapshots.is_tagged(each.path) and not shows_tags:
            yield f"Lines of {each.name} now:"
            yield from tagged_around(each.new, changed_places(each.old or "", each.new))
        remember(context, each.path, each.new, shown=shows_tags)


def _keep(log: ChangeLog | None, plan: Plan, call_id: str) -> tuple[ChangeSet | None, str]:
    """Keep what is there before it changes; return the set of changes, or why there is none."""
    if log is None:
        return None, ""
    try:
        return log.add(plan.tool, call_id, [(each.before, each.after) for each in plan.files]), ""
    except (OSError, SessionError) as error:
        return None, f"what was there before could not be kept, so undo_edit cannot take this back: {error}"


async def _still(files: ExecutionContext, edit: FileEdit) -> None:
    """Refuse to write over what somebody else just wrote; times are too coarse to tell, so the content is compared."""
    known = edit.before.data
    try:
        now = await files.stat(edit.path)
        same = known is not None and now.size == len(known) and await files.read(edit.path) == known
    except (FileNotFoundError, NotADirectoryError):
        same = known is None
    except OSError as error:
        raise ToolError(f"{show_name(edit.path)} cannot be reached: {error.strerror or error}.") from error
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
