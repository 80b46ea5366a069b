"""Taking a set of changes back, while every file is still as it was left: what somebody changed since is theirs."""

from __future__ import annotations

from dataclasses import dataclass

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.changes import ChangeLog, ChangeSet
from zidane_lab.tools.edits.files import MAX_ARCHIVE, Stored, load, refuse_notebook
from zidane_lab.tools.edits.writing import put_back, writing
from zidane_lab.tools.paths import show_name

__all__ = ["AlreadyBackError", "Undone", "undo", "undoing"]


@dataclass(frozen=True, slots=True)
class Undone:
    """A set that was taken back, with each file as it was before that and as it is now."""

    change: ChangeSet
    files: tuple[tuple[Stored, bytes | None], ...]


class AlreadyBackError(ToolError):
    """The files are as they were before the change."""

    code = "already_back"


async def undo(log: ChangeLog, files: ExecutionContext, *, change_id: str | None = None) -> Undone:
    """Take a set of changes back: the last one standing, unless another is named.

    Either every file of the set is as before it, or none is touched.

    Raises
    ------
    ToolError
        There is none; a file was changed since, is a notebook, or what it held is no longer kept; or it could not be
        written.
    """
    change = _last(log, change_id)
    async with writing(files, [each.path for each in change.files]):
        try:
            done = await undoing(log, files, change_id=change.id)
        except AlreadyBackError:
            log.drop(change.id)  # a stop or the end of the process came before it, or somebody took it back
            raise
        modes = [
            each.mode if stored.data is None or _made_script(stored.data, data) else None
            for each, (stored, data) in zip(change.files, done.files, strict=True)
        ]
        await put_back(files, done.files, modes)
        log.drop(change.id)
    return done


async def undoing(log: ChangeLog, files: ExecutionContext, *, change_id: str | None = None) -> Undone:
    """Work out what taking a set back would do, without doing it.

    Raises
    ------
    AlreadyBackError
        Nothing: the files are as before it.
    ToolError
        See :func:`undo`.
    """
    change = _last(log, change_id)
    now: list[Stored] = []
    for each in change.files:
        refuse_notebook(each.path)
        now.append(await load(files, each.path, must_exist=False, most=MAX_ARCHIVE))
    if all(stored.sha256 == each.before for each, stored in zip(change.files, now, strict=True)):
        names = ", ".join(show_name(each.path) for each in change.files)
        raise AlreadyBackError(
            f"The change of {change.tool} is not there any more, or never was made: as before it is {names}.",
            hint="Call again to take back the change before that one.",
        )
    for each, stored in zip(change.files, now, strict=True):
        if stored.sha256 != each.after:
            what = "is gone" if stored.data is None else "was changed since"
            raise ToolError(
                f"{show_name(each.path)} {what}; the change of {change.tool} stays, nothing was touched.",
                hint="Look at the file and edit it by hand, so that what was done since is kept.",
            )
    wanted = [None if each.before is None else log.content(each.before) for each in change.files]
    for each, data in zip(change.files, wanted, strict=True):
        if each.before is not None and data is None:
            raise ToolError(
                f"What {show_name(each.path)} held before is no longer kept; nothing was touched.",
                hint="What holds credentials is kept only until the kernel ends. Look for it in version control.",
            )
    return Undone(change, tuple(zip(now, wanted, strict=True)))


def _last(log: ChangeLog, change_id: str | None) -> ChangeSet:
    change = next((each for each in reversed(log.standing()) if change_id in (None, each.id)), None)
    if change is None:
        raise ToolError("There is no change to take back.", hint="Only changes made by the editing tools are kept.")
    return change


def _made_script(now: bytes, before: bytes | None) -> bool:
    """Whether the change made it a script, which made it executable."""
    return before is not None and now.startswith(b"#!") and not before.startswith(b"#!")
