"""The ``edit_lines`` tool: changes of whole lines, named by the anchors a file was shown with.

A file that has changed since is no obstacle where its changes and these do not touch: the edits are made on the text
they were meant for, and merged with what the file has become. Otherwise the error has the lines as they are.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.anchors import (
    Anchored,
    LineEdit,
    LineOp,
    StaleAnchorsError,
    apply_line_edits,
    line_edit,
)
from zidane_lab.tools.edits.changes import change_log_of
from zidane_lab.tools.edits.files import absolute, editable, files_of, load
from zidane_lab.tools.edits.fresh import changed_places, tagged_around
from zidane_lab.tools.edits.merge import merge
from zidane_lab.tools.edits.pending import carry_out
from zidane_lab.tools.edits.plan import FileEdit, Plan
from zidane_lab.tools.edits.snapshots import snapshots_of
from zidane_lab.tools.edits.text import Span, TextFile, decode
from zidane_lab.tools.paths import show_name

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings typing_extensions, reads only its TypedDict before Python 3.12
    from typing_extensions import TypedDict

__all__ = ["AnchoredEdit", "edit_lines", "edit_lines_tool", "plan_edit_lines"]


class AnchoredEdit(TypedDict):
    """One change of whole lines."""

    op: LineOp
    anchor: str
    to: NotRequired[str | None]
    text: NotRequired[str | None]
    path: NotRequired[str | None]


@functools.cache
def edit_lines_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(edit_lines)


async def edit_lines(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the working folder or absolute."],
    edits: Annotated[
        list[AnchoredEdit],
        "Each has op, anchor (as shown before the | of a line, such as 12ab; BOF or EOF to insert at either end), for "
        "a range also to (its last line), and text: the new lines, whole. path only for another file than the call's.",
    ],
    preview: Annotated[bool, "Only show what would change; resolve then applies or discards it."] = False,
) -> ToolOutput:
    """Replace, delete or insert whole lines, named by the anchors they were shown with.

    All anchors are those of the files as shown, whatever other edits of the call do. Every anchor of every file is
    checked first: all edits are made, or none. The result has new anchors of the lines around each change.

    Raises
    ------
    ToolError
        Anchors do not fit any more (the message has the lines as they are), or the edits make no sense.
    """
    return await carry_out(context, lambda now: plan_edit_lines(now, path, edits), preview=preview)


async def plan_edit_lines(context: ToolContext, path: str, edits: Sequence[Mapping[str, Any]]) -> Plan:
    """Work out the changes without making them.

    Raises
    ------
    ToolError
        They cannot be made, in one of the files at least.
    """
    if not edits:
        raise ToolError("There are no edits.", hint="Give at least one with op and anchor.")
    files = files_of(context)
    names: dict[str, str] = {}
    grouped: dict[str, list[LineEdit]] = {}
    for number, raw in enumerate(edits, 1):
        name = str(raw.get("path") or path)
        target = absolute(files, name)
        names.setdefault(target, name)
        grouped.setdefault(target, []).append(line_edit(raw, number))
    changes = [await _file(context, names[target], grouped[target]) for target in grouped]
    told = "\n".join(text for _, text in changes)
    return Plan("edit_lines", tuple(edit for edit, _ in changes), told, shows_tags=True)


async def _file(context: ToolContext, path: str, edits: Sequence[LineEdit]) -> tuple[FileEdit, str]:
    stored = await load(files_of(context), path, must_exist=True)
    file, name = editable(stored), show_name(path)
    text = file.text
    try:
        result = apply_line_edits(text, edits, where=name)
    except StaleAnchorsError:
        recovered = next(_recovered(text, edits, _snapshots(context, stored.path, text)), None)
        if recovered is None:
            raise
        result = recovered
    changed = _spliced(file, result.spans) if result.spans else file.with_text(result.text)
    data = changed.encode()
    if data == stored.data:
        raise ToolError(
            f"The edits of {name} change nothing: it has these lines already.", hint="Send what is to be different."
        )
    told = f"Edited {name} ({len(edits)} {'edit' if len(edits) == 1 else 'edits'}):"
    notes = [f"[{note}]" for note in result.notes]
    return FileEdit(stored, data, text, changed.text, name), "\n".join(
        [told, *tagged_around(result.text, result.changed), *notes]
    )


def _spliced(file: TextFile, spans: Sequence[Span]) -> TextFile:
    """Replace whole lines; a last line without a line end has none afterwards either."""
    text = file.text
    if not text or text.endswith("\n"):
        return file.splice(spans)
    end = len(text)
    changed = file.splice([(end, end, "\n")]).splice(spans)
    end = len(changed.text)
    return changed.splice([(end - 1, end, "")]) if end else changed


def _snapshots(context: ToolContext, path: str, text: str) -> Iterator[str]:
    """Yield what the file said before, the latest first."""
    for each in snapshots_of(context).of(path):
        if each != text:
            yield each
    log = change_log_of(context)
    left = None if log is None else log.last_content(path)
    if left is not None and (before := decode(left, path).text) != text:
        yield before


def _recovered(text: str, edits: Sequence[LineEdit], snapshots: Iterator[str]) -> Iterator[Anchored]:
    """Yield the result of edits meant for an earlier text of the file, merged with what it says now."""
    for base in snapshots:
        try:
            meant = apply_line_edits(base, edits)
        except ToolError:
            continue
        merged = merge(base, meant.text, text)
        if merged is None or merged == text:
            continue
        note = "the file had changed since it was shown; the edits were merged with that, so look whether all is well"
        yield Anchored(merged, changed_places(text, merged), (*meant.notes, note))
