"""Which notebook is this? A kernel is not told reliably, so several ways are tried, and the answer says how.

In order: an explicit option, the variable VS Code sets, ``JPY_SESSION_NAME`` when it names an existing
notebook; else there is no notebook, sessions go beside the working directory, and we say so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zidane_lab.errors import ConfigurationError

__all__ = ["Place", "find_place", "following", "working_folder"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation lives. ``notebook`` is ``None`` when it is not known; ``how`` says how it was found."""

    notebook: Path | None
    folder: Path
    how: str

    @property
    def name(self) -> str:
        """The notebook's name without suffix, or ``untitled``."""
        return self.notebook.stem if self.notebook is not None else "untitled"


def find_place(
    explicit: str | None = None,
    namespace: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Place:
    """Find the notebook.

    Raises
    ------
    ConfigurationError
        An explicit path that is not a notebook in an existing folder.
    """
    env = os.environ if env is None else env
    cwd = working_folder() if cwd is None else cwd
    if explicit:
        path = (cwd / Path(explicit).expanduser()).absolute()
        if path.suffix != ".ipynb" or not path.parent.is_dir():
            raise ConfigurationError(f"{path} is not a notebook.", hint="Name an .ipynb file in an existing folder.")
        return Place(path, path.parent, "named explicitly")
    told = (namespace or {}).get("__vsc_ipynb_file__")
    if isinstance(told, str) and told.endswith(".ipynb"):
        path = Path(told).absolute()
        if path.parent.is_dir():
            return Place(path, path.parent, "told by VS Code")
    name = env.get("JPY_SESSION_NAME", "")
    if name.endswith(".ipynb"):
        for path in (Path(name), cwd / name, cwd / Path(name).name):
            if path.is_absolute() and path.is_file():
                return Place(path, path.parent, "told by the Jupyter server")
    return Place(None, cwd.absolute(), "the notebook is not known, so the working directory is used")


def working_folder() -> Path:
    """Return the folder this process works in.

    Raises
    ------
    ConfigurationError
        It was removed.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigurationError(
            f"The kernel's working folder cannot be used: {error.strerror or error}; it was probably removed.",
            hint="Go to another one, as with %cd ~ in a cell.",
        ) from error


def following() -> Callable[[], Path]:
    """Return what tells the folder this process works in at any time; the one of now once there is none any more.

    Raises
    ------
    ConfigurationError
        There is none now.
    """
    began = working_folder()

    def now() -> Path:
        try:
            return Path.cwd()
        except OSError:
            return began

    return now
