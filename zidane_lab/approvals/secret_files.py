"""Which files below a folder commonly hold secrets, found on disk: a search is judged by what it would show.

Only names are looked at. Folders of installed packages are left out: they hold the public certificates and sample keys
of libraries. A walk is bounded; what it does not finish counts as unknown.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from zidane_lab.approvals.secrets import looks_secret, secret_name
from zidane_lab.errors import ZidaneError
from zidane_lab.tools.ignore import IgnoreRules

__all__ = ["Ground", "Looks", "SecretFile", "Tree", "UnseenError"]

MOST_ENTRIES: Final = 200_000
MOST_SECONDS: Final = 2.0
"""How much of a folder is walked through."""
MOST_FOUND: Final = 200

_PACKAGES: Final = frozenset(
    {".git", ".hg", ".svn", "node_modules", "site-packages", "dist-packages", "__pycache__", ".ipynb_checkpoints"}
)


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file, by its path below the folder.

    Parameters
    ----------
    hidden
        It or a folder above it begins with a dot.
    ignored
        The project's rules ignore it.
    linked
        It is a link, which searches that go through folders do not follow.
    """

    path: str
    hidden: bool = False
    ignored: bool = False
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """What was found below a folder; ``complete`` is whether all of it was looked at."""

    files: tuple[SecretFile, ...] = ()
    complete: bool = True


_ELSEWHERE: Final = Tree((SecretFile(".env", hidden=True), SecretFile(".ssh/id_rsa", hidden=True)))
"""What a folder is taken to hold that cannot be looked into from here."""


class UnseenError(ZidaneError):
    """A folder has to be looked at before the judge can go on.

    Parameters
    ----------
    look
        Looks at it, which may take :data:`MOST_SECONDS`; the judge, asked again, goes on from there.
    """

    code = "unseen"
    default_hint = "Look, and judge again."

    def __init__(self, look: Callable[[], None]) -> None:
        super().__init__("A folder was not looked at yet.")
        self.look = look


@dataclass(slots=True)
class Looks:
    """What was seen on disk for one judgement.

    Parameters
    ----------
    deferred
        Whether each look is left to the caller, by :class:`UnseenError`, so that a walk through a large folder need
        not hold up an event loop. The judge itself stays where it is: it parses, and parsing changes the filters for
        warnings, which belong to the whole process.
    """

    deferred: bool = False
    _seen: dict[str, Tree | tuple[str, ...]] = field(default_factory=dict)
    _until: list[float] = field(default_factory=list)

    def tree(self, key: str, walk: Callable[[float], Tree]) -> Tree:
        """Return what was seen under this key, looking at it first if need be."""
        found = self._at(key, walk)
        return found if isinstance(found, Tree) else Tree(complete=False)

    def names(self, key: str, find: Callable[[float], tuple[str, ...]]) -> tuple[str, ...]:
        """Return the names seen under this key, looking for them first if need be."""
        found = self._at(key, find)
        return () if isinstance(found, Tree) else found

    def _at(self, key: str, look: Callable[[float], Tree | tuple[str, ...]]) -> Tree | tuple[str, ...]:
        def now() -> None:
            if not self._until:
                self._until.append(time.monotonic() + MOST_SECONDS)
            self._seen[key] = look(self._until[0])

        if key not in self._seen:
            if self.deferred:
                raise UnseenError(now)
            now()
        return self._seen[key]


@dataclass(slots=True)
class Ground:
    """Where a command runs, looked at once for each folder.

    Parameters
    ----------
    cwd
        The absolute folder that relative paths start from.
    is_local
        Whether it is on this machine.
    env
        Variables that commands get.
    looks
        What was seen so far.
    """

    cwd: str
    is_local: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    looks: Looks = field(default_factory=Looks)

    def absolute(self, path: str) -> str:
        """Return the absolute form of a path, links not followed."""
        if not self.is_local:
            return posixpath.normpath(posixpath.join(self.cwd, path))
        return os.path.join(self.cwd, os.path.expanduser(path))  # noqa: PTH111, PTH118 - text in, text out

    def at(self, folder: str) -> Ground:
        """Return the same ground seen from a folder."""
        return Ground(self.absolute(folder), self.is_local, self.env, self.looks)

    def holds_secrets(self, path: str) -> bool:
        """Whether a path, or what it links to, commonly holds secrets."""
        return looks_secret(self.absolute(path)) if self.is_local else secret_name(self.absolute(path))

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder; elsewhere whatever has no ending may be one."""
        whole = self.absolute(path)
        return Path(whole).is_dir() if self.is_local else "." not in posixpath.basename(whole)

    def under(self, folder: str, *, follow: bool = False, lean: bool = False) -> Tree:
        """Return the files below a folder that commonly hold secrets; ``lean``: not in hidden and ignored folders."""
        whole = self.absolute(folder)
        if not self.is_local:
            return _ELSEWHERE
        key = f"{whole}\0{follow}\0{lean}"
        return self.looks.tree(key, lambda until: _walk(whole, follow=follow, lean=lean, until=until))

    def matches(self, pattern: str) -> Iterator[str]:
        """Yield the files a shell's pattern stands for that commonly hold secrets; none where nobody can look.

        Raises
        ------
        TimeoutError
            It stands for more than can be looked at.
        """
        if not self.is_local:
            return
        whole = self.absolute(pattern)
        for path in self.looks.names(f"{whole}\0", lambda until: tuple(_secrets_at(whole, until))):
            yield os.path.relpath(path, self.cwd)

    def tracked(self, folder: str) -> bytes | None:
        """Return git's list of the files it knows, as its index holds it; ``None`` where there is none."""
        if not self.is_local:
            return None
        whole = Path(self.absolute(folder))
        for each in (whole, *whole.parents):
            try:
                return (each / ".git" / "index").read_bytes()
            except OSError:
                continue
        return None


def _secrets_at(pattern: str, until: float) -> Iterator[str]:
    """Yield the files an absolute pattern stands for that commonly hold secrets."""
    for path in _expanded("/" if pattern.startswith("/") else "", pattern.strip("/").split("/"), until):
        if looks_secret(path) and not _PACKAGES & {*Path(path).parts} and not Path(path).is_dir():
            yield path


def _expanded(base: str, parts: Sequence[str], until: float) -> Iterator[str]:
    """Yield what a pattern stands for, as a shell sees it: names with a dot only where the pattern has it."""
    if not parts:
        yield base
        return
    first, rest = parts[0], parts[1:]
    if not any(special in first for special in "*?["):
        path = os.path.join(base, first)  # noqa: PTH118 - text in, text out
        if os.path.lexists(path):
            yield from _expanded(path, rest, until)
        return
    try:
        names = os.listdir(base or ".")  # noqa: PTH208 - names as text
    except OSError:
        return
    for name in names:
        if time.monotonic() > until:
            raise TimeoutError("the pattern stands for too many files")
        if fnmatch.fnmatchcase(name, first) and (first.startswith(".") or not name.startswith(".")):
            yield from _expanded(os.path.join(base, name), rest, until)  # noqa: PTH118 - text in, text out


def _walk(folder: str, *, follow: bool, lean: bool, until: float) -> Tree:
    """Walk through a folder; links to folders only where they are followed, each folder once."""
    found: list[SecretFile] = []
    seen: set[str] = set()
    count = 0
    try:
        rules = IgnoreRules.at(Path(folder))
    except OSError:
        rules = IgnoreRules()
    waiting: list[tuple[str, str, bool, bool, IgnoreRules]] = [(folder, "", False, False, rules)]
    while waiting:
        path, below, hidden, ignored, rules = waiting.pop()
        try:
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            entries = list(os.scandir(path))
        except OSError:
            continue
        for entry in entries:
            count += 1
            if count > MOST_ENTRIES or len(found) >= MOST_FOUND or (count % 256 == 0 and time.monotonic() > until):
                return Tree(tuple(found), complete=False)
            is_folder = entry.is_dir(follow_symlinks=follow)
            name = f"{below}{entry.name}"
            dotted = hidden or entry.name.startswith(".")
            hides = ignored or rules.ignores(entry.path, is_folder=is_folder)
            if is_folder:
                if entry.name not in _PACKAGES and not (lean and (dotted or hides)):
                    waiting.append((entry.path, f"{name}/", dotted, hides, rules.inside(Path(entry.path))))
            elif secret_name(entry.path) or (entry.is_symlink() and looks_secret(entry.path)):
                found.append(SecretFile(name, dotted, hides, entry.is_symlink()))
    return Tree(tuple(found))
