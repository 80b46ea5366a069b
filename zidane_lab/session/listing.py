"""The sessions of a notebook, newest first, read from the ends of their files.

At most 64 KiB of each file are read. Runs leave a summary when they begin and end, so the counts of long
sessions are known all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from zidane_lab.errors import SessionError
from zidane_lab.session.blobs import restore
from zidane_lab.session.entries import Entry
from zidane_lab.session.layout import is_session_id, paths_of
from zidane_lab.session.lock import Owner, locked_by
from zidane_lab.session.reader import read_session
from zidane_lab.session.state import SessionState, title_of

__all__ = ["SessionInfo", "find_session", "list_sessions"]

_WINDOW: Final = 32 * 1024
"""Bytes read at each end of a file."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session at a glance.

    ``turns`` is ``None`` where the ends of a long file do not tell, ``locked_by`` who is writing it now,
    ``created`` its header's own words, ``updated`` the time of the last write.
    """

    id: str
    path: Path
    title: str
    created: str
    updated: datetime
    turns: int | None
    model: str | None
    locked_by: Owner | None


def list_sessions(folder: Path, on_skip: Callable[[Path, str], None] | None = None) -> list[SessionInfo]:
    """List the sessions in a sessions folder, newest first; none if there is no such folder.

    Parameters
    ----------
    on_skip
        Told about each session file that cannot be read, and why.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names only
    except OSError:
        return []
    found: list[SessionInfo] = []
    for name in names:
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - no path yet
        if suffix != ".jsonl" or not is_session_id(stem):
            continue
        try:
            found.append(_glance(folder / name))
        except (SessionError, OSError) as error:
            if on_skip is not None:
                on_skip(folder / name, str(error))
    return sorted(found, key=lambda info: (info.updated, info.id), reverse=True)


def find_session(folder: Path, id_prefix: str) -> Path:
    """Return the file of the one session whose id begins with ``id_prefix``.

    Raises
    ------
    SessionError
        None begins so, or several do; the message names them.
    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names only
    except OSError:
        names = []
    ids = [name[:-6] for name in names if name.endswith(".jsonl") and is_session_id(name[:-6])]
    matches = [each for each in ids if each.startswith(id_prefix)] if id_prefix else []
    if len(matches) == 1:
        return paths_of(folder / f"{matches[0]}.jsonl").file
    if matches:
        raise SessionError(
            f"{id_prefix!r} begins {len(matches)} session ids: {', '.join(matches[-5:])}.", hint="Give more of the id."
        )
    newest = f" The newest: {', '.join(reversed(ids[-3:]))}." if ids else ""
    raise SessionError(
        f"No session here has an id that begins with {id_prefix!r}.{newest}", hint="`%zidane /sessions` lists them."
    )


def _glance(path: Path) -> SessionInfo:
    paths = paths_of(path)
    if not path.is_file():
        raise SessionError(f"{path} is no ordinary file.", hint="Remove it from the sessions folder.")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        head = file.read(_WINDOW)
        file.seek(max(len(head), status.st_size - _WINDOW))
        tail = file.read(_WINDOW)
    if len(head) + len(tail) >= status.st_size:
        head, tail = head + tail, b""
    contents = read_session(head, _without_blobs)
    state = SessionState()
    for entry in contents.entries:
        state.add(entry)
    title, model = state.title or title_of(state.turns), state.model
    turns: int | None = len(state.turns)
    if tail:
        first_line, rest = head.partition(b"\n")[0], tail.partition(b"\n")[2]  # the tail begins within a line
        entries = read_session(first_line + b"\n" + rest, _without_blobs).entries
        title, turns, model = _follow(entries, title, model)
    return SessionInfo(
        id=paths.id,
        path=path,
        title=title,
        created=contents.header.created_at,
        updated=datetime.fromtimestamp(status.st_mtime, UTC),
        turns=turns,
        model=model,
        locked_by=locked_by(paths.lock),
    )


def _follow(entries: tuple[Entry, ...], title: str, model: str | None) -> tuple[str, int | None, str | None]:
    """Read title, turns and model off the last entries of a long session; the turns need a summary to count from."""
    turns: int | None = None
    for entry in entries:
        if entry.type == "turn":
            turns = None if turns is None else turns + 1
        elif entry.type == "leaf":
            turns = None
        elif entry.type in ("title", "model", "run", "run-end"):
            summary = entry.data.get("summary", entry.data)
            if not isinstance(summary, dict):
                continue
            if isinstance(text := summary.get("title"), str):
                title = text
            if isinstance(text := summary.get("model"), str):
                model = text
            if isinstance(count := summary.get("turns"), int):
                turns = count
    return title, turns, model


def _without_blobs(raw: Any) -> Any:
    return restore(raw, lambda _: b"")
