"""The ``write_file`` tool: a new file, or all of an old one."""

from __future__ import annotations

import functools
import json
import stat
from pathlib import PurePath
from typing import Annotated, Final

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.anchors import strip_tags
from zidane_lab.tools.edits.diff import split_lines
from zidane_lab.tools.edits.files import MAX_BYTES, Stored, editable, files_of, load, refuse_notebook
from zidane_lab.tools.edits.inside import find_inside
from zidane_lab.tools.edits.known import require_known
from zidane_lab.tools.edits.pending import carry_out
from zidane_lab.tools.edits.plan import FileEdit, Plan
from zidane_lab.tools.edits.text import TextFile, to_lf
from zidane_lab.tools.edits.write_inside import plan_inside
from zidane_lab.tools.paths import describe_size, show_name

__all__ = ["plan_write", "write_file", "write_file_tool"]

_EXECUTABLE: Final = 0o755
"""Mode of a new file that begins with ``#!``."""


@functools.cache
def write_file_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(write_file)


async def write_file(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the working folder or absolute; missing folders are made."],
    content: Annotated[str, "All of its text."],
    preview: Annotated[bool, "Only show what would change; resolve then applies or discards it."] = False,
) -> ToolOutput:
    """Write a text file: a new one, or all of one that you have read. To change parts of a file use edit.

    Write what the task needs; no documentation or README unless asked for. An existing file keeps its encoding, line
    endings and mode; one that begins with #! for the first time becomes executable.

    A path can lead into a file. `a.zip:docs/x.md` (also tar, tgz …) writes an entry. `d.db:table` inserts a row, a JSON
    object; `d.db:table:key` updates its columns, or deletes it if content is blank. `f.py:conflict:2` resolves the
    second merge conflict, `f.py:conflict:*` all: content is ours, theirs, base, both, or the lines to put there.

    Raises
    ------
    ToolError
        It may not be written here, or there is a file whose content you do not know; the message says what to do.
    """
    return await carry_out(context, lambda now: plan_write(now, path, content), preview=preview)


async def plan_write(context: ToolContext, path: str, content: str) -> Plan:
    """Work out the change without making it.

    Raises
    ------
    ToolError
        It cannot be made.
    """
    if len(content) > MAX_BYTES:
        raise ToolError(
            f"The content has {describe_size(len(content))}; {describe_size(MAX_BYTES)} is the most.",
            hint="Have run_python make it, or write it in parts.",
        )
    files = files_of(context)
    if (target := await find_inside(files, path)) is not None:
        return await plan_inside(context, files, target, content)
    stored = await load(files, path, must_exist=False)
    name, notes = show_name(path), []
    if (bare := strip_tags(to_lf(content))) is not None:
        content = bare
        notes.append("the line tags in front of every line were dropped")
    if stored.data is None:
        edit, told = await _created(files, stored, content, name)
    else:
        edit, told = _replaced(context, stored, content, name)
    text = "\n".join([told, *(f"[{note}]" for note in notes)])
    return Plan("write_file", (edit,) if edit.after != stored.data else (), text)


async def _created(files: ExecutionContext, stored: Stored, content: str, name: str) -> tuple[FileEdit, str]:
    if stored.path.lower().endswith(".ipynb") and not _is_notebook(content):
        raise ToolError(
            f"{name} would not be a notebook: its content must be JSON with `cells`, `nbformat` and `metadata`.",
            hint="Make it with nbformat in run_python, or show the user the cells.",
        )
    mode = _EXECUTABLE if content.startswith("#!") else None
    edit = FileEdit(stored, TextFile(content).encode(), None, to_lf(content), name, mode, whole=True)
    size = describe_size(len(edit.after or b""))
    told = f"Created {name}: {_count(content)}, {size}" + (", executable." if mode else ".")
    try:
        await files.stat(str(PurePath(stored.path).parent))
    except OSError:
        told += " Its folder was made."
    return edit, told


def _replaced(context: ToolContext, stored: Stored, content: str, name: str) -> tuple[FileEdit, str]:
    refuse_notebook(stored.path)
    file = editable(stored)
    changed = file.with_text(to_lf(content.removeprefix("\ufeff") if file.mark else content))
    mode = None
    if changed.text.startswith("#!") and not file.text.startswith("#!") and stored.info is not None:
        rights = stat.S_IMODE(stored.info.mode)
        mode = rights | (rights & 0o444) >> 2  # whoever may read it may run it
    edit = FileEdit(stored, changed.encode(), file.text, changed.text, name, mode, whole=True)
    if edit.after == stored.data:
        return edit, f"{name} has exactly this content already; nothing was written."
    require_known(context.outputs, stored, len(split_lines(file.text)))
    diff = edit.diff()
    told = f"Replaced {name}: {_count(content)} now, {diff.added} added and {diff.removed} removed."
    return edit, told + (" It is executable now." if mode is not None else "")


def _count(content: str) -> str:
    count = len(split_lines(to_lf(content)))
    return f"{count:,} line" + ("" if count == 1 else "s")


def _is_notebook(content: str) -> bool:
    try:
        raw = json.loads(content)
    except ValueError:
        return False
    return isinstance(raw, dict) and isinstance(raw.get("cells"), list) and isinstance(raw.get("nbformat"), int)
