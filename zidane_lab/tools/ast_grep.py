"""The ``ast_grep`` tool: code that fits a pattern, found by its syntax, in files and in cells of notebooks."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.snapshots import remember
from zidane_lab.tools.reading.files import Files, files_of, threaded
from zidane_lab.tools.structure.engine import TIME_LIMIT, Found, Job, match_files, refuse_unusable, require_library
from zidane_lab.tools.structure.patterns import Pattern, read_pattern
from zidane_lab.tools.structure.scope import Asked, Private, Scope, counted, find_scope
from zidane_lab.tools.structure.show import problem_lines, shown_matches
from zidane_lab.tools.useless import USELESS
from zidane_lab.turns import TextBlock

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "ast_grep", "ast_grep_tool", "scope_of"]

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 500


@functools.cache
def ast_grep_tool(private: Private | None = None) -> Tool:
    """Return the tool.

    Parameters
    ----------
    private
        Files it says yes to are left out of a search in a folder, and counted.
    """
    from zidane_lab.tools.decorator import tool

    @functools.wraps(ast_grep)
    async def searching(context: ToolContext, pattern: str, **named: Any) -> ToolOutput:
        return await _search(context, _Asked(pattern, **named), private)

    return tool(name="ast_grep", tier="read", concurrency="shared")(searching)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of a call."""

    pattern: str
    paths: Sequence[str] | str | None = None
    language: str | None = None
    globs: Sequence[str] | str | None = None
    skip: int = 0
    limit: int = DEFAULT_LIMIT
    ignored: bool = False


async def ast_grep(
    context: ToolContext,
    pattern: Annotated[
        str,
        "One whole piece of code. `$NAME` (capitals) stands for one node and captures it, `$$$NAME` for any number of "
        "them, as in `print($$$ARGS)`; `$_` and `$$$` capture nothing. A name that comes twice must be the same code.",
    ],
    paths: Annotated[
        list[str] | str | None, "Files, folders or patterns such as `src/**/*.py`; the working folder."
    ] = None,
    *,
    language: Annotated[str | None, "Only this one: `python`, `typescript`, `bash` …; by the files' names."] = None,
    globs: Annotated[list[str] | str | None, "Only files like these: `*.py`, `src/**/*.{ts,tsx}`."] = None,
    skip: Annotated[int, "Matches to leave out at the start: the next page."] = 0,
    limit: Annotated[int, f"Most matches to show, at most {MAX_LIMIT}."] = DEFAULT_LIMIT,
    ignored: Annotated[bool, "Also search what .gitignore, .git, .venv, node_modules and the like hide."] = False,
) -> ToolOutput:
    """Find code by its syntax: calls, definitions, imports, whatever their layout; strings and comments do not confuse.

    Code cells of notebooks are searched, too. Lines are shown with tags for edit_lines. For plain text use grep.

    Raises
    ------
    ToolError
        No path exists, or the pattern cannot be used; the message says what to do instead.
    """
    return await _search(context, _Asked(pattern, paths, language, globs, skip, limit, ignored), None)


@threaded
def scope_of(context: ToolContext, asked: Asked, private: Private | None, end: float) -> tuple[Files, Scope]:
    """Return where the files are, and which a call is about."""
    files = files_of(context)
    return files, find_scope(files, asked, private, end)


async def _search(context: ToolContext, call: _Asked, private: Private | None) -> ToolOutput:
    require_library()
    end = time.monotonic() + TIME_LIMIT
    pattern = read_pattern(call.pattern)
    asked = Asked.of(call.paths or ["."], call.globs, call.language, ignored=call.ignored)
    skip, limit = max(0, call.skip), min(max(1, call.limit), MAX_LIMIT)
    files, scope = await scope_of(context, asked, private, end)
    job = Job(((pattern, None),), skip, skip + limit)
    found = await match_files(files, scope.files, asked.language, job, end)
    refuse_unusable(found)
    lines, number = await asyncio.to_thread(shown_matches, found.units)
    for unit in found.units:
        if unit.source.cell is None:
            remember(context, unit.source.file.path, unit.source.text)
    notes = [_position(skip, number, found) if found.total else _nothing(pattern, asked, scope, found)]
    notes += scope.notes
    if found.stopped:
        notes.append(f"not everything was searched: {found.stopped}; give smaller folders")
    if found.total and found.unusable:
        notes.append(f"the pattern cannot be used in: {', '.join(sorted(found.unusable))}")
    text = "\n".join([*lines, *(f"[{each}]" for each in notes), *problem_lines(found, "searched all the same")])
    is_useless = not found.total and not (notes[1:] or found.broken or found.problems)
    return ToolOutput((TextBlock(text),), metadata={USELESS: True} if is_useless else {})


def _position(skip: int, number: int, found: Found) -> str:
    """Say which part of the whole is shown, and how to go on."""
    total = found.total
    whole = f"{counted(total, 'match')} in {counted(found.files, 'file')}"
    if not number:
        return f"there are {whole}; none behind the first {skip:,}"
    if not skip and number >= total:
        return whole
    on = f"go on with skip={skip + number}" if skip + number < total else "this is the end"
    return f"{skip + 1:,}–{skip + number:,} of {whole}; {on}"


def _nothing(pattern: Pattern, asked: Asked, scope: Scope, found: Found) -> str:
    if not scope.files:
        what = f"{asked.language.name} " if asked.language else ""
        return f"there is no {what}code here that can be parsed; for text use grep"
    told = f"no match for {pattern.text!r} in {counted(len(scope.files), 'file')}"
    if found.broken or found.problems:
        told += "; not all of it could be parsed, so this does not prove absence: narrow `paths`, or look with grep"
    if found.partial:
        where = ", ".join(sorted(found.partial))
        told += f"; the pattern by itself is no whole code in {where}, so it may fit nothing: complete it"
    if not asked.ignored:
        told += "; ignored files were not searched, `ignored` true does"
    return told
