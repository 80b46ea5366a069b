"""The ``read_file`` tool: one door to whatever is in files.

Text by lines or bytes, notebooks as text, pictures, documents, archives, databases, tables and folders; what stands
behind a path says which part (:mod:`zidane_lab.tools.reading.selectors`). The tool reads whatever the user can read;
whether a file that seems to hold secrets may be read is the gate's decision (:mod:`zidane_lab.approvals`), and where
the path as it is written does not show that, the tool refuses and names the path to ask for.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, Protocol, TypeAlias

from zidane_lab.contexts.base import FileInfo
from zidane_lab.errors import ToolError
from zidane_lab.session.read_state import read_evidence
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.pages import PAGE_BYTES, PAGE_LINES
from zidane_lab.tools.paths import show_name, unescaped
from zidane_lab.tools.places import marked
from zidane_lab.tools.reading.files import Files, files_of, modified_at, threaded
from zidane_lab.tools.reading.ordinary import what_it_is
from zidane_lab.tools.reading.pictures import MAX_IMAGE_BYTES
from zidane_lab.tools.reading.selectors import split_selection
from zidane_lab.tools.reading.show import Result, View, show
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.targets import Target, is_url, locate
from zidane_lab.turns import ResultPart, TextBlock

__all__ = ["DEFAULT_LIMIT", "MAX_IMAGE_BYTES", "is_url", "read_file", "read_file_tool"]

DEFAULT_LIMIT: Final = 300
_PAGE: Final = f"{PAGE_BYTES // 1024} KB"
_TAGGED_BYTES: Final = 2 * 1_048_576
"""A text up to this size is remembered when its lines are shown with tags."""

Fetch: TypeAlias = Callable[[str], Awaitable[str]]
Private: TypeAlias = Callable[[str], bool]


class ReadUrl(Protocol):
    """Shows some lines of a page of the web, with what may stand behind its address; it keeps what it fetched."""

    async def __call__(self, context: ToolContext, url: str, *, offset: int, limit: int) -> ToolOutput:
        """Return the lines."""
        ...


@functools.cache
def read_file_tool(
    *, private: Private | None = None, fetch: Fetch | None = None, read_url: ReadUrl | None = None
) -> Tool:
    """Return the tool.

    Parameters
    ----------
    private
        Whether a path commonly holds secrets. What it says yes to is read only if the path as the model wrote it
        shows that too, so that whoever gates the call has seen it.
    fetch
        Returns the page at an address as Markdown; it is asked for the same address again for other lines of it.
    read_url
        Shows a page by itself, instead. Give either only where the gate knows that a call with an address for a path
        uses the network; without them addresses are left to ``fetch_url``.
    """
    from zidane_lab.tools.decorator import tool

    @functools.wraps(read_file)
    async def reading(context: ToolContext, path: str, offset: int = 1, limit: int = DEFAULT_LIMIT) -> ToolOutput:
        if is_url(path) and read_url is not None:
            return await read_url(context, path.strip(), offset=max(1, offset), limit=max(1, limit))
        if is_url(path) and fetch is not None:
            return await _fetched(fetch, path, offset, limit)
        return await threaded(_read)(context, path, offset, limit, private)

    return tool(name="read_file", tier="read", concurrency="shared")(reading)


def read_file(
    context: ToolContext,
    path: Annotated[str, "The file or folder; a part of it may stand behind, as in `notes.md:50-100`."],
    offset: Annotated[int, "First line to show, counted from 1."] = 1,
    limit: Annotated[int, f"Most lines to show; a page has at most {PAGE_LINES:,} lines and {_PAGE}."] = DEFAULT_LIMIT,
) -> ToolOutput:
    """Read a file: text by lines, images as images, notebooks, PDF, Office files, books as text, folders as trees.

    Behind the path may stand, with a colon, the part or the way: lines `:50-100` or `:50+20`, bytes `:b0+4000`, pages
    `:p2-5`, `:raw` (as it stands), `:outputs` (of a notebook), `:img` (pictures in a document; `:img1` is the first),
    `:conflicts` (merge conflicts that are left), `:tagged` (lines with tags for edit_lines). Archives: `a.zip` lists,
    `a.zip:docs/x.md` reads. SQLite: `d.db` lists tables, `d.db:table`, `d.db:table:key`,
    `d.db:table?where=…&order=column:desc&limit=…`, `d.db?q=SELECT …`. Excel: `b.xlsx:Sheet`. Long code and long
    notebooks are shown as an outline first.

    Raises
    ------
    ToolError
        There is no such file, or its content cannot be shown; the message says what to do instead.
    """
    return _read(context, path, offset, limit, None)


def _read(context: ToolContext, path: str, offset: int, limit: int, private: Private | None) -> ToolOutput:
    if is_url(path):
        raise ToolError(f"{show_name(path)} is an address.", hint="Read it with fetch_url.")
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
        raise ToolError(f"{show_name(target.path)} cannot be read: {reason}.", hint="Choose another file.") from error
    notes = [target.note] if target.note else []
    if changed:
        notes.append("the file changed while it was read; what is shown may be of both")
    return ToolOutput(
        _with_notes(result.parts, notes), metadata=_evidence(files, target, view, result) | marked(context)
    )


def _secret(target: Target, private: Private) -> str | None:
    """Return the plain path of what is read, where that is private: the file, or an entry of an archive."""
    if private(target.path):
        return target.path
    inner = split_selection(target.rest)[0].lstrip(":")
    plain = unescaped(inner) or inner
    parts = [part for text in (inner, plain) for part in (text, *text.split(":")) if part]  # archives in archives
    return f"{target.path}:{plain}" if any(map(private, parts)) else None


def _folder(files: Files, target: Target) -> ToolOutput:
    from zidane_lab.tools.reading.folders import folder_lines

    lines = folder_lines(files, target.path)
    return ToolOutput((TextBlock("\n".join([*([f"[{target.note}]"] if target.note else []), *lines])),))


def _refuse_special(path: str, info: FileInfo) -> None:
    if info.kind == "file":
        return
    raise ToolError(
        f"{show_name(path)} is {what_it_is(info.mode)}; reading it could wait for ever.",
        hint="Read ordinary files only.",
    )


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


async def _fetched(fetch: Fetch, path: str, offset: int, limit: int) -> ToolOutput:
    """Return lines of what is fetched; those behind the address, where there are some.

    Raises
    ------
    ToolError
        What stands behind it is no lines.
    """
    from zidane_lab.tools.reading.selectors import Selection
    from zidane_lab.tools.reading.text import Asked, show_lines
    from zidane_lab.tools.web.parts import split_part

    address, part = split_part(path)
    if part.raw:
        raise ToolError("Of an address lines can be read, not its source.", hint="Use fetch_url with `raw` true.")
    text = await fetch(address)
    source = Source.of_bytes("the page", text.encode("utf-8", "replace"))
    asked = Asked(max(1, offset), max(1, limit), Selection(lines=part.ranges))
    return ToolOutput((TextBlock(show_lines(lambda: iter(text.split("\n")), asked, [], source, count=True).text),))
