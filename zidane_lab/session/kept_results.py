"""Find, copy, release and remove the results a session keeps in files."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from zidane_lab.session.blob_writer import BlobWriter, LocalWriter, encode
from zidane_lab.session.layout import is_session_id, make_own_folder
from zidane_lab.session.persisted import (
    DEFAULT_THRESHOLD,
    PERSISTED,
    PERSISTED_STUB_PREFIX,
    RELEASED,
    TOOL_RESULTS,
    build_persisted_stub,
    is_safe_call_id,
)
from zidane_lab.turns import Block, TextBlock, ToolCallBlock, ToolResultBlock, Turn

__all__ = ["KEPT_FOLDERS", "Released", "cleanup_persisted_session", "copy_kept", "locate", "release_replaced_turns"]

KEPT_FOLDERS: Final = (TOOL_RESULTS, f"{TOOL_RESULTS}/{RELEASED}", "outputs")
"""Where in a session's folder the full results are."""


@dataclass(frozen=True, slots=True)
class Released:
    """Turns with the large bodies in files: the very same tuple where there were none."""

    turns: tuple[Turn, ...]
    bytes: int = 0
    files: int = 0


def locate(folder: Path, path: Path | str) -> Path | None:
    """Return the file of a session that ``path`` names; ``None`` if it is not one of its kept results.

    A path into another session's folder finds the copy of the file here, as after a branch. Links are refused, in
    the folders too, and so is whatever lies outside.

    Parameters
    ----------
    folder
        The session's own folder.
    path
        As a stand-in names it, or relative to the folder.
    """
    wanted = Path(os.path.normpath(folder / path))
    inner, owner = Path(wanted.parent.name), wanted.parent.parent
    if inner.name == RELEASED:
        inner, owner = owner.name / inner, owner.parent
    if inner.as_posix() not in KEPT_FOLDERS or not (owner == folder or is_session_id(owner.name)):
        return None
    found = folder / inner / wanted.name
    return found if _is_own_file(folder, found) else None


def copy_kept(source: Path, target: Path) -> int:
    """Copy the full results of one session into another's folder, for a branch of it; return how many.

    The stand-ins in the turns stay as they are, byte for byte; :func:`locate` finds the copies by their names. A
    file that cannot be copied is passed over: it is still where the stand-in says.
    """
    copied = 0
    for inner in KEPT_FOLDERS:
        try:
            names = sorted(entry.name for entry in os.scandir(source / inner) if entry.is_file(follow_symlinks=False))
        except OSError:
            continue
        for name in names:
            with contextlib.suppress(OSError):
                for depth in range(1, len(Path(inner).parts) + 1):
                    make_own_folder(target, str(Path(*Path(inner).parts[:depth])))
                shutil.copy2(source / inner / name, target / inner / name, follow_symlinks=False)
                copied += 1
    return copied


async def release_replaced_turns(
    turns: tuple[Turn, ...],
    replaced: Collection[str],
    persist_dir: Path,
    *,
    threshold: int = DEFAULT_THRESHOLD,
    writer: BlobWriter | None = None,
) -> Released:
    """Move large results behind a summary to files, and put stand-ins in their place.

    Such results are never sent again; a host that lives long need not hold them in memory. The files are exempt
    from the folder's limit, because they may be the only copy. A result that cannot be written stays.

    Parameters
    ----------
    turns
        The conversation.
    replaced
        Ids of the turns a summary stands for.
    persist_dir
        See :func:`~zidane_lab.session.persisted.resolve_persist_dir`.
    threshold
        UTF-8 bytes of text up to which a result stays.
    """
    names = {call.id: call.name for turn in turns for call in turn.blocks if isinstance(call, ToolCallBlock)}
    out: list[Turn] = []
    total = files = 0
    for turn in turns:
        blocks: list[Block] = []
        for block in turn.blocks:
            mended: Block = block
            if turn.id in replaced and isinstance(block, ToolResultBlock) and _is_releasable(block, threshold):
                path = persist_dir / RELEASED / f"{block.call_id}.txt"
                with contextlib.suppress(OSError):
                    mended = await _release(block, names.get(block.call_id, ""), path, writer)
                    total, files = total + len(encode(block.text)), files + 1
            blocks.append(mended)
        same = all(new is old for new, old in zip(blocks, turn.blocks, strict=True))
        out.append(turn if same else replace(turn, blocks=tuple(blocks)))
    return Released(tuple(out), total, files) if files else Released(turns)


def cleanup_persisted_session(persist_root: Path) -> None:
    """Remove the folder of a session's results; one that is missing, or resists, is no trouble. Links stay."""
    if not persist_root.is_symlink():
        shutil.rmtree(persist_root, ignore_errors=True)


def _is_releasable(block: ToolResultBlock, threshold: int) -> bool:
    """Whether a result is a large text of its own, under an id that can name a file."""
    return (
        all(isinstance(part, TextBlock) for part in block.parts)
        and not block.text.startswith(PERSISTED_STUB_PREFIX)
        and len(encode(block.text)) > threshold
        and is_safe_call_id(block.call_id)
    )


async def _release(block: ToolResultBlock, tool: str, path: Path, writer: BlobWriter | None) -> ToolResultBlock:
    make_own_folder(path.parent.parent.parent, path.parent.parent.name)
    written = await (writer or LocalWriter()).write(path, block.text)
    size = len(encode(block.text))
    stub = build_persisted_stub(tool, size, written.path, block.text, call_id=block.call_id)
    metadata = {**block.metadata, PERSISTED: {"path": str(written.path), "bytes": size}}
    return replace(block, parts=(TextBlock(stub),), metadata=metadata)


def _is_own_file(folder: Path, path: Path) -> bool:
    """Whether an ordinary file lies in the folder with no link on the way to it."""
    try:
        inner = path.relative_to(folder).parents
        return stat.S_ISREG(path.lstat().st_mode) and not any((folder / each).is_symlink() for each in inner)
    except (OSError, ValueError):
        return False
