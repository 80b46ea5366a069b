"""What a page refers to besides its links: other forms of itself, frames, the place it sends its readers to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

__all__ = ["References", "absolute"]

_MOST: Final = 20
"""References of a kind that are kept."""
_NO_PAGE: Final = ("javascript:", "data:", "vbscript:", "mailto:", "about:", "blob:", "tel:")
_REFRESH: Final = re.compile(
    r"""\s*(\d{1,3})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?["']?\s*((?!url\s*=)[^"'\s>]+)""", re.IGNORECASE
)
_SOON: Final = 30
"""Seconds after which a page that replaces itself still counts as sending its readers on."""
_FRAMES: Final = {"frame": "src", "iframe": "src", "embed": "src", "object": "data"}


def absolute(base: str, href: str) -> str:
    """Return an address as it is seen from ``base``, fit for a Markdown link; empty for what is no page."""
    href = href.strip()
    if not href or href.lower().startswith(_NO_PAGE):
        return ""
    try:
        return urljoin(base, href).replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    except ValueError:
        return ""


@dataclass(slots=True)
class References:
    """What was found so far.

    Parameters
    ----------
    base
        Where references are seen from.
    alternates
        Other forms of the page: media type and address.
    frames
        What is shown inside it.
    onward
        Where it sends its readers by itself; empty where it does not.
    """

    base: str
    alternates: list[tuple[str, str]] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    onward: str = ""

    def take(self, tag: str, values: dict[str, str]) -> None:
        """Take an element, whatever it is."""
        if tag == "link" and "alternate" in values.get("rel", "").lower().split() and values.get("type"):
            if len(self.alternates) < _MOST:
                self.alternates.append((values["type"].lower(), absolute(self.base, values.get("href", ""))))
        elif tag == "base" and values.get("href"):
            self.base = absolute(self.base, values["href"]) or self.base
        elif tag == "meta" and values.get("http-equiv", "").strip().lower() == "refresh":
            match = _REFRESH.match(values.get("content", ""))
            if match and int(match[1]) <= _SOON:
                self.onward = self.onward or absolute(self.base, match[2])
        elif (name := _FRAMES.get(tag)) is not None and len(self.frames) < _MOST:
            where = absolute(self.base, values.get(name, ""))
            if where and where not in self.frames:
                self.frames.append(where)
