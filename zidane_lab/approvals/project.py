"""Which files belong to the project, and which of them may not be written without asking, whatever was allowed.

A project is the repository a folder is in, or the folder itself. Linked worktrees belong to their main checkout.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["Project", "checkout_root", "main_checkout", "project_root"]

_GUARDED_FOLDERS: Final = frozenset(
    {".git", ".hg", ".svn", ".zidane", ".ssh", ".gnupg", ".aws", ".vscode", ".idea", ".ipython", ".jupyter", ".husky"}
)
_GUARDED_NAMES: Final = (
    ".bash*",
    ".profile",
    ".zsh*",
    ".zprofile",
    ".zlog*",
    ".gitconfig",
    ".gitmodules",
    ".envrc",
    ".mcp.json",
    ".netrc",
    ".pypirc",
    ".npmrc",
    "*.pth",
    "sitecustomize.py",
    "usercustomize.py",
    "pip.conf",
)
"""Files that other programs run or obey by themselves."""


@dataclass(frozen=True, slots=True)
class Project:
    """Where the agent may be let loose.

    Parameters
    ----------
    root
        Absolute folder of the project.
    cwd
        Absolute folder that relative paths start from.
    own
        The agent's own files and folders: settings, what is remembered.
    is_local
        Whether paths are of this machine, so that links are followed.
    links
        Of another place: where absolute paths really lead, as far as that was looked up; empty where it is unknown.
    """

    root: str
    cwd: str
    own: tuple[str, ...] = ()
    is_local: bool = True
    links: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; links are followed where they can be."""
        if not self.is_local:
            plain = posixpath.normpath(posixpath.join(self.cwd, path))
            return self.links.get(plain, plain)
        return os.path.realpath(os.path.join(self.cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118 - text

    def joined(self, path: str) -> str:
        """Return a path as seen from where relative ones start, links not followed."""
        return os.path.join(self.cwd, os.path.expanduser(path))  # noqa: PTH111, PTH118 - text in, text out

    def is_obeyed(self, path: str) -> bool:
        """Whether a path in the project is one that other programs run or obey by themselves."""
        return self.contains(path) and any(map(self._is_guarded, self._readings(path)))

    def _readings(self, path: str) -> tuple[str, ...]:
        """Return the absolute forms of a path: programs follow a link before ``..`` leads out of it, tools need not."""
        resolved = self.resolve(path)
        if not self.is_local or ".." not in path:
            return (resolved,)
        joined = os.path.join(self.cwd, os.path.expanduser(path))  # noqa: PTH111, PTH118 - text
        return (resolved, os.path.realpath(os.path.normpath(joined)))

    def contains(self, path: str) -> bool:
        """Whether a path lies in the project, links followed."""
        if "\0" in path or (not self.is_local and path.startswith("~")):
            return False
        return all(_within(each, self._top) for each in self._readings(path))

    @property
    def _top(self) -> str:
        if self.is_local:
            return os.path.realpath(self.root)
        plain = posixpath.normpath(self.root)
        return self.links.get(plain) or plain

    def is_own(self, path: str) -> bool:
        """Whether a path is one of the agent's own files."""
        own = tuple(map(os.path.realpath, self.own)) if self.is_local else self.own
        return any(
            any(_within(resolved, each) for each in own) or ".zidane" in _parts(resolved)
            for resolved in self._readings(path)
        )

    def objection(self, path: str) -> str | None:
        """Say why writing this path is always asked about; ``None`` when it need not be."""
        try:
            if self.is_own(path):
                return f"changes the agent's own file {path}"
            if not self.contains(path):
                return f"writes outside the project folder: {path}"
            readings = self._readings(path)
        except (OSError, ValueError):
            return f"writes {path!r}, which cannot be found out about"
        if any(map(self._is_guarded, readings)):
            return f"writes {path}, which other programs obey"
        return None

    def _is_guarded(self, resolved: str) -> bool:
        parts = [part.lower() for part in _parts(resolved)[len(_parts(self._top)) :]]
        names = [part for part in parts[-1:] if any(fnmatch.fnmatchcase(part, each) for each in _GUARDED_NAMES)]
        return bool(names or _GUARDED_FOLDERS & set(parts))


def project_root(folder: Path) -> Path:
    """Return the root of the project a folder is in; of a linked worktree, its main checkout."""
    checkout = checkout_root(folder)
    if checkout is None:
        return folder
    return main_checkout(checkout) or checkout


def checkout_root(folder: Path) -> Path | None:
    """Return the folder with ``.git`` that ``folder`` is in, unless it is the home folder or the root."""
    for each in (folder, *folder.parents):
        if (each / ".git").exists():
            return each if each not in {Path.home(), Path(each.anchor)} else None
    return None


def main_checkout(checkout: Path) -> Path | None:
    """Return the main checkout of a linked worktree; ``None`` for any other.

    A linked worktree's ``.git`` is a file that names ``<main>/.git/worktrees/<name>``, which has a file ``commondir``.
    """
    try:
        words = (checkout / ".git").read_text(encoding="utf-8").strip()
        inner = checkout / words.removeprefix("gitdir:").strip()
        common = (inner / (inner / "commondir").read_text(encoding="utf-8").strip()).resolve()
    except (OSError, ValueError):
        return None
    return common.parent if words.startswith("gitdir:") and common.name == ".git" and common.is_dir() else None


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith((folder.rstrip("/\\") + "/", folder.rstrip("\\") + "\\"))


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part]
