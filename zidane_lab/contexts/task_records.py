"""What a session keeps of each background task on disk, beside its log: ``tasks/task-7.json``.

A kernel may end before its model has been told how a task ended, and a detached task goes on without it. The next
process reads here what there was. Files are replaced whole, and what cannot be read is left out: the folder may come
from anywhere. A process is known by its id and the moment it began, so that no other one is taken for it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args

from zidane_lab.contexts.task import TaskInfo, TaskKind, TaskStatus
from zidane_lab.session.layout import make_folder, make_own_folder

__all__ = [
    "Keeper",
    "RecordBook",
    "TaskRecord",
    "log_of",
    "read_record",
    "read_records",
    "record_name",
    "this_process",
    "write_record",
]

_NAME: Final = re.compile(r"(task-\d{1,9})\.json", re.ASCII)
_MOST_BYTES: Final = 65_536
_LONGEST: Final = 2_000
"""Characters of a label or a command that are kept."""
_SAME_SECONDS: Final = 2.0
"""By how much two readings of when a process began may differ: the system's clock is set now and then."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """The process that sees to a task: its id, and when it began, in seconds since 1970."""

    pid: int
    born: float

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        import psutil  # type: ignore[import-untyped]  # publishes no types

        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.born) < _SAME_SECONDS
            return bool(same and process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
        except (psutil.Error, ValueError, OverflowError):
            return False


def this_process() -> Keeper:
    """Return the process we are."""
    import psutil

    return Keeper(os.getpid(), psutil.Process().create_time())


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task as it is kept.

    Parameters
    ----------
    keeper
        Who sees to it: the kernel, or the process of a detached task.
    is_told
        Whether the model knows that it has ended.
    is_detached
        Whether it goes on without the kernel.
    """

    id: str
    kind: TaskKind
    label: str
    command: str
    cwd: str | None
    keeper: Keeper
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    status: TaskStatus = "running"
    seconds: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    is_told: bool = False
    is_detached: bool = False

    def ended(self, info: TaskInfo) -> TaskRecord:
        """Return it with how it has ended."""
        return replace(
            self,
            status=info.status,
            seconds=info.seconds,
            exit_code=info.exit_code,
            signal=info.signal,
            reason=info.reason,
        )

    def info(self, folder: Path, *, is_lost: bool = False) -> TaskInfo:
        """Return how it stands: one whose keeper is gone (or has forgotten it: ``is_lost``) has ended with it."""
        log = log_of(folder, self.id)
        size, changed = 0, 0.0
        with contextlib.suppress(OSError):
            if log is not None:
                size, changed = log.stat().st_size, log.stat().st_mtime
        now, began = datetime.now(UTC).timestamp(), self.started_at.timestamp()
        status, reason, seconds, quiet = self.status, self.reason, self.seconds, 0.0
        if status == "running" and not is_lost and self.keeper.is_alive:
            seconds, quiet = max(0.0, now - began), max(0.0, now - max(began, changed))
        elif status == "running":
            status = "failed"
            reason = "the process that kept it is gone" if self.is_detached else "the kernel ended, and it with that"
            seconds = max(0.0, changed - began)
        return TaskInfo(
            self.id,
            self.kind,
            self.label,
            self.command,
            self.cwd,
            status,
            self.started_at,
            seconds,
            quiet_seconds=quiet,
            exit_code=self.exit_code,
            signal=self.signal,
            output_bytes=size,
            log=log,
            reason=reason,
            is_detached=self.is_detached,
        )


class RecordBook:
    """Keeps the records of the tasks that this process runs. A disk that fails costs what a later one could know."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[Path, TaskRecord]] = {}

    def begin(self, folder: Path, record: TaskRecord) -> None:
        """Take a task; nothing is written before its first note."""
        self._records[record.id] = (folder, record)

    def note(self, info: TaskInfo, *, is_told: bool = False) -> None:
        """Write how a task stands, and whether the model knows."""
        if info.id not in self._records:
            return
        folder, record = self._records[info.id]
        if info.status != "running":
            record = replace(record.ended(info), is_told=is_told or record.is_told)
        self._records[info.id] = (folder, record)
        with contextlib.suppress(OSError):
            write_record(folder, record)

    def forget(self, task_id: str) -> None:
        """Take no more notes of a task."""
        self._records.pop(task_id, None)


def record_name(task_id: str) -> str:
    """Return the name of a task's file."""
    return f"{task_id}.json"


def log_of(folder: Path, task_id: str) -> Path | None:
    """Return the log of a task in a session's own folder, if it is there; links are none."""
    path = folder / "tasks" / f"{task_id}.log"
    is_ours = _NAME.fullmatch(record_name(task_id)) is not None
    return path if is_ours and path.is_file() and not path.is_symlink() and not path.parent.is_symlink() else None


def write_record(folder: Path, record: TaskRecord) -> None:
    """Keep a record in a session's own folder.

    Raises
    ------
    OSError
        It cannot be written.
    """
    if not folder.parent.is_dir():
        make_folder(folder.parent)
    tasks = make_own_folder(folder, "tasks")
    short = replace(record, label=record.label[:_LONGEST], command=record.command[:_LONGEST])
    data = {**asdict(short), "started_at": record.started_at.isoformat(), "version": 1}
    temporary = tasks / f".{record_name(record.id)}.{os.getpid()}"
    try:
        temporary.write_text(json.dumps(data), encoding="utf-8")
        temporary.replace(tasks / record_name(record.id))
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def read_records(folder: Path, *, without: Collection[str] = ()) -> dict[str, TaskRecord]:
    """Return the records of a session's own folder, less those of some tasks, by their names, oldest first."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [match[1] for path in (folder / "tasks").iterdir() if (match := _NAME.fullmatch(path.name))]
    names = sorted({*names} - {*without}, key=lambda name: int(name[5:]))
    found = {name: read_record(folder, name) for name in names}
    return {name: record for name, record in found.items() if record is not None}


def read_record(folder: Path, task_id: str) -> TaskRecord | None:
    """Return the record of a task; ``None`` where there is none that can be read."""
    path = folder / "tasks" / record_name(task_id)
    try:
        if path.is_symlink() or path.parent.is_symlink() or path.stat().st_size > _MOST_BYTES:
            return None
        return _parsed(task_id, json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _parsed(task_id: str, data: Any) -> TaskRecord:
    """Read a record.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is none.
    """
    kind, status = data["kind"], data["status"]
    if data["id"] != task_id or kind not in get_args(TaskKind) or status not in get_args(TaskStatus):
        raise ValueError("no record of this task")
    started = datetime.fromisoformat(data["started_at"])
    if started.tzinfo is None:
        raise ValueError("a time without a zone")
    keeper = Keeper(_number(data["keeper"]["pid"], int), _number(data["keeper"]["born"], float, int))
    if keeper.pid <= 1:
        raise ValueError("no process of ours")
    return TaskRecord(
        task_id,
        kind,
        _text(data["label"]),
        _text(data["command"]),
        None if data["cwd"] is None else _text(data["cwd"]),
        keeper,
        started,
        status,
        seconds=_number(data["seconds"], float, int),
        exit_code=None if data["exit_code"] is None else _number(data["exit_code"], int),
        signal=None if data["signal"] is None else _number(data["signal"], int),
        reason=_text(data["reason"]),
        is_told=data["is_told"] is True,
        is_detached=data["is_detached"] is True,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST * 4:
        raise TypeError("no text")
    return value


def _number(value: Any, *types: type) -> Any:
    if type(value) not in types or not math.isfinite(value):
        raise TypeError("no number")
    return value
