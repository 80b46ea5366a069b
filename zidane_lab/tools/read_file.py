"""The ``read_file`` tool: one door to whatever is in files.

Text by lines or bytes, notebooks as text, pictures, documents, archives, databases, tables and folders; what stands
behind a path says which part (:mod:`zidane_lab.tools.reading.selectors`). The tool reads whatever the user can read;
whether a file that seems to hold secrets may be read is the gate's decision (:mod:`zidane_lab.approvals`), and where
the path as it is written does not show that, the tool refuses and names the path to ask for.
"""

from __future__ import annotations

import functools
import stat
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeAlias

from zidane_lab.contexts.base import FileInfo
from zidane_lab.errors import ToolError
from zidane_lab.session.read_state import read_evidence
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.reading.files import Files, files_of, modified_at, threaded
from zidane_lab.tools.reading.pictures import MAX_IMAGE_BYTES
from zidane_lab.tools.reading.selectors import split_selection
from zidane_lab.tools.reading.show import Result, View, show
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.targets import Target, is_url, locate
from zidane_lab.tools.truncate import MAX_LINES
from zidane_lab.turns import ResultPart, TextBlock

__all__ = ["DEFAULT_LIMIT", "MAX_IMAGE_BYTES", "is_url", "read_file", "read_file_tool"]

DEFAULT_LIMIT: Final = 300
_TAGGED_BYTES: Final = 2 * 1_048_576
"""A text up to this size is remembered when its lines are shown with tags."""

Fetch: TypeAlias = Callable[[str], Awaitable[str]]
Private: TypeAlias = Callable[[str], bool]

_SPECIAL: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


@functools.cache
def read_file_tool(*, private: Private | None = None, fetch: Fetch | None = None) -> Tool:
    """Return the tool.

    Parameters
    ----------
    private
        Whether a path commonly holds secrets. What it says yes to is read only if the path as the model wrote it
        shows that too, so that whoever gates the call has seen it.
    fetch
        Returns the page at an address as Markdown. Give it only where the gate knows that such a call uses the
        network; without it addresses are left to ``fetch_url``.
    """
    from zidane_lab.tools.decorator import tool

    @functools.wraps(read_file)
    async def reading(context: ToolContext, path: str, offset: int = 1, limit: int = DEFAULT_LIMIT) -> ToolOutput:
        if is_url(path) and fetch is not None:
            return _fetched(await fetch(path.strip()), offset, limit)
        return await threaded(_read)(context, path, offset, limit, private)

    return tool(name="read_file", tier="read", concurrency="shared")(reading)


def read_file(
    context: ToolContext,
    path: Annotated[str, "The file or folder; a part of it may stand behind, as in `notes.md:50-100`."],
    offset: Annotated[int, "First line to show, counted from 1."] = 1,
    limit: Annotated[int, f"Most lines to show; a page has at most {MAX_LINES} lines and 50 KB."] = DEFAULT_LIMIT,
) -> ToolOutput:
    """Read a file: text by lines, images as images, notebooks, PDF and Office documents as text, folders as trees.

    Behind the path may stand, with a colon, the part or the way: lines `:50-100` or `:50+20`, bytes `:b0+4000`, pages
    `:p2-5`, `:raw` (as it stands), `:outputs` (of a notebook), `:tagged` (lines with tags for edit_lines). Archives:
    `a.zip` lists, `a.zip:docs/x.md` reads. SQLite: `d.db` lists tables, `d.db:table`, `d.db:table:key`,
    `d.db:table?where=…&order=column:desc&limit=…`, `d.db?q=SELECT …`. Excel: `b.xlsx:Sheet`. A long Python module is
    shown as an outline first.

    Raises
    ------
    ToolError
        There is no such file, or its content cannot be shown; the message says what to do instead.
    """
    return _read(context, path, offset, limit, None)


def _read(context: ToolContext, path: str, offset: int, limit: int, private: Private | None) -> ToolOutput:
    if is_url(path):
        raise ToolError(f"{path} is an address.", hint="Read it with fetch_url.")
    files = files_of(context)
    target = locate(files, path)
    if private is not None and not private(path) and (plain := _secret(target, private)) is not None:
        raise ToolError(
            f"{show_name(plain)} commonly holds secrets, and `{show_name(path)}` does not say so.",
            hint=f"If it is needed, ask for it as {show_name(plain)!r}, with offset and limit for a part of it.",
        )
    if target.info.kind == "folder":
        return _folder(files, target)
    _refuse_special(target.path, target.info)
    offset, limit = max(1, offset), max(1, limit)
    is_default = offset == 1 and limit == DEFAULT_LIMIT and not target.rest
    source = Source.of_file(files, target.path, target.info)
    view = View(offset, limit, is_default, target.rest, _tagger(context, source))
    try:
        result = show(source, view)
        changed = _changed(files, target)
    except OSError as error:
        reason = error.strerror or error
        raise ToolError(f"{target.path} cannot be read: {reason}.", hint="Choose another file.") from error
    notes = [target.note] if target.note else []
    if changed:
        notes.append("the file changed while it was read; what is shown may be of both")
    return ToolOutput(_with_notes(result.parts, notes), metadata=_evidence(files, target, view, result))


def _secret(target: Target, private: Private) -> str | None:
    """Return the plain path of what is read, where that is private: the file, or an entry of an archive."""
    if private(target.path):
        return target.path
    inner = split_selection(target.rest)[0].lstrip(":")
    return f"{target.path}:{inner}" if inner and private(inner) else None


def _folder(files: Files, target: Target) -> ToolOutput:
    from zidane_lab.tools.reading.folders import folder_lines

    lines = folder_lines(files, target.path)
    return ToolOutput((TextBlock("\n".join([*([f"[{target.note}]"] if target.note else []), *lines])),))


def _refuse_special(path: str, info: FileInfo) -> None:
    if info.kind == "file":
        return
    what = next((name for test, name in _SPECIAL if test(info.mode)), "not an ordinary file")
    raise ToolError(f"{path} is {what}; reading it could wait for ever.", hint="Read ordinary files only.")


def _tagger(context: ToolContext, source: Source) -> Callable[[str, int], str]:
    """Return what puts tags before lines; the text is remembered then, so that tags can be understood later."""

    def tag(text: str, first: int) -> str:
        from zidane_lab.tools.edits.anchors import tagged
        from zidane_lab.tools.edits.snapshots import remember

        if source.size is not None and source.size <= _TAGGED_BYTES:
            whole = source.read(_TAGGED_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
            remember(context, source.name, whole)
        return tagged(text, first)

    return tag


def _changed(files: Files, target: Target) -> bool:
    try:
        now = files.stat(target.path)
    except OSError:
        return True
    return (now.mtime_ns, now.size) != (target.info.mtime_ns, target.info.size)


def _evidence(files: Files, target: Target, view: View, result: Result) -> dict[str, Any]:
    """Return what the result shows of the file; a view that is not its lines counts as a part of it."""
    path = target.path
    if files.is_local:
        import os.path

        path = os.path.abspath(path)  # noqa: PTH100 - `..` away, links kept
    is_whole = result.first is not None and result.count is not None and not result.partial
    first, count = (result.first, result.count) if result.first and result.count else (view.offset, view.limit)
    return read_evidence(
        path, first, count, mtime=modified_at(target.info), size=target.info.size, partial=not is_whole
    )


def _with_notes(parts: tuple[ResultPart, ...], notes: list[str]) -> tuple[ResultPart, ...]:
    """Put notes before the first text."""
    if not notes:
        return parts
    first = parts[0]
    lead = "\n".join(f"[{note}]" for note in notes)
    if isinstance(first, TextBlock):
        return (TextBlock(f"{lead}\n{first.text}"), *parts[1:])
    return (TextBlock(lead), *parts)


def _fetched(text: str, offset: int, limit: int) -> ToolOutput:
    """Return a page of what was fetched."""
    from zidane_lab.tools.reading.text import Asked, show_lines

    source = Source.of_bytes("the page", text.encode("utf-8", "replace"))
    asked = Asked(max(1, offset), max(1, limit))
    return ToolOutput((TextBlock(show_lines(lambda: iter(text.split("\n")), asked, [], source, count=True).text),))
