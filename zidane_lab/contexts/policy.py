"""What commands and file tools may touch on this machine: a value, and the questions it answers.

The policy is about paths as they really are: links are followed before anything is compared. A race between the
question and the deed stays possible for somebody who can change links meanwhile; where commands are kept inside by
the system itself (:mod:`zidane_lab.contexts.isolation`) it is the system that decides.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from zidane_lab.errors import ConfigurationError

__all__ = [
    "ENVIRONMENT",
    "PROTECTED",
    "IsolationPolicy",
    "default_hidden",
    "is_within",
    "isolation_policy",
    "parse_allow_write",
]

ENVIRONMENT: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYTHON*",
)
"""Variables, by pattern, that commands get in any case; none of them holds a secret by custom."""

PROTECTED: Final = (".git/hooks", ".git/config", ".zidane", ".agents", ".vscode", ".idea", ".envrc", ".husky")
"""Stay as they are in a folder that may be written: other programs run or obey them later, outside."""


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """What may be touched.

    Parameters
    ----------
    writable_roots
        Absolute folders, links followed, in which everything but what is protected may be written.
    readable
        Absolute paths that may be read besides the system's own and the roots; ``None``: all but what is hidden.
    network
        Whether commands may reach any.
    env
        Patterns of variables that commands get besides :data:`ENVIRONMENT`; ``None``: all.
    hidden
        Absolute paths that are neither read nor written, whatever else is said.
    protected
        Paths relative to a folder that stay as they are in it.
    """

    writable_roots: tuple[str, ...]
    readable: tuple[str, ...] | None = None
    network: bool = False
    env: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = field(default_factory=lambda: default_hidden())  # noqa: PLW0108 - defined below
    protected: tuple[str, ...] = PROTECTED

    def may_write(self, path: str) -> bool:
        """Whether an absolute path of this machine may be written, removed or made; links are followed."""
        return self.write_objection(path) is None

    def write_objection(self, path: str) -> str | None:
        """Say why a path may not be written; ``None`` when it may."""
        real = _real(path)
        return f"{path!r} is not a path" if real is None else self.judge_write(real)

    def judge_write(self, real: str) -> str | None:
        """Say why a path that is known to have no links in it may not be written (in any place's own notation)."""
        roots = [root for root in self.writable_roots if is_within(real, root)]
        if not roots:
            return f"{real} is outside the folders that may be written ({', '.join(self.writable_roots) or 'none'})"
        if any(is_within(real, each) for each in self.hidden):
            return f"{real} is kept from the agent"
        for root in roots:
            rest = real[len(root.rstrip("/")) :].strip("/")
            if (name := self._protected_part(rest)) is not None:
                return f"{name} in {root} stays as it is: other programs obey it"
            home = _home_in(root)
            if home is not None and real.startswith(f"{home.rstrip('/')}/."):
                return f"{real} in the home folder stays as it is: other programs obey it"
        return None

    def may_read(self, path: str) -> bool:
        """Whether an absolute path of this machine may be read; links are followed."""
        real = _real(path)
        if real is None or any(is_within(real, each) for each in self.hidden):
            return False
        return self.readable is None or any(is_within(real, each) for each in (*self.readable, *self.writable_roots))

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that commands get."""
        if self.env is None:
            return dict(env)
        patterns = (*ENVIRONMENT, *self.env)
        return {name: value for name, value in env.items() if any(fnmatch.fnmatchcase(name, each) for each in patterns)}

    def protected_paths(self, root: str) -> tuple[str, ...]:
        """Return what stays as it is directly in a root, or in a home folder in it: what is there of it."""
        found = [os.path.join(root, each) for each in self.protected]  # noqa: PTH118 - texts
        if (home := _home_in(root)) is not None:
            found += [entry.path for entry in os.scandir(home) if entry.name.startswith(".")]
        return tuple(each for each in dict.fromkeys(found) if os.path.lexists(each))

    def _protected_part(self, rest: str) -> str | None:
        """Return which protected name a path below a root is in, at any depth: projects have projects in them."""
        inner = f"/{rest}/"
        return next((name for name in self.protected if f"/{name}/".casefold() in inner.casefold()), None)


def isolation_policy(
    cwd: str | os.PathLike[str],
    *,
    allow_write: object = (),
    readable: Sequence[str] | None = None,
    network: bool = False,
    env: Sequence[str] | None = None,
    hidden: Sequence[str] = (),
) -> IsolationPolicy:
    """Return the policy for work in a folder: that folder may be written, and what ``allow_write`` adds.

    Parameters
    ----------
    cwd
        The folder.
    allow_write
        More folders, as :func:`parse_allow_write` takes them.
    readable, network, env
        As in :class:`IsolationPolicy`.
    hidden
        More paths to hide than :func:`default_hidden` does.

    Raises
    ------
    ConfigurationError
        A folder that cannot be one, or the whole machine.
    """
    folder = os.path.realpath(cwd)
    roots = tuple(dict.fromkeys((folder, *parse_allow_write(allow_write, folder))))
    for root in roots:
        if root == os.path.dirname(root):  # noqa: PTH120
            raise ConfigurationError(
                f"{root} is the whole machine and cannot be opened for writing.",
                hint="Name the folders that are meant.",
            )
    read = None if readable is None else _folders(readable, folder)
    unseen = tuple(dict.fromkeys((*default_hidden(), *_folders(hidden, folder))))
    return IsolationPolicy(roots, read, network, None if env is None else tuple(env), unseen)


def parse_allow_write(value: object, cwd: str | os.PathLike[str]) -> tuple[str, ...]:
    """Read a setting that names folders: a list, or a text with commas between them. ``~`` and links are followed.

    Raises
    ------
    ConfigurationError
        It is neither, or holds what is no path.
    """
    if value is None:
        return ()
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
        raise ConfigurationError(f"{value!r} does not name folders.", hint="Write paths with commas between them.")
    return _folders([each.strip() for each in given if each.strip()], os.fspath(cwd))


def _folders(paths: Sequence[str], cwd: str) -> tuple[str, ...]:
    found = []
    for path in paths:
        real = _real(os.path.join(cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118 - texts
        if real is None:
            raise ConfigurationError(f"{path!r} is not a path.", hint="Write paths with commas between them.")
        found.append(real)
    return tuple(dict.fromkeys(found))


def default_hidden() -> tuple[str, ...]:
    """Return what is never shown: keys, credentials, and the doors to this kernel and to other programs."""
    home = Path.home()
    names = (
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".netrc",
        ".pypirc",
        ".git-credentials",
        ".config/gcloud",
        ".config/gh",
        ".config/zidane",
        ".local/share/keyrings",
        # Whoever reads a connection file can run code in the kernel.
        ".local/share/jupyter/runtime",
        "Library/Jupyter/runtime",
        "Library/Keychains",
    )
    found = [home / name for name in names]
    found += [Path(os.environ[name]) for name in ("ZIDANE_HOME", "JUPYTER_RUNTIME_DIR") if os.environ.get(name)]
    return tuple(dict.fromkeys(os.path.realpath(each) for each in found))


def is_within(path: str, root: str) -> bool:
    """Whether an absolute path is a folder or in it; both without links and ``..``."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def _home_in(root: str) -> str | None:
    """Return the home folder if it is a root, or in it."""
    home = os.path.realpath(Path.home())
    return home if is_within(home, root) else None


def _real(path: str) -> str | None:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None
