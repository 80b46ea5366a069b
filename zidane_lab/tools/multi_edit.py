"""The ``multi_edit`` tool: several replacements in one file, in order, as many as can be made.

One that fails does not stop the others; the result says what became of each, in the words that a gate which lets only
some of them through can correct (:mod:`zidane_lab.tools.edits.outcomes`). The file is written once, at the end.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.files import editable, files_of, load
from zidane_lab.tools.edits.outcomes import EditOutcome, header
from zidane_lab.tools.edits.pending import carry_out
from zidane_lab.tools.edits.plan import FileEdit, Plan
from zidane_lab.tools.edits.replace import Match, find_replacement
from zidane_lab.tools.edits.text import TextFile
from zidane_lab.tools.paths import show_name

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings typing_extensions, reads only its TypedDict before Python 3.12
    from typing_extensions import TypedDict

__all__ = ["Replacement", "multi_edit", "multi_edit_tool", "plan_multi_edit"]


class Replacement(TypedDict):
    """One text and what to put in its place."""

    old_string: str
    new_string: str
    replace_all: NotRequired[bool]


@functools.cache
def multi_edit_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(multi_edit)


async def multi_edit(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the working folder or absolute."],
    edits: Annotated[
        list[Replacement],
        "Made in order, each on the text the one before left: old_string exactly as it is in the file and unique "
        "(or replace_all), new_string in its place.",
    ],
    preview: Annotated[bool, "Only show what would change; resolve then applies or discards it."] = False,
) -> ToolOutput:
    """Make several replacements in one file. Those that fit are made even if others do not; the result tells each.

    Raises
    ------
    ToolError
        The file cannot be edited, or there are no edits.
    """
    return await carry_out(context, lambda now: plan_multi_edit(now, path, edits), preview=preview)


async def plan_multi_edit(context: ToolContext, path: str, edits: Sequence[Mapping[str, Any]]) -> Plan:
    """Work out the changes without making them.

    Raises
    ------
    ToolError
        The file cannot be edited, there are no edits, or they cancel each other out.
    """
    if not edits:
        raise ToolError("There are no edits.", hint="Give at least one with old_string and new_string.")
    stored = await load(files_of(context), path, must_exist=True)
    file, name = editable(stored), show_name(path)
    changed, outcomes, details, replacements = file, [], [], 0
    for number, step in enumerate(edits, 1):
        try:
            changed, match = _step(changed, step, name)
        except ToolError as error:
            outcomes.append(EditOutcome("failed", error.message))
            details.append(f"#{number} {error}")
        else:
            outcomes.append(EditOutcome("applied"))
            replacements += len(match.spans)
            details += [f"#{number} {match.note}"] if match.note else []
    applied = sum(each.status == "applied" for each in outcomes)
    told = header(name, applied=applied, total=len(edits), replacements=replacements)
    text = "\n".join([told, *details])
    if not applied:
        return Plan("multi_edit", (), text, tuple(outcomes), is_error=True)
    data = changed.encode()
    if data == stored.data:
        raise ToolError(f"The edits of {name} cancel each other out; nothing would change.", hint="Leave them out.")
    return Plan("multi_edit", (FileEdit(stored, data, file.text, changed.text, name),), text, tuple(outcomes))


def _step(file: TextFile, step: Mapping[str, Any], name: str) -> tuple[TextFile, Match]:
    old, new = str(step["old_string"]), str(step["new_string"])
    match = find_replacement(file.text, old, new, replace_all=bool(step.get("replace_all")), where=name)
    changed = file.splice(match.spans)
    if not new.isascii():
        changed.encode()  # one character that has no place in the file fails this edit, not all
    return changed, match
