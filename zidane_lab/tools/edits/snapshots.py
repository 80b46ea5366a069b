"""What files said when they were shown, kept for a while: anchors given then can still be understood.

A snapshot only serves to recover an edit whose file has changed meanwhile. Losing one costs a second reading, so they
live in memory, a few for each conversation.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import Final

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.places import where_of

__all__ = ["MAX_PATHS", "VERSIONS", "Snapshots", "remember", "snapshots_of"]

MAX_PATHS: Final = 30
"""Files of a conversation that are remembered; of more, the last ones."""

VERSIONS: Final = 4
"""Texts of one file that are remembered."""

MAX_CHARS: Final = 2_000_000
"""A longer text is not remembered."""


class Snapshots:
    """The last texts of the last files, by absolute path."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._tagged: set[str] = set()
        self._guard = threading.Lock()

    def add(self, path: str, text: str, *, shown: bool = True) -> None:
        """Remember what a file says, with LF line endings, and whether its anchors were shown."""
        if len(text) > MAX_CHARS:
            return
        with self._guard:
            self._tagged |= {path} if shown else set()
            others = tuple(each for each in self._texts.pop(path, ()) if each != text)
            self._texts[path] = (text, *others)[:VERSIONS]
            while len(self._texts) > MAX_PATHS:
                self._tagged.discard(self._texts.popitem(last=False)[0])

    def of(self, path: str) -> tuple[str, ...]:
        """Return what the file said, the last text first."""
        with self._guard:
            return self._texts.get(path, ())

    def is_tagged(self, path: str) -> bool:
        """Whether lines of the file were shown with anchors, so that the next edit may name them."""
        with self._guard:
            return path in self._tagged


_KEPT: Final[weakref.WeakKeyDictionary[object, dict[str, Snapshots]]] = weakref.WeakKeyDictionary()
_GUARD: Final = threading.Lock()


def snapshots_of(context: ToolContext) -> Snapshots:
    """Return the snapshots of the conversation and the place of a call; none are kept for calls outside of one."""
    if context.outputs is None:
        return Snapshots()
    with _GUARD:
        return _KEPT.setdefault(context.outputs, {}).setdefault(where_of(context), Snapshots())


def remember(context: ToolContext, path: str, text: str, *, shown: bool = True) -> None:
    """Take note of what a file says, when it is shown with anchors or changed.

    Parameters
    ----------
    path
        Absolute, as the tools that change files resolve it.
    text
        The whole of it, LF line endings, no byte order mark.
    shown
        Lines of it are shown with their anchors.
    """
    snapshots_of(context).add(path, text, shown=shown)
