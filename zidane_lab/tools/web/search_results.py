"""What is found, whatever the service: one shape for all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

from zidane_lab.tools.web.text import one_line

__all__ = ["SNIPPET", "Source", "plain", "source", "tidied"]

SNIPPET: Final = 240
"""Characters of a snippet."""

_TAGS: Final = re.compile(r"<[^<>]*>")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


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
