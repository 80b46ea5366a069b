"""What was read of which file, and when: derived from the stored turns alone, so it survives a restart.

The ``read_file`` tool leaves :func:`read_evidence` in the metadata of its results. From it come the memory that
answers an unchanged file cheaply, the files put back after a summary, and the notice that a read is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from zidane_lab.session.persisted import PERSISTED
from zidane_lab.turns import ToolResultBlock, Turn
from zidane_lab.wire.cutoff import replaced_ids
from zidane_lab.wire.state import WireState

__all__ = [
    "PLACE",
    "READ",
    "ReadEntry",
    "ReadKey",
    "read_entry",
    "read_evidence",
    "read_state",
    "reads",
    "unchanged_read",
]

READ: Final = "read"
"""Key of the metadata of a result that shows a file."""

PLACE: Final = "place"
"""Key of the metadata of a result about files of another place: what tells that place from others."""

ReadKey: TypeAlias = tuple[str, int, int]
"""Absolute path, first line, most lines: one slice of one file."""


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """One successful read of a slice of a file.

    Parameters
    ----------
    path
        Absolute; links are not followed.
    offset, limit
        First line (from 1) and most lines asked for.
    mtime
        When the file had last changed, in seconds since 1970, seen just before it was read; ``None`` if not known.
    size
        Its size in bytes then; ``None`` if not known.
    read_at
        When the result joined the conversation.
    call_id
        The call whose result shows it.
    complete
        The result shows all of the slice: it was not cut further, did not go to a file, and does not merely refer to
        an earlier one.
    place
        Where the file is; empty for this machine.
    """

    path: str
    offset: int
    limit: int
    mtime: float | None
    size: int | None
    read_at: datetime
    call_id: str
    complete: bool = True
    place: str = ""

    @property
    def key(self) -> ReadKey:
        """The slice."""
        return self.path, self.offset, self.limit


def read_evidence(
    path: str, offset: int, limit: int, *, mtime: float, size: int, partial: bool = False, unchanged: bool = False
) -> dict[str, Any]:
    """Return the metadata of a result that shows a file.

    Parameters
    ----------
    path, offset, limit, mtime, size
        See :class:`ReadEntry`.
    partial
        Less is shown than was asked for (a result cut to a budget).
    unchanged
        Nothing is shown: the result says that an earlier one still holds.
    """
    evidence: dict[str, Any] = {"path": path, "offset": offset, "limit": limit, "mtime": mtime, "size": size}
    evidence |= {name: True for name, value in (("partial", partial), ("unchanged", unchanged)) if value}
    return {READ: evidence}


def read_entry(result: ToolResultBlock, read_at: datetime) -> ReadEntry | None:
    """Return what a result says it shows of a file; ``None`` if it shows none, or failed."""
    evidence = result.metadata.get(READ)
    if result.is_error or not isinstance(evidence, Mapping):
        return None
    path, offset, limit = (evidence.get(name) for name in ("path", "offset", "limit"))
    if not isinstance(path, str) or not isinstance(offset, int) or not isinstance(limit, int):
        return None
    mtime, size = evidence.get("mtime"), evidence.get("size")
    return ReadEntry(
        path,
        offset,
        limit,
        float(mtime) if isinstance(mtime, (int, float)) else None,
        size if isinstance(size, int) else None,
        read_at,
        result.call_id,
        complete=not (evidence.get("partial") or evidence.get("unchanged") or PERSISTED in result.metadata),
        place=str(result.metadata.get(PLACE, "")),
    )


def reads(turns: Sequence[Turn]) -> Iterator[ReadEntry]:
    """Yield every successful read of a file, oldest first."""
    for turn in turns:
        for result in turn.tool_results:
            if (entry := read_entry(result, turn.created_at)) is not None:
                yield entry


def read_state(turns: Sequence[Turn], state: WireState | None = None, *, place: str = "") -> dict[ReadKey, ReadEntry]:
    """Return the newest read of each slice in one place, in the order of the last reads.

    Parameters
    ----------
    place
        Which place: a path here and the same path elsewhere are two files.
    state
        With it only reads count that the model still has before it: in full, neither left out nor behind a summary.
    """
    if state is not None:
        gone = replaced_ids(turns, state.undone)
        turns = [turn for turn in turns if turn.id not in gone]
    found: dict[ReadKey, ReadEntry] = {}
    for entry in reads(turns):
        if entry.place != place:
            continue
        if state is not None and (not entry.complete or entry.call_id in state.elided):
            continue
        found.pop(entry.key, None)  # to the end: the order is that of the last reads
        found[entry.key] = entry
    return found


def unchanged_read(
    known: Mapping[ReadKey, ReadEntry], path: str, offset: int, limit: int, *, mtime: float, size: int
) -> ReadEntry | None:
    """Return the earlier read that still holds for a slice; ``None`` if the file was changed, or never read.

    Parameters
    ----------
    known
        From :func:`read_state`, with a wire state: what the model no longer has before it must be read again.
    """
    entry = known.get((path, offset, limit))
    return entry if entry is not None and (entry.mtime, entry.size) == (mtime, size) else None
