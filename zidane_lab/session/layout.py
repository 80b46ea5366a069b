"""Where sessions live: pure functions from a notebook, or a working folder, to paths.

``<folder of the notebook>/.zidane/sessions/<notebook name>/<session id>.jsonl`` holds the conversation;
beside it the folder ``<session id>/`` holds ``outputs/`` (full outputs too long for the model), ``blobs/``
(pictures and the like, by sha256) and ``tasks/``. A session id sorts by time, and only ids minted here are
ever opened or listed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from zidane_lab.errors import SessionError

__all__ = [
    "CONSOLE",
    "HIDDEN_FOLDER",
    "SessionPaths",
    "is_session_id",
    "make_folder",
    "make_own_folder",
    "mint_session_id",
    "paths_in",
    "paths_of",
    "safe_name",
    "sessions_folder",
    "sync_folder",
]

HIDDEN_FOLDER: Final = ".zidane"
CONSOLE: Final = "_console"
"""Stands for the notebook's name where there is no notebook; no notebook's name maps to it."""

_ID: Final = re.compile(r"(\d{8}-\d{6})-[0-9a-f]{6}", re.ASCII)
_STAMP: Final = "%Y%m%d-%H%M%S"
_UNSAFE: Final = re.compile(r"[^\w .()+,=@~-]+")
_MAX_BYTES: Final = 120
"""Longest name in UTF-8 bytes; file systems allow 255, and suffixes are added to it."""
_DEVICES: Final = frozenset({"con", "prn", "aux", "nul"} | {f"{p}{n}" for p in ("com", "lpt") for n in range(10)})
"""Names Windows keeps for devices, with any suffix."""


# --- session ids ----------------------------------------------------------------------------------


def mint_session_id(moment: datetime | None = None) -> str:
    """Mint an id such as ``20260131-142059-3f9c0a``: the time in UTC, then 24 random bits."""
    return f"{(moment or datetime.now(UTC)).astimezone(UTC).strftime(_STAMP)}-{secrets.token_hex(3)}"


def is_session_id(text: str) -> bool:
    """Whether ``text`` is exactly an id :func:`mint_session_id` can mint."""
    match = _ID.fullmatch(text)
    if match is None:
        return False
    try:
        datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


# --- names and folders ----------------------------------------------------------------------------


def safe_name(name: str) -> str:
    """Return ``name`` as a name every file system accepts.

    Letters of any script, digits, spaces and ``_ - . ( ) + , = @ ~`` stay. A name that had to change gets
    a short hash of the original, so that two names never become one.
    """
    original = unicodedata.normalize("NFC", name)  # some systems hand out decomposed letters
    clean = _UNSAFE.sub("_", original).strip(" .")
    raw = clean.encode("utf-8", "replace")
    if len(raw) > _MAX_BYTES:
        clean = raw[: _MAX_BYTES - 9].decode("utf-8", "ignore").rstrip(" .")
    reserved = clean == CONSOLE or clean.split(".")[0].rstrip().lower() in _DEVICES
    if clean == original and clean and not reserved:
        return clean
    digest = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{'_' if reserved else ''}{clean or 'unnamed'}-{digest}"


def sessions_folder(*, notebook: Path | str | None = None, cwd: Path | str | None = None) -> Path:
    """Return the folder that holds the sessions of a notebook; nothing is created.

    Parameters
    ----------
    notebook
        Path of the notebook; a relative one is taken from ``cwd``.
    cwd
        Working folder; stands for the notebook's where no notebook is known. Default: the process's own.
    """
    base = Path(os.path.abspath(cwd if cwd is not None else Path.cwd()))  # noqa: PTH100 - `..` away, links kept
    if notebook is None:
        return base / HIDDEN_FOLDER / "sessions" / CONSOLE
    path = Path(os.path.abspath(base / notebook))  # noqa: PTH100 - same
    name = path.stem if path.suffix.lower() == ".ipynb" else path.name
    return path.parent / HIDDEN_FOLDER / "sessions" / safe_name(name)


@dataclass(frozen=True, slots=True)
class SessionPaths:
    """The paths of one session."""

    parent: Path
    id: str

    @property
    def file(self) -> Path:
        """The conversation."""
        return self.parent / f"{self.id}.jsonl"

    @property
    def lock(self) -> Path:
        """Says who is writing."""
        return self.parent / f"{self.id}.lock"

    @property
    def folder(self) -> Path:
        """What belongs to the conversation."""
        return self.parent / self.id

    @property
    def outputs(self) -> Path:
        """Full outputs, ``<n>.<name>.txt``."""
        return self.folder / "outputs"

    @property
    def blobs(self) -> Path:
        """Binary contents, named by their sha256."""
        return self.folder / "blobs"

    @property
    def tasks(self) -> Path:
        """Output of background tasks."""
        return self.folder / "tasks"


def paths_in(folder: Path, session_id: str) -> SessionPaths:
    """Return the paths of the session ``session_id`` in ``folder``.

    Raises
    ------
    SessionError
        It is not a session id: nothing else may name a file here.
    """
    if not is_session_id(session_id):
        raise SessionError(f"{session_id!r} is not a session id.", hint="`%zidane /sessions` lists them.")
    return SessionPaths(folder, session_id)


def paths_of(file: Path) -> SessionPaths:
    """Return the paths of the session stored in ``file``.

    Raises
    ------
    SessionError
        The file's name is not a session's, or the file or its folder is a symbolic link. Links to the
        folders above are fine; these two are never made by us, and following them would let a downloaded
        folder choose which of the user's files we write.
    """
    file = Path(os.path.abspath(file))  # noqa: PTH100 - `..` away, links kept
    if file.suffix != ".jsonl":
        raise SessionError(f"{file.name} is not a session file.", hint="Session files are named `<session id>.jsonl`.")
    paths = paths_in(file.parent, file.stem)
    for path in (paths.file, paths.folder):
        if path.is_symlink():
            raise SessionError(f"{path.name} is a symbolic link.", hint="Put the session itself there, or open it.")
    return paths


def make_folder(folder: Path) -> None:
    """Create a sessions folder and what is missing above it.

    The first of ``.zidane`` and ``.zidane/sessions`` that had to be made gets a ``.gitignore`` of ``*``:
    conversations are private until their owner decides otherwise.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    outermost = (HIDDEN_FOLDER, f"{HIDDEN_FOLDER}/sessions")
    ours = next((path for path in reversed(missing) if path.as_posix().endswith(outermost)), None)
    if ours is not None:
        ignore = ours / ".gitignore"
        try:
            ignore.write_text("*\n", encoding="ascii")
        except OSError:  # without it the folder must not stay, or it would never get one
            ignore.unlink(missing_ok=True)
            for path in missing:
                path.rmdir()
            raise
    for path in missing:
        sync_folder(path.parent)


def make_own_folder(folder: Path, inner: str = "") -> Path:
    """Create a session's own folder and one inside it, but none above; return the inner one.

    Raises
    ------
    OSError
        The sessions folder is gone (it is not made again), or one of the two is a symbolic link.
    """
    for path in (folder, folder / inner):
        if path.is_symlink():
            raise OSError(errno.ELOOP, "is a symbolic link, which zidane_lab never makes here", str(path))
        if not path.is_dir():
            path.mkdir(exist_ok=True)
            sync_folder(path.parent)
    return folder / inner


def sync_folder(folder: Path) -> None:
    """Make new names in ``folder`` survive a power cut, where the system can (Windows cannot)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
