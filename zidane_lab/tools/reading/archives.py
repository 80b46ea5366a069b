"""Archives: what is in them, and one file of them, never more than fits in memory.

An archive can claim anything: names that climb out of it, sizes that are not true, gigabytes in a kilobyte. Nothing is
ever unpacked to disk, names only look things up, and what unpacks to too much is left.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size, near_names, show_name, unescaped
from zidane_lab.tools.reading.source import Source

__all__ = [
    "COMPRESSED",
    "MOST_LISTED",
    "MOST_MEMBER",
    "MissingError",
    "list_archive",
    "member",
    "opened_zip",
    "unpacked",
]

MOST_LISTED: Final = 500
MOST_MEMBER: Final = 64 * 1_048_576
"""Bytes of one file of an archive that are unpacked."""
MOST_UNPACKED: Final = 512 * 1_048_576
"""Bytes that are unpacked to get at something further back."""
MOST_ENTRIES: Final = 100_000
MOST_RATIO: Final = 200
MOST_DIRECTORY: Final = 16 * 1_048_576
"""Bytes of a ZIP archive's list of its entries: it is read whole."""
_TAIL: Final = 65_557
"""How far from a ZIP archive's end its last record starts at most: 22 bytes and a comment (APPNOTE, 4.3.16)."""
_SMALL: Final = 8 * 1_048_576
"""Up to here a file may unpack to any multiple of its size: a page of blanks does."""

COMPRESSED: Final[dict[str, Callable[[BinaryIO], Any]]] = {
    "gzip": lambda handle: gzip.GzipFile(fileobj=handle),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
"""By the key of :func:`~zidane_lab.tools.filetypes.identify`: opens what is compressed."""

_BROKEN: Final = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError)
_BROKEN_TOO: Final = (NotImplementedError, RuntimeError)


class MissingError(ToolError):
    """There is no such entry."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Something in an archive; ``read`` unpacks it, ``what`` says why it cannot be."""

    name: str
    size: int
    is_folder: bool
    packed: int | None
    read: Callable[[], bytes]
    what: str = ""


def unpacked(source: Source, key: str) -> Source:
    """Return the content of a compressed file, which becomes known as it is read."""
    ending = {"gzip": (".gz", ".tgz"), "bz2": (".bz2", ".tbz2"), "xz": (".xz", ".txz")}[key]
    name = next((source.name[: -len(each)] for each in ending if source.name.lower().endswith(each)), source.name)

    def opened() -> BinaryIO:
        handle = source.open()
        bounded = _Bounded(COMPRESSED[key](handle), source.name, handle)
        return cast("BinaryIO", io.BufferedReader(bounded))

    return Source(name, None, opened)


def list_archive(source: Source, key: str, inner: str = "") -> Iterator[str]:
    """Yield a line for each entry below the folder ``inner``, at most 500, and what was left out."""
    folder = _inner_name(inner)
    prefix = f"{folder}/" if folder else ""
    shown, more, size, any_entry = 0, 0, 0, False
    with _entries(source, key) as entries:
        for entry in entries:
            any_entry = True
            if not entry.name.startswith(prefix) or entry.name == prefix:
                continue
            size += entry.size
            if shown >= MOST_LISTED:
                more += 1
                continue
            shown += 1
            name = show_name(entry.name[len(prefix) :])
            yield f"{name}/" if entry.is_folder else f"{name}  {entry.what or describe_size(entry.size)}"
    if not shown:
        yield f"[{show_name(inner) + ' is empty, or not there' if any_entry else 'empty'}]"
    left = f"; {more:,} more are left out, name a folder to see it" if more else ""
    how = f"read one as `{source.shown}:name`"
    yield f"[{shown + more:,} entries, {describe_size(size)} unpacked{left}; {how}]"


def member(source: Source, key: str, inner: str) -> Source | None:
    """Return a file of an archive, unpacked; ``None`` if ``inner`` is a folder of it.

    Raises
    ------
    MissingError
        It is not there; the message has near names.
    ToolError
        It cannot be unpacked, or is too large.
    """
    wanted = _inner_name(inner)
    names: list[str] = []
    is_folder = not wanted
    if is_folder:
        return None
    either = {wanted, unescaped(wanted) or wanted, wanted.replace("\\", "/")}  # a name as it is shown, or on Windows
    with _entries(source, key) as entries:
        for entry in entries:
            bare = entry.name.strip("/")
            if bare in either and not entry.is_folder:
                return Source.of_bytes(f"{source.name}:{bare}", _unpack(entry, source))
            is_folder = is_folder or bare in either or bare.startswith(f"{wanted}/")
            names.append(bare)
    if is_folder:
        return None
    near = near_names(wanted, names) or [name for name in names if name.endswith(f"/{wanted}")][:5]
    hint = f"Near names in it: {', '.join(map(show_name, near))}." if near else f"List it: `{source.shown}`."
    raise MissingError(f"There is no {show_name(inner)} in {source.shown}.", hint=hint)


def _unpack(entry: _Entry, source: Source) -> bytes:
    name = f"{show_name(entry.name)} in {source.shown}"
    if entry.what:
        raise ToolError(f"{name} is {entry.what}.", hint="Choose another entry.")
    if entry.size > MOST_MEMBER:
        raise ToolError(
            f"{name} has {describe_size(entry.size)}; at most {describe_size(MOST_MEMBER)} are unpacked.",
            hint="Unpack it to disk with run_python, if the user agrees.",
        )
    if entry.packed is not None and entry.size > max(_SMALL, entry.packed * MOST_RATIO):
        raise ToolError(
            f"{name} would unpack to {entry.size // max(1, entry.packed):,} times its size: that is no ordinary file.",
            hint="Leave it, or ask the user about it.",
        )
    data = entry.read()
    if len(data) > MOST_MEMBER:
        raise ToolError(f"{name} is larger than it says.", hint="Leave it, or ask the user about it.")
    return data


def _inner_name(inner: str) -> str:
    """Return a name inside an archive as archives write it.

    Raises
    ------
    ToolError
        It climbs out of the archive.
    """
    parts = [part for part in inner.split("/") if part not in {"", "."}]
    if ".." in inner.replace("\\", "/").split("/"):
        raise ToolError(f"{inner!r} leads out of the archive.", hint="Name an entry as the listing shows it.")
    return "/".join(parts)


@contextmanager
def _entries(source: Source, key: str) -> Iterator[Iterator[_Entry]]:
    """Lend the entries of an archive; what is broken about it becomes an error in words."""
    with _in_words(source), source.open() as handle:
        yield _zip_entries(handle) if key == "zip" else _tar_entries(handle, key, source.name)


@contextmanager
def _in_words(source: Source) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise ToolError(
            f"{source.shown} is broken or not what it seems: {show_name(said)}.", hint="Choose another file."
        ) from error
    except _BROKEN_TOO as error:
        raise ToolError(f"{source.shown} cannot be unpacked: {error}.", hint="Choose another file.") from error


@contextmanager
def opened_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    """Lend a ZIP archive; what is broken about it becomes an error in words."""
    with _in_words(source), source.open() as handle, _zip(handle) as archive:
        yield archive


def _zip(handle: BinaryIO) -> zipfile.ZipFile:
    size = _directory_size(handle)
    if size > MOST_DIRECTORY:
        raise ToolError(
            f"The list of what is in this archive has {describe_size(size)}: too many entries.",
            hint="Look into it with run_python.",
        )
    return zipfile.ZipFile(handle)


def _directory_size(handle: BinaryIO) -> int:
    """Return the bytes of the list of entries, as the last record of the archive says; 0 where there is none."""
    end = handle.seek(0, io.SEEK_END)
    start = max(0, end - _TAIL)
    handle.seek(start)
    tail = handle.read(_TAIL)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        return 0
    size = int.from_bytes(tail[at + 12 : at + 16], "little")
    if size != 0xFFFFFFFF or at < 20:
        return size
    where = int.from_bytes(tail[at - 12 : at - 4], "little")  # of the record for large archives
    if where + 56 > end:
        return size
    handle.seek(where)
    return int.from_bytes(handle.read(56)[40:48], "little")


def _zip_entries(handle: BinaryIO) -> Iterator[_Entry]:
    with _zip(handle) as archive:
        for info in archive.infolist()[:MOST_ENTRIES]:
            name = info.filename.replace("\\", "/").removeprefix("./")
            what = "encrypted" if info.flag_bits & 1 else ""

            def read(info: zipfile.ZipInfo = info) -> bytes:
                with archive.open(info) as inside:
                    return inside.read(MOST_MEMBER + 1)

            yield _Entry(name, info.file_size, info.is_dir(), info.compress_size, read, what)


def _tar_entries(handle: BinaryIO, key: str, name: str) -> Iterator[_Entry]:
    plain: Any = _Capped(handle) if key == "tar" else _Bounded(COMPRESSED[key](handle), name)
    with tarfile.open(fileobj=plain, mode="r:" if key == "tar" else "r|") as archive:
        for number, info in enumerate(archive):
            if number >= MOST_ENTRIES:
                return

            def read(info: tarfile.TarInfo = info) -> bytes:
                inside = archive.extractfile(info)
                return b"" if inside is None else inside.read(MOST_MEMBER + 1)

            what = "" if info.isreg() or info.isdir() else "no ordinary file"
            if info.issym() or info.islnk():
                what = f"a link to {show_name(info.linkname)}"
            yield _Entry(info.name.removeprefix("./"), info.size, info.isdir(), None, read, what)


class _Capped:
    """A file that gives so much at once and no more: a header may claim any length."""

    def __init__(self, inside: BinaryIO) -> None:
        self._inside = inside
        self.seek, self.tell = inside.seek, inside.tell

    def read(self, size: int = -1) -> bytes:
        return self._inside.read(MOST_MEMBER if size < 0 else min(size, MOST_MEMBER))


class _Bounded(io.RawIOBase):
    """What is compressed, as it unpacks, up to a limit."""

    def __init__(self, inside: Any, name: str, below: BinaryIO | None = None) -> None:
        self._inside, self._name, self._below, self._left = inside, name, below, MOST_UNPACKED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or size > MOST_MEMBER:
            size = MOST_MEMBER  # a header may claim any length
        return self._take(size)

    def _take(self, size: int) -> bytes:
        try:
            data: bytes = self._inside.read(size)
        except (EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise OSError(f"it is broken: {error}") from error
        self._left -= len(data)
        if self._left < 0:
            raise ToolError(
                f"{self._name} unpacks to more than {describe_size(MOST_UNPACKED)}.", hint="Open it with run_python."
            )
        return data

    def close(self) -> None:
        self._inside.close()
        if self._below is not None:
            self._below.close()
        super().close()
