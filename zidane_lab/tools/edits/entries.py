"""One entry of an archive, replaced or added: the archive is made again in memory, all else in it as it was.

What cannot be carried over faithfully (encrypted entries, names that are there twice, sparse files) is refused rather
than lost. An archive can claim any size, so what it unpacks to has a limit.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
import stat
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size, near_names, show_name

__all__ = ["MAX_UNPACKED", "entry_name", "read_entry", "with_entry"]

MAX_UNPACKED: Final = 128 * 1_048_576
"""Bytes an archive may unpack to."""

_STEP: Final = 1_048_576
_MODE: Final = 0o644
_SCRIPT: Final = 0o755
_OPEN: Final[dict[str, Callable[[io.BytesIO], Any]]] = {
    "gz": lambda raw: gzip.GzipFile(fileobj=raw),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
_PACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gz": lambda data: gzip.compress(data, 6, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
_BROKEN: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    struct.error,
)


def entry_name(inner: str) -> str:
    """Return the name of an entry as archives write it.

    Raises
    ------
    ToolError
        It names no file inside.
    """
    name = inner.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if not parts:
        raise ToolError("The path names no file in the archive.", hint="Write it as `a.zip:docs/x.md`.")
    if ".." in parts:
        raise ToolError(f"{show_name(inner)} leads out of the archive.", hint="Leave out the `..`.")
    if name.endswith("/"):
        raise ToolError(f"{show_name(inner)} is a folder.", hint="Name a file in it.")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in name):
        raise ToolError(f"{show_name(inner)} is no name for an entry.", hint="Choose another one.")
    return "/".join(parts)


def read_entry(data: bytes, path: str, name: str) -> bytes | None:
    """Return what an archive's entry holds; ``None`` if there is none.

    Raises
    ------
    ToolError
        The archive is broken or too large; the entry is no file, or something else stands in its way.
    """
    with _said(path):
        if path.lower().endswith(".zip"):
            with _zip(data) as archive:
                infos = {_bare(info.filename): info for info in archive.infolist()}
                _check(infos, {bare for bare, info in infos.items() if info.is_dir()}, name)
                found = infos.get(name)
                if found is not None and stat.S_ISLNK(found.external_attr >> 16):
                    raise _no_file(name)
                return None if found is None else archive.read(found)
        with _tar(data, path) as tar:
            members = {_bare(info.name): info for info in tar}
            _check(members, {bare for bare, info in members.items() if info.isdir()}, name)
            member = members.get(name)
            if member is None:
                return None
            inside = tar.extractfile(member) if member.isreg() else None
            if inside is None:
                raise _no_file(name)
            return inside.read()


def with_entry(data: bytes | None, path: str, name: str, content: bytes) -> bytes:
    """Return the bytes of an archive in which an entry holds ``content``.

    Parameters
    ----------
    data
        The archive; ``None`` for a new one.
    path
        Its path, whose ending says what it is.
    name
        As :func:`entry_name` returns it.

    Raises
    ------
    ToolError
        It is broken, too large, or holds what cannot be carried over.
    """
    with _said(path):
        if path.lower().endswith(".zip"):
            return _zip_with(data, name, content)
        return _tar_with(data, path, name, content)


# --- zip --------------------------------------------------------------------------------------------


@contextmanager
def _zip(data: bytes) -> Iterator[zipfile.ZipFile]:
    if data[:4] not in {b"PK\x03\x04", b"PK\x05\x06"}:  # also one with a program before it, which would get lost
        raise zipfile.BadZipFile("it does not begin as a ZIP archive")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        _limit(sum(info.file_size for info in infos))
        if any(info.flag_bits & 1 for info in infos):
            raise ToolError("The archive holds encrypted entries.", hint="Change it with a program for archives.")
        if len({info.filename for info in infos}) < len(infos):
            raise ToolError("The archive holds a name twice.", hint="Change it with a program for archives.")
        yield archive


def _zip_with(data: bytes | None, name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        done = False
        if data is not None:
            with _zip(data) as archive:
                made.comment = archive.comment
                for info in archive.infolist():
                    is_it = _bare(info.filename) == name
                    kept = copy.copy(info)
                    if is_it:
                        kept.date_time, done = time.localtime()[:6], True
                    made.writestr(kept, content if is_it else archive.read(info))
        if not done:
            fresh = zipfile.ZipInfo(name, time.localtime()[:6])
            fresh.compress_type = zipfile.ZIP_DEFLATED
            fresh.create_system = 3  # Unix, whose rights follow
            fresh.external_attr = (stat.S_IFREG | _mode(content)) << 16
            made.writestr(fresh, content)
    return out.getvalue()


# --- tar --------------------------------------------------------------------------------------------


@contextmanager
def _tar(data: bytes, path: str) -> Iterator[tarfile.TarFile]:
    plain = _unpacked(data, _packing(path))
    with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
        yield archive


def _tar_with(data: bytes | None, path: str, name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    if data is None:
        with tarfile.open(fileobj=out, mode="w:") as made:
            _add(made, tarfile.TarInfo(name), content)
    else:
        with (
            _tar(data, path) as archive,
            tarfile.open(fileobj=out, mode="w:", pax_headers=archive.pax_headers) as made,
        ):
            done = False
            for info in archive:
                if info.issparse():
                    raise ToolError("The archive holds sparse files.", hint="Change it with a program for archives.")
                if _bare(info.name) != name:
                    made.addfile(info, archive.extractfile(info) if info.isreg() else None)
                elif not done:  # a name may be there twice, of which the last counts
                    _add(made, info, content)
                    done = True
            if not done:
                _add(made, tarfile.TarInfo(name), content)
    return _PACK.get(_packing(path), bytes)(out.getvalue())


def _add(made: tarfile.TarFile, info: tarfile.TarInfo, content: bytes) -> None:
    fresh = copy.copy(info)
    fresh.pax_headers = {key: value for key, value in info.pax_headers.items() if key not in {"size", "mtime"}}
    fresh.size, fresh.mtime = len(content), int(time.time())
    if not info.chksum:  # a new one
        fresh.mode = _mode(content)
    made.addfile(fresh, io.BytesIO(content))


def _packing(path: str) -> str:
    """Return how the tar file of that name is compressed; empty if it is not."""
    lowered = path.lower()
    return next((key for key in _OPEN if lowered.endswith((f".tar.{key}", f".t{key}"))), "")


def _unpacked(data: bytes, packing: str) -> bytes:
    if not packing:
        return data
    out = io.BytesIO()
    with _OPEN[packing](io.BytesIO(data)) as handle:
        while piece := handle.read(_STEP):
            out.write(piece)
            _limit(out.tell())
    return out.getvalue()


# --- both -------------------------------------------------------------------------------------------


def _bare(name: str) -> str:
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in {"", "."})


def _check(names: Any, folders: set[str], name: str) -> None:
    """Refuse a name that is a folder's, or lies below a file."""
    if name in folders or any(each.startswith(f"{name}/") for each in names):
        raise ToolError(f"{show_name(name)} is a folder of the archive.", hint="Name a file in it.")
    parts = name.split("/")
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        if above in names and above not in folders:
            raise ToolError(f"{show_name(above)} is a file of the archive.", hint=_near(name, names))


def _near(name: str, names: Any) -> str:
    near = near_names(name, names)
    return f"Near names in it: {', '.join(map(show_name, near))}." if near else "Choose another name."


def _no_file(name: str) -> ToolError:
    return ToolError(f"{show_name(name)} is no ordinary file in the archive.", hint="Choose another entry.")


def _limit(size: int) -> None:
    if size > MAX_UNPACKED:
        most = describe_size(MAX_UNPACKED)
        raise ToolError(f"The archive unpacks to more than {most}.", hint="Change it with a program for archives.")


def _mode(content: bytes) -> int:
    return _SCRIPT if content.startswith(b"#!") else _MODE


@contextmanager
def _said(path: str) -> Iterator[None]:
    """Say in words what is broken about an archive."""
    try:
        yield
    except _BROKEN as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ToolError(
            f"{show_name(path)} is broken or no such archive: {reason}.", hint="Look at it first."
        ) from error
    except (NotImplementedError, RuntimeError) as error:
        raise ToolError(f"{show_name(path)} cannot be written again: {error}.", hint="Use a program for it.") from error
