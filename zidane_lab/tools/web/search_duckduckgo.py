"""DuckDuckGo's pages for browsers without scripts: results without a key, when the service is in the mood.

It has no interface for programs. After a few quick searches it asks to prove that one is a person; then it counts as
out of reach. Advertisements among the results are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import ClassVar, Final
from urllib.parse import parse_qs, urlsplit

from zidane_lab.tools.web.charsets import decoded
from zidane_lab.tools.web.search_providers import SearchError, SearchRequest
from zidane_lab.tools.web.search_query import Query
from zidane_lab.tools.web.search_results import Source, source, tidied

__all__ = ["DuckDuckGo", "DuckDuckGoLite"]

_CHALLENGES: Final = ("anomaly-modal", "anomaly.js", "bots use DuckDuckGo too")


@dataclass(frozen=True, slots=True)
class DuckDuckGo:
    """The HTML page of DuckDuckGo."""

    base: str = "https://html.duckduckgo.com"
    path: ClassVar[str] = "/html/"
    name: ClassVar[str] = "duckduckgo"
    label: ClassVar[str] = "DuckDuckGo"
    needs: ClassVar[tuple[str, ...]] = ()
    secrets: ClassVar[tuple[str, ...]] = ()

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send: the form of its search field."""
        del environment
        form = {"q": query.with_operators}
        if query.recent:
            form["df"] = query.recent[0]
        return SearchRequest(f"{self.base}{self.path}", headers={"accept": "text/html"}, form=form)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read a page of results.

        Raises
        ------
        SearchError
            The service asks to prove that one is a person, or the page is not one of results.
        """
        html, _ = decoded(body, "utf-8")
        if status == 202 or any(mark in html for mark in _CHALLENGES):
            raise SearchError("it asks to prove that a person is searching")
        reader = _Reader()
        reader.feed(html)
        reader.close()
        found = tidied(
            (
                source(each.title, _target(each.href), each.snippet, each.date)
                for each in reader.found
                if not each.is_ad
            ),
            count,
        )
        if not found and not reader.says_none:
            raise SearchError("its page cannot be read any more")
        return found


@dataclass(frozen=True, slots=True)
class DuckDuckGoLite(DuckDuckGo):
    """The page of DuckDuckGo for the smallest browsers: another server, other markup, the same results."""

    base: str = "https://lite.duckduckgo.com"
    path: ClassVar[str] = "/lite/"
    name: ClassVar[str] = "duckduckgo-lite"
    label: ClassVar[str] = "DuckDuckGo Lite"


@dataclass(slots=True)
class _Found:
    href: str
    is_ad: bool = False
    title: str = ""
    snippet: str = ""
    date: str = ""


class _Reader(HTMLParser):
    """Reads results off either page: a link with the title, then an element with the snippet."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[_Found] = []
        self.says_none = False
        self._into = ""
        self._tag = ""
        self._in_ad = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the start of an element."""
        values = {name: value or "" for name, value in attrs}
        classes = values.get("class", "").split()
        if "result" in classes or "result-sponsored" in classes:
            self._in_ad = "result--ad" in classes or "result-sponsored" in classes
        elif tag == "tr":
            self._in_ad = False
        if "no-results" in classes or "result--no-result" in classes:
            self.says_none = True
        if tag == "a" and ("result__a" in classes or "result-link" in classes):
            self.found.append(_Found(values.get("href", ""), self._in_ad))
            self._into, self._tag = "title", tag
        elif self.found and ("result__snippet" in classes or "result-snippet" in classes):
            self._into, self._tag = "snippet", tag
        elif self.found and ("timestamp" in classes or (tag == "span" and not classes and not self._into)):
            self._into, self._tag = "date", tag

    def handle_endtag(self, tag: str) -> None:
        """Take the end of an element."""
        if tag == self._tag:
            self._into = self._tag = ""

    def handle_data(self, data: str) -> None:
        """Take text."""
        if "No results found" in data or "No  results." in data or "No more results" in data:
            self.says_none = True
        if not self.found or not self._into:
            return
        last = self.found[-1]
        if self._into == "title":
            last.title += data
        elif self._into == "snippet":
            last.snippet += data
        elif data.strip()[:4].isdigit():
            last.date = data.strip()


def _target(href: str) -> str:
    """Return where a link of the page leads; nothing for an advertisement."""
    try:
        parts = urlsplit(f"https:{href}" if href.startswith("//") else href)
        is_own = (parts.hostname or "").endswith("duckduckgo.com") or not parts.netloc
    except ValueError:
        return ""
    if not is_own:
        return href
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
