"""Paths as a model writes them: relative to the working folder, with ``~``, perhaps misspelt."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from zidane_lab.errors import ToolError

if TYPE_CHECKING:
    from zidane_lab.tools.reading.files import Files

__all__ = [
    "describe_size",
    "existing",
    "missing",
    "near_names",
    "require_path",
    "resolve_path",
    "short_name",
    "show_name",
    "unescaped",
]

_NEAR: Final = 5
_LOOKED_AT: Final = 2_000
"""Entries of a folder compared with a misspelt name."""
_MOST_SHOWN: Final = 1_000
_LAST_CHARACTER: Final = 0x10FFFF
_ESCAPED: Final = re.compile(r"\\(?:(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})|([nrt\\]))")
_BY_NUMBER: Final = re.compile(r"\\(?:(x(?:[0189a][0-9a-f]|7f)|u[0-9a-f]{4}|U[0-9a-f]{8})|\\)")
_SHORT: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def resolve_path(path: str, cwd: Path) -> Path:
    """Return the absolute form of ``path``; links and ``..`` stay as written.

    Raises
    ------
    ToolError
        No file can have such a name.
    """
    require_path(path)
    try:
        return cwd / os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for an unknown user
    except ValueError as error:  # a user's name that cannot be one
        raise _no_path(path) from error


def require_path(path: str) -> None:
    """Refuse a text that no file can be called.

    Raises
    ------
    ToolError
        It is empty, or has characters that stand for no bytes: NUL, half of a surrogate pair.
    """
    with contextlib.suppress(UnicodeEncodeError):
        if path.strip() and "\0" not in path and path.encode("utf-8", "surrogateescape"):
            return
    raise _no_path(path)


def _no_path(path: str) -> ToolError:
    return ToolError(f"{path[:_MOST_SHOWN]!r} is not a path.", hint="Give the path of a file or folder.")


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
        raise ToolError(f"{short_name(target)} cannot be reached: {reason}.", hint="Choose another path.") from error


def describe_size(size: int) -> str:
    """Write a number of bytes for reading: ``512 B``, ``12.3 KB`` (1 KB = 1,024 bytes)."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def show_name(name: str) -> str:
    r"""Write a file's name on one line; where it has what is not printable, or not UTF-8, that is escaped.

    Then a backslash of the name is doubled, so that :func:`unescaped` gives back every name.
    """
    if name.isprintable():
        return name
    return "".join(map(_escape, name))


def _escape(char: str) -> str:
    if char.isprintable() and char != "\\":
        return char
    return char.encode("unicode_escape").decode("ascii")


def unescaped(text: str, *, is_pattern: bool = False) -> str | None:
    r"""Return the name that :func:`show_name` writes so; ``None`` where nothing in it is an escape.

    Parameters
    ----------
    is_pattern
        It is a pattern in which a backslash takes the next character as it is; only characters by number are read.
    """
    if "\\" not in text:
        return None
    found = _BY_NUMBER.sub(_read_number, text) if is_pattern else _ESCAPED.sub(_read_escape, text)
    return found if found != text else None


def _read_escape(match: re.Match[str]) -> str:
    return _SHORT[match[2]] if match[2] else _read_number(match)


def _read_number(match: re.Match[str]) -> str:
    code = int(match[1][1:], 16) if match[1] else _LAST_CHARACTER + 1
    return chr(code) if code <= _LAST_CHARACTER else match[0]


def missing(files: Files, target: str) -> ToolError:
    """Return the error for something that does not exist: near names in its folder, or how much of the path exists."""
    separator = os.sep if files.is_local else "/"
    if _kind(files, target, follow=False) == "link":
        what = f"{short_name(target)} is a link to something that does not exist."
        return ToolError(what, hint="Choose another path.")
    folder, _, name = target.rstrip(separator).rpartition(separator)
    folder = folder or separator
    if _kind(files, folder) != "folder":
        while folder != separator and _kind(files, folder) != "folder":
            folder = folder.rpartition(separator)[0] or separator
        return ToolError(
            f"{short_name(target)} does not exist; of its folders only {short_name(folder)} does.",
            hint="Look there with list_files.",
        )
    try:
        names = [info.name for info in itertools.islice(files.list(folder), _LOOKED_AT)]
    except OSError:
        names = []
    near = near_names(name, names)
    hint = f"Near names there: {', '.join(map(show_name, near))}." if near else "Look with list_files."
    return ToolError(f"{short_name(target)} does not exist.", hint=hint)


def short_name(target: object) -> str:
    """Write a path for a message: as :func:`show_name` does, and not longer than anybody reads."""
    name = show_name(str(target))
    return name if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]}…"


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
