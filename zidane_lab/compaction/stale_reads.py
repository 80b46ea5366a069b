"""Reads of files that were changed afterwards: what the model remembers of them is no longer true.

Two ways to deal with them share one detection. ``stub``: the old reads are left out of what is sent, so that
nothing outdated is believed; the provider reads anew what follows them. ``notice``: the result of the change says
in one line which reads are out of date; nothing already sent changes.

A file counts as changed when an edit tool went well, or when a result's metadata name it: ``{"written": [path…]}``,
or ``files_written`` in the evidence of an execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.compaction.past_results import Elision, PastResult, elision_of, past_results
from zidane_lab.compaction.useless import absolute, file_key
from zidane_lab.tools.paths import show_name
from zidane_lab.turns import ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.state import WireState

__all__ = [
    "EDIT_TOOLS",
    "PREVIEWED",
    "STALE_NOTICE",
    "WRITTEN",
    "StaleReadPolicy",
    "collect_newly_stale_read_paths",
    "elide_stale_reads",
    "render_stale_read_notice",
    "stale_reads",
    "wrote_nothing",
]

StaleReadPolicy: TypeAlias = Literal["stub", "notice"]
"""What to do about reads that a change made stale."""

EDIT_TOOLS: Final = frozenset({"write_file", "edit", "multi_edit"})
"""Tools that change the file named by their ``path``."""

WRITTEN: Final = "written"
"""Key of the metadata of a result that changed files: their paths; none for a result that says it changed none."""

PREVIEWED: Final = "pending"
"""Key of the metadata of a result that shows what would change."""

STALE_NOTICE: Final = "[Left out: the file was changed after this read; read it again to see it as it is.]"


def stale_reads(turns: Sequence[Turn], state: WireState, *, cwd: Path | None = None) -> tuple[PastResult, ...]:
    """Return the reads that are still sent although their file was changed later, oldest first.

    Parameters
    ----------
    cwd
        What relative paths in arguments are relative to, where metadata do not have the whole path.
    """
    past = past_results(turns, state)
    changed: set[str] = set()
    found: list[PastResult] = []
    for each in reversed(past):
        changed.update(_written(each.call, each.result, cwd))
        if each.sent and _read(each, cwd) in changed:
            found.append(each)
    return tuple(reversed(found))


def elide_stale_reads(turns: Sequence[Turn], state: WireState, *, cwd: Path | None = None) -> Elision | None:
    """Decide to leave out the reads that are stale; ``None`` if there are none the model has seen."""
    stale = [each for each in stale_reads(turns, state, cwd=cwd) if each.seen]
    return elision_of([(each, STALE_NOTICE) for each in stale], "reads of files changed since")


def collect_newly_stale_read_paths(
    prior: Sequence[Turn],
    batch: Sequence[tuple[ToolCallBlock, ToolResultBlock]],
    *,
    state: WireState | None = None,
    cwd: Path | None = None,
) -> tuple[str, ...]:
    """Return the files whose last read a batch made stale, in the order of the changes.

    A file that had been changed since it was read, before the batch, was announced then: one read followed by
    many changes gives one announcement.

    Parameters
    ----------
    prior
        The turns before the results of the batch.
    batch
        Its calls with their results.
    state
        With it, reads that are no longer sent do not count.
    """
    changed = dict.fromkeys(path for call, result in batch for path in _written(call, result, cwd))
    if not changed:  # most batches: spare going over the conversation
        return ()
    current: set[str] = set()
    for each in past_results(prior, state or WireState()):
        current.difference_update(_written(each.call, each.result, cwd))
        if each.sent and (path := _read(each, cwd)) is not None:
            current.add(path)
    return tuple(path for path in changed if path in current)


def render_stale_read_notice(paths: Sequence[str]) -> str:
    """Return the line that says which reads are out of date; empty for no paths. The same paths give the same line."""
    if not paths:
        return ""
    listed = ", ".join(show_name(path) for path in paths)
    return f"[Changed since you read it: {listed}. What you saw of it before is out of date; read it again if needed.]"


def _read(past: PastResult, cwd: Path | None) -> str | None:
    """Return the path of the file a result shows."""
    if past.call.name != "read_file" or past.result.is_error:
        return None
    return file_key(past, cwd)


def _written(call: ToolCallBlock, result: ToolResultBlock, cwd: Path | None) -> Iterator[str]:
    """Yield the absolute paths of the files a call changed. What failed code wrote before it failed counts."""
    execution = result.metadata.get("execution")
    named: list[Any] = [*_listed(result.metadata, WRITTEN)]
    if isinstance(execution, Mapping):
        named += _listed(execution, "files_written")
    if not named and call.name in EDIT_TOOLS and not result.is_error and not wrote_nothing(result.metadata):
        named.append(call.input.get("path"))
    for path in named:
        if (found := absolute(path, cwd, result.metadata)) is not None:
            yield found


def wrote_nothing(metadata: Mapping[str, Any]) -> bool:
    """Whether a result of an editing tool says that it changed no file: a preview, or nothing that was to be done."""
    return PREVIEWED in metadata or (WRITTEN in metadata and not metadata[WRITTEN])


def _listed(metadata: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = metadata.get(key)
    return value if isinstance(value, (list, tuple)) else ()
