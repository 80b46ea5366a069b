"""Pages as a model reads them: whatever was fetched as text, with how it was found and what to know of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from zidane_lab.errors import ToolError
from zidane_lab.tools.filetypes import HEAD_BYTES, FileType, identify, image_size
from zidane_lab.tools.paths import describe_size
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.web.connecting import FetchError
from zidane_lab.tools.web.extraction import Extracted, extract_apart
from zidane_lab.tools.web.feeds import json_feed, read_feed
from zidane_lab.tools.web.fetching import Fetched, fetch
from zidane_lab.tools.web.settings import WebSettings
from zidane_lab.tools.web.sites import site_of
from zidane_lab.tools.web.text import cleaned, decoded
from zidane_lab.tools.web.urls import WebAddress, joined, read_address, same_site
from zidane_lab.turns import ResultPart

__all__ = ["FAILED", "Page", "get_page", "render"]

FAILED: Final = "failed"
"""The method of a page that was not got."""

_MOST_TEXT: Final = 4_000_000
"""Characters of a page's text that are kept."""
_MOST_JSON: Final = 2 * 1_048_576
"""Bytes of JSON that are laid out for reading; more stay as they are."""
_REFUSAL_TEXT: Final = 4_000
"""Characters shown of a page that says what went wrong."""
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_UNSAID: Final = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_EXTRA_SECONDS: Final = 15.0
"""Longest time for another form of a page that is here already."""
_DOCUMENTS: Final = frozenset({"pdf", "docx", "pptx", "xlsx"})


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
    alternates
        Other forms that an HTML page names: media type and address.
    is_poor
        There is hardly any text for the size of the page.
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
    is_poor: bool = False

    @property
    def is_failed(self) -> bool:
        """Whether this only says why there is no page."""
        return self.method == FAILED


async def get_page(url: str, settings: WebSettings, *, raw: bool = False) -> Page:
    """Fetch a page and make text of it; a server's refusal or silence is a page that says so.

    Parameters
    ----------
    raw
        Give HTML, JSON and the like as they stand.

    Raises
    ------
    ToolNotAllowedError
        The address is not to be reached.
    """
    address = read_address(url)
    url = str(address)
    try:
        if not raw and (page := await _from_site(url, address, settings)) is not None:
            return page
        fetched = await fetch(address, settings)
        page = await asyncio.to_thread(render, url, fetched, raw=raw)
        return await _better(page, fetched.address, settings)
    except FetchError as error:
        return Page(url, url, text=error.message, notes=(error.hint,) if error.hint else ())


def render(url: str, fetched: Fetched, *, raw: bool = False) -> Page:
    """Make text of what was fetched; documents and HTML take a process of their own, so this may block for long."""
    page = Page(
        url,
        str(fetched.address),
        fetched.media_type,
        len(fetched.body.data),
        notes=fetched.notes,
        status=fetched.status,
    )
    if fetched.moved_to is not None:
        text = f"The page has moved to another site: {fetched.moved_to}"
        return replace(page, text=text, notes=(*page.notes, "redirects to other sites are not followed unasked"))
    if fetched.body.trouble:
        page = _noted(page, f"what is here may not be all: {fetched.body.trouble}")
    head = fetched.body.data[:HEAD_BYTES]
    kind = identify(head, PurePosixPath(_file_name(fetched.address)))
    if not fetched.is_success:
        return _failure(page, fetched, kind)
    if not head:
        return replace(page, method="empty", text="[the answer is empty]")
    if kind is not None:
        return _binary(page, fetched, kind)
    if fetched.body.cut:
        page = _noted(page, f"only the first {describe_size(len(fetched.body.data))} were fetched")
    return _text(page, fetched, raw=raw)


def _noted(page: Page, *notes: str) -> Page:
    return replace(page, notes=(*page.notes, *(each for each in notes if each)))


def _file_name(address: WebAddress) -> str:
    return unquote(address.target.partition("?")[0]).rstrip("/").rpartition("/")[2][:200] or address.host


# --- what is text ---------------------------------------------------------------------------------


def _text(page: Page, fetched: Fetched, *, raw: bool) -> Page:
    data, kind = fetched.body.data, fetched.media_type
    start = data[:1_024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    is_html = kind in _HTML or (kind in _UNSAID and start.startswith((b"<!doctype html", b"<html")))
    text, note = decoded(data, fetched.charset, is_markup=is_html or start.startswith(b"<"))
    page = _noted(page, note)
    if raw:
        return _with_text(page, "raw", text)
    if is_html:
        found, note = extract_apart(text, str(fetched.address))
        return _of_html(_noted(page, note), found)
    if "json" in kind or fetched.address.target.partition("?")[0].endswith((".json", ".ipynb")):
        return _json(page, data, text)
    if ("xml" in kind or start.startswith(b"<?xml")) and (feed := read_feed(data)) is not None:
        return _with_text(replace(page, title=feed.title), "feed", str(feed))
    return _with_text(page, "markdown" if "markdown" in kind else "text", text)


def _of_html(page: Page, found: Extracted) -> Page:
    if found.is_poor:
        page = _noted(
            page, "there is hardly any text: the page seems to be built by its scripts, or asks for a sign-in"
        )
    feeds = [where for kind, where in found.alternates if kind.endswith(("rss+xml", "atom+xml")) and where]
    if feeds:
        page = _noted(page, f"its feed: {feeds[0][:300]}")
    page = replace(page, title=found.title, alternates=found.alternates, is_poor=found.is_poor)
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
        return _with_text(page, "json", json.dumps(value, ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return _with_text(page, "text", text)


def _notebook(data: bytes) -> tuple[str, str] | None:
    from zidane_lab.tools.reading.notebooks import notebook_text

    return notebook_text(data, outputs=True)


# --- what is not ----------------------------------------------------------------------------------


def _binary(page: Page, fetched: Fetched, kind: FileType) -> Page:
    """Show a picture or a document; anything else is named, with its size."""
    name, data = _file_name(fetched.address), fetched.body.data
    size = f"more than {describe_size(len(data))}" if fetched.body.cut else describe_size(len(data))
    label = page.kind if page.kind not in _UNSAID else kind.name
    if not fetched.body.cut and not fetched.body.trouble:
        if kind.media_type is not None:
            return _picture(page, name, data, kind)
        if kind.key in _DOCUMENTS:
            return _document(page, Source.of_bytes(name, data), kind)
    text = f"This is {kind.name} ({label}, {size}), which cannot be shown as text."
    hint = "to work with it, download it to a file with run_python"
    return _noted(replace(page, text=text, kind=label), hint)


def _picture(page: Page, name: str, data: bytes, kind: FileType) -> Page:
    from zidane_lab.tools.reading.pictures import picture

    assert kind.media_type is not None
    pixels = image_size(data)
    parts = picture(kind.media_type, data, name, pixels)
    measures = f"{pixels[0]} × {pixels[1]} pixels, " if pixels else ""
    text = f"[{name}: {kind.name}, {measures}{describe_size(len(data))}]"
    return replace(page, method="picture", kind=kind.media_type, text=text, media=parts)


def _document(page: Page, source: Source, kind: FileType) -> Page:
    try:
        text = "\n".join(_bounded(_document_lines(source, kind.key)))
    except ToolError as error:
        return _noted(replace(page, text=error.message), error.hint)
    return _with_text(replace(page, kind=page.kind or kind.name), kind.key, text)


def _document_lines(source: Source, key: str) -> Iterable[str]:
    lines: Callable[[Source], Iterable[str]]
    match key:
        case "pdf":
            from zidane_lab.tools.reading.pdf import pdf_lines as lines
        case "docx":
            from zidane_lab.tools.reading.office import word_lines as lines
        case "pptx":
            from zidane_lab.tools.reading.office import presentation_lines as lines
        case _:
            from zidane_lab.tools.reading.sheets import workbook_lines as lines
    return lines(source)


def _bounded(lines: Iterable[str]) -> Iterable[str]:
    """Yield lines until there are more than are kept."""
    room = _MOST_TEXT
    for line in lines:
        yield line
        room -= len(line) + 1
        if room < 0:
            return


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


# --- better forms of a page -----------------------------------------------------------------------


async def _from_site(url: str, address: WebAddress, settings: WebSettings) -> Page | None:
    """Return a page by the way known for its site; ``None`` where there is none or it does not work."""
    site = site_of(address)
    if site is None:
        return None
    try:
        fetched = await fetch(site.address, replace(settings, total=min(settings.total, _EXTRA_SECONDS)))
    except ToolError:
        return None
    if not fetched.is_success or fetched.body.trouble:
        return None
    page = await asyncio.to_thread(render, url, fetched)
    return None if page.is_failed else _noted(page, f"this is {site.name}, without the page around it")


async def _better(page: Page, address: WebAddress, settings: WebSettings) -> Page:
    """Return the Markdown form of an HTML page, where the page names one or has hardly any text itself."""
    hurried = replace(settings, total=min(settings.total, _EXTRA_SECONDS))
    for where in _markdown_forms(page, address):
        try:
            other = await fetch(where, hurried, accept="text/markdown, text/plain;q=0.9")
        except ToolError:
            continue
        if other.is_success and other.media_type.startswith("text/") and other.media_type not in _HTML:
            better = await asyncio.to_thread(render, page.url, other)
            if better.text.strip() and not better.is_failed:
                return replace(better, method="markdown alternate", title=page.title)
    return page


def _markdown_forms(page: Page, address: WebAddress) -> list[WebAddress]:
    """Return where the Markdown form of a page may be, on its own site."""
    found = [where for kind, where in page.alternates if "markdown" in kind][:1]
    path = address.target.partition("?")[0].rstrip("/")
    if page.is_poor and path and "." not in path.rpartition("/")[2]:
        found.append(f"{path}.md")
    forms = []
    for where in found:
        with suppress(ToolError):
            forms.append(joined(address, where))
    return [form for form in forms if same_site(form, address)]
