"""Pages as a model reads them: whatever was fetched as text, with how that was made and what to know of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from zidane_lab.errors import ToolError
from zidane_lab.tools.filetypes import HEAD_BYTES, FileType, identify, image_size
from zidane_lab.tools.paths import describe_size
from zidane_lab.tools.web.charsets import GUESSED, decoded
from zidane_lab.tools.web.documents import document_lines
from zidane_lab.tools.web.extraction import Extracted, extract_apart
from zidane_lab.tools.web.feeds import json_feed, read_feed
from zidane_lab.tools.web.fetching import Fetched
from zidane_lab.tools.web.text import cleaned, one_line
from zidane_lab.tools.web.urls import WebAddress
from zidane_lab.turns import ResultPart

__all__ = ["FAILED", "Page", "moved", "render"]

FAILED: Final = "failed"
"""The method of a page that was not got."""

_MOST_TEXT: Final = 4_000_000
"""Characters of a page's text that are kept."""
_MOST_JSON: Final = 2 * 1_048_576
"""Bytes of JSON that are laid out for reading; more stay as they are."""
_REFUSAL_TEXT: Final = 4_000
"""Characters shown of a page that says what went wrong."""
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTUAL: Final = ("xml", "json", "javascript", "yaml", "html", "markdown", "latex", "tex")
"""Words in types other than ``text/*`` that are text all the same."""
_UNSAID: Final = frozenset({"", "application/octet-stream", "binary/octet-stream"})


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Parameters
    ----------
    url, final_url
        The address asked for, and where it was found.
    kind
        Its media type, or what it turned out to be.
    size
        Bytes, unpacked.
    method
        How the text was made; :data:`FAILED` where there is no page.
    text
        The text.
    title
        What the page is called.
    notes
        What to know of it.
    media
        Pictures.
    status
        The HTTP status; ``None`` where no answer came.
    alternates, frames, onward
        Other forms that an HTML page names, with their media types; what is shown inside it; where it sends its readers
        by itself.
    is_poor
        There is hardly any text for the size of the page.
    is_broken
        Its end did not come.
    """

    url: str
    final_url: str
    kind: str = ""
    size: int = 0
    method: str = FAILED
    text: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    media: tuple[ResultPart, ...] = field(default=())
    status: int | None = None
    alternates: tuple[tuple[str, str], ...] = ()
    frames: tuple[str, ...] = ()
    onward: str = ""
    is_poor: bool = False
    is_broken: bool = False

    @property
    def is_failed(self) -> bool:
        """Whether this only says why there is no page."""
        return self.method == FAILED

    @property
    def feeds(self) -> tuple[str, ...]:
        """The feeds it names."""
        return tuple(where for kind, where in self.alternates if kind.endswith(("rss+xml", "atom+xml")) and where)


def render(url: str, fetched: Fetched, *, raw: bool = False) -> Page:
    """Make text of what was fetched; documents and HTML take a process of their own, so this may block for long."""
    page = Page(
        url,
        str(fetched.address),
        fetched.media_type,
        len(fetched.body.data),
        notes=fetched.notes,
        status=fetched.status,
        alternates=fetched.alternates,
    )
    if fetched.moved_to is not None:
        return moved(page, fetched.moved_to)
    if fetched.body.trouble:
        page = _noted(replace(page, is_broken=True), f"what is here may not be all: {fetched.body.trouble}")
    head = fetched.body.data[:HEAD_BYTES]
    kind = identify(head, PurePosixPath(_file_name(fetched.address)))
    if not fetched.is_success:
        return _failure(page, fetched, kind)
    if not head:
        if fetched.body.trouble:
            return replace(page, text="Nothing of the answer could be read.")
        return replace(page, method="empty", text="[the answer is empty]")
    if kind is not None and not (kind.key == "data" and fetched.charset.startswith("utf-16")):
        return _binary(page, fetched, kind)
    if fetched.body.cut:
        page = _noted(page, f"only the first {describe_size(len(fetched.body.data))} were fetched")
    return _text(page, fetched, raw=raw)


def moved(page: Page, where: WebAddress) -> Page:
    """Return the page that says that the one asked for is on another site."""
    text = f"The page has moved to another site: {where}"
    return _noted(replace(page, method=FAILED, text=text), "redirects to other sites are not followed unasked")


def _noted(page: Page, *notes: str) -> Page:
    return replace(page, notes=(*page.notes, *(each for each in notes if each)))


def _file_name(address: WebAddress) -> str:
    return unquote(address.target.partition("?")[0]).rstrip("/").rpartition("/")[2][:200] or address.host


# --- what is text ---------------------------------------------------------------------------------


def _text(page: Page, fetched: Fetched, *, raw: bool) -> Page:
    data, kind = fetched.body.data, fetched.media_type
    start = data[:1_024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    text, note = decoded(data, fetched.charset, is_markup="html" in kind or start.startswith(b"<"))
    if note == GUESSED and not _is_text_type(kind) and not any(word in kind for word in _TEXTUAL):
        return _binary(page, fetched, FileType("data", "binary data"))
    page = _noted(page, note)
    if raw:
        return _with_text(page, "raw", text)
    if _may_be_feed(kind, start) and (feed := read_feed(text)) is not None:
        return _with_text(replace(page, title=feed.title), "feed", str(feed))
    if _is_json(fetched, start) and (shown := _json(page, data, text)).method != "text":
        return shown
    if _is_html(kind, start):
        is_xml = kind == "application/xhtml+xml" or start.startswith(b"<?xml")
        found, note = extract_apart(text, str(fetched.address), is_xml=is_xml)
        return _of_html(_noted(page, note), found)
    return _with_text(page, "markdown" if "markdown" in kind else "text", text)


def _may_be_feed(kind: str, start: bytes) -> bool:
    return start.startswith((b"<?xml", b"<rss", b"<feed", b"<rdf:")) or ("xml" in kind and kind not in _HTML)


def _is_json(fetched: Fetched, start: bytes) -> bool:
    """Whether it is called JSON, by type or name, or looks like it under a type that says nothing, or HTML."""
    kind = fetched.media_type
    if "json" in kind or fetched.address.target.partition("?")[0].endswith((".json", ".ipynb")):
        return not start.startswith(b"<")
    looks_so = start.startswith((b"{", b"[")) and len(fetched.body.data) <= _MOST_JSON
    return looks_so and (kind in _UNSAID or kind in _HTML)


def _is_html(kind: str, start: bytes) -> bool:
    """Whether it is called HTML, or is, while it is called something that it cannot be."""
    if kind in _HTML:
        return True
    looks_so = start.startswith((b"<!doctype html", b"<html"))
    return looks_so and not kind.startswith("text/")


def _of_html(page: Page, found: Extracted) -> Page:
    if found.is_poor:
        page = _noted(
            page, "there is hardly any text: the page seems to be built by its scripts, or asks for a sign-in"
        )
    page = replace(
        page,
        title=found.title,
        alternates=(*page.alternates, *found.alternates),
        frames=found.frames,
        onward=found.onward,
        is_poor=found.is_poor,
    )
    if page.feeds:
        page = _noted(page, f"its feed: {page.feeds[0][:300]}")
    return _with_text(page, found.method, found.text or "[there is no text on this page]")


def _with_text(page: Page, method: str, text: str) -> Page:
    if len(text) > _MOST_TEXT:
        page = _noted(page, f"only the first {_MOST_TEXT:,} characters were kept")
    return replace(page, method=method, text=cleaned(text[:_MOST_TEXT]))


def _json(page: Page, data: bytes, text: str) -> Page:
    """Lay JSON out; a notebook is shown by its cells, a feed by its entries."""
    if len(data) > _MOST_JSON and not page.final_url.endswith(".ipynb"):
        return _with_text(page, "json as it is", text)
    try:
        value = json.loads(text)
        if isinstance(value, dict) and "nbformat" in value and (shown := _notebook(data)) is not None:
            return _with_text(_noted(page, shown[1]), "notebook", shown[0])
        if (feed := json_feed(value)) is not None:
            return _with_text(replace(page, title=feed.title), "feed", str(feed))
        if _indents(value) > _MOST_TEXT:
            return _with_text(page, "json as it is", text)
        return _with_text(page, "json", json.dumps(value, ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return _with_text(page, "text", text)


def _indents(value: Any) -> int:
    """Return how many characters of white space JSON takes laid out: far more than it has itself, nested deeply."""
    total, waiting = 0, [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        total += 2 * depth * len(inner)
        waiting += [(one, depth + 1) for one in inner if isinstance(one, (dict, list))]
    return total


def _notebook(data: bytes) -> tuple[str, str] | None:
    from zidane_lab.tools.reading.notebooks import notebook_text

    return notebook_text(data, outputs=True)


# --- what is not ----------------------------------------------------------------------------------


def _binary(page: Page, fetched: Fetched, kind: FileType) -> Page:
    """Show a picture, or what a document, an archive or a table holds; anything else is named, with its size."""
    name, data = _file_name(fetched.address), fetched.body.data
    size = f"more than {describe_size(len(data))}" if fetched.body.cut else describe_size(len(data))
    label = page.kind if page.kind not in _UNSAID else kind.name
    page = replace(page, kind=label)
    if not fetched.body.cut and not fetched.body.trouble:
        if kind.media_type is not None:
            return _picture(page, name, data, kind)
        try:
            if (shown := document_lines(name, data, kind)) is not None:
                lie = f"it is {kind.name}, whatever the server says" if _is_text_type(label) else ""
                lines, trouble = _taken(shown.lines)
                return _with_text(_noted(page, *shown.notes, lie, trouble), shown.method, "\n".join(lines))
        except ToolError as error:
            return _noted(replace(page, text=error.message), error.hint)
        except (OSError, EOFError) as error:
            return replace(
                page, text=f"This is {kind.name} ({label}, {size}), and broken: {one_line(str(error), 200)}."
            )
    text = f"This is {kind.name} ({label}, {size}), which cannot be shown as text."
    return _noted(replace(page, text=text), "to work with it, download it to a file with run_python")


def _is_text_type(kind: str) -> bool:
    return kind.startswith("text/") or kind in _HTML


def _picture(page: Page, name: str, data: bytes, kind: FileType) -> Page:
    from zidane_lab.tools.reading.pictures import picture

    assert kind.media_type is not None
    pixels = image_size(data)
    parts = picture(kind.media_type, data, name, pixels)
    measures = f"{pixels[0]} × {pixels[1]} pixels, " if pixels else ""
    text = f"[{name}: {kind.name}, {measures}{describe_size(len(data))}]"
    return replace(page, method="picture", kind=kind.media_type, text=text, media=parts)


def _taken(lines: Iterable[str]) -> tuple[list[str], str]:
    """Return lines until there are more than are kept, and why there are no more where something broke.

    Raises
    ------
    ToolError
        It broke before the first line.
    """
    taken: list[str] = []
    room = _MOST_TEXT
    try:
        for line in lines:
            taken.append(line)
            room -= len(line) + 1
            if room < 0:
                break
    except ToolError as error:
        if not taken:
            raise
        return taken, f"it could be read up to here only: {one_line(error.message, 200)}"
    return taken, ""


def _failure(page: Page, fetched: Fetched, kind: FileType | None) -> Page:
    """Say what status came, and what the server said to it."""
    from http import HTTPStatus

    try:
        phrase = f" {HTTPStatus(fetched.status).phrase}"
    except ValueError:
        phrase = ""
    said = ""
    if kind is None and fetched.body.data:
        shown = _text(page, fetched, raw=False)
        said = shown.text[:_REFUSAL_TEXT]
    text = f"The server answered {fetched.status}{phrase}."
    return replace(page, text=f"{text} It says:\n\n{said}" if said.strip() else text)
