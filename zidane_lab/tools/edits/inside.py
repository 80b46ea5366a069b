"""Paths that lead into a file: an entry of an archive, a row of a database, a conflict left by a merge.

``a.zip:docs/x.md``, ``d.db:table``, ``d.db:table:key``, ``f.py:conflict:2``. A file whose name has the colon is that
file. What a path may mean is told from its text alone, so that a gate can ask what a call might write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from zidane_lab.contexts.base import ExecutionContext, FileKind
from zidane_lab.errors import ToolError

__all__ = ["ARCHIVES", "DATABASES", "Inside", "InsideKind", "find_inside", "may_be_inside"]

ARCHIVES: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
DATABASES: Final = (".db", ".sqlite", ".sqlite3", ".db3")

InsideKind: TypeAlias = Literal["conflict", "archive", "database"]

_CONFLICT: Final = re.compile(r"(?P<path>.+):conflict:(?P<which>\*|\d{1,6})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Inside:
    """What a path leads into: the file's path as it is written, and what stands behind the colon."""

    kind: InsideKind
    path: str
    inner: str


def may_be_inside(path: str) -> tuple[Inside, ...]:
    """Return what a path may mean other than the file of that name, the likeliest first."""
    found = []
    conflict = _CONFLICT.fullmatch(path)
    if conflict is not None and not conflict["path"].lower().endswith(ARCHIVES + DATABASES):
        found.append(Inside("conflict", conflict["path"], conflict["which"]))
    for kind, endings in (("archive", ARCHIVES), ("database", DATABASES)):
        for colon in re.finditer(":", path):
            base = path[: colon.start()]
            if base.lower().endswith(endings):
                found.append(Inside("archive" if kind == "archive" else "database", base, path[colon.end() :]))
    return tuple(found)


async def find_inside(files: ExecutionContext, path: str) -> Inside | None:
    """Return what a path leads into; ``None`` for a file of that name.

    Raises
    ------
    ToolError
        It names a row of a database that is not there.
    """
    candidates = may_be_inside(path)
    if not candidates or await _kind(files, path) is not None:
        return None
    kinds = [await _kind(files, each.path) for each in candidates]
    if "file" in kinds:
        return candidates[kinds.index("file")]
    if any(kinds):  # a folder with such a name
        return None
    if candidates[0].kind == "database":
        raise ToolError(f"There is no database {candidates[0].path}.", hint="Make it first, with run_python.")
    return candidates[0]


async def _kind(files: ExecutionContext, path: str) -> FileKind | None:
    if "\0" in path:
        return None
    try:
        return (await files.stat(path)).kind
    except OSError:
        return None
