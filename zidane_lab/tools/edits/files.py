"""Files as edits see them: read whole, refused where editing would do harm, written whole or not at all.

All of it goes through an execution context; without one, files are those of this machine.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import posixpath
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Final

from zidane_lab.contexts.base import ExecutionContext, FileInfo
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edits.generated import generated_by
from zidane_lab.tools.edits.text import TextFile, decode
from zidane_lab.tools.filetypes import HEAD_BYTES, how_to_load, identify
from zidane_lab.tools.paths import describe_size, show_name

__all__ = [
    "MAX_ARCHIVE",
    "MAX_BYTES",
    "Stored",
    "absolute",
    "editable",
    "files_of",
    "load",
    "refuse_notebook",
    "refuse_read_only",
]

MAX_BYTES: Final = 10 * 1_048_576
"""Largest file that is edited, and largest content that is written."""

MAX_ARCHIVE: Final = 64 * 1_048_576
"""Largest archive that is written into."""

_NEAR: Final = 5


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as it was when it was looked at; ``info`` and ``data`` are ``None`` where there was none.

    ``where`` tells the place it is in from others; empty for this machine.
    """

    path: str
    info: FileInfo | None = None
    data: bytes | None = None
    where: str = ""

    @property
    def sha256(self) -> str | None:
        """Hash of the content; ``None`` without a file."""
        return None if self.data is None else hashlib.sha256(self.data).hexdigest()


def files_of(context: ToolContext) -> ExecutionContext:
    """Return where the files of a call are: its execution context, or this machine from its working folder."""
    return context.place if context.place is not None else LocalProcess(context.cwd)


def absolute(files: ExecutionContext, path: str) -> str:
    """Return the absolute form of a path a model wrote, without ``..``; links stay as written.

    Raises
    ------
    ToolError
        It is none.
    """
    if not path.strip() or "\0" in path:
        raise ToolError(f"{path!r} is not a path.", hint="Give the path of a file.")
    resolved = files.resolve(path)
    return os.path.normpath(resolved) if files.info.is_local else posixpath.normpath(resolved)


async def load(files: ExecutionContext, path: str, *, must_exist: bool, most: int | None = None) -> Stored:
    """Read a file whole, up to ``most`` bytes (:data:`MAX_BYTES` if left out).

    Raises
    ------
    ToolError
        It is missing and must not be, is no ordinary file, too large, or cannot be read.
    """
    target, most = absolute(files, path), MAX_BYTES if most is None else most
    try:
        info = await files.stat(target)
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist or isinstance(error, NotADirectoryError):
            raise await _missing(files, target) from error
        return Stored(target, where=files.info.where)
    except OSError as error:
        raise _unreachable(target, error) from error
    if info.kind == "folder":
        raise ToolError(f"{target} is a folder.", hint="Name a file in it; list_files shows them.")
    if info.kind != "file":
        raise ToolError(f"{target} is not an ordinary file.", hint="Edit ordinary files only.")
    if info.size > most:
        refuse_notebook(target)
        raise ToolError(
            f"{target} is {describe_size(info.size)}; files of more than {describe_size(most)} are not edited here.",
            hint="Change it with a few lines of run_python that go through it piece by piece.",
        )
    try:
        data = await files.read(target)
    except OSError as error:
        raise _unreachable(target, error) from error
    return Stored(target, info, data, files.info.where)


def refuse_notebook(path: str) -> None:
    """Refuse what would change a notebook's file.

    Raises
    ------
    ToolError
        It is a notebook, under this name or where a link leads.
    """
    names = {path.lower(), os.path.realpath(path).lower()}
    if any(name.endswith(".ipynb") for name in names):
        raise ToolError(
            f"{show_name(path)} is a notebook. It may be open in an editor, which would overwrite what is written "
            "behind its back or lose its own changes, so notebook files are never written.",
            hint="Change its cells with the tools for cells, or show the user the new code of the cell; shared code "
            "can go into a .py file that the notebook imports.",
        )


def refuse_read_only(stored: Stored) -> None:
    """Refuse a file that nobody may write: to the administrator, who may all the same, it says that nobody should.

    Raises
    ------
    ToolError
        It is one.
    """
    if stored.info is not None and not stored.info.mode & 0o222:
        raise ToolError(
            f"{show_name(stored.path)} is read-only.", hint="Leave it, or ask the user to make it writable."
        )


def editable(stored: Stored) -> TextFile:
    """Return the text of an existing file that may be edited.

    Raises
    ------
    ToolError
        It is a notebook, read-only, binary, made by a program, or not in the encoding it announces.
    """
    refuse_notebook(stored.path)
    refuse_read_only(stored)
    data, path = stored.data or b"", _pure(stored.path)
    kind = identify(data[:HEAD_BYTES], path)
    if kind is not None and not _has_text_mark(data):
        raise ToolError(f"{stored.path} is {kind.name}, no text.", hint=how_to_load(kind.key, stored.path))
    if (sign := generated_by(data, path)) is not None:
        raise ToolError(
            f"{stored.path} was made by a program (“{show_name(sign)}”); a change would be lost when it is made again.",
            hint="Change what it is made from. If the user wants this very file changed, ask them to confirm it.",
        )
    return decode(data, stored.path)


def _has_text_mark(data: bytes) -> bool:
    """Whether it is UTF-32 text, whose zero bytes look binary."""
    return data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")) and len(data) % 4 == 0


def _pure(path: str) -> PurePath:
    return PurePosixPath(path) if path.startswith("/") else PurePath(path)


async def _missing(files: ExecutionContext, target: str) -> ToolError:
    """Say what is there instead: near names in the folder, or how much of the path exists."""
    parts = os.path if files.info.is_local else posixpath
    folder, name = parts.split(target)
    try:
        names = [each.name for each in await files.list(folder)]
    except OSError:
        while folder != parts.dirname(folder) and not await _exists(files, folder):
            folder = parts.dirname(folder)
        return ToolError(f"{target} does not exist; of its path only {folder} does.", hint="Look with list_files.")
    near = difflib.get_close_matches(name, names, n=_NEAR, cutoff=0.6)
    hint = f"Near names there: {', '.join(map(show_name, near))}." if near else "Look with list_files."
    return ToolError(f"{target} does not exist.", hint=hint)


async def _exists(files: ExecutionContext, path: str) -> bool:
    try:
        await files.stat(path)
    except OSError:
        return False
    return True


def _unreachable(target: str, error: OSError) -> ToolError:
    return ToolError(f"{target} cannot be read: {error.strerror or error}.", hint="Choose another file.")
