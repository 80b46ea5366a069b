"""Paths of a place in its own notation, and how they are shown to people."""

from __future__ import annotations

import errno
import os
import posixpath

from zidane_lab.contexts.base import ExecutionContext

__all__ = ["absolute", "checked", "show_path"]


def absolute(path: str, *, cwd: str, home: str) -> str:
    """Return the absolute form of a POSIX path; links and ``..`` stay as written.

    Other people's home folders (``~name``) are not known from here and are taken as ordinary names.
    """
    if path == "~" or path.startswith("~/"):
        path = home.rstrip("/") + path[1:] or "/"
    return posixpath.join(cwd, path) if path not in {"", "."} else cwd


def checked(path: str) -> str:
    """Return a path that can be one.

    Raises
    ------
    OSError
        It holds a NUL byte.
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, "not a path: it holds a NUL byte", path)
    return path


def show_path(place: ExecutionContext, path: str, *, with_place: bool = True) -> str:
    """Return a path as people read it: relative to the working folder if inside, else with ``~`` for the home folder.

    Parameters
    ----------
    place
        Where the path is one.
    path
        Absolute or relative.
    with_place
        Put the place's name before it where that is not this machine: ``ada@host: src/a.py``.
    """
    separator, parts = ("/", posixpath) if not place.info.is_local else (os.sep, os.path)
    full = parts.normpath(place.resolve(path))
    cwd, home = parts.normpath(place.cwd), parts.normpath(place.resolve("~"))
    text = full
    if full == cwd:
        text = "."
    elif full.startswith(cwd.rstrip(separator) + separator):
        text = full[len(cwd.rstrip(separator)) + 1 :]
    elif full == home:
        text = "~"
    elif home != separator and full.startswith(home + separator):
        text = "~" + full[len(home) :]
    return text if place.info.is_local or not with_place else f"{place.info.name}: {text}"
