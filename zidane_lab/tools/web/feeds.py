"""Feeds as Markdown: RSS, Atom and JSON Feed, one entry after another with title, date, address and summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any, Final
from xml.etree import ElementTree as ET

from zidane_lab.tools.web.text import one_line

__all__ = ["Entry", "Feed", "json_feed", "read_feed"]

_MOST: Final = 4 * 1_048_576
"""Characters of a feed that is read."""
_MOST_ENTRIES: Final = 100
_SUMMARY: Final = 500
"""Characters shown of an entry's summary."""
_TAGS: Final = re.compile(r"<[^<>]*>")
_ROOTS: Final = frozenset({"rss", "feed", "RDF"})


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a feed; what it lacks is empty."""

    title: str
    url: str = ""
    date: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed."""

    title: str
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        lines = [f"# {self.title or 'Feed'}", ""]
        for entry in self.entries[:_MOST_ENTRIES]:
            name = entry.title or entry.url or "(no title)"
            lines.append(f"## [{name}]({entry.url})" if entry.url else f"## {name}")
            lines += [each for each in (entry.date, entry.summary) if each]
            lines.append("")
        if len(self.entries) > _MOST_ENTRIES:
            lines.append(f"[{len(self.entries) - _MOST_ENTRIES:,} more entries left out]")
        return "\n".join(lines).rstrip()


def read_feed(text: str) -> Feed | None:
    """Read RSS or Atom; ``None`` for anything else, or for what defines entities of its own.

    It takes text, not bytes: in another encoding a definition would not be seen.
    """
    if len(text) > _MOST or "<!ENTITY" in text or re.search(r"<(?:\w+:)?(?:rss|feed|RDF)[\s>]", text) is None:
        return None
    try:
        root = ET.fromstring(text.lstrip("\ufeff \t\r\n"))  # noqa: S314 - bounded, and no entities
    except (ET.ParseError, ValueError, LookupError):
        return None
    if _name(root) not in _ROOTS:
        return None
    channel = next((each for each in root if _name(each) == "channel"), root)
    items = [each for parent in (channel, root) for each in parent if _name(each) in {"item", "entry"}]
    unique = list(dict.fromkeys(items))
    return Feed(_text(channel, {"title"}), tuple(map(_entry, unique)))


def json_feed(value: Any) -> Feed | None:
    """Read a JSON Feed that has been parsed; ``None`` for anything else."""
    if not isinstance(value, dict) or not str(value.get("version", "")).startswith("https://jsonfeed.org/"):
        return None
    items = value.get("items")
    return Feed(_plain(value.get("title")), tuple(_json_entries(items if isinstance(items, list) else [])))


def _json_entries(items: Iterable[Any]) -> Iterator[Entry]:
    for item in items:
        if isinstance(item, dict):
            yield Entry(
                _plain(item.get("title")),
                _address(str(item.get("url") or item.get("external_url") or "")),
                _plain(item.get("date_published")),
                _plain(item.get("summary") or item.get("content_text") or item.get("content_html"), _SUMMARY),
            )


def _entry(item: ET.Element) -> Entry:
    return Entry(
        _text(item, {"title"}),
        _link(item),
        _text(item, {"pubDate", "published", "updated", "date"}),
        _text(item, {"description", "summary"}, _SUMMARY) or _text(item, {"content", "encoded"}, _SUMMARY),
    )


def _link(item: ET.Element) -> str:
    """Return the address of an entry: Atom has it in an attribute, RSS in the text."""
    links = [each for each in item if _name(each) == "link"]
    best = next((each for each in links if each.get("rel", "alternate") == "alternate"), links[0] if links else None)
    found = (best.get("href") or best.text or "") if best is not None else ""
    if not found.strip():
        found = next((each.text or "" for each in item if _name(each) in {"guid", "id"}), "")
    return _address(found)


def _address(text: str) -> str:
    text = "".join(text.split())
    return text if text.lower().startswith(("http://", "https://")) and len(text) < 2_000 else ""


def _text(parent: ET.Element, names: set[str], most: int = 200) -> str:
    found = next((each for each in parent if _name(each) in names and "".join(each.itertext()).strip()), None)
    return "" if found is None else _plain("".join(found.itertext()), most)


def _plain(value: Any, most: int = 200) -> str:
    """Return what a feed holds, often HTML in text, as a line of text."""
    if not isinstance(value, str):
        return ""
    return one_line(unescape(_TAGS.sub(" ", unescape(value) if "&lt;" in value else value)), most)


def _name(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]
