"""What a path means: a file as it is written, with something behind it, or one that must have been meant.

First what is written counts: a file whose name has a colon is that file. Then the longest beginning that exists, with
the rest behind it. Then names that differ in how they are written only (composed accents, typographic quotes and
spaces, capitals), and last the only file below the working folder whose path ends so.
"""

from __future__ import annotations

import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from zidane_lab.contexts.base import FileInfo
from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import show_name, unescaped
from zidane_lab.tools.reading.files import Files, found
from zidane_lab.tools.walk import Walk

__all__ = ["Target", "is_url", "locate"]

_URL: Final = re.compile(r"(?:https?://|www\.)\S", re.IGNORECASE)
_CUTS: Final = 12
"""Places where a path is tried to end."""
_SUFFIX_SECONDS: Final = 5.0
_NAMED: Final = 5
_PLAIN: Final = str.maketrans("\u2018\u2019\u201c\u201d\u202f\u00a0\u2009", "''\"\"   ")
"""Typographic quotes and spaces, as systems put them into names of screenshots, and what a model writes."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file or folder that exists.

    Parameters
    ----------
    path
        Absolute, links kept.
    info
        What it is; links are followed.
    rest
        What stands behind it, from the colon or question mark on.
    note
        How it was found, where it is not what was written.
    """

    path: str
    info: FileInfo
    rest: str = ""
    note: str | None = None


def is_url(text: str) -> bool:
    """Whether a path is an address on the web."""
    return _URL.match(text.strip()) is not None


def locate(files: Files, text: str) -> Target:
    """Find what a path means.

    Raises
    ------
    ToolError
        Nothing like it exists; the message names what is near, or what could be meant.
    """
    text = _without_scheme(text)
    if text.strip() == "/" and files.cwd.strip("/"):
        root = files.resolve(".")
        note = "`/` alone is taken for the working folder; list_files lists that of the machine"
        return Target(files.cwd, files.stat(root), "", note)
    if not any(_look(files, base) for base, _ in _cuts(text)):
        text = unescaped(text) or text  # a name as it was shown
    for base, rest in _cuts(text):
        if (info := _look(files, base)) is not None and (not rest or info.kind == "file"):
            return Target(files.resolve(base), info, rest)
    for base, rest in _cuts(text):
        if (other := _written_otherwise(files, base)) is not None:
            return Target(other.path, other, rest, f"there is no {show_name(base)}; this is {show_name(other.path)}")
    for base, rest in _cuts(text):
        if (other := _by_suffix(files, base)) is not None:
            return Target(other.path, other, rest, f"there is no {show_name(base)}; this is {show_name(other.path)}")
    bases = [base for base, _ in _cuts(text)]
    found(files, bases[-1])  # raises
    raise ToolError(f"{show_name(bases[0])!r} cannot be read.", hint="Look with list_files.")


def _without_scheme(text: str) -> str:
    if not text.lower().startswith("file://"):
        return text
    return unquote(urlsplit(text).path) or text


def _cuts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text as a path, whole and cut at colons and question marks, the longest first."""
    yield text, ""
    places = [match.start() for match in re.finditer(r"[:?]", text) if match.start() > 0]
    for place in itertools.islice(reversed(places), _CUTS):
        if text[:place].strip():
            yield text[:place], text[place:]


def _look(files: Files, path: str) -> FileInfo | None:
    """Return what is there; ``None`` if nothing is, or it cannot be known."""
    try:
        return files.stat(files.resolve(path))
    except (OSError, ValueError, ToolError):
        return None


def _written_otherwise(files: Files, path: str) -> FileInfo | None:
    """Find the one entry of the folder whose name only differs in how it is written."""
    try:
        folder, name = posixpath.split(files.resolve(path).rstrip("/"))
        entries = files.list(folder or "/")
    except (OSError, ValueError, ToolError):
        return None
    for plain in (_composed, lambda each: _composed(each).casefold()):
        same = [each for each in entries if plain(each.name) == plain(name)]
        if len(same) == 1:
            return _look(files, same[0].path)
    return None


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name).translate(_PLAIN)


def _by_suffix(files: Files, path: str) -> FileInfo | None:
    """Find the one file below the working folder whose path ends with this one.

    Raises
    ------
    ToolError
        There are several.
    """
    wanted = posixpath.normpath(path.replace("\\", "/")) if path.strip() and "\0" not in path else ""
    if not wanted or wanted.startswith(("/", "~", "..")) or wanted == ".":
        return None
    walk = Walk(files.cwd, files=files, seconds=_SUFFIX_SECONDS)
    ending = f"/{wanted}"
    matching = [entry for entry in walk if f"/{entry.name}".endswith(ending) and not entry.is_folder]
    if len(matching) > 1:
        names = ", ".join(show_name(entry.name) for entry in matching[:_NAMED])
        more = f" and {len(matching) - _NAMED} more" if len(matching) > _NAMED else ""
        raise ToolError(f"{show_name(path)} does not exist; several end like it.", hint=f"One of: {names}{more}.")
    return _look(files, matching[0].path) if matching and walk.complete else None
