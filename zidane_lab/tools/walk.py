"""Walk a folder, level by level, without following links, without entering what is ignored, and not for ever."""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath, PurePosixPath
from typing import Final

from zidane_lab.contexts.base import FileInfo
from zidane_lab.tools.ignore import ALWAYS_IGNORED, MOST_RULE_BYTES, IgnoreRules
from zidane_lab.tools.paths import describe_size, show_name
from zidane_lab.tools.reading.files import Files, LocalFiles, modified_at
from zidane_lab.tools.reading.ordinary import what_it_is

__all__ = ["MOST_ENTRIES", "Entry", "Walk", "modified", "rules_at"]

MOST_ENTRIES: Final = 200_000
"""Entries looked at before a walk stops and says so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder. A link is never a folder here, so a walk cannot go round in circles.

    Parameters
    ----------
    path
        Absolute.
    name
        Its path below the walk's root, with slashes.
    is_folder, is_link
        What it is.
    files
        Where it is, to look it up.
    """

    path: str
    name: str
    is_folder: bool
    is_link: bool
    files: Files

    def stat(self) -> FileInfo | None:
        """Return what is known of it; ``None`` if it is gone."""
        try:
            return self.files.stat(self.path, follow=False)
        except OSError:
            return None

    def describe(self) -> str:
        """Write the entry on one line: name, size, time of the last change."""
        if self.is_link:
            return f"{show_name(self.name)} -> {self._target()}"
        if (info := self.stat()) is None:
            return f"{show_name(self.name)}  (gone)"
        if self.is_folder:
            return f"{show_name(self.name)}/  {modified(info)}"
        size = describe_size(info.size) if info.kind != "other" else f"({what_it_is(info.mode)})"
        return f"{show_name(self.name)}  {size}  {modified(info)}"

    def _target(self) -> str:
        try:
            return show_name(os.readlink(self.path)) if self.files.is_local else "?"  # noqa: PTH115 - the link's text
        except OSError:
            return "?"


def modified(info: FileInfo) -> str:
    """Write the time of the last change, local, to the minute (ISO 8601)."""
    try:
        return datetime.fromtimestamp(modified_at(info)).astimezone().strftime("%Y-%m-%dT%H:%M")
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
    files
        Where ``root`` is; this machine unless given.
    seconds
        How long to walk at most; ``None`` for no limit.

    Attributes
    ----------
    hidden
        How many entries were hidden by ignore rules (their content is not counted).
    kept
        How many entries the isolation policy keeps from the agent.
    closed
        Folders that could not be opened.
    complete
        ``False`` when the walk stopped at :data:`MOST_ENTRIES`, or its time was over.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        depth: int | None = None,
        ignored: bool = False,
        files: Files | None = None,
        seconds: float | None = None,
    ) -> None:
        self.root, self.depth, self.ignored = os.fspath(root), depth, ignored
        self.files = files or LocalFiles(self.root)
        self.hidden = 0
        self.kept = 0
        self.closed = 0
        self.complete = True
        self._seconds, self._is_late = seconds, False

    def __iter__(self) -> Iterator[Entry]:
        if not self.files.may_read(self.root):
            self.closed += 1
            return
        rules = IgnoreRules() if self.ignored else rules_at(self.files, self.root)
        separator = os.sep if self.files.is_local else "/"
        kept = self.files.kept_below(self.root)
        queue = deque([(self.root, "", 1, rules)])
        seen, end = 0, None if self._seconds is None else time.monotonic() + self._seconds
        while queue:
            if end is not None and time.monotonic() > end:
                self.complete, self._is_late = False, True
                return
            folder, prefix, level, rules = queue.popleft()
            for name, is_folder, is_link in self._scan(folder):
                seen += 1
                if seen > MOST_ENTRIES:
                    self.complete = False
                    return
                path = f"{folder.rstrip(separator)}{separator}{name}"
                if not self.ignored and (name in ALWAYS_IGNORED or rules.ignores(path, is_folder=is_folder)):
                    self.hidden += 1
                    continue
                if f"{prefix}{name}" in kept:
                    self.kept += 1
                    continue
                yield Entry(path, f"{prefix}{name}", is_folder, is_link, self.files)
                if is_folder and (self.depth is None or level < self.depth):
                    inner = rules if self.ignored else _inside(self.files, rules, path)
                    queue.append((path, f"{prefix}{name}/", level + 1, inner))

    def notes(self) -> list[str]:
        """Say what the walk did not show."""
        notes = []
        if self.hidden:
            notes.append(f"{self.hidden:,} ignored entries hidden; `ignored` true shows them")
        if self.kept:
            notes.append(f"{self.kept:,} left out that the isolation policy keeps from the agent")
        if self.closed:
            notes.append(f"{self.closed:,} folders could not be opened")
        if not self.complete:
            late = f"after {self._seconds:g} seconds" if self._is_late else f"after {MOST_ENTRIES:,} entries"
            notes.append(f"stopped {late}: there may be more; look into a smaller folder")
        return notes

    def _scan(self, folder: str) -> list[tuple[str, bool, bool]]:
        """Return name, whether a folder, whether a link, of all in a folder: folders first, each kind by name."""
        found: list[tuple[str, bool, bool]] = []
        try:
            if self.files.is_local:
                with os.scandir(folder) as entries:
                    found.extend(
                        (entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink())
                        for entry in itertools.islice(entries, MOST_ENTRIES + 1)
                    )
            else:
                found += ((info.name, info.kind == "folder", info.kind == "link") for info in self.files.list(folder))
        except OSError:
            self.closed += 1
        return sorted(found, key=lambda each: (not each[1], each[0].lower(), each[0]))


def rules_at(files: Files, folder: str) -> IgnoreRules:
    """Return the ignore rules in force in a folder, wherever it is."""
    if files.is_local:
        return IgnoreRules.at(Path(folder))
    line: list[PurePath] = [PurePosixPath(folder), *PurePosixPath(folder).parents]
    root = next((index for index, each in enumerate(line) if _is_project(files, str(each))), None)
    rules = IgnoreRules(in_project=root is not None)
    for each in reversed(line[: (root or 0) + 1]):
        if rules.ignores(str(each), is_folder=True):
            return _inside(files, IgnoreRules(), folder)
        rules = _inside(files, rules, str(each))
    return rules


def _inside(files: Files, rules: IgnoreRules, folder: str) -> IgnoreRules:
    if files.is_local:
        return rules.inside(Path(folder))
    try:
        with files.open(f"{folder.rstrip('/')}/.gitignore") as handle:
            data = handle.read(MOST_RULE_BYTES)
    except OSError:
        data = b""
    return rules.with_rules(folder, data, is_project=rules.in_project and _is_project(files, folder))


def _is_project(files: Files, folder: str) -> bool:
    try:
        files.stat(f"{folder.rstrip('/')}/.git")
    except OSError:
        return False
    return True
