"""A change that is thought out and not made yet: what each file would hold, and what the model will be told.

Plans are what approvals show, what previews stage and what :mod:`~zidane_lab.tools.edits.commit` carries out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from zidane_lab.tools.edits.diff import Diff, split_lines, unified
from zidane_lab.tools.edits.files import Stored
from zidane_lab.tools.edits.outcomes import EditOutcome, outcomes_json

__all__ = ["FileEdit", "Plan", "edit_metadata"]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What one file would become.

    Parameters
    ----------
    before
        The file as it is.
    after
        Its new bytes; ``None`` to remove it.
    old, new
        The same as text with LF line endings, for diffs; ``None`` where there is no file.
    name
        How the model called it.
    mode
        Mode bits to give it; those it has, or the usual ones, if left out.
    whole
        The model gave all of the new content, so it knows it.
    inside
        ``old`` and ``new`` are those of something in the file: an entry of an archive, a row of a database.
    """

    before: Stored
    after: bytes | None
    old: str | None
    new: str | None
    name: str
    mode: int | None = None
    whole: bool = False
    inside: bool = False

    @property
    def path(self) -> str:
        """The absolute path."""
        return self.before.path

    @property
    def sha256(self) -> str | None:
        """Hash of the new content."""
        return None if self.after is None else hashlib.sha256(self.after).hexdigest()

    def diff(self) -> Diff:
        """Return what would change, as a unified diff."""
        return unified(self.old, self.new, self.name)


@dataclass(frozen=True, slots=True)
class Plan:
    """A call thought through.

    Parameters
    ----------
    tool
        The tool that was called.
    files
        What to write, all or nothing; empty where no edit can be made.
    text
        What the model is told once it is done.
    outcomes
        What becomes of each of several edits.
    is_error
        Nothing can be made of the call.
    act
        Carries the plan out where it is not files that are written but something in one (a row of a database); it
        blocks, returns what the model is told, and raises :class:`~zidane_lab.errors.ToolError`. ``files`` only show
        then what it does.
    shows_tags
        ``text`` has the anchors of the changed lines.
    """

    tool: str
    files: tuple[FileEdit, ...]
    text: str
    outcomes: tuple[EditOutcome, ...] = ()
    is_error: bool = False
    act: Callable[[], str] | None = None
    shows_tags: bool = False

    def diff(self) -> str:
        """Return what would change, in all files."""
        return "".join(each.diff().text for each in self.files)


def edit_metadata(files: Sequence[FileEdit], outcomes: Sequence[EditOutcome] = ()) -> dict[str, Any]:
    """Return what the card of a change draws: path, unified diff, lines added and removed, what became of each edit.

    Of several files, ``files`` has each one's own figures. The hashes, and what the file was before, say later which
    versions of it the model knows (:mod:`zidane_lab.tools.edits.known`).
    """
    diffs = [each.diff() for each in files]
    each_file = [
        {
            "path": file.path,
            "added": diff.added,
            "removed": diff.removed,
            "first_line": diff.first_line,
            "created": file.before.info is None,
            "sha256": file.sha256,
            "whole": file.whole,
            "before": _before(file),
        }
        for file, diff in zip(files, diffs, strict=True)
    ]
    return {
        "path": files[0].path if files else None,
        "diff": "".join(diff.text for diff in diffs),
        "added": sum(diff.added for diff in diffs),
        "removed": sum(diff.removed for diff in diffs),
        "omitted": sum(diff.omitted for diff in diffs),
        "outcomes": outcomes_json(outcomes),
        "files": each_file,
    }


def _before(file: FileEdit) -> dict[str, Any] | None:
    info = file.before.info
    if info is None:
        return None
    lines = len(split_lines(file.old or ""))
    return {"sha256": file.before.sha256, "mtime": info.mtime_ns / 1e9, "size": info.size, "lines": lines}
