"""More search services: some with a key, and Wikipedia, which needs none and nearly always answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar

from zidane_lab.tools.web.search_providers import SearchRequest, items, parsed
from zidane_lab.tools.web.search_query import DAYS, Query
from zidane_lab.tools.web.search_results import Source, source, tidied

__all__ = ["Jina", "Marginalia", "Parallel", "Perplexity", "Serper", "Wikipedia"]


@dataclass(frozen=True, slots=True)
class Perplexity:
    """Perplexity's Search API (https://docs.perplexity.ai/api-reference/search-post)."""

    base: str = "https://api.perplexity.ai"
    name: ClassVar[str] = "perplexity"
    label: ClassVar[str] = "Perplexity"
    needs: ClassVar[tuple[str, ...]] = ("PERPLEXITY_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("PERPLEXITY_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send; sites to leave out are named with a minus sign."""
        asked: dict[str, Any] = {"query": query.words, "max_results": min(query.count, 20)}
        if domains := [*query.sites, *(f"-{site}" for site in query.without if not query.sites)]:
            asked["search_domain_filter"] = domains[:20]
        if query.recent:
            asked["search_recency_filter"] = query.recent
        headers = {"authorization": f"Bearer {environment['PERPLEXITY_API_KEY']}"}
        return SearchRequest(f"{self.base}/search", headers=headers, json=asked)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(
                    each.get("title"),
                    each.get("url"),
                    each.get("snippet"),
                    each.get("date") or each.get("last_updated"),
                )
                for each in items(parsed(body), "results")
            ),
            count,
        )


@dataclass(frozen=True, slots=True)
class Serper:
    """Serper's Google results (https://serper.dev)."""

    base: str = "https://google.serper.dev"
    name: ClassVar[str] = "serper"
    label: ClassVar[str] = "Serper"
    needs: ClassVar[tuple[str, ...]] = ("SERPER_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("SERPER_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        asked: dict[str, Any] = {"q": query.with_operators, "num": query.count}
        if query.recent:
            asked["tbs"] = f"qdr:{query.recent[0]}"
        return SearchRequest(f"{self.base}/search", headers={"x-api-key": environment["SERPER_API_KEY"]}, json=asked)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("link"), each.get("snippet"), each.get("date"))
                for each in items(parsed(body), "organic")
            ),
            count,
        )


@dataclass(frozen=True, slots=True)
class Jina:
    """Jina's search (https://jina.ai/reader), asked for the list alone and not for the pages themselves."""

    base: str = "https://s.jina.ai"
    name: ClassVar[str] = "jina"
    label: ClassVar[str] = "Jina"
    needs: ClassVar[tuple[str, ...]] = ("JINA_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("JINA_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        headers = {
            "accept": "application/json",
            "authorization": f"Bearer {environment['JINA_API_KEY']}",
            "x-respond-with": "no-content",
        }
        return SearchRequest(f"{self.base}/", {"q": query.with_operators}, headers)

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("url"), each.get("description"), each.get("date"))
                for each in items(parsed(body), "data")
            ),
            count,
        )


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Parallel:
    """Parallel's search (https://docs.parallel.ai/search/search-quickstart)."""

    base: str = "https://api.parallel.ai"
    today: Callable[[], date] = _today
    name: ClassVar[str] = "parallel"
    label: ClassVar[str] = "Parallel"
    needs: ClassVar[tuple[str, ...]] = ("PARALLEL_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("PARALLEL_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send; a query may have 200 characters."""
        policy: dict[str, Any] = {}
        if query.sites:
            policy["include_domains"] = list(query.sites[:10])
        elif query.without:
            policy["exclude_domains"] = list(query.without[:10])
        after = self.today() - timedelta(days=DAYS[query.recent]) if query.recent else query.after
        if after:
            policy["after_date"] = after.isoformat()
        settings: dict[str, Any] = {"max_results": query.count, **({"source_policy": policy} if policy else {})}
        asked = {"search_queries": [query.words[:200]], "mode": "basic", "advanced_settings": settings}
        return SearchRequest(
            f"{self.base}/v1/search", headers={"x-api-key": environment["PARALLEL_API_KEY"]}, json=asked
        )

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("url"), self._snippet(each), each.get("publish_date"))
                for each in items(parsed(body), "results")
            ),
            count,
        )

    @staticmethod
    def _snippet(result: Mapping[str, Any]) -> str:
        excerpts = result.get("excerpts")
        return " … ".join(str(each) for each in excerpts) if isinstance(excerpts, list) else ""


@dataclass(frozen=True, slots=True)
class Marginalia:
    """Marginalia Search, the small web (https://about.marginalia-search.com/article/api); the key may be ``public``."""

    base: str = "https://api2.marginalia-search.com"
    name: ClassVar[str] = "marginalia"
    label: ClassVar[str] = "Marginalia"
    needs: ClassVar[tuple[str, ...]] = ("MARGINALIA_API_KEY",)
    secrets: ClassVar[tuple[str, ...]] = ("MARGINALIA_API_KEY",)

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        params: dict[str, str | int] = {
            "query": query.words,
            "count": min(query.count * 3 if query.sites else query.count, 100),
        }
        return SearchRequest(f"{self.base}/search", params, {"api-key": environment["MARGINALIA_API_KEY"]})

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer."""
        del status
        return tidied(
            (
                source(each.get("title"), each.get("url"), each.get("description"))
                for each in items(parsed(body), "results")
            ),
            count,
        )


@dataclass(frozen=True, slots=True)
class Wikipedia:
    """Wikipedia's own search (https://www.mediawiki.org/wiki/API:Search): no web search, but better than nothing."""

    base: str = "https://en.wikipedia.org"
    name: ClassVar[str] = "wikipedia"
    label: ClassVar[str] = "Wikipedia"
    needs: ClassVar[tuple[str, ...]] = ()
    secrets: ClassVar[tuple[str, ...]] = ()

    def request(self, query: Query, environment: Mapping[str, str]) -> SearchRequest:
        """Return what to send."""
        del environment
        params: dict[str, str | int] = {
            "action": "query",
            "list": "search",
            "format": "json",
            "srsearch": query.words[:300],
            "srlimit": min(query.count, 50),
        }
        return SearchRequest(f"{self.base}/w/api.php", params, {"accept": "application/json"})

    def read(self, body: bytes, status: int, count: int) -> list[Source]:
        """Read an answer; an article is addressed by its number."""
        del status
        return tidied(
            (
                source(
                    each.get("title"),
                    f"https://en.wikipedia.org/?curid={each.get('pageid')}",
                    each.get("snippet"),
                    each.get("timestamp"),
                )
                for each in items(parsed(body), "query", "search")
                if isinstance(each.get("pageid"), int)
            ),
            count,
        )
