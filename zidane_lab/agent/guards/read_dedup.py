"""Answering the reading of an unchanged file with a word instead of the file.

Models read again what is before them already, and every time it costs the whole file. When the same lines of the same
file were read before, the model still has that result before it, and the file is as it was, the call is answered by a
line that names the earlier one. The file itself is asked at that moment: code may have changed it behind our back.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from zidane_lab.agent.guards.bundle import announcer, answered_by, subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.events import ToolGate
from zidane_lab.session.persisted import PERSISTED_STUB_PREFIX
from zidane_lab.session.read_state import (
    PLACE,
    ReadEntry,
    ReadKey,
    read_evidence,
    read_state,
    unchanged_read,
)
from zidane_lab.session.session import Session
from zidane_lab.tools.paths import resolve_path, show_name
from zidane_lab.tools.reading.files import modified_at
from zidane_lab.turns import TextBlock, ToolResultBlock, Turn
from zidane_lab.wire.state import WireState

__all__ = ["ReadDedup"]

_GUARD: Final = "read-dedup"
_TOOL: Final = "read_file"
_COARSE: Final = 2.0
"""Seconds between two moments that file systems with coarse clocks may give the same time (FAT has 2 s)."""


def _always(_call_id: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ReadDedup:
    """A hook bundle: an unchanged file is not read twice.

    Parameters
    ----------
    session
        The conversation: what was read is found in its turns, so it is known after a restart too.
    cwd
        Folder that relative paths start from.
    visible
        Asked last, with the id of the earlier call: whether the model still has its result before it. What the
        session says about that (results left out, turns behind a summary) is known without it.
    place
        Where the files are, if not on this machine.
    """

    session: Session
    cwd: Path
    visible: Callable[[str], bool] = _always
    place: ExecutionContext | None = None

    def install(self, hooks: HookBus) -> Uninstall:
        """Watch the calls of ``read_file``."""
        announce = announcer(hooks, _GUARD)
        place = self.place if self.place is not None and not self.place.info.is_local else None
        reads = _Reads(self.session, place.info.where if place is not None else "")

        async def at_gate(event: ToolGate) -> None:
            if event.tool != _TOOL or event.block is not None or event.result is not None:
                return
            found = await _unchanged(event.input, self.cwd, reads.known(), place)
            if found is None or not self.visible(found.call_id):
                return
            event.result = _stub(found)
            text = f"{show_name(found.path)} has not changed since {found.call_id} read it"
            await announce(event.ids, event.tool, text)

        return subscribe(hooks, {ToolGate: at_gate})


class _Reads:
    """What the model has before it of files; worked out anew only when the session has changed."""

    def __init__(self, session: Session, where: str) -> None:
        self._session, self._where = session, where
        self._turns: tuple[Turn, ...] | None = None
        self._state: WireState | None = None
        self._known: dict[ReadKey, ReadEntry] = {}

    def known(self) -> Mapping[ReadKey, ReadEntry]:
        turns, state = self._session.turns, self._session.wire_state
        if turns is not self._turns or state is not self._state:
            entries = read_state(turns, state, place=self._where)
            spilled = _spilled(turns)
            self._known = {key: entry for key, entry in entries.items() if entry.call_id not in spilled}
            self._turns, self._state = turns, state
        return self._known


def _spilled(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the calls whose results went to a file and show their beginning only."""
    return frozenset(
        result.call_id
        for turn in turns
        for result in turn.tool_results
        if any(isinstance(part, TextBlock) and part.text.startswith(PERSISTED_STUB_PREFIX) for part in result.parts)
    )


async def _unchanged(
    arguments: Mapping[str, Any], cwd: Path, known: Mapping[ReadKey, ReadEntry], place: ExecutionContext | None
) -> ReadEntry | None:
    """Return the earlier read that still holds; ``None`` when the file must be read, or cannot be looked at."""
    path, offset, limit = (arguments.get(name) for name in ("path", "offset", "limit"))
    if not (isinstance(path, str) and isinstance(offset, int) and isinstance(limit, int)):
        return None
    try:
        name = _name(path, cwd) if place is None else posixpath.normpath(place.resolve(path))
        key = name, max(1, offset), max(1, limit)
        if key not in known:
            return None
        if place is not None:
            info = await place.stat(name)
            mtime, size = modified_at(info), info.size
        else:
            status = await asyncio.to_thread(os.stat, name)
            mtime, size = status.st_mtime, status.st_size
    except (OSError, ValueError, ToolError):
        return None  # the tool itself says what is wrong
    found = unchanged_read(known, *key, mtime=mtime, size=size)
    return found if found is not None and _settled(found) else None


def _name(path: str, cwd: Path) -> str:
    """Name a file as the tool does: absolute, without ``..``, links kept."""
    return os.path.abspath(resolve_path(path, cwd))  # noqa: PTH100 - Path.resolve would follow links


def _settled(read: ReadEntry) -> bool:
    """Whether a change right after the read would show: a time in whole seconds may stand still meanwhile."""
    if read.mtime is None:
        return False
    return not read.mtime.is_integer() or read.read_at.timestamp() - read.mtime > _COARSE


def _stub(read: ReadEntry) -> ToolResultBlock:
    """Return the answer in place of the file; it depends on the read alone."""
    text = (
        f"[{show_name(read.path)} has not changed since you read these lines. The result of that call "
        f"({read.call_id}) is above and still true: use it.]"
    )
    assert read.mtime is not None
    assert read.size is not None
    evidence = read_evidence(read.path, read.offset, read.limit, mtime=read.mtime, size=read.size, unchanged=True)
    evidence |= {PLACE: read.place} if read.place else {}
    return ToolResultBlock("", (TextBlock(text),), metadata=evidence | answered_by(_GUARD, same_as=read.call_id))
