"""A search of the web: services tried in order until one answers.

Those with a key come first, those that need none last. ``ZIDANE_SEARCH`` names the ones to use, in order, or ``none``.
The hosts are the services' own, so the environment's proxies are used here as for any other service.

Requests go out below the level at which httpx writes addresses into the log: some services take their key there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus, urlsplit

from zidane_lab.errors import ToolError
from zidane_lab.tools.web.bodies import ENCODINGS, Body, read_body
from zidane_lab.tools.web.connecting import environment_proxy
from zidane_lab.tools.web.search_duckduckgo import DuckDuckGo, DuckDuckGoLite
from zidane_lab.tools.web.search_more import Jina, Marginalia, Parallel, Perplexity, Serper, Wikipedia
from zidane_lab.tools.web.search_providers import (
    Brave,
    Exa,
    GoogleCustomSearch,
    SearchError,
    SearchProvider,
    SearchRequest,
    Searxng,
    SerpApi,
    Tavily,
)
from zidane_lab.tools.web.search_query import Query, narrowed
from zidane_lab.tools.web.search_results import Source
from zidane_lab.tools.web.settings import user_agent
from zidane_lab.tools.web.text import one_line

if TYPE_CHECKING:
    import httpx

__all__ = ["CHOICE_VARIABLE", "PROVIDERS", "SECONDS", "SECONDS_VARIABLE", "Found", "chosen", "search"]

CHOICE_VARIABLE: Final = "ZIDANE_SEARCH"
SECONDS_VARIABLE: Final = "ZIDANE_SEARCH_SECONDS"
SECONDS: Final = 60.0
"""Longest wait for one service, unless the environment says another."""
MOST_SECONDS: Final = 300.0

_SHORTEST_KEY: Final = 6
"""Characters; to blot out less would only garble messages."""
_CONNECT: Final = 10.0
_MOST_BYTES: Final = 4 * 1_048_576

PROVIDERS: Final[tuple[SearchProvider, ...]] = (
    Brave(),
    Tavily(),
    Exa(),
    Perplexity(),
    Serper(),
    SerpApi(),
    GoogleCustomSearch(),
    Jina(),
    Parallel(),
    Searxng(),
    Marginalia(),
    DuckDuckGo(),
    DuckDuckGoLite(),
    Wikipedia(),
)
"""In the order in which they are tried."""

_REFUSALS: Final = {
    400: "it does not take the request",
    401: "it does not take the key",
    402: "its allowance is used up",
    403: "it refuses the request",
    429: "there were too many searches for now, or the allowance is used up",
    432: "its allowance is used up",
    433: "its allowance is used up",
}


_SPELLINGS: Final[tuple[Callable[[str], str], ...]] = (
    lambda key: quote(key, safe="", errors="replace"),
    lambda key: quote_plus(key, errors="replace"),
    lambda key: json.dumps(key)[1:-1],
)
"""How an answer may quote a key."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Parameters
    ----------
    provider
        The service that answered.
    sources
        Its results.
    failures
        The services tried before it, and why each did not answer.
    unmet
        Limits that were left out, as none of the results is within them.
    """

    provider: SearchProvider
    sources: tuple[Source, ...]
    failures: tuple[tuple[str, str], ...] = ()
    unmet: tuple[str, ...] = ()


def chosen(environment: Mapping[str, str], providers: Sequence[SearchProvider] = PROVIDERS) -> list[SearchProvider]:
    """Return the services to try: those named, or those for which there is all that they need.

    Raises
    ------
    ToolError
        Searching is switched off, a name is not known, or one that is named lacks its key.
    """
    named = environment.get(CHOICE_VARIABLE, "").replace(",", " ").lower().split()
    if named == ["none"]:
        raise ToolError(f"Searching the web is switched off ({CHOICE_VARIABLE}=none).", hint="Do without it.")
    if not named:
        return [each for each in providers if not _missing(each, environment)]
    known = {each.name: each for each in providers}
    for name in named:
        if name not in known:
            raise ToolError(f"{CHOICE_VARIABLE} names {name!r}.", hint=f"It can name {', '.join(known)} or none.")
        if missing := _missing(known[name], environment):
            raise ToolError(
                f"{CHOICE_VARIABLE} names {name}, which needs {' and '.join(missing)}.",
                hint="Ask the user to set it in the environment, or to name another service.",
            )
    return [known[name] for name in dict.fromkeys(named)]


async def search(
    query: Query,
    environment: Mapping[str, str],
    providers: Sequence[SearchProvider] = PROVIDERS,
    *,
    seconds: float | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Found:
    """Search.

    Parameters
    ----------
    seconds
        Longest wait for one service; what the environment says unless given.
    transport
        What carries the requests, instead of the network.

    Raises
    ------
    ToolError
        No service answered; the message says why, for each, and what can be set up.
    """
    failures: list[tuple[str, str]] = []
    seconds = _seconds(environment) if seconds is None else seconds
    for provider in chosen(environment, providers):
        own = {name: environment[name].strip() for name in provider.needs}
        try:
            async with asyncio.timeout(seconds):
                found = await _ask(provider, query, own, transport)
        except TimeoutError:
            failures.append((provider.label, f"no answer within {seconds:g} s"))
        except SearchError as error:
            failures.append((provider.label, _redacted(error.message, provider, own)))
        else:
            fitting, unmet = narrowed(found, query, datetime.now(UTC).date())
            return Found(provider, tuple(fitting), tuple(failures), unmet)
    tried = "; ".join(f"{label}: {why}" for label, why in failures) or "none is set up"
    keys = "; ".join(f"{each.label} ({' and '.join(each.needs)})" for each in providers if each.needs)
    raise ToolError(f"No search service answered. {tried}.", hint=f"The user can set up another one: {keys}.")


def _seconds(environment: Mapping[str, str]) -> float:
    try:
        return min(max(1.0, float(environment.get(SECONDS_VARIABLE, "") or SECONDS)), MOST_SECONDS)
    except ValueError:
        return SECONDS


def _missing(provider: SearchProvider, environment: Mapping[str, str]) -> list[str]:
    return [name for name in provider.needs if not environment.get(name, "").strip()]


async def _ask(
    provider: SearchProvider, query: Query, environment: Mapping[str, str], transport: httpx.AsyncBaseTransport | None
) -> list[Source]:
    """Ask one service.

    Raises
    ------
    SearchError
        It did not answer, or not with results.
    """
    status, body = await _send(provider.request(query, environment), transport)
    if not 200 <= status < 300:
        why = _REFUSALS.get(status, "it is out of order" if status >= 500 else "it does not answer the request")
        said = _said(body.data)
        raise SearchError(f"{why} ({status}{f': {said}' if said else ''})")
    if body.trouble or body.cut:
        raise SearchError("its answer broke off")
    return provider.read(body.data, status, query.count)


async def _send(request: SearchRequest, transport: httpx.AsyncBaseTransport | None) -> tuple[int, Body]:
    import httpx

    headers = {"user-agent": user_agent(), "accept-encoding": ENCODINGS, **(request.headers or {})}
    try:
        is_post = request.json is not None or request.form is not None
        sent = httpx.Request(
            "POST" if is_post else "GET",
            request.url,
            params=request.params,
            headers=headers,
            json=request.json,
            data=dict(request.form) if request.form is not None else None,
            extensions={
                "timeout": {"connect": _CONNECT, "read": MOST_SECONDS, "write": MOST_SECONDS, "pool": _CONNECT}
            },
        )
        proxy = environment_proxy(sent.url.scheme, sent.url.host)
        async with transport or httpx.AsyncHTTPTransport(proxy=proxy) as carrier:
            response = await carrier.handle_async_request(sent)
            try:
                return response.status_code, await read_body(response, _MOST_BYTES)
            finally:
                await response.aclose()
    except (httpx.TransportError, httpx.InvalidURL, ImportError, ValueError) as error:
        # Without the text: it may quote the address, and some services take their key there.
        raise SearchError(f"it cannot be reached ({type(error).__name__})") from None


def _said(body: bytes) -> str:
    """Return the service's own words on a failure."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for _ in range(4):
        if isinstance(value, dict):
            value = next((value[key] for key in ("error", "detail", "message", "title") if value.get(key)), "")
    return one_line(value, 200) if isinstance(value, str) else ""


def _redacted(text: str, provider: SearchProvider, environment: Mapping[str, str]) -> str:
    """Return a text without the provider's keys, also as an address or JSON would write them."""
    for name in provider.secrets:
        value = environment.get(name, "")
        with suppress(ValueError):
            if (password := urlsplit(value).password) is not None:
                text = text.replace(value, "***").replace(password, "***")
        if value.lower().startswith(("http://", "https://")):
            continue
        for spelling in {value, *(write(value) for write in _SPELLINGS)}:
            if len(spelling) >= _SHORTEST_KEY:
                text = text.replace(spelling, "***")
    return text
