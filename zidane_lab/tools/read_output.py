"""The ``read_output`` tool: read back a result that was kept in a file, or left out of what is sent.

By lines, or the lines that hold a text. What is searched for is plain text on purpose: an expression that takes
for ever on an odd line would hold up the whole kernel.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, TextIO, runtime_checkable

from zidane_lab.errors import ToolError
from zidane_lab.session.kept_results import KEPT_FOLDERS, locate
from zidane_lab.session.persisted import PERSISTED, PERSISTED_STUB_PREFIX, saved_output
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.pages import Page, read_page
from zidane_lab.tools.search_lines import MOST_AROUND, search_lines
from zidane_lab.turns import ResultPart, TextBlock, ToolResultBlock, Turn

__all__ = ["DEFAULT_LIMIT", "ResultSource", "read_output", "read_output_tool"]

DEFAULT_LIMIT: Final = 300
"""Lines shown unless told otherwise."""

_NAMED: Final = 10
"""Results named when the one asked for is not there."""


@runtime_checkable
class ResultSource(Protocol):
    """A conversation and the folder of its results: the session that keeps a tool's outputs."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation, as it was said."""
        ...

    @property
    def folder(self) -> Path | None:
        """The session's own folder; ``None`` in memory."""
        ...


@functools.cache
def read_output_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="read", concurrency="shared")(read_output)


def read_output(
    context: ToolContext,
    *,
    call_id: Annotated[str | None, "The call whose result to read, as its stand-in names it."] = None,
    path: Annotated[str | None, "Instead of call_id: the file, as a result names it."] = None,
    offset: Annotated[int, "First line to show or to search, counted from 1."] = 1,
    limit: Annotated[int, "Most lines to show, or most matches."] = DEFAULT_LIMIT,
    query: Annotated[str | None, "Show only lines holding this text; small letters match capitals too."] = None,
    around: Annotated[int, f"Lines to show before and after each match, at most {MOST_AROUND}."] = 2,
) -> ToolOutput:
    """Read an earlier tool result that was too long to be shown, or was left out to save room.

    Parameters
    ----------
    call_id, path
        Give one of the two.

    Raises
    ------
    ToolError
        There is no such result; the message names those there are.
    """
    if (call_id is None) == (path is None):
        raise ToolError("Give either call_id or path.", hint="Call again with one of them.")
    session: object = context.outputs
    if not isinstance(session, ResultSource):
        raise ToolError("No results are kept here.", hint="Run the tool again.")
    offset, limit = max(1, offset), max(1, limit)
    media: tuple[ResultPart, ...] = ()
    if path is not None:
        source: Path | str = _file(session, path)
    else:
        result = _result(session, call_id or "")
        source = _whole(session, result)
        if not query and offset == 1:
            media = tuple(part for part in result.parts if not isinstance(part, TextBlock))
    try:
        with _opened(source) as handle:
            if query:
                text = search_lines(handle, query, start=offset, most=limit, around=around)
            else:
                text = _described(read_page(handle, offset, limit, count=True), source)
    except OSError as error:
        raise ToolError(f"The result cannot be read: {error}.", hint="Run the tool again.") from error
    return ToolOutput((TextBlock(text), *media))


def _result(session: ResultSource, call_id: str) -> ToolResultBlock:
    """Find a result by its call.

    Raises
    ------
    ToolError
        There is none.
    """
    results = {result.call_id: result for turn in session.turns for result in turn.tool_results}
    if (found := results.get(call_id)) is not None:
        return found
    kept = [each.call_id for each in results.values() if PERSISTED in each.metadata][-_NAMED:]
    known = f"Kept in files are those of {', '.join(kept)}." if kept else "No results are kept in files."
    raise ToolError(f"There is no result of a call {call_id!r}.", hint=known)


def _whole(session: ResultSource, result: ToolResultBlock) -> Path | str:
    """Return the whole of a result: its file, or its text.

    Raises
    ------
    ToolError
        It was in a file that is gone.
    """
    evidence = result.metadata.get(PERSISTED)
    record: Mapping[str, Any] = evidence if isinstance(evidence, Mapping) else {}
    if isinstance(text := record.get("text"), str):
        return text
    named = record.get("path")
    file = Path(named) if isinstance(named, str) else saved_output(result.metadata)
    if file is not None:
        found = locate(session.folder, file) if session.folder is not None else None
        if found is not None:
            return found
        if result.text.startswith(PERSISTED_STUB_PREFIX):
            raise ToolError(f"The file of this result, {file}, is gone.", hint="Run the tool again.")
    return result.text


def _file(session: ResultSource, path: str) -> Path:
    """Find a file of results.

    Raises
    ------
    ToolError
        It is not one of the session's own.
    """
    found = locate(session.folder, path) if session.folder is not None and "\0" not in path else None
    if found is None:
        places = ", ".join(KEPT_FOLDERS)
        raise ToolError(
            f"{path} is not a result of this session.",
            hint=f"Only files in {places} of the session's folder can be read here; read others with read_file.",
        )
    return found


@contextmanager
def _opened(source: Path | str) -> Iterator[TextIO]:
    """Open a file or a text for reading by lines, whatever bytes a file holds."""
    if isinstance(source, str):
        yield io.StringIO(source, newline="\n")
        return
    with source.open(encoding="utf-8", errors="replace", newline="\n") as handle:
        yield handle


def _described(page: Page, source: Path | str) -> str:
    """Return a page with a note where it is in the whole, and how to go on."""
    if not page.text:
        return f"[the result has {page.total or 0:,} lines; there is no line {page.first:,}]"
    notes = []
    if page.cut:
        rest = "use query" if isinstance(source, str) else f"use query, or open {source} with run_python,"
        notes.append(f"[line {page.last:,} is longer than a page: only its beginning is shown; {rest} for the rest]")
    if page.following is not None or page.first > 1:
        more = f"go on with offset={page.following}" if page.following is not None else "this is the end"
        total = f" of {page.total:,}" if page.total is not None else ""
        notes.insert(0, f"[lines {page.first:,}–{page.last:,}{total}; {more}]")
    border = "\n" if notes and not page.text.endswith("\n") else ""
    return page.text + border + "\n".join(notes)
