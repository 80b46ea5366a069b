"""What ``write_file`` does where a path leads into a file: an archive's entry, a database's row, a merge's conflict."""

from __future__ import annotations

import asyncio
import functools
from pathlib import PurePosixPath
from typing import Final

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edits.conflicts import Conflict, describe_conflicts, find_conflicts, resolution
from zidane_lab.tools.edits.diff import split_lines
from zidane_lab.tools.edits.entries import entry_name, read_entry, with_entry
from zidane_lab.tools.edits.files import MAX_ARCHIVE, Stored, absolute, editable, load, refuse_read_only
from zidane_lab.tools.edits.inside import Inside
from zidane_lab.tools.edits.json5 import parse_object
from zidane_lab.tools.edits.known import require_seen
from zidane_lab.tools.edits.plan import FileEdit, Plan
from zidane_lab.tools.edits.rows import RowChange, plan_row, write_row
from zidane_lab.tools.edits.text import TextFile, decode, to_lf
from zidane_lab.tools.filetypes import HEAD_BYTES, identify
from zidane_lab.tools.paths import show_name

__all__ = ["plan_inside"]

_TOOL: Final = "write_file"
_SQLITE: Final = b"SQLite format 3\0"


async def plan_inside(context: ToolContext, files: ExecutionContext, target: Inside, content: str) -> Plan:
    """Work out the change without making it.

    Raises
    ------
    ToolError
        It cannot be made.
    """
    if target.kind == "archive":
        return await _entry(context, files, target, content)
    if target.kind == "database":
        return await _row(files, target, content)
    return await _conflicts(context, files, target, content)


async def _entry(context: ToolContext, files: ExecutionContext, target: Inside, content: str) -> Plan:
    inner = entry_name(target.inner)
    stored = await load(files, target.path, must_exist=False, most=MAX_ARCHIVE)
    refuse_read_only(stored)
    name = f"{show_name(target.path)}:{show_name(inner)}"
    had = None
    if stored.data is not None:
        had = await asyncio.to_thread(read_entry, stored.data, stored.path, inner)
    is_text = had is not None and identify(had[:HEAD_BYTES], PurePosixPath(inner)) is None
    before = decode(had, name) if is_text and had is not None else None
    text = to_lf(content.removeprefix("\ufeff") if before is not None and before.mark else content)
    file = TextFile(content) if before is None else before.with_text(text)
    new = file.encode()
    if new == had:
        return Plan(_TOOL, (), f"{name} has exactly this content already; nothing was written.")
    if had is not None:
        require_seen(context.outputs, stored)
    data = await asyncio.to_thread(with_entry, stored.data, stored.path, inner, new)
    edit = FileEdit(stored, data, None if before is None else before.text, file.text, name, inside=True)
    diff = edit.diff()
    count = len(split_lines(file.text))
    told = f"{'Added' if had is None else 'Replaced'} {name}: {count:,} line" + ("" if count == 1 else "s")
    if before is not None:
        told += f" now, {diff.added} added and {diff.removed} removed"
    return Plan(_TOOL, (edit,), told + (f"; {show_name(target.path)} was made." if stored.data is None else "."))


async def _row(files: ExecutionContext, target: Inside, content: str) -> Plan:
    if not files.info.is_local:
        raise ToolError("Databases elsewhere are not written into.", hint="Use sqlite3 in a command there.")
    path = absolute(files, target.path)
    info = await files.stat(path)
    refuse_read_only(Stored(path, info))
    if info.size and await files.read(path, 0, len(_SQLITE)) != _SQLITE:
        raise ToolError(
            f"{show_name(target.path)} is no SQLite database.", hint="For a new file choose a name without a colon."
        )
    values = parse_object(content) if content.strip() else None
    change = await asyncio.to_thread(plan_row, path, target.inner, values)
    if isinstance(change, str):
        return Plan(_TOOL, (), change)
    name = f"{show_name(target.path)}:{show_name(target.inner)}"
    edit = FileEdit(Stored(path, info), None, change.old, change.new, name, inside=True)
    text = f"{change.what} of a row of {change.table} in {show_name(target.path)}"
    return Plan(_TOOL, (edit,), text, act=functools.partial(_write_row, change))


def _write_row(change: RowChange) -> str:
    return f"{write_row(change)}\n[undo_edit does not take changes of rows back]"


async def _conflicts(context: ToolContext, files: ExecutionContext, target: Inside, content: str) -> Plan:
    stored = await load(files, target.path, must_exist=True)
    file, name = editable(stored), show_name(target.path)
    text = file.text
    found = find_conflicts(text)
    chosen = _chosen(found, target.inner, name, content)
    require_seen(context.outputs, stored)
    content = to_lf(content)
    lines = split_lines(text)
    spans = []
    for each in chosen:
        start, end = (sum(map(len, lines[:count])) for count in (each.first - 1, each.last))
        spans.append((start, end, resolution(each, content)))
    changed = file.splice(spans)
    numbers = ", ".join(str(each.number) for each in chosen)
    left = describe_conflicts(changed.text)
    told = (
        f"Resolved conflict {numbers} of {name}."
        if len(chosen) == 1
        else f"Resolved {len(chosen)} conflicts of {name}."
    )
    told += f" Left, with their numbers now:\n{left}" if left else " None is left; `git add` says so to git."
    return Plan(_TOOL, (FileEdit(stored, changed.encode(), text, changed.text, name),), told)


def _chosen(found: tuple[Conflict, ...], which: str, name: str, content: str) -> tuple[Conflict, ...]:
    if not found:
        raise ToolError(f"There is no conflict in {name}.", hint="Change it with edit.")
    if which == "*":
        if len(found) > 1 and content not in {"ours", "theirs", "base", "both"}:
            raise ToolError("All conflicts can only take one side.", hint="The content is ours, theirs, base or both.")
        return found
    chosen = tuple(each for each in found if each.number == int(which))
    if not chosen:
        raise ToolError(f"{name} has no conflict {which}.", hint=f"It has {len(found)}, counted from 1.")
    return chosen
