"""Tasks of a session that this process does not run: detached ones, and those of kernels that have ended.

They are known from their records (:mod:`zidane_lab.contexts.task_records`). One that a kernel took along when it ended
counts as failed; that is told once, and so is the end of a detached one, by whichever process sees it first.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from zidane_lab.contexts.process_groups import end_family
from zidane_lab.contexts.task import TaskInfo
from zidane_lab.contexts.task_records import (
    TaskRecord,
    log_of,
    read_record,
    read_records,
    this_process,
    write_record,
)

__all__ = ["KeptTasks", "OtherTasks"]

LOOK_SECONDS: Final = 0.2
"""How often a detached task that is waited for is looked at."""

ENDING_SECONDS: Final = 6.0
"""How long the process of a detached task may take to end it before it is ended by force."""


class KeptTasks:
    """The tasks of one session's folder, less those this process runs.

    Parameters
    ----------
    folder
        The session's own.
    ours
        Names of the tasks this process runs, or has run; asked each time.
    """

    def __init__(self, folder: Path, ours: Collection[str]) -> None:
        self._folder, self._ours = folder, ours
        self._known: set[str] = set()
        """Names of those whose ends the model knows."""

    def _find(self, task_id: str) -> TaskRecord | None:
        return None if task_id in self._ours else read_record(self._folder, task_id)

    def _info(self, record: TaskRecord) -> TaskInfo:
        is_lost = not record.is_detached and record.keeper.pid == os.getpid()  # it would be one of ours
        return record.info(self._folder, is_lost=is_lost)

    def infos(self) -> list[TaskInfo]:
        """Return how those stand that are still of interest: detached, or ended without the model's knowing."""
        records = read_records(self._folder, without={*self._ours}).values()
        found = [self._info(record) for record in records if record.is_detached or not self._is_known(record)]
        return [info for info in found if info.is_detached or info.status != "running"]  # else another kernel's

    def _is_known(self, record: TaskRecord) -> bool:
        if record.is_told:
            self._known.add(record.id)
        return record.id in self._known

    def find(self, task_id: str) -> TaskInfo | None:
        """Return how one stands, also one that is of no interest any more; ``None`` where there is none."""
        record = self._find(task_id)
        return None if record is None else self._info(record)

    def log(self, task_id: str) -> Path | None:
        """Return the log of one, which may be there without a record."""
        return None if task_id in self._ours else log_of(self._folder, task_id)

    def untold(self) -> list[TaskInfo]:
        """Return those that have ended and of which the model does not know."""
        records = read_records(self._folder, without={*self._ours, *self._known}).values()
        infos = [self._info(record) for record in records if not self._is_known(record)]
        return [info for info in infos if info.status != "running"]

    def tell(self, task_ids: Iterable[str]) -> None:
        """Take note that the model knows of their ends. If the disk fails, a later process tells them again."""
        for task_id in task_ids:
            record = self._find(task_id)
            if record is None or self._is_known(record) or (info := self._info(record)).status == "running":
                continue
            self._known.add(task_id)
            with contextlib.suppress(OSError):
                write_record(self._folder, replace(record.ended(info), is_told=True))

    async def until_end(self, task_id: str) -> None:
        """Wait until one has ended."""
        while (info := self.find(task_id)) is not None and info.status == "running":  # noqa: ASYNC110 - another process
            await asyncio.sleep(LOOK_SECONDS)

    async def cancel(self, task_id: str) -> None:
        """End a detached task with everything it started."""
        record = self._find(task_id)
        if record is not None and record.is_detached and record.status == "running" and record.keeper.is_alive:
            await asyncio.to_thread(_end, self._folder, record)


class OtherTasks:
    """The same for several folders: that of the present session, and those of earlier ones with detached tasks.

    Parameters
    ----------
    folder
        Returns the present session's own folder.
    ours
        As in :class:`KeptTasks`.
    """

    def __init__(self, folder: Callable[[], Path | None], ours: Collection[str]) -> None:
        self._folder, self._ours = folder, ours
        self._kept: dict[Path, KeptTasks] = {}

    def _all(self) -> tuple[KeptTasks, ...]:
        if (folder := self._folder()) is not None:
            self._kept.setdefault(folder, KeptTasks(folder, self._ours))
        return tuple(self._kept.values())

    def infos(self) -> list[TaskInfo]:
        """Return how those stand that are of interest."""
        return [info for kept in self._all() for info in kept.infos()]

    def find(self, task_id: str) -> TaskInfo | None:
        """Return how one stands."""
        return next((info for kept in self._all() if (info := kept.find(task_id)) is not None), None)

    def log(self, task_id: str) -> Path | None:
        """Return the log of one."""
        return next((log for kept in self._all() if (log := kept.log(task_id)) is not None), None)

    def untold(self) -> list[TaskInfo]:
        """Return those that have ended and of which the model does not know."""
        return [info for kept in self._all() for info in kept.untold()]

    def tell(self, task_ids: Iterable[str]) -> None:
        """Take note that the model knows of their ends."""
        names = list(task_ids)
        for kept in self._all():
            kept.tell(names)

    async def until_end(self, task_id: str) -> None:
        """Wait until one has ended."""
        for kept in self._all():
            await kept.until_end(task_id)

    async def cancel(self, task_id: str) -> None:
        """End a detached task with everything it started."""
        for kept in self._all():
            await kept.cancel(task_id)


def _end(folder: Path, record: TaskRecord) -> None:
    """Ask the process of a detached task to end it; do it by force if it does not. Blocks."""
    with contextlib.suppress(OSError):
        os.kill(record.keeper.pid, signal.SIGTERM)
    until = time.monotonic() + ENDING_SECONDS
    while record.keeper.is_alive and time.monotonic() < until:
        time.sleep(0.05)
    now = read_record(folder, record.id)
    if now is None or now.status != "running":
        return
    if record.keeper.is_alive:
        end_family(record.keeper.pid, grace=0)
    with contextlib.suppress(OSError):
        reason = "cancelled; it had to be ended by force"
        write_record(folder, replace(now, status="cancelled", reason=reason, keeper=this_process()))
