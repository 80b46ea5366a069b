"""How something with bytes is shown: by what it is, and by what stands behind its path."""

from __future__ import annotations

import functools
import importlib.util
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.filetypes import HEAD_BYTES, FileType, how_to_load, identify, image_size
from zidane_lab.tools.pages import encoding_of
from zidane_lab.tools.paths import describe_size, show_name
from zidane_lab.tools.reading.apart import lines_apart
from zidane_lab.tools.reading.archives import COMPRESSED, MissingError, list_archive, member, unpacked
from zidane_lab.tools.reading.indentation import SUFFIXES, indented_outline
from zidane_lab.tools.reading.notebooks import notebook_outline, notebook_text
from zidane_lab.tools.reading.outline import MOST_BYTES, MOST_CODE_LINES, outline
from zidane_lab.tools.reading.pictures import MAX_IMAGE_BYTES, converted, picture
from zidane_lab.tools.reading.rawbytes import show_bytes
from zidane_lab.tools.reading.selectors import Selection, read_selection, split_selection
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.tables import COLUMNAR, TABLE_SUFFIXES, columnar_head, describe_table
from zidane_lab.tools.reading.text import Asked, Shown, show_lines, show_text
from zidane_lab.turns import ResultPart, TextBlock

__all__ = ["Result", "View", "show"]

_NOTEBOOK_BYTES: Final = 50 * 1_048_576
"""A notebook is parsed whole; a larger one is nearly all outputs."""
_COUNTED: Final = 2 * 1_048_576
"""Up to this size the lines of a document are counted to the end."""
_DEEPEST: Final = 4
"""Archives in archives."""


@dataclass(frozen=True, slots=True)
class View:
    """What is to be seen of a source.

    Parameters
    ----------
    offset, limit
        First line, and most lines.
    is_default
        Neither was chosen: a long module may be shown as an outline.
    rest
        What stands behind the path, from its colon or question mark on.
    tag
        Puts tags before the lines of a text that starts at a line.
    """

    offset: int
    limit: int
    is_default: bool = False
    rest: str = ""
    tag: Callable[[str, int], str] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Parts for the model, and what they are of the file: see :class:`~zidane_lab.tools.reading.text.Shown`."""

    parts: tuple[ResultPart, ...]
    first: int | None = None
    count: int | None = None
    partial: bool = True


def show(source: Source, view: View, depth: int = 0) -> Result:
    """Show a source.

    Raises
    ------
    ToolError
        It cannot be shown; the message says what it is and what to do instead.
    OSError
        It cannot be read.
    """
    with source.open() as handle:
        head = handle.read(HEAD_BYTES)
    kind = identify(head, PurePath(source.last_name))
    inside = None if kind is None else _inside(source, kind, view, depth)
    if inside is not None:
        return inside
    sheet, selection = None, Selection()
    if kind is not None and kind.key == "xlsx" and view.rest.startswith(":"):
        sheet, selection = _sheet(source, view.rest)
    else:
        selection = _selection(source, view.rest)
    if selection.data is not None:
        return Result((TextBlock(show_bytes(source, *selection.data)),))
    asked = Asked(view.offset, view.limit, selection, view.tag if selection.tagged else None)
    if kind is None:
        return _text(source, head, asked, view)
    if kind.media_type or kind.key == "picture":
        return Result(_picture(source, kind, head))
    if selection.picture is not None:
        return _embedded(source, kind, selection.picture, view, depth)
    as_it_stands = selection.raw and not selection.lines
    shown = None if as_it_stands else _document(source, kind, asked, sheet)
    if shown is None:
        raise ToolError(
            f"{source.shown} is {kind.name} ({_measures(source)}).", hint=how_to_load(kind.key, source.name)
        )
    return Result((TextBlock(shown.text),))


def _selection(source: Source, rest: str) -> Selection:
    if not rest:
        return Selection()
    selection = read_selection(rest)
    if selection is None:
        raise ToolError(
            f"{source.shown}{rest} does not exist. {show_name(source.last_name)} does.",
            hint="Behind a path may stand lines (`:50-100`, `:50+20`), bytes (`:b0+1000`), pages (`:p2-5`), "
            "`:raw`, `:outputs`, `:tagged`, `:conflicts` or `:img1`.",
        )
    return selection


def _sheet(source: Source, rest: str) -> tuple[str | None, Selection]:
    """Return the sheet of a workbook that is asked for, and what part of it: names of sheets may look like parts."""
    names = {each.lower() for each in lines_apart("sheets.sheet_names", source)}
    base, selection = split_selection(rest)
    for name, part in ((rest[1:], Selection()), (base[1:], selection)):
        if name.lower() in names:
            return name, part
    if (whole := read_selection(rest)) is not None:
        return None, whole
    return base[1:], selection


def _embedded(source: Source, kind: FileType, number: int, view: View, depth: int) -> Result:
    """Show the pictures in a document, or one of them."""
    from zidane_lab.tools.reading.embedded import PACKAGES, picture_in, picture_lines

    if kind.key not in PACKAGES | {"pdf"}:
        raise ToolError(f"{source.shown} is {kind.name}: no pictures are looked for in it.", hint="Read it whole.")
    if not number:
        return _listing(lambda: picture_lines(source, kind.key), Asked(view.offset, view.limit), source)
    return _result_of(picture_in(source, kind.key, number), replace(view, rest=""), depth)


def _inside(source: Source, kind: FileType, view: View, depth: int) -> Result | None:
    """Show what is in an archive or a database; ``None`` for anything else."""
    if kind.key == "sqlite":
        from zidane_lab.tools.reading.sqlite import read_database

        if (selection := read_selection(view.rest)) is not None and selection.data is not None:
            return None
        lines = read_database(source, view.rest)
        return _listing(lambda: iter(lines), Asked(view.offset, view.limit), source)
    if (part := _part(source, kind, view.rest)) is not None:
        return _result_of(part, replace(view, rest=""), depth)
    if kind.key not in {"zip", "tar", *COMPRESSED}:
        return None
    if depth >= _DEEPEST:
        raise ToolError(f"{source.shown} is an archive in too many archives.", hint="Unpack it with run_python.")
    if kind.key in COMPRESSED:
        content = unpacked(source, kind.key)
        with content.open() as handle:
            is_tar = identify(handle.read(HEAD_BYTES), PurePath("x")) == _TAR
        if not is_tar:
            return _result_of(content, view, depth)
    return _archive(source, kind.key, view, depth)


def _part(source: Source, kind: FileType, rest: str) -> Source | None:
    """Return the picture in a document that is named by its part, as the document's text names it."""
    from zidane_lab.tools.reading.embedded import PACKAGES, is_picture

    if kind.key not in PACKAGES or not rest.startswith(":") or not is_picture(rest):
        return None
    return member(source, "zip", rest[1:])


def _result_of(content: Source, view: View, depth: int) -> Result:
    result = show(content, view, depth + 1)
    return replace(result, partial=True, first=None, count=None)


def _archive(source: Source, key: str, view: View, depth: int) -> Result | None:
    inner = view.rest.removeprefix(":")
    selection = read_selection(view.rest) if view.rest else Selection()
    if selection is not None and selection.data is not None:
        return None
    try:
        found, rest = _member(source, key, inner)
    except MissingError:
        if selection is None:
            raise
        asked = Asked(view.offset, view.limit, selection)
        return _listing(lambda: list_archive(source, key), asked, source)
    if found is not None:
        return _result_of(found, replace(view, rest=rest), depth)
    base, selection = split_selection(inner)
    asked = Asked(view.offset, view.limit, selection)
    return _listing(lambda: list_archive(source, key, base), asked, source)


def _member(source: Source, key: str, inner: str) -> tuple[Source | None, str]:
    """Find the member meant by the longest beginning of ``inner``, and what stands behind it."""
    places = [index for index, char in enumerate(inner) if char in ":?"]
    failure: MissingError | None = None
    for place in [len(inner), *reversed(places[-_DEEPEST * 2 :])]:
        try:
            return member(source, key, inner[:place]), inner[place:]
        except MissingError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _listing(lines: Callable[[], Iterator[str]], asked: Asked, source: Source) -> Result:
    return Result((TextBlock(show_lines(lines, asked, [], source, count=True).text),))


def _text(source: Source, head: bytes, asked: Asked, view: View) -> Result:
    notes: list[str] = []
    raw = asked.selection.raw
    if asked.selection.picture is not None:
        raise ToolError(f"{source.shown} is text: there are no pictures in it.", hint="Read it whole.")
    if asked.selection.conflicts:
        return _conflicts(source, head, asked)
    may_outline = view.is_default and not asked.selection
    if source.suffix == ".ipynb" and not raw:
        if (notebook := _notebook(source, asked, view.limit if may_outline else None)) is not None:
            return _of_text(notebook, partial=asked.selection.outputs)
        notes.append("not readable as a notebook, or too large: shown as it is")
    if head.startswith(b"{\\rtf") and not raw:
        return _of_text(_rich_text(source, asked), partial=True)
    if may_outline and (outlined := _outlined(source, view.limit)) is not None:
        return Result((TextBlock(outlined),), view.offset, view.limit)
    shown = show_text(source, head, asked, notes)
    page = shown.page
    if page is not None and page.text and page.first == 1 and source.suffix in TABLE_SUFFIXES and not raw:
        border = "" if shown.text.endswith("\n") else "\n"
        shown = replace(shown, text=f"{shown.text}{border}[{describe_table(page, source.name)}]")
    return _of_text(shown, partial=asked.selection.tagged or (raw and source.suffix == ".ipynb"))


def _rich_text(source: Source, asked: Asked) -> Shown:
    count = source.size is not None and source.size <= _COUNTED
    lines = functools.partial(lines_apart, "rtf.rtf_lines", source)
    return show_lines(lines, asked, ["a rich text document, as text"], source, count=count)


def _conflicts(source: Source, head: bytes, asked: Asked) -> Result:
    from zidane_lab.tools.reading.conflicts import conflict_lines

    def lines() -> Iterator[str]:
        with source.open() as handle, io.TextIOWrapper(handle, encoding_of(head), "replace", newline="\n") as text:
            yield from conflict_lines(text)

    asked = replace(asked, selection=replace(asked.selection, conflicts=False), tag=None)
    return _of_text(show_lines(lines, asked, [], source, count=True), partial=True)


def _of_text(shown: Shown, *, partial: bool) -> Result:
    return Result((TextBlock(shown.text),), shown.first, shown.count, partial or shown.partial)


def _notebook(source: Source, asked: Asked, most: int | None) -> Shown | None:
    """Show a notebook; one of more than ``most`` lines in short."""
    if (source.size or 0) > _NOTEBOOK_BYTES:
        return None
    cells = notebook_text(source.read(_NOTEBOOK_BYTES), outputs=asked.selection.outputs)
    if cells is None:
        return None
    text, note = cells
    text = text.removesuffix("\n")
    lines = text.split("\n") if text else []
    if most is not None and len(lines) > most and (short := _in_short(notebook_outline(text), source, len(lines))):
        return Shown(f"{short}\n[{note}]", partial=True)
    return show_lines(lambda: iter(lines), replace(asked, tag=None), [note], source, count=True)


def _outlined(source: Source, limit: int) -> str | None:
    """Return the outline of code that is longer than a page; ``None`` where a page of it is better."""
    is_python = source.suffix in {".py", ".pyi"}
    if source.size is None or source.size > MOST_BYTES or not (is_python or source.suffix in SUFFIXES):
        return None
    try:
        text = source.read(MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    lines = text.count("\n")
    if not limit < lines <= MOST_CODE_LINES:
        return None
    return _in_short(outline(text) if is_python else indented_outline(text), source, lines)


def _in_short(outlined: tuple[str, int] | None, source: Source, lines: int) -> str | None:
    """Return an outline with how to read what it leaves out; ``None`` where it is not short."""
    if outlined is None:
        return None
    shown, count = outlined
    if shown.count("\n") > min(1_000, lines // 2) or len(shown.encode("utf-8", "replace")) > 40_000:
        return None
    name = show_name(source.name)
    border = "" if shown.endswith("\n") else "\n"
    return (
        f"{shown}{border}[an outline: {count:,} of {lines:,} lines are left out; read them as `{name}:40-80`, "
        f"or all from the start as `{name}:1`]"
    )


def _picture(source: Source, kind: FileType, head: bytes) -> tuple[ResultPart, ...]:
    if source.size is not None and source.size > MAX_IMAGE_BYTES:
        raise _no_text(source, kind, head)
    name = show_name(source.last_name)
    note = TextBlock(f"[{name}: {kind.name}, {_measures(source, head)}]")
    if kind.media_type is not None:
        return (note, *picture(kind.media_type, source.read(MAX_IMAGE_BYTES), name, image_size(head)))
    if importlib.util.find_spec("PIL") is None:
        raise _no_text(source, kind)
    return (note, *converted("", source.read(MAX_IMAGE_BYTES), name))


def _no_text(source: Source, kind: FileType, head: bytes = b"") -> ToolError:
    """Return the error for what cannot be shown: what it is, and how to get at it."""
    hint = how_to_load(kind.key, source.name)
    return ToolError(f"{source.shown} is {kind.name} ({_measures(source, head)}).", hint=hint)


def _measures(source: Source, head: bytes = b"") -> str:
    pixels = image_size(head) if head else None
    size = describe_size(source.size) if source.size is not None else "of unknown size"
    return (f"{pixels[0]} × {pixels[1]} pixels, " if pixels else "") + size


def _document(source: Source, kind: FileType, asked: Asked, sheet: str | None) -> Shown | None:
    """Show a document as text; ``None`` for what is none."""
    pages = asked.selection.pages
    lines: Callable[[], Iterator[str]]
    count = source.size is not None and source.size <= _COUNTED and kind.key != "pdf"
    match kind.key:
        case "pdf":
            from zidane_lab.tools.reading.pdf import pdf_lines

            lines = functools.partial(pdf_lines, source, pages)
        case "docx":
            lines = functools.partial(lines_apart, "office.word_lines", source)
        case "pptx":
            lines = functools.partial(lines_apart, "office.presentation_lines", source, pages)
        case "xlsx":
            lines = functools.partial(lines_apart, "sheets.workbook_lines", source, sheet)
        case "epub":
            lines = functools.partial(lines_apart, "epub.book_lines", source)
        case "odf":
            lines = functools.partial(lines_apart, "opendocument.opendocument_lines", source)
        case key if key in COLUMNAR:
            head = columnar_head(source, key)
            if isinstance(head, str):
                hint = f"{head[:1].upper()}{head[1:]}. {how_to_load(key, source.name)}"
                raise ToolError(f"{source.shown} is {kind.name} ({_measures(source)}).", hint=hint)
            lines, count = (lambda: iter(head)), True
        case _:
            return None
    note = f"{kind.name}, as text"
    return show_lines(lines, asked, [note] if kind.key not in COLUMNAR else [], source, count=count)


_TAR: Final = FileType("tar", "a tar archive")
