"""What a conversation worked with: the files it read and the variables it used, the latest first.

Read off the stored turns; what is put back after a summary is chosen from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from zidane_lab.session.read_state import ReadEntry, ReadKey, read_state, reads
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn
from zidane_lab.wire.envelope import ATTACHED

__all__ = [
    "DEFAULT_LIMIT",
    "HasTurns",
    "RecentFile",
    "UsedVariable",
    "paths_read",
    "select_files_from_read_state",
    "select_files_from_session",
    "select_recent_files",
    "used_variables",
]

DEFAULT_LIMIT: Final = 300
"""Lines of a file that are read where nothing else is known."""

_NAME: Final = re.compile(r"[^\W\d]\w*")
_AT: Final = re.compile(r"(?<![\w@.+/\\-])@(?P<name>[^\W\d]\w*)")


class HasTurns(Protocol):
    """A session, of which only the conversation matters here."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation."""
        ...


@dataclass(frozen=True, slots=True)
class RecentFile:
    """A file to put back.

    Parameters
    ----------
    path
        Absolute.
    mtime_ms
        When it was last read, in milliseconds since 1970; what files are ranked by.
    offset, limit
        The slice that was last read.
    """

    path: str
    mtime_ms: float
    offset: int = 1
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class UsedVariable:
    """A variable of the conversation; ``certain`` when it is known to have existed, not only spoken of."""

    name: str
    certain: bool


def select_files_from_read_state(state: Mapping[ReadKey, ReadEntry], cwd: Path) -> tuple[RecentFile, ...]:
    """Return the files of a read-state map, the last read first.

    Slices of one file become one entry, the newest; files outside ``cwd`` belong to other work and are dropped;
    equal times keep the order of the map.
    """
    newest: dict[str, ReadEntry] = {}
    for entry in state.values():
        known = newest.get(entry.path)
        if known is None or entry.read_at >= known.read_at:
            newest[entry.path] = entry
    base = os.path.abspath(cwd)  # noqa: PTH100 - `..` away, links kept
    files = [
        RecentFile(entry.path, entry.read_at.timestamp() * 1000, entry.offset, entry.limit)
        for entry in newest.values()
        if Path(entry.path).is_relative_to(base)
    ]
    return tuple(sorted(files, key=lambda file: -file.mtime_ms))


def select_files_from_session(session: HasTurns, cwd: Path, *, place: str = "") -> tuple[RecentFile, ...]:
    """Return the files a session read in a place, the last read first; see :func:`select_files_from_read_state`."""
    return select_files_from_read_state(read_state(session.turns, place=place), cwd)


def select_recent_files(
    files: Iterable[RecentFile], *, max_files: int, exclude_paths: Iterable[str] = ()
) -> tuple[RecentFile, ...]:
    """Return the files read last, at most ``max_files``, without the excluded ones; equal times keep their order."""
    excluded = frozenset(exclude_paths)
    ranked = sorted((file for file in files if file.path not in excluded), key=lambda file: -file.mtime_ms)
    return tuple(ranked[: max(0, max_files)])


def paths_read(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the files that ``turns`` show: those of the kept end need not be put back."""
    return frozenset(entry.path for entry in reads(turns))


def used_variables(turns: Sequence[Turn]) -> tuple[UsedVariable, ...]:
    """Return the variables that a conversation made, changed, looked at or was pointed to, the last used first.

    The evidence is that of ``run_python`` (names created, changed and deleted), successful calls of
    ``inspect_variable``, and ``@name`` in what people wrote. Names that begin with ``_`` are nobody's.
    """
    failed = {result.call_id for turn in turns for result in turn.tool_results if result.is_error}
    found: dict[str, bool] = {}
    for turn in reversed(turns):
        for name, certain in reversed(list(_names(turn, failed))):
            if not name.startswith("_"):
                found[name] = found.get(name, False) or certain
    return tuple(UsedVariable(name, certain) for name, certain in found.items())


def _names(turn: Turn, failed: set[str]) -> Iterator[tuple[str, bool]]:
    """Yield the variables of one turn, in order, and whether they are known to have existed."""
    for block in turn.blocks:
        if isinstance(block, ToolCallBlock):
            if block.name == "inspect_variable" and block.id not in failed:
                name = _NAME.match(str(block.input.get("name", "")).strip())
                yield from [(name[0], True)] if name else []
        elif isinstance(block, TextBlock) and turn.role == "user" and turn.injected is None:
            said = block.text.partition(ATTACHED)[0]  # what was attached to a prompt speaks for itself
            yield from ((match["name"], False) for match in _AT.finditer(said))
    for result in turn.tool_results:
        execution = result.metadata.get("execution")
        if isinstance(execution, Mapping):
            for kind in ("deleted", "created", "changed"):
                yield from ((name, True) for name in _texts(execution.get(kind)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        yield from (each for each in value if isinstance(each, str) and _NAME.fullmatch(each))
