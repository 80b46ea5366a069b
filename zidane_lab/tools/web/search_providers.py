"""The search services we know: how each is asked, and how its answer is read.

A provider only makes a request and reads an answer; sending, time limits and the order in which they are tried are the
business of :mod:`zidane_lab.tools.web.searching`. Keys come from the environment and go into headers where the service
takes them there.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from zidane_lab.errors import ToolError
from zidane_lab.tools.web.search_query import DAYS, Query
from zidane_lab.tools.web.search_results import Source, source, tidied

__all__ = [
    "Brave",
    "Exa",
    "GoogleCustomSearch",
    "SearchError",
    "SearchProvider",
    "SearchRequest",
    "Searxng",
    "SerpApi",
    "Tavily",
    "items",
    "parsed",
]


class SearchError(ToolError):
    """One service could not be asked, or its answer not be read."""

    code = "search"
    default_hint = "Another service may do."


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to send: a GET, or a POST where there is something to post (JSON, or a form)."""

    url: str
    params: Mapping[str, str | int] | None = None
    headers: Mapping[str, str] | None = None
    json: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None


class SearchProvider(Protocol):
    """A search service.

    ``name`` is what settings call it, ``label`` what people do; ``needs`` names the variables of the environment that
    it takes, the secret ones among them in ``secrets``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def needs(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def secrets(self) -> tuple[str, ...]: ...  # noqa: D102

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        ...

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer with a status of success.

        Raises
        ------
        SearchError
            It is not what was expected.
        """
        ...


def parsed(body: bytes) -> dict[str, Any]:
    """Read an answer as a JSON object.

    Raises
    ------
    SearchError
        It is none.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise SearchError("its answer is not JSON") from None
    if not isinstance(value, dict):
        raise SearchError("its answer is not what was expected")
    return value


def items(value: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of the list that is found by following keys; none where there is no such list."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


@dataclass(frozen=True, slots=True)
class Brave:
    """Brave Search (https://api-dashboard.search.brave.com/app/documentation/web-search)."""

    base: str = "https://api.search.brave.com"
    name: ClassVar[str] = "brave"
    label: ClassVar[str] = "Brave"
    needs: ClassVar[tuple[str, ...]] = ("BRAVE_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("BRAVE_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        params: dict[str, str | int] = {"q": query.with_operators[:400], "count": min(query.count, 20)}
        if query.recent:
            params["freshness"] = f"p{query.recent[0]}"
        return SearchRequest(
            f"{self.base}/res/v1/web/search",
            params,
            {"accept": "application/json", "x-subscription-token": environment["BRAVE_API_KEY"]},
        )

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(
                    each.get("title"), each.get("url"), each.get("description"), each.get("page_age") or each.get("age")
                )
                for each in items(parsed(body), "web", "results")
            ),
            count,
        )


@dataclass(frozen=True, slots=True)
class Tavily:
    """Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search)."""

    base: str = "https://api.tavily.com"
    name: ClassVar[str] = "tavily"
    label: ClassVar[str] = "Tavily"
    needs: ClassVar[tuple[str, ...]] = ("TAVILY_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("TAVILY_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        asked: dict[str, Any] = {"query": query.words[:400], "max_results": min(query.count, 20)}
        if query.sites:
            asked["include_domains"] = list(query.sites)
        if query.without:
            asked["exclude_domains"] = list(query.without)
        if query.recent:
            asked["time_range"] = query.recent
        headers = {"authorization": f"Bearer {environment['TAVILY_API_KEY']}"}
        return SearchRequest(f"{self.base}/search", headers=headers, json=asked)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("url"), each.get("content"), each.get("published_date"))
                for each in items(parsed(body), "results")
            ),
            count,
        )


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Exa:
    """Exa (https://docs.exa.ai/reference/search)."""

    base: str = "https://api.exa.ai"
    now: Callable[[], datetime] = _now
    name: ClassVar[str] = "exa"
    label: ClassVar[str] = "Exa"
    needs: ClassVar[tuple[str, ...]] = ("EXA_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("EXA_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        asked: dict[str, Any] = {
            "query": query.words,
            "numResults": min(query.count, 25),
            "contents": {"highlights": True},
        }
        if query.sites:
            asked["includeDomains"] = list(query.sites)
        elif query.without:
            asked["excludeDomains"] = list(query.without)
        if query.recent:
            start = self.now() - timedelta(days=DAYS[query.recent])
            asked["startPublishedDate"] = start.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return SearchRequest(f"{self.base}/search", headers={"x-api-key": environment["EXA_API_KEY"]}, json=asked)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("url"), self._snippet(each), each.get("publishedDate"))
                for each in items(parsed(body), "results")
            ),
            count,
        )

    @staticmethod
    def _snippet(result: Mapping[str, Any]) -> str:
        highlights = result.get("highlights")
        if isinstance(highlights, list) and highlights:
            return " … ".join(str(each) for each in highlights)
        return str(result.get("summary") or result.get("text") or "")


@dataclass(frozen=True, slots=True)
class SerpApi:
    """SerpApi's Google results (https://serpapi.com/search-api)."""

    base: str = "https://serpapi.com"
    name: ClassVar[str] = "serpapi"
    label: ClassVar[str] = "SerpApi"
    needs: ClassVar[tuple[str, ...]] = ("SERPAPI_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("SERPAPI_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send; the service takes its key in the address only."""
        params: dict[str, str | int] = {
            "engine": "google",
            "q": query.with_operators,
            "num": query.count,
            "api_key": environment["SERPAPI_API_KEY"],
        }
        if query.recent:
            params["tbs"] = f"qdr:{query.recent[0]}"
        return SearchRequest(f"{self.base}/search.json", params)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer; that nothing was found comes as an error."""
        del status
        value = parsed(body)
        if (error := str(value.get("error") or "")) and "hasn't returned any results" not in error:
            raise SearchError(f"it says: {error}")
        return tidied(
            (
                source(each.get("title"), each.get("link"), each.get("snippet"), each.get("date"))
                for each in items(value, "organic_results")
            ),
            count,
        )


@dataclass(frozen=True, slots=True)
class GoogleCustomSearch:
    """Google's Custom Search JSON API (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list)."""

    base: str = "https://www.googleapis.com"
    name: ClassVar[str] = "google"
    label: ClassVar[str] = "Google Custom Search"
    needs: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY", "GOOGLE_CSE_ID")
    secrets: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        params: dict[str, str | int] = {
            "cx": environment["GOOGLE_CSE_ID"],
            "q": replace(query, sites=()).with_operators if len(query.sites) == 1 else query.with_operators,
            "num": min(query.count, 10),
        }
        if len(query.sites) == 1:
            params |= {"siteSearch": query.sites[0], "siteSearchFilter": "i"}
        if query.recent:
            params["dateRestrict"] = f"{query.recent[0]}1"
        return SearchRequest(f"{self.base}/customsearch/v1", params, {"x-goog-api-key": environment["GOOGLE_API_KEY"]})

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer; without ``items`` nothing was found."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("link"), each.get("snippet"), self._date(each))
                for each in items(parsed(body), "items")
            ),
            count,
        )

    @staticmethod
    def _date(item: Mapping[str, Any]) -> str:
        """Return the date that a page states in its own metadata."""
        for tags in items(item, "pagemap", "metatags"):
            for key in ("article:published_time", "og:updated_time", "date"):
                if isinstance(tags.get(key), str):
                    return str(tags[key])
        return ""


@dataclass(frozen=True, slots=True)
class Searxng:
    """A SearXNG instance of the user's choice (https://docs.searxng.org/dev/search_api.html)."""

    name: ClassVar[str] = "searxng"
    label: ClassVar[str] = "SearXNG"
    needs: ClassVar[tuple[str, ...]] = ("SEARXNG_URL",)
    secrets: ClassVar[tuple[str, ...]] = ("SEARXNG_URL",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send; the address is the user's own, so it may be on this machine."""
        base, headers = _without_login(environment["SEARXNG_URL"].strip().rstrip("/"))
        params: dict[str, str | int] = {"q": query.with_operators, "format": "json"}
        if query.recent:
            params["time_range"] = query.recent
        return SearchRequest(
            f"{base.removesuffix('/search')}/search", params, {"accept": "application/json", **headers}
        )

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("url"), each.get("content"), each.get("publishedDate"))
                for each in items(parsed(body), "results")
            ),
            count,
        )


def _without_login(url: str) -> tuple[str, dict[str, str]]:
    """Return an address without its user name and password, and the header that says them.

    Raises
    ------
    SearchError
        It is no address of the web.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme.lower() not in {"http", "https"}:
        raise SearchError("SEARXNG_URL is not a web address")
    if parts.username is None:
        return url, {}
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return bare, {"authorization": f"Basic {b64encode(login).decode('ascii')}"}
