"""A folder as a tree: two levels, what changed last first, with sizes and ages."""

from __future__ import annotations

import time
from typing import Final

from zidane_lab.contexts.base import FileInfo
from zidane_lab.tools.paths import describe_size, show_name
from zidane_lab.tools.reading.files import Files, modified_at
from zidane_lab.tools.reading.ordinary import what_it_is
from zidane_lab.tools.walk import Entry, Walk

__all__ = ["folder_lines"]

DEPTH: Final = 2
IN_FOLDER: Final = 12
"""Entries shown of each folder below the first."""
IN_ROOT: Final = 100
_SECONDS: Final = 10.0
_AGES: Final = ((86_400 * 365, "y"), (86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def folder_lines(files: Files, path: str) -> list[str]:
    """Return a line for each entry shown, and what was left out."""
    walk = Walk(path, depth=DEPTH, files=files, seconds=_SECONDS)
    children: dict[str, list[Entry]] = {}
    for entry in walk:
        children.setdefault(entry.name.rpartition("/")[0], []).append(entry)
    lines = list(_branch(children, "", IN_ROOT, time.time()))
    notes = [*walk.notes(), "list_files lists a folder whole, or deeper"]
    return [f"{show_name(path)}/", *(lines or ["(empty)"]), *(f"[{note}]" for note in notes)]


def _branch(children: dict[str, list[Entry]], folder: str, most: int, now: float) -> list[str]:
    stats = [(entry, entry.stat()) for entry in children.get(folder, [])]
    stats.sort(key=lambda each: -(each[1].mtime_ns if each[1] else 0))
    lines: list[str] = []
    indent = "  " * (folder.count("/") + 2 if folder else 1)
    for entry, info in stats[:most]:
        lines.append(f"{indent}{_described(entry, info, now)}")
        if entry.is_folder:
            lines += _branch(children, entry.name, IN_FOLDER, now)
    if len(stats) > most:
        lines.append(f"{indent}… {len(stats) - most:,} more")
    return lines


def _described(entry: Entry, info: FileInfo | None, now: float) -> str:
    name = show_name(entry.name.rpartition("/")[2])
    if info is None:
        return f"{name}  (gone)"
    if entry.is_folder:
        return f"{name}/  {_age(now - modified_at(info))}"
    mark = " (link)" if entry.is_link else ""
    size = describe_size(info.size) if info.kind != "other" else f"({what_it_is(info.mode)})"
    return f"{name}{mark}  {size}  {_age(now - modified_at(info))}"


def _age(seconds: float) -> str:
    for unit, name in _AGES:
        if seconds >= unit:
            return f"{int(seconds // unit)}{name} ago"
    return "now"
