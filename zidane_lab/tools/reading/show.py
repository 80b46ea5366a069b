"""How something with bytes is shown: by what it is, and by what stands behind its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.filetypes import HEAD_BYTES, FileType, how_to_load, identify, image_size
from zidane_lab.tools.paths import describe_size, show_name
from zidane_lab.tools.reading.archives import COMPRESSED, list_archive, member, unpacked
from zidane_lab.tools.reading.notebooks import notebook_text
from zidane_lab.tools.reading.outline import MOST_BYTES, outline
from zidane_lab.tools.reading.pictures import MAX_IMAGE_BYTES, picture
from zidane_lab.tools.reading.rawbytes import show_bytes
from zidane_lab.tools.reading.selectors import Selection, read_selection, split_selection
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.tables import COLUMNAR, TABLE_SUFFIXES, columnar_head, describe_table
from zidane_lab.tools.reading.text import Asked, Shown, show_lines, show_text
from zidane_lab.turns import ResultPart, TextBlock

__all__ = ["Result", "View", "show"]

_NOTEBOOK_BYTES: Final = 50 * 1_048_576
"""A notebook is parsed whole; a larger one is nearly all outputs."""
_RTF_BYTES: Final = 16 * 1_048_576
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
    sheet: str | None = None
    rest = view.rest
    if kind is not None and kind.key == "xlsx" and rest.startswith(":") and read_selection(rest) is None:
        base, selection = split_selection(rest)
        sheet, rest = base.removeprefix(":"), ""
    else:
        selection = _selection(source, rest)
    if selection.data is not None:
        return Result((TextBlock(show_bytes(source, *selection.data)),))
    asked = Asked(view.offset, view.limit, selection, view.tag if selection.tagged else None)
    if kind is None:
        return _text(source, head, asked, view)
    if kind.media_type:
        return Result(_picture(source, kind, head))
    as_it_stands = selection.raw and not selection.lines
    shown = None if as_it_stands else _document(source, kind, asked, sheet)
    if shown is None:
        raise ToolError(f"{source.name} is {kind.name} ({_measures(source)}).", hint=how_to_load(kind.key, source.name))
    return Result((TextBlock(shown.text),))


def _selection(source: Source, rest: str) -> Selection:
    if not rest:
        return Selection()
    selection = read_selection(rest)
    if selection is None:
        raise ToolError(
            f"{source.name}{rest} does not exist. {show_name(source.last_name)} does.",
            hint="Behind a path may stand lines (`:50-100`, `:50+20`), bytes (`:b0+1000`), pages (`:p2-5`), "
            "`:raw`, `:outputs` or `:tagged`.",
        )
    return selection


def _inside(source: Source, kind: FileType, view: View, depth: int) -> Result | None:
    """Show what is in an archive or a database; ``None`` for anything else."""
    if kind.key == "sqlite":
        from zidane_lab.tools.reading.sqlite import read_database

        if (selection := read_selection(view.rest)) is not None and selection.data is not None:
            return None
        lines = read_database(source, view.rest)
        return _listing(lambda: iter(lines), Asked(view.offset, view.limit), source)
    if kind.key not in {"zip", "tar", *COMPRESSED}:
        return None
    if depth >= _DEEPEST:
        raise ToolError(f"{source.name} is an archive in too many archives.", hint="Unpack it with run_python.")
    if kind.key in COMPRESSED:
        content = unpacked(source, kind.key)
        with content.open() as handle:
            is_tar = identify(handle.read(HEAD_BYTES), PurePath("x")) == _TAR
        if not is_tar:
            return _result_of(content, view, depth)
    return _archive(source, kind.key, view, depth)


def _result_of(content: Source, view: View, depth: int) -> Result:
    result = show(content, view, depth + 1)
    return replace(result, partial=True, first=None, count=None)


def _archive(source: Source, key: str, view: View, depth: int) -> Result | None:
    inner = view.rest.removeprefix(":")
    selection = read_selection(view.rest) if view.rest else Selection()
    if selection is not None and selection.data is not None:
        return None
    if selection is not None:
        asked = Asked(view.offset, view.limit, selection)
        return _listing(lambda: list_archive(source, key), asked, source)
    found, rest = _member(source, key, inner)
    if found is not None:
        return _result_of(found, replace(view, rest=rest), depth)
    base, selection = split_selection(inner)
    asked = Asked(view.offset, view.limit, selection)
    return _listing(lambda: list_archive(source, key, base), asked, source)


def _member(source: Source, key: str, inner: str) -> tuple[Source | None, str]:
    """Find the member meant by the longest beginning of ``inner``, and what stands behind it."""
    places = [index for index, char in enumerate(inner) if char in ":?"]
    failure: ToolError | None = None
    for place in [len(inner), *reversed(places[-_DEEPEST * 2 :])]:
        try:
            return member(source, key, inner[:place]), inner[place:]
        except ToolError as error:
            failure = failure or error
            if "There is no" not in error.message:
                raise
    assert failure is not None
    raise failure


def _listing(lines: Callable[[], Iterator[str]], asked: Asked, source: Source) -> Result:
    return Result((TextBlock(show_lines(lines, asked, [], source, count=True).text),))


def _text(source: Source, head: bytes, asked: Asked, view: View) -> Result:
    notes: list[str] = []
    raw = asked.selection.raw
    if source.suffix == ".ipynb" and not raw:
        if (notebook := _notebook(source, asked)) is not None:
            return _of_text(notebook, partial=asked.selection.outputs)
        notes.append("not readable as a notebook, or too large: shown as it is")
    if head.startswith(b"{\\rtf") and not raw and (source.size or 0) <= _RTF_BYTES:
        return _of_text(_rich_text(source, asked), partial=True)
    may_outline = view.is_default and not asked.selection and source.suffix in {".py", ".pyi"}
    if may_outline and (outlined := _outlined(source, view.limit)) is not None:
        return Result((TextBlock(outlined),), view.offset, view.limit)
    shown = show_text(source, head, asked, notes)
    page = shown.page
    if page is not None and page.text and page.first == 1 and source.suffix in TABLE_SUFFIXES and not raw:
        border = "" if shown.text.endswith("\n") else "\n"
        shown = replace(shown, text=f"{shown.text}{border}[{describe_table(page, source.name)}]")
    return _of_text(shown, partial=asked.selection.tagged or (raw and source.suffix == ".ipynb"))


def _rich_text(source: Source, asked: Asked) -> Shown:
    from zidane_lab.tools.reading.rtf import rtf_text

    lines = rtf_text(source.read(_RTF_BYTES).decode("latin-1")).split("\n")
    return show_lines(lambda: iter(lines), asked, ["a rich text document, as text"], source, count=True)


def _of_text(shown: Shown, *, partial: bool) -> Result:
    return Result((TextBlock(shown.text),), shown.first, shown.count, partial or shown.partial)


def _notebook(source: Source, asked: Asked) -> Shown | None:
    if (source.size or 0) > _NOTEBOOK_BYTES:
        return None
    cells = notebook_text(source.read(_NOTEBOOK_BYTES), outputs=asked.selection.outputs)
    if cells is None:
        return None
    text, note = cells
    lines = text.removesuffix("\n").split("\n") if text else []
    return show_lines(lambda: iter(lines), replace(asked, tag=None), [note], source, count=True)


def _outlined(source: Source, limit: int) -> str | None:
    """Return the outline of a module that is longer than a page; ``None`` where a page of it is better."""
    if source.size is None or source.size > MOST_BYTES:
        return None
    try:
        text = source.read(MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    lines = text.count("\n")
    if lines <= limit or (outlined := outline(text)) is None:
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
        raise ToolError(
            f"{source.name} is {kind.name} ({_measures(source, head)}).", hint=how_to_load(kind.key, source.name)
        )
    note = TextBlock(f"[{source.last_name}: {kind.name}, {_measures(source, head)}]")
    assert kind.media_type is not None
    return (note, *picture(kind.media_type, source.read(MAX_IMAGE_BYTES), source.last_name, image_size(head)))


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

            lines = lambda: pdf_lines(source, pages)  # noqa: E731 - one of several
        case "docx":
            from zidane_lab.tools.reading.office import word_lines

            lines = lambda: word_lines(source)  # noqa: E731 - one of several
        case "pptx":
            from zidane_lab.tools.reading.office import presentation_lines

            lines = lambda: presentation_lines(source, pages)  # noqa: E731 - one of several
        case "xlsx":
            from zidane_lab.tools.reading.sheets import workbook_lines

            lines = lambda: workbook_lines(source, sheet)  # noqa: E731 - one of several
        case key if key in COLUMNAR:
            head = columnar_head(source, key)
            if isinstance(head, str):
                hint = f"{head[:1].upper()}{head[1:]}. {how_to_load(key, source.name)}"
                raise ToolError(f"{source.name} is {kind.name} ({_measures(source)}).", hint=hint)
            lines, count = (lambda: iter(head)), True
        case _:
            return None
    note = f"{kind.name}, as text"
    return show_lines(lines, asked, [note] if kind.key not in COLUMNAR else [], source, count=count)


_TAR: Final = FileType("tar", "a tar archive")
