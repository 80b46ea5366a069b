"""Run code in the kernel we live in: in the user's namespace, on the main thread, one piece at a time."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from zidane_lab.errors import ConfigurationError, ToolInputError
from zidane_lab.kernel.capture import capture
from zidane_lab.kernel.execution import ErrorInfo, Execution, ExecutionStatus
from zidane_lab.kernel.inside import listing
from zidane_lab.kernel.inside.meter import Meter
from zidane_lab.kernel.inside.namespace import compare, snapshot
from zidane_lab.kernel.interrupts import Guard
from zidane_lab.kernel.portal import Portal
from zidane_lab.kernel.traceback import error_info

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen

__all__ = ["CellTraffic", "LiveExecutor"]


T = TypeVar("T")


class CellTraffic:
    """Knows whether one of the user's own cells is running, so that background code keeps out of it.

    Asynchronous cells leave the main loop free while they wait; without this, code of a background run
    would slip into the middle of one. The other way round the user's cells come first: one that starts while
    the agent's code waits runs at once, and what it sends and makes is its own.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._free = asyncio.Event()
        self._free.set()
        self.lock = asyncio.Lock()
        self._between = 0
        self._before: frozenset[str] = frozenset()
        self.made_between: set[str] = set()
        shell.events.register("pre_run_cell", self._starts)
        shell.events.register("post_run_cell", self._ends)

    def _starts(self, *_: object) -> None:
        if not _OURS.get():
            self._free.clear()
            self._between += 1
            self._before = frozenset(self._shell.user_ns)

    def _ends(self, *_: object) -> None:
        if not _OURS.get():
            self._free.set()
            self._between = max(0, self._between - 1)
            self.made_between |= set(self._shell.user_ns) - self._before

    def begin(self) -> None:
        """Say that a piece of the agent's code begins: from now on the user's cells come in between."""
        self._between = 0
        self.made_between = set()

    def is_ours(self) -> bool:
        """Whether what is sent out at this moment comes from the agent's code.

        Threads do not carry the mark; what they send is taken for the agent's unless a cell of the user's runs.
        """
        return _OURS.get() or self._between == 0

    def cell_is_running(self) -> None:
        """Say that a cell is running now (the one that created this object, say)."""
        self._free.clear()

    async def clear(self) -> None:
        """Wait until no cell of the user's is running."""
        await self._free.wait()


_OURS: ContextVar[bool] = ContextVar("zidane_lab_cell", default=False)
"""Set while a piece of the agent's code runs: its cell events are not the user's."""

_TRAFFIC: WeakKeyDictionary[Any, CellTraffic] = WeakKeyDictionary()


def traffic_of(shell: Any) -> CellTraffic:
    """Return the one :class:`CellTraffic` of a shell."""
    if shell not in _TRAFFIC:
        _TRAFFIC[shell] = CellTraffic(shell)
    return _TRAFFIC[shell]


class LiveExecutor:
    """The executor of the kernel (or terminal, or embedded shell) we live in.

    Parameters
    ----------
    shell
        The IPython shell; the running one if left out.
    portal
        The way onto the main thread. Without one, code runs on the loop that calls, which must then be on
        the main thread for interrupts to work.
    parent
        Message header of the cell that outputs belong to.
    background
        Wait for a moment when none of the user's cells is running before each piece of code.
    on_interrupt
        Called when a person interrupts the code (not when the agent does); it must return at once.

    Attributes
    ----------
    screen
        What keeps credentials out of what the code shows and of its evidence; ``None`` lets everything through.
    """

    def __init__(
        self,
        shell: Any = None,
        *,
        portal: Portal | None = None,
        parent: Mapping[str, Any] | None = None,
        background: bool = False,
        on_interrupt: Callable[[], None] | None = None,
    ) -> None:
        if shell is None:
            from IPython.core.getipython import get_ipython

            shell = get_ipython()
        if shell is None:
            raise ConfigurationError(
                "There is no IPython shell to run code in.",
                hint="Use zidane_lab.ask(...) in a script: it brings a shell of its own.",
            )
        self.shell = shell
        self._portal = portal
        self._parent = parent
        self._background = background
        self._on_interrupt = on_interrupt
        self.screen: Screen | None = None

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables, live."""
        names: dict[str, Any] = self.shell.user_ns
        return names

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run code as a cell would; see :class:`~zidane_lab.kernel.execution.Executor`."""
        guard = Guard(self.namespace, self._on_interrupt)
        run = asyncio.ensure_future(self._on_main(lambda: self._execute(code, timeout, guard)))
        stopped = False
        while not run.done():
            try:
                # The code ends first, then the stop goes on: never leave it running on its own. Code that
                # shrugs off an interrupt gets another one every two seconds.
                await asyncio.wait({run}, timeout=2.0 if stopped else None)
            except asyncio.CancelledError:
                stopped = True
            if stopped and not run.done():
                guard.interrupt("cancel")
        return run.result()

    async def list_variables(self, *, pattern: str | None = None, limit: int = 200) -> Mapping[str, Any]:
        """Summaries of the user's variables; see :class:`~zidane_lab.kernel.execution.Executor`."""

        async def look() -> Mapping[str, Any]:
            hidden = frozenset(getattr(self.shell, "user_ns_hidden", ()))
            return listing.list_variables(self.namespace, pattern=pattern, limit=limit, hidden=hidden)

        return await self._on_main(look)

    async def inspect_variable(self, name: str, *, budget: int = 4000) -> str:
        """Describe one variable; see :class:`~zidane_lab.kernel.execution.Executor`."""

        async def look() -> str:
            try:
                return listing.inspect(self.namespace, name, budget)
            except LookupError as error:
                raise ToolInputError(str(error.args[0]), hint="") from error

        return await self._on_main(look)

    async def _on_main(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await (self._portal.call(function) if self._portal is not None else function())

    async def _execute(self, code: str, timeout: float | None, guard: Guard) -> Execution:
        traffic = traffic_of(self.shell)
        try:
            with guard.waiting():
                await traffic.lock.acquire()
        except asyncio.CancelledError:
            return Execution(code, "interrupted")
        try:
            if self._background:
                with guard.waiting():
                    await traffic.clear()
            timer = threading.Timer(timeout, guard.interrupt, ["timeout"]) if timeout else None
            try:
                with _sent_to(self.shell.display_pub, self._parent):
                    return await self._run(code, guard, timer)
            finally:
                if timer is not None:
                    timer.cancel()
        except asyncio.CancelledError:  # stopped while it waited for the user's cell to end: it never ran
            return Execution(code, "interrupted")
        finally:
            traffic.lock.release()

    async def _run(self, code: str, guard: Guard, timer: threading.Timer | None) -> Execution:
        shell = self.shell
        quiet = code.rstrip().endswith(";")
        traffic = traffic_of(shell)
        traffic.begin()
        before, meter = snapshot(self.namespace), Meter()
        failure: BaseException | None = None
        with capture(shell, quiet=quiet, ours=traffic.is_ours, screen=self.screen) as record:
            task = asyncio.ensure_future(_cell(shell, code))
            with guard.around(task):
                if timer is not None:
                    timer.daemon = True
                    timer.start()
                meter.start()
                await asyncio.wait({task})
            failure = asyncio.CancelledError() if task.cancelled() else task.result()
            reading = meter.stop()
            # Tracebacks shown without an end of the code: of a failing repr, of a cell run within.
            for text in record.tracebacks if failure is None else record.tracebacks[:-1]:
                sys.stderr.write(f"{text}\n")
        changes = compare(before, self.namespace, code)
        status = _status(failure, guard)
        execution = Execution(
            code=code,
            status=status,
            outputs=record.outputs(),
            error=_error(failure, status) if failure is not None else None,
            warnings=tuple(record.warnings),
            created=tuple(name for name in changes.created if name not in traffic.made_between),
            changed=tuple(changes.changed),
            deleted=tuple(changes.deleted),
            wall_seconds=reading.wall_seconds,
            cpu_seconds=reading.cpu_seconds,
            peak_memory=reading.peak_memory,
        )
        if self.screen is None:
            return execution
        from zidane_lab.kernel.masked import mask_execution

        return mask_execution(execution, self.screen)


async def _cell(shell: Any, code: str) -> BaseException | None:
    """Run one cell and return what it raised; nothing escapes, or the kernel's loop would end."""
    _OURS.set(True)
    last_result, last_ok = getattr(shell, "last_execution_result", None), shell.last_execution_succeeded
    result = None
    try:
        transformed, problem = code, None
        try:
            transformed = shell.transform_cell(code)
        except Exception:  # noqa: BLE001 - IPython reports whatever a transformer raised as the cell's error
            problem = sys.exc_info()
        result = await shell.run_cell_async(
            code, store_history=False, transformed_cell=transformed, preprocessing_exc_tuple=problem
        )
    except BaseException as error:  # noqa: BLE001 - an exception whose own text raises gets past IPython's guard
        return error
    finally:
        # Figures are drawn by these; without them they would appear at the end of the surrounding cell.
        shell.events.trigger("post_execute")
        if result is not None:
            shell.events.trigger("post_run_cell", result)
        shell.last_execution_result, shell.last_execution_succeeded = last_result, last_ok
    raised: BaseException | None = result.error_before_exec or result.error_in_exec
    return raised


def _status(failure: BaseException | None, guard: Guard) -> ExecutionStatus:
    """Say how the code ended; an interrupt counts as one also when the code dealt with it and went on."""
    if guard.reason is not None:
        return "timeout" if guard.reason == "timeout" else "interrupted"
    return "ok" if failure is None else "error"


def _error(failure: BaseException, status: ExecutionStatus) -> ErrorInfo:
    info = error_info(failure)
    if status in ("interrupted", "timeout") and isinstance(failure, (KeyboardInterrupt, asyncio.CancelledError)):
        return ErrorInfo("KeyboardInterrupt", "the code was interrupted", info.traceback)
    return info


@contextmanager
def _sent_to(publisher: Any, parent: Mapping[str, Any] | None) -> Iterator[None]:
    """Send displays to the cell whose message header is ``parent``, where the kernel does not by itself.

    ipykernel 7 finds it in context variables, which the portal keeps. Version 6 has one current cell for the
    whole process, so it is set for the time of the code and put back.
    """
    declared = inspect.getattr_static(type(publisher), "parent_header", None)
    if not parent or declared is None or isinstance(declared, property):
        yield
        return
    former = publisher.parent_header
    publisher.parent_header = dict(parent)
    try:
        yield
    finally:
        publisher.parent_header = former
