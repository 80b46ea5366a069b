"""The pages a conversation has fetched, kept for a while: the rest of a long one is shown without fetching again."""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.web.pages import Page

__all__ = ["FRESH_SECONDS", "KEEP_SECONDS", "MOST_PAGES", "Kept", "Pages", "pages_of"]

MOST_PAGES: Final = 16
"""Pages of a conversation that are kept; of more, the last ones."""
_MOST_CHARACTERS: Final = 16_000_000

FRESH_SECONDS: Final = 300.0
"""How long a page that is asked for from its start is answered from here."""
KEEP_SECONDS: Final = 3_600.0
"""How long later parts are: what is read on must be of the page whose beginning was read."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A page, the file that has all of its text where there is one, and how many seconds ago it was fetched."""

    page: Page
    path: Path | None = None
    age: float = 0.0


class Pages:
    """The last pages, by the address and the way they were asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._pages: OrderedDict[tuple[str, bool], tuple[Page, Path | None, float]] = OrderedDict()
        self._guard = threading.Lock()
        self._clock = clock

    def add(self, page: Page, path: Path | None, *, raw: bool) -> Kept:
        """Keep a page, and let the oldest ones go where there are too many or they are too long."""
        with self._guard:
            self._pages.pop((page.url, raw), None)
            self._pages[page.url, raw] = (page, path, self._clock())
            while len(self._pages) > 1 and (
                len(self._pages) > MOST_PAGES
                or sum(len(each.text) for each, _, _ in self._pages.values()) > _MOST_CHARACTERS
            ):
                self._pages.popitem(last=False)
        return Kept(page, path)

    def get(self, url: str, *, raw: bool, within: float = KEEP_SECONDS) -> Kept | None:
        """Return a page that is kept, and was fetched within a number of seconds."""
        with self._guard:
            found = self._pages.get((url, raw))
        if found is None:
            return None
        page, path, at = found
        age = self._clock() - at
        return Kept(page, path, age) if age < within else None


_OF_SESSIONS: Final[weakref.WeakKeyDictionary[object, Pages]] = weakref.WeakKeyDictionary()
_GUARD: Final = threading.Lock()


def pages_of(context: ToolContext) -> Pages:
    """Return the pages of the conversation a call belongs to; none are kept for calls that belong to none."""
    if context.outputs is None:
        return Pages()
    with _GUARD:
        return _OF_SESSIONS.setdefault(context.outputs, Pages())
