"""Bytes to be shown: a file, or something inside one."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size, show_name

if TYPE_CHECKING:
    from zidane_lab.contexts.base import FileInfo
    from zidane_lab.tools.reading.files import Files

__all__ = ["MOST_COPIED", "Source"]

MOST_COPIED: Final = 256 * 1_048_576
"""Bytes copied to this machine for a library that needs a file of its own."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something with bytes.

    Parameters
    ----------
    name
        How it is called: a path, or the path of an archive, a colon and the name inside.
    size
        In bytes; ``None`` where that shows only in reading.
    open
        Opens it anew, at its start.
    local
        Its path, where it is a file of this machine.
    """

    name: str
    size: int | None
    open: Callable[[], BinaryIO]
    local: str | None = None

    @classmethod
    def of_file(cls, files: Files, path: str, info: FileInfo) -> Source:
        """Return a file."""
        return cls(path, info.size, lambda: files.open(path), path if files.is_local else None)

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> Source:
        """Return what is in memory."""
        return cls(name, len(data), lambda: io.BytesIO(data))

    @property
    def shown(self) -> str:
        """Its name for a text: on one line, and printable."""
        return show_name(self.name)

    @property
    def last_name(self) -> str:
        """The last part of its name."""
        return self.name.replace("\\", "/").rstrip("/").rpartition("/")[2].rpartition(":")[2]

    @property
    def suffix(self) -> str:
        """Its ending in small letters, with the dot."""
        return PurePosixPath(self.last_name).suffix.lower()

    def read(self, most: int) -> bytes:
        """Return all of it.

        Raises
        ------
        ToolError
            It has more than ``most`` bytes.
        """
        with self.open() as handle:
            data = handle.read(most + 1)
        if len(data) > most:
            raise ToolError(f"{self.shown} is larger than {describe_size(most)}.", hint="Open it with run_python.")
        return data

    @contextmanager
    def as_file(self) -> Iterator[str]:
        """Lend a path on this machine; what is not here is copied.

        Raises
        ------
        ToolError
            It is too large to be copied.
        """
        if self.local is not None:
            yield self.local
            return
        if self.size is not None and self.size > MOST_COPIED:
            raise ToolError(f"{self.shown} is larger than {describe_size(MOST_COPIED)}.", hint="Open it where it is.")
        with tempfile.TemporaryDirectory(prefix="zidane-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, f"copy{self.suffix}")
            with self.open() as handle, path.open("wb") as copy:
                shutil.copyfileobj(handle, copy, 1_048_576)
            yield str(path)
