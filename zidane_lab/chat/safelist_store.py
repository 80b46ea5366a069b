"""What *always here* allowed, kept per project in one small file of the user's folder.

The file is only read and written by us, is the user's alone (0600), and is replaced whole. A damaged one counts as
empty and is told; it is not written over. Entries are stored under the project's main checkout; those stored under the
checkout of a worktree or under the very folder, as older versions did, are honoured too.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.approvals.project import checkout_root, project_root
from zidane_lab.approvals.safelist import parse_entry
from zidane_lab.chat.settings import home
from zidane_lab.errors import ConfigurationError

__all__ = ["Safelist", "own_files", "project_keys", "safelist_for"]

Kind: TypeAlias = Literal["allow", "deny"]

_NAME: Final = "safelist.json"
_LARGEST: Final = 1_000_000
"""Bytes; a larger file is not ours."""


def project_keys(folder: Path) -> tuple[str, ...]:
    """Return the keys of a folder's project: the one that is written, then older ones that are honoured."""
    folder = Path(os.path.realpath(folder))
    checkout = checkout_root(folder)
    found = (project_root(folder), *((checkout,) if checkout is not None else ()), folder)
    return tuple(dict.fromkeys(map(str, found)))


def own_files(env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the folders that hold the agent's settings and what it remembers."""
    return (str(home(env)),)


def safelist_for(folder: Path, env: Mapping[str, str] | None = None, *, where: str = "") -> Safelist:
    """Return the safelist of the project that a folder is in.

    Parameters
    ----------
    where
        Which other place the project's commands run in, a container or another machine: what is allowed there is kept
        apart, and what is allowed here is not allowed there.
    """
    keys = project_keys(folder)
    return Safelist(home(env) / _NAME, (f"{where} {keys[0]}",) if where else keys)


@dataclass(frozen=True, slots=True)
class Safelist:
    """The entries of one project. Reads the file each time, since other kernels write it, too.

    Parameters
    ----------
    file
        Where the entries of all projects lie.
    keys
        The project's key, then older ones.
    """

    file: Path
    keys: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """What is wrong with the file, for people; ``None`` if nothing is."""
        return _read(self.file)[1]

    def allowed(self) -> tuple[str, ...]:
        """Return what may run unasked."""
        return self._entries("allow")

    def denied(self) -> tuple[str, ...]:
        """Return what is refused."""
        return self._entries("deny")

    def remember(self, entries: Sequence[str], kind: Kind = "allow") -> None:
        """Add entries to the project.

        Raises
        ------
        ConfigurationError
            An entry cannot be read, or the file is damaged (it is left alone).
        """
        odd = next((each for each in entries if parse_entry(each) is None), None)
        if odd is not None:
            raise ConfigurationError(
                f"{odd!r} is not an entry.", hint="Entries: `tool`, `shell:git:*`, `fetch_url:example.org`."
            )
        with _changing(self.file) as projects:
            mine = projects.setdefault(self.keys[0], {})
            had = mine.get(kind) if isinstance(mine.get(kind), list) else []
            mine[kind] = list(dict.fromkeys([*had, *entries]))

    def revoke(self, entry: str) -> bool:
        """Take an entry back, wherever it counts for this project; ``False`` if there was none.

        Raises
        ------
        ConfigurationError
            The file is damaged (it is left alone).
        """
        found = False
        with _changing(self.file) as projects:
            for key in self.keys:
                for kind in ("allow", "deny"):
                    had = projects.get(key, {}).get(kind)
                    if isinstance(had, list) and entry in had:
                        projects[key][kind] = [each for each in had if each != entry]
                        found = True
        return found

    def _entries(self, kind: Kind) -> tuple[str, ...]:
        projects, _ = _read(self.file)
        found: list[str] = []
        for key in self.keys:
            entries = projects.get(key, {}).get(kind)
            found += [each for each in entries if isinstance(each, str)] if isinstance(entries, list) else []
        return tuple(dict.fromkeys(found))


def _read(file: Path) -> tuple[dict[str, Any], str | None]:
    """Return what is stored by project, and what is wrong with the file."""
    try:
        status = file.stat()
        if os.name == "posix" and (status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o022):
            return {}, f"{file} is ignored: others can write it"
        if status.st_size > _LARGEST:
            return {}, f"{file} is ignored: it is too large"
        raw = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"{file} cannot be read ({error})"
    projects = raw.get("projects") if isinstance(raw, dict) else None
    if not isinstance(projects, dict) or not all(isinstance(each, dict) for each in projects.values()):
        return {}, f"{file} is damaged"
    return projects, None


@contextlib.contextmanager
def _changing(file: Path) -> Iterator[dict[str, Any]]:
    """Give out what is stored and store it again, whole or not at all; one process at a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file.with_suffix(".lock")):
        projects, problem = _read(file)
        if problem is not None:
            raise ConfigurationError(f"{problem}.", hint="Mend or remove the file first; nothing was changed.")
        yield projects
        handle, fresh = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)  # made 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"version": 1, "projects": projects}, stream, indent=2, ensure_ascii=False)
                stream.write("\n")
                stream.flush()
                os.fsync(stream.fileno())
            Path(fresh).replace(file)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, where the system has one."""
    try:
        import fcntl
    except ImportError:  # Windows: the last of two that write at the same moment wins
        yield
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
