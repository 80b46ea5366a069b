"""The ``list_files`` tool: what is in a folder, with sizes and times, bounded and without ignored files."""

from __future__ import annotations

import functools
from itertools import islice
from typing import Annotated, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.reading.files import files_of, found, real_path, threaded
from zidane_lab.tools.reading.ordinary import what_it_is
from zidane_lab.tools.walk import Entry, Walk

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "list_files", "list_files_tool"]

DEFAULT_LIMIT: Final = 200
MAX_LIMIT: Final = 2_000
MAX_DEPTH: Final = 10


@functools.cache
def list_files_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool
    from zidane_lab.tools.useless import flag_useless

    return tool(tier="read", concurrency="shared")(flag_useless(_found_nothing)(threaded(list_files)))


def list_files(
    context: ToolContext,
    path: Annotated[str, "The folder, relative to the working folder or absolute."] = ".",
    depth: Annotated[int, f"How many levels to list, 1 to {MAX_DEPTH}."] = 1,
    limit: Annotated[int, f"Most entries to list, at most {MAX_LIMIT}."] = DEFAULT_LIMIT,
    ignored: Annotated[bool, "Also list what .gitignore, .git, .venv, node_modules and the like hide."] = False,
) -> str:
    """List a folder: folders first, then files with their size and the time of their last change.

    Raises
    ------
    ToolError
        There is no such folder, or it cannot be opened.
    """
    files = files_of(context)
    target, info = found(files, path)
    if info.kind != "folder":
        what = "a file" if info.kind == "file" else what_it_is(info.mode)
        raise ToolError(f"{show_name(target)} is {what}.", hint="Read files with read_file.")
    target = real_path(files, target)
    limit, depth = min(max(1, limit), MAX_LIMIT), min(max(1, depth), MAX_DEPTH)
    walk = Walk(target, depth=depth, ignored=ignored, files=files)
    entries = iter(walk)
    shown: list[Entry] = list(islice(entries, limit))
    left = sum(1 for _ in entries)
    if walk.closed and not shown:
        raise ToolError(f"{show_name(target)} cannot be opened.", hint="Choose another folder.")
    notes = walk.notes()
    if left:
        notes.insert(0, f"{left:,} more entries left out; list a folder of it, or raise `limit`")
    header = f"{show_name(target)}{'' if shown else ' is empty'}"
    return "\n".join([header, *(entry.describe() for entry in shown), *(f"[{note}]" for note in notes)])


def _found_nothing(text: str) -> bool:
    return text.split("\n", maxsplit=1)[0].endswith(" is empty")
