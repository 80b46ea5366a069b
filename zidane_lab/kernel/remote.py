"""Run code in a kernel we do not live in, and return the same evidence as from our own.

Each piece of code is an ordinary execution of the kernel: it counts, and whoever else is connected sees it.
The evidence comes from functions shipped into the kernel (:mod:`zidane_lab.kernel.shipping`), so zidane_lab
need not be installed there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast
from uuid import uuid4

from zidane_lab.errors import KernelLostError, ToolError, ToolInputError
from zidane_lab.kernel.connection import Connection
from zidane_lab.kernel.execution import ErrorInfo, Execution, ExecutionStatus
from zidane_lab.kernel.inside.service import MIME
from zidane_lab.kernel.remote_outputs import NotebookOutput, OutputLog, error_of, outputs_of
from zidane_lab.kernel.shipping import bundle

__all__ = ["KernelFacts", "OnExecution", "RemoteExecutor"]

OnExecution: TypeAlias = Callable[[str, Execution, list[NotebookOutput], int | None], None]
"""Hears of each piece of code that ended: the code, the evidence, its outputs as in a notebook file (a later
piece may still update its displays in place), and its execution count."""

INTERRUPT_SECONDS: Final = 2.0
"""Time after which code that goes on after an interrupt gets another one."""

_STOPS: Final = frozenset({"KeyboardInterrupt", "CancelledError"})
"""What an interrupt raises, in ordinary and in asynchronous code."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What a kernel is, as a notebook file says it (``kernelspec`` and ``language_info``)."""

    name: str
    display_name: str
    language_info: Mapping[str, Any]


@dataclass(slots=True)
class _Piece:
    """One piece of code on its way: where it is, and whether and why it is to stop."""

    code: str
    phase: Literal["waiting", "running", "ended"] = "waiting"
    reason: Literal["interrupted", "timeout"] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    asking: asyncio.Task[Any] | None = None

    def interrupt(self, reason: Literal["interrupted", "timeout"]) -> None:
        self.reason = self.reason or reason
        self.stop.set()


class RemoteExecutor:
    """The executor of a kernel in another process; see :class:`~zidane_lab.kernel.execution.Executor`.

    Made by :func:`~zidane_lab.kernel.launch.start_kernel` and :func:`~zidane_lab.kernel.launch.join_kernel`.

    Parameters
    ----------
    connection
        The kernel.
    facts
        What it is.
    store_history
        Let the code count and appear in the kernel's history, as a cell does.
    on_execution
        Called after each piece of code, also after one that failed or took the kernel with it.
    kill
        Ends the kernel's process at once; ``None`` for a kernel that is not ours to end.

    Attributes
    ----------
    meanings
        Each name of the kernel's namespace and what it stands for (``{"sp": "subprocess"}``), as of the last
        :meth:`refresh`: code is judged by it before it runs.
    """

    def __init__(
        self,
        connection: Connection,
        facts: KernelFacts,
        *,
        store_history: bool = True,
        on_execution: OnExecution | None = None,
        kill: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.facts = facts
        self.kill = kill
        self._connection = connection
        self._store_history = store_history
        self._on_execution = on_execution
        self._token = uuid4().hex
        self._lock = asyncio.Lock()
        self._shipped = False
        self._displays: dict[str, list[NotebookOutput]] = {}
        self.meanings: Mapping[str, str] = {}

    @property
    def lost(self) -> KernelLostError | None:
        """Why the kernel is gone; ``None`` while it lives."""
        return self._connection.lost

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run code as a cell would; see :class:`~zidane_lab.kernel.execution.Executor`.

        Cancelled before the code was sent, it raises :class:`asyncio.CancelledError` and the code never runs.
        """
        piece = _Piece(code)
        run = asyncio.ensure_future(self._execute(piece, timeout))
        while not run.done():
            try:
                await asyncio.wait({run})
            except asyncio.CancelledError:
                if piece.phase == "waiting":
                    run.cancel()
                elif piece.phase == "running":
                    piece.interrupt("interrupted")
                elif piece.asking is not None:
                    piece.asking.cancel()  # only the question what the code did; it ended before
        return run.result()

    async def refresh(self) -> None:
        """Learn anew what the names of the kernel stand for; see :attr:`meanings`.

        Raises
        ------
        ToolError, KernelLostError
            The kernel cannot be looked into.
        """
        self.meanings = (await self._ask("names"))["meanings"]

    async def list_variables(self, *, pattern: str | None = None, limit: int = 200) -> Mapping[str, Any]:
        """Summaries of the user's variables; see :class:`~zidane_lab.kernel.execution.Executor`."""
        return await self._ask("variables", pattern, limit)

    async def inspect_variable(self, name: str, *, budget: int = 4000) -> str:
        """Describe one variable; see :class:`~zidane_lab.kernel.execution.Executor`."""
        answer = await self._ask("inspect", name, budget)
        if "missing" in answer:
            raise ToolInputError(str(answer["missing"]), hint="")
        return str(answer["text"])

    # --- one piece of code --------------------------------------------------------------------------

    async def _execute(self, piece: _Piece, limit: float | None) -> Execution:
        async with self._lock:
            warnings: list[str] = []
            try:
                # Its answer also says that the kernel is free: code that still waits can be taken back,
                # and an interrupt never hits somebody else's cell.
                await self._ask("before", self._token)
            except ToolError as error:
                warnings.append(f"What this code does to the variables is not known. {error.message}")
            piece.phase = "running"
            log = OutputLog(self._displays)
            loop, started = asyncio.get_running_loop(), time.monotonic()
            interrupter = asyncio.create_task(self._interrupt_when_asked(piece))
            timer = loop.call_later(limit, piece.interrupt, "timeout") if limit else None
            try:
                reply, complete = await self._connection.execute(
                    piece.code,
                    listener=log.add,
                    # In the same request, so that nobody's code comes between; skipped when the code fails.
                    expressions={} if warnings else {_ASKED: bundle().call("service.after", self._token, piece.code)},
                    store_history=self._store_history,
                )
            except KernelLostError as error:
                gone = ErrorInfo("KernelLostError", error.message, error.message)
                self._tell(Execution(piece.code, "error", outputs_of(log.finish()), gone), log)
                raise
            finally:
                piece.phase = "ended"
                if timer is not None:
                    timer.cancel()
                interrupter.cancel()
                await asyncio.wait({interrupter})
            seconds = time.monotonic() - started
            evidence: Mapping[str, Any] = {} if warnings else await self._evidence(piece, reply, warnings)
            outputs = log.finish(None if complete else "the end of the output did not arrive; some may be missing")
            status, error_info = _ending(piece, reply)
            execution = Execution(
                code=piece.code,
                status=status,
                outputs=outputs_of(outputs),
                error=error_info,
                warnings=tuple(warnings),
                created=tuple(evidence.get("created", ())),
                changed=tuple(evidence.get("changed", ())),
                deleted=tuple(evidence.get("deleted", ())),
                wall_seconds=seconds,
                cpu_seconds=evidence.get("cpu_seconds"),
                peak_memory=evidence.get("peak_memory"),
            )
            self._tell(execution, log)
            return execution

    async def _interrupt_when_asked(self, piece: _Piece) -> None:
        await piece.stop.wait()
        while True:
            with suppress(OSError, RuntimeError):  # no process to interrupt: that the kernel is gone is told elsewhere
                await self._connection.interrupt()
            await asyncio.sleep(INTERRUPT_SECONDS)

    async def _evidence(self, piece: _Piece, reply: Mapping[str, Any], warnings: list[str]) -> Mapping[str, Any]:
        """Return what the code did, from its own reply or, after an error, by another question."""
        try:
            if reply.get("status") == "ok":
                return _answer(reply)
            piece.asking = asyncio.ensure_future(self._ask("after", self._token, piece.code))
            await asyncio.wait({piece.asking})
            return cast("Mapping[str, Any]", piece.asking.result())
        except asyncio.CancelledError:
            warnings.append("What this code did to the variables is not known: the kernel was busy with other code.")
        except (ToolError, KernelLostError) as error:
            warnings.append(f"What this code did to the variables is not known. {error.message}")
        return {}

    def _tell(self, execution: Execution, log: OutputLog) -> None:
        if self._on_execution is not None:
            self._on_execution(execution.code, execution, log.outputs, log.execution_count)

    # --- questions ----------------------------------------------------------------------------------

    async def _ask(self, function: str, *arguments: object) -> Mapping[str, Any]:
        """Call a function shipped into the kernel, shipping it first if need be.

        Raises
        ------
        ToolError
            It failed over there.
        KernelLostError
            The kernel died.
        """
        shipped = bundle()
        call = shipped.call(f"service.{function}", *arguments)
        if self._shipped:
            reply = await self._evaluate(call)
            # A KeyError at this place: the package is not there (any more).
            if _problem(reply) != "KeyError":
                return _answer(reply)
        reply = await self._evaluate(shipped.install)
        if (problem := _problem(reply)) is not None:
            raise ToolError(
                f"The kernel cannot be looked into: {problem}.", hint="Look at the variables by running code."
            )
        self._shipped = True
        return _answer(await self._evaluate(call))

    async def _evaluate(self, expression: str) -> Mapping[str, Any]:
        reply, _ = await self._connection.execute("", silent=True, expressions={_ASKED: expression})
        return reply


_ASKED: Final = "zidane"
"""Name of the one user expression of a request."""


def _item(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    item = reply.get("user_expressions", {}).get(_ASKED)
    return item if isinstance(item, Mapping) else {"ename": "the kernel evaluates no expressions"}


def _problem(reply: Mapping[str, Any]) -> str | None:
    """Name what an evaluation raised, or return ``None``."""
    item = _item(reply)
    return None if item.get("status") == "ok" else str(item.get("ename", "unknown"))


def _answer(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer in a reply.

    Raises
    ------
    ToolError
        There is none.
    """
    item = _item(reply)
    answer = item.get("data", {}).get(MIME)
    if isinstance(answer, Mapping):
        return answer
    what = f"{item.get('ename', 'no answer')}: {item.get('evalue', '')}".rstrip(": ")
    raise ToolError(f"The kernel cannot be looked into: {what}.", hint="Look at the variables by running code.")


def _ending(piece: _Piece, reply: Mapping[str, Any]) -> tuple[ExecutionStatus, ErrorInfo | None]:
    """Return how a piece of code ended, and its error."""
    if reply.get("status") == "ok":
        return "ok", None
    name = str(reply.get("ename", "Error"))
    error = error_of(name, str(reply.get("evalue", "")), map(str, reply.get("traceback", ())))
    if name in _STOPS and piece.reason is not None:
        status: ExecutionStatus = piece.reason
    elif name == "KeyboardInterrupt":
        status = "interrupted"  # by somebody else who is connected, or from outside
    else:
        return "error", error
    return status, ErrorInfo("KeyboardInterrupt", "the code was interrupted", error.traceback)
