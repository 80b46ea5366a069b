"""One page, fetched: redirects checked and counted, sizes and times limited.

A page is fetched because a person asked an assistant to look at it, as with a browser or curl; nothing is crawled, so
``robots.txt``, which is addressed to crawlers, is not consulted. We say honestly who we are and send no cookies.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from zidane_lab.errors import ToolNotAllowedError
from zidane_lab.tools.web.bodies import ENCODINGS, Body, read_body
from zidane_lab.tools.web.connecting import FetchError, opened
from zidane_lab.tools.web.settings import WebSettings, user_agent
from zidane_lab.tools.web.urls import WebAddress, check_address, joined, read_address, same_site

__all__ = ["ACCEPT", "Fetched", "fetch"]

ACCEPT: Final = (
    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.5"
)
"""Servers that keep their pages as Markdown too then send that."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+")
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_LINK: Final = re.compile(r"<([^<>]{1,2000})>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]+))*)")
_LONGEST_HEADER: Final = 16_384
_LAST: Final = 0.05
"""The part of the time for a page that is kept for what comes after its last byte."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server answered.

    Parameters
    ----------
    address
        Where it was found in the end.
    status
        The HTTP status.
    media_type, charset
        What the server says it is; empty where it says nothing.
    body
        Its bytes.
    notes
        What a reader should know of the way it came.
    moved_to
        Where it says the page is now, when that is on another site and was not followed.
    alternates
        Other forms that the answer's head names: media type and address (RFC 8288).
    """

    address: WebAddress
    status: int
    media_type: str
    charset: str
    body: Body
    notes: tuple[str, ...] = ()
    moved_to: WebAddress | None = None
    alternates: tuple[tuple[str, str], ...] = ()

    @property
    def is_success(self) -> bool:
        """Whether this is the page and not a word about it."""
        return 200 <= self.status < 300


async def fetch(url: str | WebAddress, settings: WebSettings, *, accept: str = ACCEPT) -> Fetched:
    """Fetch a page.

    Raises
    ------
    ToolNotAllowedError
        The address, or one that it redirects to, is not to be reached.
    FetchError
        No answer came.
    """
    address = url if isinstance(url, WebAddress) else read_address(url)
    try:
        async with asyncio.timeout(settings.total) as limit:
            until = (limit.when() or 0.0) - _LAST * settings.total
            return await _followed(address, settings, accept, until)
    except TimeoutError:
        raise FetchError(f"{address.authority} took longer than {settings.total:g} s.") from None


async def _followed(address: WebAddress, settings: WebSettings, accept: str, until: float) -> Fetched:
    headers = {"user-agent": user_agent(), "accept": accept, "accept-encoding": ENCODINGS, "connection": "close"}
    notes: list[str] = []
    for _ in range(settings.most_redirects + 1):
        fetched, target = await _answer(address, headers, settings, until)
        if target is None:
            return replace(fetched, notes=(*notes, *fetched.notes))
        if not (settings.follow_anywhere or same_site(address, target)):
            return replace(fetched, notes=tuple(notes), moved_to=target)
        if address.scheme == "https" and target.scheme == "http":
            notes.append("a redirect led from https to http: what follows came over an open line")
        address = target
    raise FetchError(
        f"{address.authority} redirected more than {settings.most_redirects} times.", hint="Try another address."
    )


async def _answer(
    address: WebAddress, headers: Mapping[str, str], settings: WebSettings, until: float
) -> tuple[Fetched, WebAddress | None]:
    """Return the answer, and where it redirects to."""
    async with opened(address, headers, settings) as response:
        kind = response.headers.get("content-type", "")
        media_type, charset = _TYPE.match(kind.strip()), _CHARSET.search(kind)
        fetched = Fetched(
            address,
            response.status_code,
            media_type[0].lower() if media_type else "",
            charset[1].lower() if charset else "",
            Body(b""),
            alternates=_alternates(response.headers.get("link", "")),
        )
        location = response.headers.get("location", "").strip()
        if fetched.status in _REDIRECTS and location:
            try:
                target = joined(address, location)
                check_address(target, settings.allowed)
            except ToolNotAllowedError as error:
                raise ToolNotAllowedError(f"{address} redirects elsewhere: {error.message}", hint=error.hint) from None
            return fetched, target
        return replace(fetched, body=await read_body(response, settings.most_bytes, until)), None


def _alternates(links: str) -> tuple[tuple[str, str], ...]:
    """Return the other forms of a page that a ``Link`` header names."""
    found = []
    for match in _LINK.finditer(links[:_LONGEST_HEADER]):
        values = {
            name.lower(): value.strip('"')
            for name, value in re.findall(r"([\w*-]+)\s*=\s*(\"[^\"]*\"|[^\s;,]+)", match[2])
        }
        if "alternate" in values.get("rel", "").lower().split() and values.get("type"):
            found.append((values["type"].lower(), match[1].strip()))
    return tuple(found[:20])
