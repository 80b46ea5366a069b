"""Background tasks of a session: start, look, wait, cancel, and each end told exactly once.

Tasks live as long as the kernel, at most: they end with :meth:`TaskRegistry.aclose`, when the registry is let go of,
and with the kernel (:mod:`zidane_lab.contexts.owned`). Their logs stay in the session's ``tasks/`` folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import weakref
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.contexts import owned
from zidane_lab.contexts.base import Command, Completed, ExecutionContext, OnOutput, Running
from zidane_lab.contexts.bounded_log import LOG_BYTES, MEMORY_BYTES, BoundedLog, Piece, in_memory, in_session_folder
from zidane_lab.contexts.task import Task, TaskInfo, TaskKind, Watch
from zidane_lab.contexts.task_notices import TAIL_BYTES, completion_notice, lines_notice
from zidane_lab.errors import ToolError

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen

__all__ = ["MAX_RUNNING", "TaskRegistry"]

MAX_RUNNING: Final = 15
MOST_FINISHED: Final = 100
"""Tasks that have ended and are still known; the logs of all stay."""

_LOG_NAME: Final = re.compile(r"task-(\d{1,9})\.log", re.ASCII)


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
        running = [task.id for task in self._tasks.values() if task.status == "running"]
        if len(running) + self._starting >= self._max_running:
            raise ToolError(
                f"{len(running)} background tasks run already: {', '.join(running)}.",
                hint="Wait for one with wait_task, or end one with cancel_task.",
            )

    def _make(self, command: Command, kind: TaskKind, label: str) -> Task:
        self.check_room()
        folder = self._folder()
        self._last = max(self._last, _last_number(folder)) + 1
        name = f"task-{self._last}"
        if folder is None:
            log, path = BoundedLog(in_memory, limit=min(self._log_bytes, MEMORY_BYTES)), None
        else:
            log = BoundedLog(in_session_folder(folder, f"{name}.log"), limit=self._log_bytes)
            path = folder / "tasks" / f"{name}.log"
        seen = weakref.WeakMethod(self._seen)

        def on_line(task: Task, watch: Watch) -> None:
            if (tell := seen()) is not None:
                tell(task, watch)

        label, text = label or command.text, command.text
        if self.screen is not None:
            label, text = self.screen.text(label), self.screen.text(text)
        return Task(name, kind, label, text, command.cwd, log=log, path=path, on_line=on_line, screen=self.screen)

    def _enter(self, task: Task, running: Running) -> None:
        task.running = running
        if running.id.isdigit():
            owned.describe(int(running.id), role="monitor" if task.kind == "monitor" else "task", label=task.label)
        self._tasks[task.id], self._handles[task.id] = task, running
        self._endings[task.id] = asyncio.ensure_future(_until_end(task, running, weakref.WeakMethod(self._ended)))
        if task.status != "running":
            self._stop(task)
        finished = [each.id for each in self._tasks.values() if each.status != "running" and each.is_announced]
        for old in finished[: max(0, len(finished) - MOST_FINISHED)]:
            del self._tasks[old], self._endings[old]

    # --- looking ------------------------------------------------------------------------------

    def tasks(self) -> tuple[TaskInfo, ...]:
        """Return how all tasks stand, oldest first."""
        return tuple(task.info for task in self._tasks.values())

    def get(self, task_id: str) -> TaskInfo:
        """Return how a task stands.

        Raises
        ------
        ToolError
            There is none of this name; the message has those there are.
        """
        return self._task(task_id).info

    def _task(self, task_id: str) -> Task:
        task = self._tasks.get(task_id)
        if task is None:
            known = ", ".join(self._tasks) or "none"
            raise ToolError(f"There is no task {task_id!r} in this kernel.", hint=f"Tasks: {known}.")
        return task

    def read(self, task_id: str, start: int | None, size: int) -> tuple[Piece, int, TaskInfo | None]:
        """Return a piece of a task's output (its end, without a start), how long the whole is, and how it stands.

        The log of a task of an earlier kernel is still read; how that one stands nobody knows.

        Raises
        ------
        ToolError
            There is no such task, nor a log of its name.
        """
        earlier = self._earlier_log(task_id) if task_id not in self._tasks else None
        if earlier is not None:
            try:
                total = earlier.stat().st_size
                begin = max(0, total - size) if start is None else min(max(0, start), total)
                with earlier.open("rb") as file:
                    file.seek(begin)
                    data = file.read(size)
            except OSError as error:
                raise ToolError(
                    f"The log of {task_id} cannot be read: {error}.", hint="Run the command again."
                ) from error
            return Piece(data, begin, begin + len(data)), total, None
        task = self._task(task_id)
        piece = task.log.newest(size) if start is None else task.log.read(start, size)
        return piece, task.log.total, task.info

    def _earlier_log(self, task_id: str) -> Path | None:
        folder = self._folder()
        if folder is None or not _LOG_NAME.fullmatch(f"{task_id}.log"):
            return None
        path = folder / "tasks" / f"{task_id}.log"
        return path if path.is_file() and not path.is_symlink() and not path.parent.is_symlink() else None

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
        tasks = (
            [self._task(task_id) for task_id in task_ids]
            if task_ids is not None
            else [task for task in self._tasks.values() if task.status == "running" or not task.is_announced]
        )
        for task in tasks:
            task.waiters += 1
        try:
            if tasks and all(task.status == "running" for task in tasks):
                endings = {self._endings[task.id] for task in tasks}
                await asyncio.wait(endings, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.waiters -= 1
        self.acknowledge(task.id for task in tasks)
        return tuple(task.info for task in tasks)

    async def cancel(self, task_id: str, *, reason: str = "cancelled") -> TaskInfo:
        """End a task with everything it started; of one that has ended, what it left running.

        Raises
        ------
        ToolError
            There is none of this name.
        """
        task = self._task(task_id)
        if task.status == "running":
            task.status, task.reason = "cancelled", reason  # first: whatever it does now, it was cancelled
        if task.running is not None:
            await task.running.stop()
        await asyncio.wait({self._endings[task_id]})
        self.acknowledge([task_id])
        return task.info

    async def aclose(self) -> None:
        """End all tasks; nobody is told."""
        for task in self._tasks.values():
            task.is_announced = True
        await asyncio.gather(*(self.cancel(name, reason="the session was closed") for name in list(self._tasks)))

    # --- telling ------------------------------------------------------------------------------

    def watch(self, task_id: str, watch: Watch) -> TaskInfo:
        """Watch the lines of a task that runs.

        Raises
        ------
        ToolError
            There is none of this name, or it has ended.
        """
        task = self._task(task_id)
        if task.status != "running":
            raise ToolError(f"{task_id} {task.info.summary}.", hint="Read its output with read_task_output.")
        task.watches.append(watch)
        return task.info

    def acknowledge(self, task_ids: Collection[str] | Any) -> None:
        """Take note that the model knows how these tasks stand: the end of one that has ended is not told any more."""
        for task_id in task_ids:
            task = self._tasks.get(task_id)
            if task is not None and task.status != "running":
                task.is_announced = True

    def notifications(self) -> list[str]:
        """Return what the model has not been told, each exactly once: lines that were waited for, and ends."""
        notices = []
        for task in self._tasks.values():
            for watch in task.watches:
                lines, left_out = watch.drain()
                if lines:
                    goes_on = watch.is_active
                    notices.append(
                        lines_notice(task.info, watch.description, lines, left_out=left_out, goes_on=goes_on)
                    )
            task.watches = [watch for watch in task.watches if watch.is_active]
            if self._is_untold(task):
                task.is_announced = True
                notices.append(completion_notice(task.info, task.log.newest(TAIL_BYTES).data))
        return notices

    @property
    def has_notifications(self) -> bool:
        """Whether there is something to tell."""
        return any(self._is_untold(task) or any(watch.lines for watch in task.watches) for task in self._tasks.values())

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
    """Return the highest number of a task whose log is there already."""
    names: list[str] = []
    if folder is not None:
        with contextlib.suppress(OSError):
            names = [path.name for path in (folder / "tasks").iterdir()]
    return max((int(match[1]) for name in names if (match := _LOG_NAME.fullmatch(name))), default=0)
