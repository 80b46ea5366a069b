"""Paths as a model writes them: relative to the working folder, with ``~``, perhaps misspelt."""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from zidane_lab.errors import ToolError

if TYPE_CHECKING:
    from zidane_lab.tools.reading.files import Files

__all__ = ["describe_size", "existing", "missing", "near_names", "resolve_path", "show_name"]

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
        from zidane_lab.tools.reading.files import LocalFiles

        raise missing(LocalFiles(cwd), str(target)) from None
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


def missing(files: Files, target: str) -> ToolError:
    """Return the error for something that does not exist: near names in its folder, or how much of the path exists."""
    separator = os.sep if files.is_local else "/"
    if _kind(files, target, follow=False) == "link":
        return ToolError(f"{target} is a link to something that does not exist.", hint="Choose another path.")
    folder, _, name = target.rstrip(separator).rpartition(separator)
    folder = folder or separator
    if _kind(files, folder) != "folder":
        while folder != separator and _kind(files, folder) != "folder":
            folder = folder.rpartition(separator)[0] or separator
        return ToolError(
            f"{target} does not exist; of its folders only {folder} does.", hint="Look there with list_files."
        )
    try:
        names = [info.name for info in itertools.islice(files.list(folder), _LOOKED_AT)]
    except OSError:
        names = []
    near = near_names(name, names)
    hint = f"Near names there: {', '.join(map(show_name, near))}." if near else "Look with list_files."
    return ToolError(f"{target} does not exist.", hint=hint)


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Return up to five names that may be meant by ``name``, the nearest first."""
    lowered = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), lowered, n=_NEAR, cutoff=0.6)
    near += [low for low in sorted(lowered) if low.rpartition(".")[0] == name.lower() and low not in near]
    return [lowered[low] for low in near[:_NEAR]]


def _kind(files: Files, path: str, *, follow: bool = True) -> str | None:
    try:
        return files.stat(path, follow=follow).kind
    except (OSError, ValueError):
        return None
