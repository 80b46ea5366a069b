"""What is searched for and what is found, whatever the service: one shape for all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from zidane_lab.tools.web.text import one_line

__all__ = ["SNIPPET", "Query", "Recent", "Source", "of_sites", "plain", "source", "tidied"]

SNIPPET: Final = 240
"""Characters of a snippet."""

Recent: TypeAlias = Literal["day", "week", "month", "year"]

_TAGS: Final = re.compile(r"<[^<>]*>")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Parameters
    ----------
    text
        The words.
    count
        Most results wanted.
    sites
        Only results of these hosts, and of those below them.
    recent
        Only results of the last day, week, month or year.
    """

    text: str
    count: int = 10
    sites: tuple[str, ...] = ()
    recent: Recent | None = None

    @property
    def with_sites(self) -> str:
        """The words, with the sites as operators, for services that know no other way."""
        if not self.sites:
            return self.text
        operators = " OR ".join(f"site:{site}" for site in self.sites)
        return f"{self.text} ({operators})" if len(self.sites) > 1 else f"{self.text} {operators}"


@dataclass(frozen=True, slots=True)
class Source:
    """One result; a date that is not known is empty."""

    title: str
    url: str
    snippet: str = ""
    date: str = ""


def source(title: Any, url: Any, snippet: Any = "", date: Any = "") -> Source | None:
    """Return a result from what a service says; ``None`` where it names no page of the web."""
    address = "".join(str(url or "").split())
    if not address.lower().startswith(("http://", "https://")) or len(address) > 2_000:
        return None
    when = plain(date, 40)
    day = _DATE.match(when)
    return Source(
        plain(title, 200) or address, one_line(address, 2_000), plain(snippet, SNIPPET), day[0] if day else when
    )


def plain(value: Any, most: int) -> str:
    """Return a text of a service, which may have tags and entities, on one line."""
    if not isinstance(value, str):
        return ""
    return one_line(unescape(_TAGS.sub("", value)), most)


def tidied(found: Iterable[Source | None], count: int) -> list[Source]:
    """Leave out what is no result or comes twice."""
    unique = {each.url: each for each in reversed([one for one in found if one is not None])}
    return list(reversed(unique.values()))[:count]


def of_sites(found: list[Source], sites: tuple[str, ...]) -> list[Source]:
    """Return the results of some sites."""
    return [each for each in found if any(_is_of(each.url, site) for site in sites)]


def _is_of(url: str, site: str) -> bool:
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    return host == site or host.endswith(f".{site}")
