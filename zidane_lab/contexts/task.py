"""One background task: a running command, its log, who watches its lines, and how it stands."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from zidane_lab.contexts.base import Completed, OutputStream, Running
from zidane_lab.contexts.bounded_log import BoundedLog
from zidane_lab.contexts.lines import LineSplitter

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen
    from zidane_lab.secrets.streaming import MaskedBytes

__all__ = ["Task", "TaskInfo", "TaskKind", "TaskStatus", "Watch"]

TaskStatus: TypeAlias = Literal["running", "completed", "failed", "cancelled"]
TaskKind: TypeAlias = Literal["shell", "monitor"]

KEPT_LINES: Final = 50
"""Lines of one watch that wait to be told; of more only the newest, and how many came before."""
_LONGEST_LINE: Final = 500


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """How a task stands at one moment.

    Parameters
    ----------
    label
        For people and the model: its description, or the command line.
    seconds
        How long it has run, or ran.
    quiet_seconds
        How long nothing has come from it; of one that has ended, 0.
    output_bytes
        Of its whole output.
    log
        Its file, if it has one.
    left_running
        Processes it left running when it ended.
    reason
        Why it ended as it did, when the exit code does not say it.
    is_detached
        Whether it goes on without the kernel.
    """

    id: str
    kind: TaskKind
    label: str
    command: str
    cwd: str | None
    status: TaskStatus
    started_at: datetime
    seconds: float
    quiet_seconds: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    output_bytes: int = 0
    log: Path | None = None
    left_running: int = 0
    reason: str = ""
    is_detached: bool = False

    @property
    def summary(self) -> str:
        """One sentence on how it stands."""
        how = self.reason
        if not how and self.exit_code is not None:
            how = f"exit code {self.exit_code}"
        elif not how and self.signal is not None:
            how = f"signal {self.signal}"
        verb = "has been running for" if self.status == "running" else f"{self.status} after"
        quiet = f"; no output for {self.quiet_seconds:.0f} s" if self.quiet_seconds >= 60 else ""
        left = f"; {self.left_running} processes it started still run" if self.left_running else ""
        kept = "; detached" if self.is_detached else ""
        return f"{verb} {self.seconds:.1f} s{f' ({how})' if how else ''}{quiet}{left}{kept}"


@dataclass(slots=True)
class Watch:
    """Somebody waits for lines of a task's standard output.

    Parameters
    ----------
    description
        What for, in a few words.
    contains
        Only lines with this text; small letters match capitals too. Empty: every line.
    persistent
        Whether it goes on after the first line.
    ends_task
        Whether the task has served its purpose when the watch ends.
    """

    description: str
    contains: str = ""
    persistent: bool = False
    ends_task: bool = False
    is_active: bool = True
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    left_out: int = 0

    def see(self, line: str) -> bool:
        """Take a line; whether it was one that is waited for."""
        if not self.is_active:
            return False
        wanted = self.contains
        if wanted and wanted not in (line.lower() if wanted.islower() else line):
            return False
        self.left_out += len(self.lines) == KEPT_LINES
        self.lines.append(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…")
        self.is_active = self.persistent
        return True

    def drain(self) -> tuple[list[str], int]:
        """Return the lines that wait, and how many came before them."""
        lines, left_out = list(self.lines), self.left_out
        self.lines.clear()
        self.left_out = 0
        return lines, left_out


class Task:
    """A task; :class:`~zidane_lab.contexts.tasks.TaskRegistry` makes and keeps them.

    Parameters
    ----------
    path
        Where the log is once there is output; ``None`` in memory.
    on_line
        Called after a watch has seen its line.
    screen
        What keeps credentials out of the log and of what watches see.
    """

    def __init__(
        self,
        id_: str,
        kind: TaskKind,
        label: str,
        command: str,
        cwd: str | None,
        *,
        log: BoundedLog,
        path: Path | None,
        on_line: Callable[[Task, Watch], None],
        screen: Screen | None = None,
    ) -> None:
        self.id, self.kind, self.label, self.command, self.cwd = id_, kind, label, command, cwd
        self.log, self._path, self._on_line = log, path, on_line
        self.started_at, self._started = datetime.now(UTC), time.monotonic()
        self.status: TaskStatus = "running"
        self.reason = ""
        self.running: Running | None = None
        self.watches: list[Watch] = []
        self.is_announced = False
        """Whether the model knows that it has ended."""
        self.waiters = 0
        """Calls that wait for it just now."""
        self._completed: Completed | None = None
        self._seconds: float | None = None
        self._last_output = self._started
        self._splitter = LineSplitter()
        streams: tuple[OutputStream, ...] = ("stdout", "stderr") if screen is not None else ()
        self._masked: dict[OutputStream, MaskedBytes] = {each: screen.bytes() for each in streams if screen is not None}

    async def on_output(self, stream: OutputStream, data: bytes) -> None:
        """Take a piece of output."""
        self._last_output = time.monotonic()
        masked = self._masked.get(stream)
        self._keep(stream, data if masked is None else masked.feed(data))

    def earlier(self, data: bytes) -> None:
        """Take what was printed before there was a task."""
        masked = self._masked.get("stdout")
        self.log.append(data if masked is None else masked.feed(data))

    def _keep(self, stream: OutputStream, data: bytes) -> None:
        self.log.append(data)
        if stream == "stdout":
            self._see(data)

    def _see(self, data: bytes, *, final: bool = False) -> None:
        for line in self._splitter.feed(data, final=final):
            for watch in [each for each in self.watches if each.see(line)]:
                self._on_line(self, watch)

    def end(self, completed: Completed | None, trouble: str = "") -> None:
        """Take note of the end; a status that was set before (by a cancellation) stays."""
        for stream, masked in self._masked.items():
            self._keep(stream, masked.finish())
        self._see(b"", final=True)
        self._completed = completed
        self._seconds = time.monotonic() - self._started if completed is None else completed.seconds
        if self.status == "running":
            went_well = completed is not None and completed.exit_code == 0 and not trouble
            self.status = "completed" if went_well else "failed"
            self.reason = trouble or ("its time limit was reached" if completed and completed.timed_out else "")
        for watch in self.watches:
            watch.is_active = False
        self.log.close()

    @property
    def info(self) -> TaskInfo:
        """How it stands now."""
        now, completed = time.monotonic(), self._completed
        return TaskInfo(
            self.id,
            self.kind,
            self.label,
            self.command,
            self.cwd,
            self.status,
            self.started_at,
            seconds=self._seconds if self._seconds is not None else now - self._started,
            quiet_seconds=0.0 if self._seconds is not None else now - self._last_output,
            exit_code=completed.exit_code if completed else None,
            signal=completed.signal if completed else None,
            output_bytes=self.log.total,
            log=self._path if self.log.total and self.log.trouble is None else None,
            left_running=completed.left_running if completed else 0,
            reason=self.reason,
        )
