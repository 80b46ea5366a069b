"""Where a repository stands: its branch and commit, read from its files without running git.

Nothing of the repository's settings is obeyed, so looking is safe in any folder. What cannot be read is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["RepositoryState", "change_note", "repository_state"]

_MOST_BYTES: Final = 4_096
_MOST_PACKED: Final = 8 * 1_048_576
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_REF: Final = re.compile(r"ref: (refs/[^\s\x00-\x1f\x7f~^:?*\[\\]{1,240})")
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """Where a repository stands.

    Parameters
    ----------
    git
        Its own folder (``.git``), by which one is told from another.
    branch
        Name of the branch; empty when a commit is checked out by itself.
    commit
        The commit; empty where there is none yet, or it cannot be read.
    """

    git: Path
    branch: str
    commit: str

    def describe(self) -> str:
        """Say it in a few words."""
        short = self.commit[:_SHOWN] or "no commit yet"
        return f"branch {self.branch} ({short})" if self.branch else f"commit {short}, on no branch"


def repository_state(folder: Path) -> RepositoryState | None:
    """Return where the repository stands that a folder is in; ``None`` outside of one."""
    git = _git_folder(folder)
    head = _text(git / "HEAD") if git is not None else None
    if git is None or head is None:
        return None
    if _COMMIT.fullmatch(head):
        return RepositoryState(git, "", head)
    match = _REF.fullmatch(head)
    if match is None or ".." in match[1]:
        return None
    shared = _text(git / "commondir")
    common = git / shared if shared else git
    return RepositoryState(git, match[1].removeprefix("refs/heads/"), _commit_of(match[1], git, common))


def change_note(before: RepositoryState | None, after: RepositoryState | None) -> str | None:
    """Say what is different for a model that has read files before; ``None`` if nothing is, or it is another place."""
    if before is None or after is None or before.git != after.git or before == after:
        return None
    what = "is on another branch" if before.branch != after.branch else "is at another commit"
    return (
        f"[The repository {what} since you last looked: {after.describe()}, before {before.describe()}. "
        f"Files may differ from what you have read]"
    )


def _git_folder(folder: Path) -> Path | None:
    for each in (folder, *folder.parents):
        git = each / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # a linked worktree or a submodule
            text = _text(git)
            return each / text.removeprefix("gitdir: ") if text and text.startswith("gitdir: ") else None
    return None


def _commit_of(ref: str, git: Path, common: Path) -> str:
    for place in (git, common):
        text = _text(place / ref)
        if text is not None and _COMMIT.fullmatch(text):
            return text
    for line in (_text(common / "packed-refs", _MOST_PACKED) or "").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref and _COMMIT.fullmatch(commit):
            return commit
    return ""


def _text(path: Path, most: int = _MOST_BYTES) -> str | None:
    """Return a small file's text; ``None`` for what is none."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace").strip("\r\n ")
    except (OSError, ValueError):
        return None
