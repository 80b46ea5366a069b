"""The ``edit`` tool: one text of a file replaced by another."""

from __future__ import annotations

import functools
from typing import Annotated

from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.files import editable, files_of, load
from zidane_lab.tools.edits.pending import carry_out
from zidane_lab.tools.edits.plan import FileEdit, Plan
from zidane_lab.tools.edits.replace import find_replacement
from zidane_lab.tools.paths import show_name

__all__ = ["edit", "edit_tool", "plan_edit"]


@functools.cache
def edit_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(edit)


async def edit(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the working folder or absolute."],
    old_string: Annotated[str, "The text to replace, exactly as it is in the file, with enough lines to be unique."],
    new_string: Annotated[str, "What to put in its place; empty deletes it."],
    *,
    replace_all: Annotated[bool, "Replace every place, not just the only one."] = False,
    fuzzy: Annotated[bool, "If nothing fits, take the only place that is at least 95 % alike."] = False,
    preview: Annotated[bool, "Only show what would change; resolve then applies or discards it."] = False,
) -> ToolOutput:
    """Replace a text in a file. For several changes of one file use multi_edit.

    Quote the text without the line numbers or tags it was shown with. Encoding and line endings stay.

    Raises
    ------
    ToolError
        The text is not there once, or the file cannot be edited; the message says how to go on.
    """
    return await carry_out(
        context,
        lambda now: plan_edit(now, path, old_string, new_string, replace_all=replace_all, fuzzy=fuzzy),
        preview=preview,
    )


async def plan_edit(
    context: ToolContext,
    path: str,
    old_string: str,
    new_string: str,
    *,
    replace_all: bool = False,
    fuzzy: bool = False,
) -> Plan:
    """Work out the change without making it.

    Raises
    ------
    ToolError
        It cannot be made.
    """
    stored = await load(files_of(context), path, must_exist=True)
    file, name = editable(stored), show_name(path)
    text = file.text
    match = find_replacement(text, old_string, new_string, replace_all=replace_all, fuzzy=fuzzy, where=name)
    changed = file.splice(match.spans)
    lines = sorted({text.count("\n", 0, start) + 1 for start, _, _ in match.spans})
    count = len(match.spans)
    told = f"Edited {name}: replaced {count} {'place' if count == 1 else 'places'}, {_lines(lines)}."
    if match.note:
        told += f"\n[{match.note}]"
    return Plan("edit", (FileEdit(stored, changed.encode(), text, changed.text, name),), told)


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    return f"line {shown}" if len(numbers) == 1 else f"lines {shown}"
