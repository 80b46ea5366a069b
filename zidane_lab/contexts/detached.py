"""Start a task that outlives the kernel: in the care of a process of its own that is nobody's child.

That process (:mod:`zidane_lab.contexts.detached_keeper`) runs the command as the kernel would have, writes its log and,
when it ends, how. It ends only with the command, by its time limit, or when it is told to; what the command leaves
running is ended then. It survives the end of the kernel in whatever way, not that of the machine or the container.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.contexts.base import Command
from zidane_lab.errors import ToolError

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen

__all__ = ["Detached", "credentials_in", "start_detached"]

START_SECONDS: Final = 30.0
"""How long starting may take."""


@dataclass(frozen=True, slots=True)
class Detached:
    """What the keeper is told, through a pipe: nothing of it is written anywhere but what its record and log hold.

    Parameters
    ----------
    folder
        The session's own folder.
    id, label, shown
        Of the task; ``shown`` is the command line as the record has it, without credentials.
    command, cwd
        What runs, and where.
    log_bytes
        Most bytes of the log.
    is_masked
        Whether credentials are kept out of the log.
    values
        Those the command was given: nothing in the keeper's process tells what they are.
    """

    folder: Path
    id: str
    label: str
    shown: str
    command: Command
    cwd: str
    log_bytes: int
    is_masked: bool
    values: tuple[str, ...] = ()

    def order(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "folder": str(self.folder),
            "id": self.id,
            "label": self.label,
            "shown": self.shown,
            "text": self.command.text,
            "cwd": self.cwd,
            "timeout": self.command.timeout,
            "log_bytes": self.log_bytes,
            "is_masked": self.is_masked,
            "values": list(self.values),
        }


def credentials_in(command: Command, screen: Screen | None) -> tuple[str, ...]:
    """Return the credentials in a command line and its variables, as far as they are known."""
    if screen is None:
        return ()
    from zidane_lab.secrets.masking import placeholders_in

    masked = [screen.text(text) for text in (command.text, *command.env.values())]
    values = map(screen.vault.value_of, sorted(placeholders_in(masked)))
    return tuple(value for value in values if value is not None)


def start_detached(task: Detached, environment: Mapping[str, str]) -> None:
    """Start it and return when it runs. Blocks for a moment.

    Parameters
    ----------
    environment
        Of the command, whole.

    Raises
    ------
    OSError
        The command cannot be started.
    ToolError
        There is no such thing on this system, or the keeper did not come up.
    """
    if not hasattr(os, "fork") or not sys.executable:
        raise ToolError("Tasks cannot be detached on this system.", hint="Start it without detach.")
    script = Path(__file__).with_name("detached_keeper.py")
    try:
        done = subprocess.run(  # noqa: S603 - our own script, by our own interpreter
            [sys.executable, "-I", str(script)],
            input=json.dumps(task.order()).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**environment, **task.command.env},
            start_new_session=True,
            timeout=START_SECONDS,
            check=False,
        )
        said = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        raise ToolError(
            "The process that keeps a detached task did not come up.", hint="Start it without detach."
        ) from error
    if (number := said.get("errno")) is not None:
        raise OSError(number, said.get("problem", ""), said.get("file"))
    if (problem := said.get("problem")) is not None:
        raise ToolError(f"The task could not be detached: {problem}", hint="Start it without detach.")
