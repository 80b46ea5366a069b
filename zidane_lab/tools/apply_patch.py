"""The ``apply_patch`` tool: one patch over several files, made whole or not at all.

Unified diffs are taken as ``git apply`` takes them, and the ``*** Begin Patch`` envelope that some models write by
habit. Every file of the patch is worked out first; sections of one file follow each other.
"""

from __future__ import annotations

import functools
import stat
from dataclasses import dataclass, field
from typing import Annotated

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.diff import split_lines
from zidane_lab.tools.edits.files import Stored, absolute, editable, files_of, load, refuse_notebook
from zidane_lab.tools.edits.hunks import apply_hunks
from zidane_lab.tools.edits.known import require_known
from zidane_lab.tools.edits.patches import FilePatch, parse_patch
from zidane_lab.tools.edits.pending import carry_out
from zidane_lab.tools.edits.plan import FileEdit, Plan
from zidane_lab.tools.edits.text import TextFile
from zidane_lab.tools.paths import show_name

__all__ = ["apply_patch", "apply_patch_tool", "plan_apply_patch"]


@functools.cache
def apply_patch_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(apply_patch)


async def apply_patch(
    context: ToolContext,
    patch: Annotated[str, "A unified diff, or *** Begin Patch … *** End Patch; paths relative to the working folder."],
    preview: Annotated[bool, "Only show what would change; resolve then applies or discards it."] = False,
) -> ToolOutput:
    """Apply a patch that changes, adds, deletes or renames files: all of it, or nothing. For one change use edit.

    A hunk needs a few unchanged lines around what it changes; its place is told by them, not by line numbers alone.

    Raises
    ------
    ToolError
        A part of it does not fit; the message says which and how to go on.
    """
    return await carry_out(context, lambda now: plan_apply_patch(now, patch), preview=preview)


@dataclass(slots=True)
class _Work:
    """A file on the way: as it is stored, and what the sections so far have made of it (``None``: none is there)."""

    stored: Stored
    name: str
    file: TextFile | None
    old: str | None
    mode: int | None = None
    whole: bool = False


@dataclass(slots=True)
class _Patching:
    """The files a patch has come to so far, by absolute path, and what to tell."""

    context: ToolContext
    files: ExecutionContext
    works: dict[str, _Work] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def at(self, path: str) -> _Work:
        """Return a file, read the first time it is named."""
        target = absolute(self.files, path)
        if (work := self.works.get(target)) is None:
            stored = await load(self.files, path, must_exist=False)
            file = None if stored.data is None else editable(stored)
            work = _Work(stored, show_name(path), file, None if file is None else file.text)
            self.works[target] = work
        return work

    async def make(self, part: FilePatch) -> None:
        """Work out one section.

        Raises
        ------
        ToolError
            It does not fit.
        """
        work = await self.at(part.path)
        if part.op == "add":
            self._add(work, part)
            return
        if work.file is None:
            await load(self.files, part.path, must_exist=True)  # says what is near
            raise ToolError(f"{work.name} was deleted by this patch before.", hint="Leave one of the two out.")
        if part.op == "delete":
            self._delete(work, work.file, part)
            return
        file, text = work.file, work.file.text
        if part.hunks:
            hunks = [each.without_mark() for each in part.hunks] if file.mark else part.hunks
            hunked = apply_hunks(text, hunks, where=work.name)
            file = file.splice(hunked.spans)
            self.notes += hunked.notes
            if file.text == text:
                raise ToolError(f"The patch of {work.name} changes nothing.", hint="It may have been applied already.")
            count = len(hunks)
            self.told.append(f"changed {work.name} ({count} {'hunk' if count == 1 else 'hunks'})")
        if part.target is None:
            work.file = file
        else:
            await self._move(work, file, part.target)

    def _add(self, work: _Work, part: FilePatch) -> None:
        if work.file is not None:
            raise ToolError(f"{work.name} exists already.", hint="Change it with `*** Update File:` or a diff of it.")
        refuse_notebook(work.stored.path)
        work.file = TextFile(part.content)
        work.mode, work.whole = (0o755 if part.content.startswith("#!") else part.mode), True
        self.told.append(f"added {work.name} ({_lines(part.content)})")

    def _delete(self, work: _Work, file: TextFile, part: FilePatch) -> None:
        text = file.text
        if part.hunks:
            rest = file.splice(apply_hunks(text, part.hunks, where=work.name).spans).text
            if rest:
                raise ToolError(
                    f"The patch deletes {work.name}, but not all of its lines.", hint="Read it again: it has more."
                )
        elif work.old is not None:
            require_known(self.context.outputs, work.stored, len(split_lines(text)))
        work.file = None
        self.told.append(f"deleted {work.name} ({_lines(text)})")

    async def _move(self, work: _Work, file: TextFile, path: str) -> None:
        target = await self.at(path)
        if target is work or target.file is not None:
            raise ToolError(
                f"{target.name} exists already, so {work.name} cannot become it.", hint="Choose a new name."
            )
        refuse_notebook(target.stored.path)
        target.file = file
        target.mode = stat.S_IMODE(work.stored.info.mode) if work.stored.info is not None else work.mode
        work.file = None
        self.told.append(f"renamed {work.name} to {target.name}")

    def edits(self) -> tuple[FileEdit, ...]:
        """Return what becomes of the files that are not as they were."""
        found = []
        for work in self.works.values():
            after = None if work.file is None else work.file.encode()
            if after != work.stored.data:
                new = None if work.file is None else work.file.text
                mode = work.mode if work.stored.data is None else None
                found.append(FileEdit(work.stored, after, work.old, new, work.name, mode, whole=work.whole))
        return tuple(found)


async def plan_apply_patch(context: ToolContext, patch: str) -> Plan:
    """Work out the changes without making them.

    Raises
    ------
    ToolError
        It is no patch, or does not fit in one of the files at least.
    """
    patching = _Patching(context, files_of(context))
    parts = parse_patch(patch)
    wrong: list[ToolError] = []
    for part in parts:
        try:
            await patching.make(part)
        except ToolError as error:
            wrong.append(error)
    if len(wrong) == 1:
        wrong[0].add_hint("Nothing was changed.")
        raise wrong[0]
    if wrong:
        told = "\n".join(f"- {error}" for error in wrong)
        raise ToolError(f"{len(wrong)} of {len(parts)} parts do not fit; nothing was changed:\n{told}")
    files = patching.edits()
    if not files:
        raise ToolError("The parts of the patch cancel each other out; nothing would change.", hint="Leave them out.")
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    told = "\n".join([f"Patched {count}:", *patching.told, *(f"[{note}]" for note in patching.notes)])
    return Plan("apply_patch", files, told)


def _lines(text: str) -> str:
    count = len(split_lines(text))
    return f"{count:,} line" + ("" if count == 1 else "s")
