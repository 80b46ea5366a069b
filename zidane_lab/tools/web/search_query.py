"""What is searched for: words, and limits that services know in different ways or not at all.

Models write the operators of search engines (``site:``, ``filetype:``, ``after:``) whatever the service. They are read
here, passed on in the way each service takes them, and applied once more to what was found: leniently, for a limit that
leaves nothing is more often misunderstood than meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from zidane_lab.tools.web.search_results import Source

__all__ = ["DAYS", "Query", "Recent", "is_site", "narrowed", "read_query"]

Recent: TypeAlias = Literal["day", "week", "month", "year"]
DAYS: Final[dict[Recent, int]] = {"day": 1, "week": 7, "month": 31, "year": 366}
_SLACK: Final = timedelta(days=2)
"""Dates of pages are rarely exact, and days differ around the world."""

_SITE: Final = re.compile(r"(?:[a-z0-9_-]+\.)+[a-z0-9-]{2,}")
_OPERATOR: Final = re.compile(
    r"(?<![^\s(])(?P<minus>-?)(?P<name>site|filetype|ext|after|before|since|until):(?P<value>[^\s()\"]+)(?![^\s)])",
    re.IGNORECASE,
)
_JOINS: Final = re.compile(r"\(\s*(?:OR\s*)*\)|(?:(?<=\s)|^)OR(?=\s*$)|^\s*OR\b")
_MOST_SITES: Final = 10
_LATER: Final = frozenset({"after", "since"})


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Parameters
    ----------
    text
        The words, without operators that are read here.
    count
        Most results wanted.
    sites
        Only results of these hosts, and of those below them.
    recent
        Only results of the last day, week, month or year.
    without
        No results of these hosts.
    filetypes
        Only results whose address ends so, without the dot.
    after, before
        Only results of these days and later, or earlier.
    """

    text: str
    count: int = 10
    sites: tuple[str, ...] = ()
    recent: Recent | None = None
    without: tuple[str, ...] = ()
    filetypes: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None

    @property
    def with_operators(self) -> str:
        """The words with all limits but ``recent`` as operators, for services that know no other way."""
        sites = " OR ".join(f"site:{site}" for site in self.sites)
        parts = [
            self.text,
            f"({sites})" if len(self.sites) > 1 else sites,
            *(f"-site:{site}" for site in self.without),
            *(f"filetype:{ending}" for ending in self.filetypes),
            f"after:{self.after}" if self.after else "",
            f"before:{self.before}" if self.before else "",
        ]
        return " ".join(part for part in parts if part)

    @property
    def words(self) -> str:
        """The words and kinds of files, for services that take the other limits apart or not at all."""
        return " ".join(part for part in (self.text, *self.filetypes) if part) or " ".join(self.sites)


def is_site(text: str) -> bool:
    """Whether a text in small letters names a host of the web."""
    return _SITE.fullmatch(text) is not None


def read_query(text: str, count: int, sites: tuple[str, ...], recent: Recent | None) -> Query:
    """Read what a model wrote; operators that cannot be understood stay words."""
    wanted = list(sites)
    without: list[str] = []
    filetypes: list[str] = []
    after: date | None = None
    before: date | None = None

    def take(match: re.Match[str]) -> str:
        nonlocal after, before
        name, value, negative = match["name"].lower(), match["value"].lower().strip(",;"), bool(match["minus"])
        if name == "site":
            host = re.sub(r"^[a-z]+://", "", value).partition("/")[0].removeprefix("www.").removeprefix("*.")
            if is_site(host):
                (without if negative else wanted).append(host)
                return ""
        elif name in {"filetype", "ext"} and not negative and re.fullmatch(r"\.?[a-z0-9]{1,6}", value):
            filetypes.append(value.removeprefix("."))
            return ""
        elif not negative and (day := _day(value)) is not None:
            if name in _LATER:
                after = day
            else:
                before = day
            return ""
        return match[0]

    words = " ".join(_OPERATOR.sub(take, text).split())
    if len(wanted) > len(sites) or without or filetypes:
        words = " ".join(_JOINS.sub(" ", words).split())
    hosts = tuple(dict.fromkeys(wanted))[:_MOST_SITES]
    return Query(words, count, hosts, recent, tuple(without[:_MOST_SITES]), tuple(filetypes[:3]), after, before)


def narrowed(found: list[Source], query: Query, today: date) -> tuple[list[Source], tuple[str, ...]]:
    """Return the results within the limits of a query, and which limits were left out as none is within them.

    What is not known of a result, such as its date, counts for it.
    """
    oldest = today - timedelta(days=DAYS[query.recent]) - _SLACK if query.recent else None
    limits: list[tuple[str, Callable[[Source], bool]]] = []
    if query.sites:
        limits.append(("of the sites asked for", lambda each: any(_is_of(each.url, site) for site in query.sites)))
    if query.without:
        outside = query.without
        limits.append(("of other sites", lambda each: not any(_is_of(each.url, site) for site in outside)))
    if query.filetypes:
        endings = tuple(f".{ending}" for ending in query.filetypes)
        limits.append((f"a {' or '.join(query.filetypes)} file by its address", lambda each: _ends(each.url, endings)))
    for name, first, last in (
        (f"of the last {query.recent}", oldest, None),
        (f"of {query.after} or later", query.after, None),
        (f"of before {query.before}", None, query.before),
    ):
        if first or last:
            limits.append((name, lambda each, first=first, last=last: _within(each.date, first, last)))  # type: ignore[misc]
    unmet = []
    for name, fits in limits if found else ():
        if fitting := [each for each in found if fits(each)]:
            found = fitting
        else:
            unmet.append(name)
    return found, tuple(unmet)


def _day(text: str) -> date | None:
    """Read a day, or a month or a year for its first day."""
    match = re.fullmatch(r"(\d{4})(?:[-/](\d{1,2}))?(?:[-/](\d{1,2}))?", text)
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) if match else None
    except ValueError:
        return None


def _within(text: str, first: date | None, last: date | None) -> bool:
    day = _day(text)
    return day is None or ((first is None or day >= first) and (last is None or day < last))


def _ends(url: str, endings: tuple[str, ...]) -> bool:
    try:
        return urlsplit(url).path.lower().endswith(endings)
    except ValueError:
        return False


def _is_of(url: str, site: str) -> bool:
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    return host == site or host.endswith(f".{site}")
