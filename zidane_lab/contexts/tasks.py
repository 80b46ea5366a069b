"""Background tasks of a session: start, look, wait, cancel, and each end told exactly once.

Tasks live as long as the kernel, at most: they end with :meth:`TaskRegistry.aclose`, when the registry is let go of,
and with the kernel (:mod:`zidane_lab.contexts.owned`). Detached ones go on without it. Logs, and records of how tasks
stand, stay in the session's ``tasks/`` folder, where a later process finds them
(:mod:`zidane_lab.contexts.kept_tasks`).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.contexts import owned
from zidane_lab.contexts.base import Command, Completed, ExecutionContext, OnOutput, Running
from zidane_lab.contexts.bounded_log import (
    LOG_BYTES,
    MEMORY_BYTES,
    BoundedLog,
    Piece,
    in_memory,
    in_session_folder,
    read_piece,
)
from zidane_lab.contexts.kept_tasks import OtherTasks
from zidane_lab.contexts.task import Task, TaskInfo, TaskKind, Watch
from zidane_lab.contexts.task_notices import TAIL_BYTES, Notice, completion_notice, lines_notice
from zidane_lab.contexts.task_records import RecordBook, TaskRecord, this_process
from zidane_lab.errors import ToolError

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen

__all__ = ["MAX_RUNNING", "TaskRegistry"]

MAX_RUNNING: Final = 15
MOST_FINISHED: Final = 100
"""Tasks that have ended and are still known; the logs of all stay."""

_FILE_NAME: Final = re.compile(r"task-(\d{1,9})\.(?:log|json)", re.ASCII)


class TaskRegistry:
    """The background tasks of one session in one kernel. It belongs to the event loop it is used on.

    Parameters
    ----------
    folder
        The session's own folder, where logs go; a function is asked when it is needed. Without one, logs are kept in
        memory.
    max_running
        Most tasks at a time.
    log_bytes
        Most bytes of one log.

    Attributes
    ----------
    screen
        What keeps credentials out of what tasks print; ``None`` lets everything through.
    """

    def __init__(
        self,
        folder: Path | Callable[[], Path | None] | None = None,
        *,
        max_running: int = MAX_RUNNING,
        log_bytes: int = LOG_BYTES,
    ) -> None:
        self._folder: Callable[[], Path | None] = folder if callable(folder) else lambda: folder
        self._max_running, self._log_bytes = max_running, log_bytes
        self.screen: Screen | None = None
        self._tasks: dict[str, Task] = {}
        self._endings: dict[str, asyncio.Task[None]] = {}
        self._handles: dict[str, Running] = {}
        self._stops: set[asyncio.Task[Any]] = set()
        self._last = self._starting = 0
        self._records = RecordBook()
        self._others = OtherTasks(self._folder, self._tasks.keys())
        self._offers: list[Notice] = []
        self._listeners: list[Callable[[], None]] = []
        # A host that forgets to close must not leave processes behind. At exit others see to that.
        weakref.finalize(self, _kill_all, self._handles).atexit = False

    # --- starting -----------------------------------------------------------------------------

    async def start(
        self,
        place: ExecutionContext,
        command: Command,
        *,
        kind: TaskKind = "shell",
        label: str = "",
        watch: Watch | None = None,
    ) -> TaskInfo:
        """Start a command as a task.

        Raises
        ------
        ToolError
            Too many run already.
        OSError
            The command cannot be started.
        """
        task = self._make(command, kind, label)
        if watch is not None:
            task.watches.append(watch)
        self._starting += 1
        try:
            running = await place.start(command, task.on_output)
        finally:
            self._starting -= 1
        self._enter(task, running)
        return task.info

    def adopt(
        self, running: Running, command: Command, *, label: str = "", earlier: bytes = b""
    ) -> tuple[str, OnOutput]:
        """Go on with a command that runs already; return the task's id, and where its output should go from now on.

        Parameters
        ----------
        earlier
            What it has printed so far.

        Raises
        ------
        ToolError
            Too many run already.
        """
        task = self._make(command, "shell", label)
        task.earlier(earlier)
        self._enter(task, running)
        return task.id, task.on_output

    def check_room(self) -> None:
        """Make sure that one more task may start.

        Raises
        ------
        ToolError
            Too many run already.
        """
        running = [info.id for info in self.tasks() if info.status == "running"]
        if len(running) + self._starting >= self._max_running:
            raise ToolError(
                f"{len(running)} background tasks run already: {', '.join(running)}.",
                hint="Wait for one with wait_task, or end one with cancel_task.",
            )

    def _make(self, command: Command, kind: TaskKind, label: str) -> Task:
        self.check_room()
        folder = self._folder()
        name = self._next_name(folder)
        if folder is None:
            log, path = BoundedLog(in_memory, limit=min(self._log_bytes, MEMORY_BYTES)), None
        else:
            log = BoundedLog(in_session_folder(folder, f"{name}.log"), limit=self._log_bytes)
            path = folder / "tasks" / f"{name}.log"
        seen = weakref.WeakMethod(self._seen)

        def on_line(task: Task, watch: Watch) -> None:
            if (tell := seen()) is not None:
                tell(task, watch)

        label, text = self._shown(label or command.text), self._shown(command.text)
        if folder is not None:
            self._records.begin(folder, TaskRecord(name, kind, label, text, command.cwd, this_process()))
        return Task(name, kind, label, text, command.cwd, log=log, path=path, on_line=on_line, screen=self.screen)

    def _next_name(self, folder: Path | None) -> str:
        self._last = max(self._last, _last_number(folder)) + 1
        return f"task-{self._last}"

    def _shown(self, text: str) -> str:
        return text if self.screen is None else self.screen.text(text)

    async def start_detached(self, place: ExecutionContext, command: Command, *, label: str = "") -> TaskInfo:
        """Start a command as a task that outlives the kernel (:mod:`zidane_lab.contexts.detached`).

        Raises
        ------
        ToolError
            Too many run already, or there can be none here: without a folder, or anywhere but on this very machine.
        OSError
            The command cannot be started.
        """
        from zidane_lab.contexts.detached import Detached, credentials_in, start_detached
        from zidane_lab.contexts.process import LocalProcess, kernel_free_environment

        folder = self._folder()
        if folder is None or type(place) is not LocalProcess:
            raise ToolError("Tasks can be detached only on this machine, in a session that is kept.")
        self.check_room()
        name, cwd = self._next_name(folder), command.cwd or place.cwd
        label, shown = self._shown(label or command.text), self._shown(command.text)
        given = credentials_in(command, self.screen)
        order = Detached(folder, name, label, shown, command, cwd, self._log_bytes, self.screen is not None, given)
        self._starting += 1
        try:
            await asyncio.to_thread(start_detached, order, kernel_free_environment())
        finally:
            self._starting -= 1
        return self.get(name)

    def _enter(self, task: Task, running: Running) -> None:
        task.running = running
        if running.id.isdigit():
            owned.describe(int(running.id), role="monitor" if task.kind == "monitor" else "task", label=task.label)
        self._tasks[task.id], self._handles[task.id] = task, running
        self._records.note(task.info)
        self._endings[task.id] = asyncio.ensure_future(_until_end(task, running, weakref.WeakMethod(self._ended)))
        if task.status != "running":
            self._stop(task)
        finished = [each.id for each in self._tasks.values() if each.status != "running" and each.is_announced]
        for old in finished[: max(0, len(finished) - MOST_FINISHED)]:
            del self._tasks[old], self._endings[old]
            self._records.forget(old)

    # --- looking ------------------------------------------------------------------------------

    def tasks(self) -> tuple[TaskInfo, ...]:
        """Return how all tasks stand, oldest first: of others only detached ones and those whose end is not known."""
        return (*self._others.infos(), *(task.info for task in self._tasks.values()))

    def get(self, task_id: str) -> TaskInfo:
        """Return how a task stands.

        Raises
        ------
        ToolError
            There is none of this name; the message has those there are.
        """
        found = self._found(task_id)
        return found.info if isinstance(found, Task) else found

    def _found(self, task_id: str) -> Task | TaskInfo:
        """Return a task of ours, or how one of others stands."""
        if (task := self._tasks.get(task_id)) is not None:
            return task
        if (info := self._others.find(task_id)) is not None:
            return info
        known = ", ".join(info.id for info in self.tasks()) or "none"
        raise ToolError(f"There is no task {task_id!r} here.", hint=f"Tasks: {known}.")

    def read(self, task_id: str, start: int | None, size: int) -> tuple[Piece, int, TaskInfo | None]:
        """Return a piece of a task's output (its end, without a start), how long the whole is, and how it stands.

        The log of a task of an earlier kernel is still read, also where nobody knows how that one stands.

        Raises
        ------
        ToolError
            There is no such task, nor a log of its name.
        """
        if (task := self._tasks.get(task_id)) is not None:
            piece = task.log.newest(size) if start is None else task.log.read(start, size)
            return piece, task.log.total, task.info
        if (path := self._others.log(task_id)) is not None:
            piece, total = read_piece(path, start, size)
            return self._screened(piece), total, self._others.find(task_id)
        return Piece(b"", 0, 0), 0, self.get(task_id)

    def _screened(self, piece: Piece) -> Piece:
        """Mask a piece of a log that another process wrote, which may have known fewer credentials than we do."""
        if self.screen is None:
            return piece
        masked = self.screen.bytes()
        return replace(piece, data=masked.feed(piece.data) + masked.finish())

    # --- waiting and ending -------------------------------------------------------------------

    async def wait(self, task_ids: Collection[str] | None = None, seconds: float = 30.0) -> tuple[TaskInfo, ...]:
        """Wait until one of some tasks has ended, at most some seconds; return how all of them stand.

        Without ids all that run are waited for, and those that have ended without anybody knowing count. Whoever is
        told here is not told again by :meth:`notifications`.

        Raises
        ------
        ToolError
            One of the ids is no task's.
        """
        if task_ids is None:
            untold = {info.id for info in self._others.untold()} | {offer.task_id for offer in self._offers}
            untold |= {task.id for task in self._tasks.values() if not task.is_announced}
            task_ids = [info.id for info in self.tasks() if info.status == "running" or info.id in untold]
        names = list(dict.fromkeys(task_ids))
        found = [self._found(name) for name in names]
        tasks = [each for each in found if isinstance(each, Task)]
        for task in tasks:
            task.waiters += 1
        others = [each.id for each in found if isinstance(each, TaskInfo)]
        looking = [asyncio.ensure_future(self._others.until_end(name)) for name in others]
        try:
            if found and all(each.status == "running" for each in found):
                endings = {self._endings[task.id] for task in tasks} | {*looking}
                await asyncio.wait(endings, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.waiters -= 1
            for each in looking:
                each.cancel()
        self.acknowledge(names)
        return tuple(self.get(name) for name in names)

    async def cancel(self, task_id: str, *, reason: str = "cancelled") -> TaskInfo:
        """End a task with everything it started; of one that has ended, what it left running.

        Raises
        ------
        ToolError
            There is none of this name.
        """
        task = self._found(task_id)
        if isinstance(task, TaskInfo):
            await self._others.cancel(task_id)
            self.acknowledge([task_id])
            return self.get(task_id)
        if task.status == "running":
            task.status, task.reason = "cancelled", reason  # first: whatever it does now, it was cancelled
        if task.running is not None:
            await task.running.stop()
        await asyncio.wait({self._endings[task_id]})
        self.acknowledge([task_id])
        return task.info

    async def aclose(self) -> None:
        """End all tasks but detached ones. Nobody is told now; whoever opens the session again will be."""
        running = [task for task in self._tasks.values() if task.status == "running" or task.running is not None]
        for task in self._tasks.values():
            task.is_announced = True
            if task.status == "running":
                task.status, task.reason = "cancelled", "the notebook was closed"
        await asyncio.gather(*(task.running.stop() for task in running if task.running is not None))
        if endings := [self._endings[task.id] for task in running]:
            await asyncio.wait(endings)

    # --- telling ------------------------------------------------------------------------------

    def watch(self, task_id: str, watch: Watch) -> TaskInfo:
        """Watch the lines of a task that runs.

        Raises
        ------
        ToolError
            There is none of this name, or it has ended.
        """
        task = self._found(task_id)
        if isinstance(task, TaskInfo) and task.status == "running":
            raise ToolError(f"{task_id} is detached.", hint=f"Start a monitor with a command: tail -F {task.log}.")
        if not isinstance(task, Task) or task.status != "running":
            raise ToolError(f"{task_id} {self.get(task_id).summary}.", hint="Read its output with read_task_output.")
        task.watches.append(watch)
        return task.info

    def acknowledge(self, task_ids: Iterable[str]) -> None:
        """Take note that the model knows how these tasks stand: the end of one that has ended is not told any more."""
        for task_id in list(task_ids):
            task = self._tasks.get(task_id)
            if task is not None and task.status == "running":
                continue
            self._offers = [offer for offer in self._offers if not (offer.is_end and offer.task_id == task_id)]
            if task is None:
                self._others.tell([task_id])
            else:
                task.is_announced = True
                self._records.note(task.info, is_told=True)

    def offer(self) -> list[str]:
        """Return what the model has not been told: lines that were waited for, and ends.

        The same again next time, until :meth:`delivered` says that it was told, or a task is acknowledged.
        """
        for task in self._tasks.values():
            for watch in task.watches:
                lines, left_out = watch.drain()
                if lines:
                    text = lines_notice(task.info, watch.description, lines, left_out=left_out, goes_on=watch.is_active)
                    self._offers.append(Notice(task.id, text))
            task.watches = [watch for watch in task.watches if watch.is_active]
            if self._is_untold(task):
                task.is_announced = True
                text = completion_notice(task.info, task.log.newest(TAIL_BYTES).data)
                self._offers.append(Notice(task.id, text, is_end=True))
        for info in self._untold_of_others():
            text = completion_notice(info, self.read(info.id, None, TAIL_BYTES)[0].data)
            self._offers.append(Notice(info.id, text, is_end=True))
        return [offer.text for offer in self._offers]

    def delivered(self) -> None:
        """Take note that what was offered has been told."""
        offers, self._offers = self._offers, []
        # Of a monitor that ends with its line, that line says that it has ended.
        announced = {task.id for task in self._tasks.values() if task.is_announced}
        self.acknowledge(offer.task_id for offer in offers if offer.is_end or offer.task_id in announced)

    def notifications(self) -> list[str]:
        """Return what the model has not been told, and take it as told."""
        texts = self.offer()
        self.delivered()
        return texts

    @property
    def has_notifications(self) -> bool:
        """Whether there is something to tell."""
        ours = self._tasks.values()
        news = any(self._is_untold(task) or any(watch.lines for watch in task.watches) for task in ours)
        return bool(self._offers) or news or bool(self._untold_of_others())

    def _untold_of_others(self) -> list[TaskInfo]:
        offered = {offer.task_id for offer in self._offers if offer.is_end}
        return [info for info in self._others.untold() if info.id not in offered]

    def _is_untold(self, task: Task) -> bool:
        return self._endings[task.id].done() and not task.is_announced and not task.waiters

    def on_notification(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` on this loop whenever there is something new to tell; return what ends that."""
        self._listeners.append(listener)

        def remove() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return remove

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()

    def _seen(self, task: Task, watch: Watch) -> None:
        if watch.ends_task and not watch.is_active and task.status == "running":
            task.status, task.reason = "completed", "the line that was waited for came"
            task.is_announced = True  # the line's own notification says it
            self._stop(task)
        self._tell()

    def _stop(self, task: Task) -> None:
        """Have a task ended that has served its purpose; one that is just being started is ended by its entry."""
        if task.running is not None:
            stop = asyncio.ensure_future(task.running.stop())
            self._stops.add(stop)
            stop.add_done_callback(self._stops.discard)

    def _ended(self, task: Task) -> None:
        self._handles.pop(task.id, None)
        self._records.note(task.info)
        if not task.is_announced and not task.waiters:
            # Once the ending itself counts as done, or the listener would find nothing.
            asyncio.get_running_loop().call_soon(self._tell)


async def _until_end(task: Task, running: Running, ended: weakref.WeakMethod[Callable[[Task], None]]) -> None:
    """See a task to its end; it keeps the task alive, but not the registry."""
    completed: Completed | None = None
    trouble = ""
    try:
        completed = await running.wait()
    except Exception as error:  # noqa: BLE001 - the place was lost, say: the task has failed, which is all it says
        trouble = f"{type(error).__name__}: {error}"
    task.end(completed, trouble)
    if (tell := ended()) is not None:
        tell(task)


def _kill_all(handles: Mapping[str, Running]) -> None:
    """End commands at once, where the context can do that without a loop."""
    for running in list(handles.values()):
        kill = getattr(running, "kill", None)
        if callable(kill):
            kill()


def _last_number(folder: Path | None) -> int:
    """Return the highest number of a task that has left its log or record."""
    names: list[str] = []
    if folder is not None:
        with contextlib.suppress(OSError):
            names = [path.name for path in (folder / "tasks").iterdir()]
    return max((int(match[1]) for name in names if (match := _FILE_NAME.fullmatch(name))), default=0)
