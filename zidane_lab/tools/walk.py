"""Walk a folder, level by level, without following links, without entering what is ignored, and not for ever."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from zidane_lab.tools.ignore import ALWAYS_IGNORED, IgnoreRules
from zidane_lab.tools.paths import describe_size, show_name

__all__ = ["MOST_ENTRIES", "Entry", "Walk", "modified"]

MOST_ENTRIES: Final = 200_000
"""Entries looked at before a walk stops and says so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder. A link is never a folder here, so a walk cannot go round in circles."""

    path: Path
    name: str
    is_folder: bool
    is_link: bool

    def describe(self) -> str:
        """Write the entry on one line: name, size, time of the last change."""
        if self.is_link:
            try:
                target = show_name(os.readlink(self.path))  # noqa: PTH115 - the text of the link, not a path
            except OSError:
                target = "?"
            return f"{show_name(self.name)} -> {target}"
        try:
            status = self.path.stat(follow_symlinks=False)
        except OSError:
            return f"{show_name(self.name)}  (gone)"
        if self.is_folder:
            return f"{show_name(self.name)}/  {modified(status)}"
        return f"{show_name(self.name)}  {describe_size(status.st_size)}  {modified(status)}"


def modified(status: os.stat_result) -> str:
    """Write the time of the last change, local, to the minute (ISO 8601)."""
    try:
        return datetime.fromtimestamp(status.st_mtime).astimezone().strftime("%Y-%m-%dT%H:%M")
    except (OverflowError, OSError, ValueError):
        return "?"


class Walk:
    """One walk through ``root``; iterate it once, then ask what was left out.

    Parameters
    ----------
    root
        Where to start.
    depth
        How many levels to visit; ``None`` for all.
    ignored
        Visit what ``.gitignore`` files and :data:`~zidane_lab.tools.ignore.ALWAYS_IGNORED` hide, too.

    Attributes
    ----------
    hidden
        How many entries were hidden by ignore rules (their content is not counted).
    closed
        Folders that could not be opened.
    complete
        ``False`` when the walk stopped at :data:`MOST_ENTRIES`.
    """

    def __init__(self, root: Path, *, depth: int | None = None, ignored: bool = False) -> None:
        self.root, self.depth, self.ignored = root, depth, ignored
        self.hidden = 0
        self.closed = 0
        self.complete = True

    def __iter__(self) -> Iterator[Entry]:
        rules = IgnoreRules() if self.ignored else IgnoreRules.at(self.root)
        queue = deque([(self.root, "", 1, rules)])
        seen = 0
        while queue:
            folder, prefix, level, rules = queue.popleft()
            for found in self._scan(folder):
                seen += 1
                if seen > MOST_ENTRIES:
                    self.complete = False
                    return
                path, is_folder = Path(found.path), found.is_dir(follow_symlinks=False)
                if not self.ignored and (found.name in ALWAYS_IGNORED or rules.ignores(path, is_folder=is_folder)):
                    self.hidden += 1
                    continue
                name = f"{prefix}{found.name}"
                yield Entry(path, name, is_folder, found.is_symlink())
                if is_folder and (self.depth is None or level < self.depth):
                    inner = rules if self.ignored else rules.inside(path)
                    queue.append((path, f"{name}/", level + 1, inner))

    def notes(self) -> list[str]:
        """Say what the walk did not show."""
        notes = []
        if self.hidden:
            notes.append(f"{self.hidden:,} ignored entries hidden; `ignored` true shows them")
        if self.closed:
            notes.append(f"{self.closed:,} folders could not be opened")
        if not self.complete:
            notes.append(f"stopped after {MOST_ENTRIES:,} entries; look into a smaller folder")
        return notes

    def _scan(self, folder: Path) -> list[os.DirEntry[str]]:
        """Return a folder's entries, folders first, each kind by name."""
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                found.extend(itertools.islice(entries, MOST_ENTRIES + 1))
        except OSError:
            self.closed += 1
        return sorted(
            found, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name.lower(), entry.name)
        )
