"""Whether the model knows the file it is about to overwrite.

Replacing a file one has not read loses what is in it. What was read is found in the conversation: results of
``read_file`` that are still before the model and fit the file as it is, and what the model wrote itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from zidane_lab.errors import ToolError
from zidane_lab.session.read_state import PLACE, ReadEntry, read_state, reads
from zidane_lab.tools.edits.commit import EDIT, WRITTEN
from zidane_lab.tools.edits.files import Stored
from zidane_lab.tools.paths import show_name
from zidane_lab.turns import Turn
from zidane_lab.wire.cutoff import replaced_ids
from zidane_lab.wire.state import WireState

__all__ = ["Conversation", "require_known", "require_seen"]


@runtime_checkable
class Conversation(Protocol):
    """A session, as far as reads go."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation, as it was said."""
        ...

    @property
    def wire_state(self) -> WireState:
        """What of it is still sent."""
        ...


def require_known(conversation: object, stored: Stored, lines: int) -> None:
    """Check that the model has read a file as it is now, all of it, or wrote it.

    Parameters
    ----------
    conversation
        Whatever keeps the tool's outputs; nothing is required of a call outside a conversation.
    stored
        The file.
    lines
        How many it has.

    Raises
    ------
    ToolError
        It has not; the message says what to do.
    """
    if not isinstance(conversation, Conversation) or stored.info is None or not stored.data:
        return
    name = show_name(stored.path)
    known = _reads(conversation, stored)
    missing: int | None = None
    for version, edit in _versions(conversation, stored, lines):
        fitting = [each for each in known if _fits(each, version)]
        if fitting and (missing := _first_unread(fitting, version.lines)) is None:
            return
        if edit is not None and edit.get("whole"):
            return
    if missing is not None:
        raise ToolError(
            f"You have read only a part of {name}: line {missing:,} of {lines:,} and others would be lost unseen; "
            "nothing was written.",
            hint=f"Read on with offset={missing}, or change parts of it with edit.",
        )
    if known:
        raise ToolError(
            f"{name} was changed since you read it; nothing was written.", hint="Read it again, then decide anew."
        )
    raise ToolError(
        f"{name} exists and you have not read it; nothing was written.",
        hint="Read it with read_file first, or change parts of it with edit.",
    )


def require_seen(conversation: object, stored: Stored) -> None:
    """Check that the model has looked into a file as it is now, or changed it from what it had looked into.

    Raises
    ------
    ToolError
        It has not: what it names by number or place may be something else by now.
    """
    if not isinstance(conversation, Conversation) or stored.info is None or not stored.data:
        return
    looks = _looks(conversation, stored)
    for version, edit in _versions(conversation, stored, 0):
        if any(_fits(each, version) for each in looks) or (edit is not None and edit.get("whole")):
            return
    what = "was changed since you looked at it" if looks else "was not looked into yet"
    raise ToolError(f"{show_name(stored.path)} {what}; nothing was written.", hint="Read what is there now first.")


def _reads(conversation: Conversation, stored: Stored) -> list[ReadEntry]:
    seen = read_state(conversation.turns, conversation.wire_state, place=stored.where)
    return [each for each in seen.values() if each.path == stored.path]


def _looks(conversation: Conversation, stored: Stored) -> list[ReadEntry]:
    """Return every read that shows something of a file: an entry, a part, a list of what is in it."""
    state = conversation.wire_state
    gone = replaced_ids(conversation.turns, state.undone)
    seen = reads([turn for turn in conversation.turns if turn.id not in gone])
    return [
        each
        for each in seen
        if each.path == stored.path and each.place == stored.where and each.call_id not in state.elided
    ]


def _versions(
    conversation: Conversation, stored: Stored, lines: int
) -> Iterator[tuple[_Version, Mapping[str, Any] | None]]:
    """Yield the version of a file that is there and those it was made from, each with the edit that made it."""
    if stored.info is None:
        return
    made = _made(conversation.turns, stored)
    version: _Version | None = _Version(stored.sha256 or "", stored.info.mtime_ns / 1e9, stored.info.size, lines)
    passed: set[str] = set()
    while version is not None and version.sha256 not in passed:
        passed.add(version.sha256)
        edit = made.get(version.sha256)
        yield version, edit
        version = None if edit is None else _version(edit.get("before"))


@dataclass(frozen=True, slots=True)
class _Version:
    """A file at some time: its content, and what a read of it would have noted."""

    sha256: str
    mtime: float
    size: int
    lines: int


def _version(raw: Any) -> _Version | None:
    if not isinstance(raw, Mapping):
        return None
    sha256, mtime, size, lines = (raw.get(name) for name in ("sha256", "mtime", "size", "lines"))
    if not (isinstance(sha256, str) and isinstance(mtime, float) and isinstance(size, int) and isinstance(lines, int)):
        return None
    return _Version(sha256, mtime, size, lines)


def _made(turns: Sequence[Turn], stored: Stored) -> dict[str, Mapping[str, Any]]:
    """Return what the editing tools say of the versions of a file they left, by hash."""
    found: dict[str, Mapping[str, Any]] = {}
    for turn in turns:
        for result in turn.tool_results:
            if WRITTEN not in result.metadata or result.metadata.get(PLACE, "") != stored.where:  # or a preview
                continue
            for file in _files(result.metadata.get(EDIT)):
                sha256 = file.get("sha256")
                if (
                    file.get("path") == stored.path
                    and isinstance(sha256, str)
                    and (sha256 not in found or file.get("whole"))
                ):
                    found[sha256] = file  # an undo leaves a version that came about in its own way before
    return found


def _files(edit: Any) -> Iterator[Mapping[str, Any]]:
    files = edit.get("files") if isinstance(edit, Mapping) else None
    if isinstance(files, (list, tuple)):
        yield from (each for each in files if isinstance(each, Mapping))


def _fits(read: ReadEntry, version: _Version) -> bool:
    """Whether a read shows this version; times are seconds as a float, good to a microsecond."""
    if read.mtime is None or read.size != version.size:
        return False
    return math.isclose(read.mtime, version.mtime, rel_tol=0, abs_tol=2e-6)


def _first_unread(reads: Iterable[ReadEntry], lines: int) -> int | None:
    """Return the first line no read shows; ``None`` if there is none."""
    following = 1
    for start, stop in sorted((each.offset, each.offset + each.limit) for each in reads):
        if start > following:
            break
        following = max(following, stop)
    return following if following <= lines else None
