"""A page in the form that is best to read: by the way known for its site, or another form that it names or may have.

Servers are asked for Markdown first. An HTML page that names a Markdown form of itself is read in that; one with hardly
any text is looked for where it sends its readers, in its frames, as ``page.md``, in its feed, and last in the site's
``llms.txt`` (https://llmstxt.org). Whatever is fetched for that passes the same checks and is of the same site.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.web.connecting import FetchError
from zidane_lab.tools.web.fetching import ACCEPT, Fetched, fetch
from zidane_lab.tools.web.pages import Page, moved, render
from zidane_lab.tools.web.settings import WebSettings
from zidane_lab.tools.web.sites import site_of
from zidane_lab.tools.web.urls import WebAddress, joined, read_address, same_site

__all__ = ["get_page"]

_EXTRA_SECONDS: Final = 15.0
"""Longest time for other forms of a page that is here already."""
_SHORT: Final = 200
"""Characters; a page with fewer may only send its readers on, or be made of frames."""
_MOST_ONWARD: Final = 3
_MOST_FRAMES: Final = 3
_AS_MARKDOWN: Final = "text/markdown, text/plain;q=0.9"
_FORMS: Final = frozenset({"markdown", "text"})


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
    except FetchError as error:
        return Page(url, url, text=error.message, notes=(error.hint,) if error.hint else ())
    if raw or page.is_failed:
        return page
    try:
        async with asyncio.timeout(_EXTRA_SECONDS):
            return await _better(page, fetched.address, settings)
    except TimeoutError:
        return page


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
    if page.is_failed:
        return None
    return replace(page, notes=(*page.notes, f"this is {site.name}, without the page around it"))


async def _better(page: Page, address: WebAddress, settings: WebSettings) -> Page:
    """Return a better form of a page, where there is one."""
    markdown = next((where for kind, where in page.alternates if "markdown" in kind and where), "")
    if markdown and (found := await _form(page, address, markdown, settings)) is not None:
        return replace(found, method="markdown alternate")
    if page.onward and _is_short(page):
        page, address = await _onward(page, address, settings)
    if _is_short(page) and (found := await _framed(page, address, settings)) is not None:
        return found
    if not page.is_poor:
        return page
    for where in _guesses(address):
        if (found := await _form(page, address, where, settings)) is not None:
            return replace(found, method="markdown suffix")
    for where in page.feeds[:1]:
        if (found := await _other(page, address, where, settings)) is not None and found.method == "feed":
            return replace(found, method="feed alternate")
    found = await _form(page, address, "/llms.txt", settings)
    if found is None or not found.text.lstrip().startswith("#"):
        return page
    note = "this is the site's own guide for readers like you, not the page, which has hardly any text"
    return replace(found, method="llms.txt", notes=(*found.notes, note))


def _is_short(page: Page) -> bool:
    return page.method not in _FORMS and len(page.text) < _SHORT


async def _other(
    page: Page, address: WebAddress, where: str, settings: WebSettings, accept: str = ACCEPT
) -> Page | None:
    """Return what is at another address of the same site, as a form of a page; ``None`` where there is nothing."""
    try:
        there = joined(address, where)
        if not same_site(there, address) or str(there) == page.final_url:
            return None
        fetched = await fetch(there, settings, accept=accept)
    except ToolError:
        return None
    if not fetched.is_success or fetched.moved_to is not None:
        return None
    found = await asyncio.to_thread(render, page.url, fetched)
    return None if found.is_failed or not found.text.strip() else replace(found, title=found.title or page.title)


async def _form(page: Page, address: WebAddress, where: str, settings: WebSettings) -> Page | None:
    """Return the Markdown form of a page, if it is one: many servers answer any address with their start page."""
    found = await _other(page, address, where, settings, _AS_MARKDOWN)
    if found is None or found.method not in _FORMS or found.text.lstrip().startswith("<"):
        return None
    return replace(found, title=page.title)


def _guesses(address: WebAddress) -> list[str]:
    """Return where the Markdown form of a page often is."""
    path = address.target.partition("?")[0]
    folder, _, name = path.rpartition("/")
    if not name:
        return [f"{folder}/index.md", f"{folder}/index.html.md", *([f"{folder}.md"] if folder else [])]
    if name.endswith((".html", ".htm")):
        return [f"{path}.md", f"{path.rpartition('.')[0]}.md"]
    return [f"{path}.md"] if "." not in name else []


async def _onward(page: Page, address: WebAddress, settings: WebSettings) -> tuple[Page, WebAddress]:
    """Go where a page sends its readers by itself; to another site only where redirects are followed there too."""
    asked = page.url
    for _ in range(_MOST_ONWARD):
        if not page.onward or not _is_short(page):
            break
        try:
            there = joined(address, page.onward)
            if str(there) == str(address):
                break
            if not (settings.follow_anywhere or same_site(address, there)):
                return moved(page, there), address
            fetched: Fetched = await fetch(there, settings)
        except ToolError as error:
            return replace(page, notes=(*page.notes, f"it sends its readers on, but: {error.message}")), address
        page, address = await asyncio.to_thread(render, asked, fetched), fetched.address
    return page, address


async def _framed(page: Page, address: WebAddress, settings: WebSettings) -> Page | None:
    """Return what the frames of a page hold; ``None`` where that is no more than the page itself."""
    own: list[str] = []
    for where in page.frames:
        with suppress(ToolError):
            there = joined(address, where)
            if same_site(there, address):
                own.append(str(there))
    found = [await _other(page, address, where, settings) for where in own[:_MOST_FRAMES]]
    parts = [each for each in found if each is not None]
    if sum(len(each.text) for each in parts) <= len(page.text):
        return None
    text = "\n\n".join(f"[frame {each.final_url}]\n\n{each.text}" for each in parts)
    left = [where for where in page.frames if where not in own[:_MOST_FRAMES]]
    note = f"other frames: {', '.join(left)[:300]}" if left else ""
    return replace(
        page,
        method="frames",
        text=f"{page.text}\n\n{text}".strip(),
        notes=tuple(each for each in (*page.notes, note) if each),
        media=tuple(part for each in parts for part in each.media),
        is_poor=False,
    )
