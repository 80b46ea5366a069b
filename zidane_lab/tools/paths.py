"""Paths as a model writes them: relative to the working folder, with ``~``, perhaps misspelt."""

from __future__ import annotations

import difflib
import os
import stat
from pathlib import Path
from typing import Final

from zidane_lab.errors import ToolError

__all__ = ["describe_size", "existing", "resolve_path", "show_name"]

_NEAR: Final = 5
_LOOKED_AT: Final = 2_000
"""Entries of a folder compared with a misspelt name."""


def resolve_path(path: str, cwd: Path) -> Path:
    """Return the absolute form of ``path``; links and ``..`` stay as written.

    Raises
    ------
    ToolError
        No file can have such a name.
    """
    refusal = ToolError(f"{path!r} is not a path.", hint="Give the path of a file or folder.")
    if not path.strip() or "\0" in path:
        raise refusal
    try:
        return cwd / os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for an unknown user
    except ValueError as error:  # a user's name that cannot be one
        raise refusal from error


def existing(path: str, cwd: Path) -> tuple[Path, os.stat_result]:
    """Return the absolute path and the status of something that exists; links are followed.

    Raises
    ------
    ToolError
        It does not exist (the message has near names), or cannot be reached.
    """
    target = resolve_path(path, cwd)
    try:
        return target, target.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(target) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError(f"{target} cannot be reached: {reason}.", hint="Choose another path.") from error


def describe_size(size: int) -> str:
    """Write a number of bytes for reading: ``512 B``, ``12.3 KB`` (1 KB = 1,024 bytes)."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def show_name(name: str) -> str:
    """Write a file's name on one line: what is not printable, or not UTF-8, is escaped."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in name)


def _missing(target: Path) -> ToolError:
    """Say what is there instead: near names in the folder, or how much of the path exists."""
    if target.is_symlink():
        return ToolError(f"{target} is a link to something that does not exist.", hint="Choose another path.")
    folder = target.parent
    if not _is_folder(folder):
        while folder != folder.parent and not _is_folder(folder):
            folder = folder.parent
        return ToolError(
            f"{target} does not exist; of its folders only {folder} does.", hint="Look there with list_files."
        )
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_LOOKED_AT), strict=False)]
    except OSError:
        names = []
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(target.name.lower(), lowered, n=_NEAR, cutoff=0.6)
    near += [low for low in sorted(lowered) if low.rpartition(".")[0] == target.name.lower() and low not in near]
    hint = (
        f"Near names there: {', '.join(show_name(lowered[low]) for low in near[:_NEAR])}."
        if near
        else "Look with list_files."
    )
    return ToolError(f"{target} does not exist.", hint=hint)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False
