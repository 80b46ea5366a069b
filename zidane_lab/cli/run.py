"""``jupyter zidane run``: one prompt, no person needed, in a kernel of its own or one that runs.

The same agent as in a notebook, with the same tools, approvals and sessions. It ends with an exit code for
scripts (:data:`EXIT_CODES`), a report or a stream of events on standard output and, if wanted, a notebook.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

from zidane_lab import __version__
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.agent.result import RunResult
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.place import Place
from zidane_lab.cli.asking import terminal_front
from zidane_lab.cli.data import DataFile, name_files, prompt_with
from zidane_lab.cli.notebook_writer import Recorder, compose, write_notebook
from zidane_lab.cli.output import EventLines, Pipe, Progress, Refusals
from zidane_lab.errors import (
    AbortedError,
    AuthError,
    BudgetExceededError,
    ConfigurationError,
    ZidaneError,
)
from zidane_lab.events import ToolGate, TurnBefore
from zidane_lab.kernel.launch import NATIVE, join_kernel, start_kernel
from zidane_lab.kernel.masked import masked_listener
from zidane_lab.kernel.remote import OnExecution, RemoteExecutor

__all__ = ["EXIT_CODES", "RunRequest", "run"]

EXIT_CODES: Final = {
    0: "completed; refused calls are told on standard error and do not fail the run (see --strict)",
    1: "the run failed: the model's service, the session's file or the notebook, or the kernel was lost",
    2: "it could not begin: wrong usage, configuration, a missing key, or data that cannot be loaded",
    3: "a limit on turns, tokens, money or time was reached",
    4: "with --strict: completed, but a call was refused",
    130: "interrupted (SIGINT); a run that is stopped by another signal ends with 128 + its number, so 143 for SIGTERM",
}
"""What each exit code means."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the command line asks for; paths are absolute."""

    prompt: str
    options: AskOptions
    cwd: Path
    data: tuple[Path, ...] = ()
    kernel: str = NATIVE
    existing: str | None = None
    output: Path | None = None
    as_json: bool = False
    quiet: bool = False
    keep_failed: bool = False
    strict: bool = False


def run(request: RunRequest) -> int:
    """Do what is asked and return the exit code."""
    # The agent's file tools, the session and the kernel all mean this folder by ".".
    os.chdir(request.cwd)
    return asyncio.run(_Headless(request).run())


@dataclass(slots=True)
class _KernelWatch:
    """Keeps the run true to its kernel.

    Code is judged by what the names mean at that moment; where that cannot be learnt, this handler fails and
    the gate stays shut. And when the kernel is gone, the run ends before another turn is paid for.
    """

    executor: RemoteExecutor

    def install(self, hooks: HookBus) -> Uninstall:
        off = [hooks.on(ToolGate, self._gate), hooks.on(TurnBefore, self._before)]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    async def _gate(self, event: ToolGate) -> None:
        if event.tool == "run_python":
            await self.executor.refresh()

    def _before(self, _event: TurnBefore) -> None:
        if self.executor.lost is not None:
            raise AbortedError("The kernel is gone.")


@dataclass(slots=True)
class _Headless:
    """One run, from the request to the exit code."""

    request: RunRequest
    out: Pipe = field(default_factory=lambda: Pipe(sys.stdout))
    err: Pipe = field(default_factory=lambda: Pipe(sys.stderr))
    recorder: Recorder = field(default_factory=Recorder)
    refusals: Refusals = field(default_factory=Refusals)
    chat: Chat = field(init=False)
    executor: RemoteExecutor | None = None
    result: RunResult | None = None
    failure: BaseException | None = None
    signal: int | None = None
    task: asyncio.Task[None] | None = None
    keep_failed: bool = False
    killing: asyncio.Future[None] | None = None

    async def run(self) -> int:
        request = self.request
        self.keep_failed = request.keep_failed
        output = request.output
        place = (
            Place(None, request.cwd, "the working folder")
            if output is None
            else Place(output, output.parent, "named by --output")
        )
        self.chat = Chat(place)
        for problem in self.chat.settings.problems:
            self.err.line(f"warning: a setting cannot be read: {problem}")
        self._listen()
        self.task = asyncio.ensure_future(self._work())
        await asyncio.wait({self.task})
        self.failure = asyncio.CancelledError() if self.task.cancelled() else self.task.exception()
        return await self._finish()

    # --- the work -----------------------------------------------------------------------------------

    async def _work(self) -> None:
        request = self.request
        if request.output is not None and not os.access(request.output.parent, os.W_OK):
            raise ConfigurationError(f"{request.output.parent} cannot be written to.", hint="Choose another --output.")
        self._files(())  # complains before a kernel is started for nothing
        async with self._kernel() as executor:
            self.executor = executor
            taken: list[str] = []
            if request.existing and request.data:
                listed = await executor.list_variables(limit=100_000)
                taken = [variable["name"] for variable in listed["variables"]]
            files = self._files(taken)
            await self._load(executor, files)
            await executor.refresh()  # whose variables these are is settled when the run begins
            speaker = [EventLines(self.out)] if request.as_json else []
            progress = [] if request.quiet else [Progress(self.err)]
            self.result = await self.chat.ask(
                prompt_with(request.prompt, files),
                request.options,
                executor=executor,
                front=terminal_front(self.chat.settings.interaction, self.err),
                bundles=[_KernelWatch(executor), self.recorder, self.refusals, *speaker, *progress],
            )

    def _kernel(self) -> AbstractAsyncContextManager[RemoteExecutor]:
        request, screen = self.request, self.chat.screen
        on_execution: OnExecution = self.recorder.on_execution
        if screen is not None:
            on_execution = masked_listener(on_execution, screen)
        if request.existing is not None:
            self._say(f"joining the kernel of {request.existing}")
            return join_kernel(request.existing, on_execution=on_execution)
        self._say(f"starting the kernel {request.kernel} in {request.cwd}")
        return start_kernel(request.kernel, cwd=request.cwd, on_execution=on_execution)

    def _files(self, taken: tuple[str, ...] | list[str]) -> tuple[DataFile, ...]:
        request = self.request
        # Relative paths hold only where the notebook will run again: in its own folder, as this kernel does.
        home = request.cwd if request.output is None else request.output.parent
        relative = request.existing is None and home == request.cwd
        return name_files(request.data, folder=home if relative else None, taken=taken)

    async def _load(self, executor: RemoteExecutor, files: tuple[DataFile, ...]) -> None:
        for file in files:
            self._say(f"loading {file.path.name} as {file.name}")
            execution = await executor.execute(file.code)
            if self.signal is not None:
                raise asyncio.CancelledError
            if execution.error is not None:
                self.keep_failed = True  # the one cell that says what went wrong
                raise ConfigurationError(
                    f"{file.path} cannot be loaded: {execution.error.name}: {execution.error.message}.",
                    hint="Check the file, or load it by a step in the prompt.",
                )

    # --- signals ------------------------------------------------------------------------------------

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                loop.add_signal_handler(number, self._stop, number)
            except NotImplementedError:  # Windows

                def handle(caught: int, _frame: FrameType | None) -> None:
                    loop.call_soon_threadsafe(self._stop, caught)

                signal.signal(number, handle)

    def _stop(self, number: int) -> None:
        """Stop cleanly; asked once more, end the kernel so that nothing can hold the stop up."""
        first, self.signal = self.signal is None, self.signal or number
        if self.task is None or self.task.done():
            return
        if not first:
            if self.executor is not None and self.executor.kill is not None:
                self._say("ending the kernel")
                self.killing = asyncio.ensure_future(self.executor.kill())
            return
        self._say("stopping; what is done is kept")
        agent = self.chat.agent
        if agent is None or not agent.abort():
            self.task.cancel()

    # --- the end ------------------------------------------------------------------------------------

    async def _finish(self) -> int:
        if self.result is None:
            self.result = getattr(self.failure, "result", None)
        lost = self.executor.lost if self.executor is not None else None
        if lost is not None and self.signal is None:
            self.failure = lost
        session = self.chat.session
        turns, path = session.turns, session.path
        code = self._code()
        try:
            written = self._write(turns)
        except OSError as error:
            written, code = None, code or 1
            self.err.text(f"The notebook cannot be written: {error}.")
        try:
            await self.chat.close()
        except ZidaneError as error:
            code = code or 1
            self.err.text(str(error))
        self._report(code, path if turns else None, written)
        return code

    def _code(self) -> int:
        if self.signal is not None:
            return 128 + self.signal
        match self.failure:
            case None:
                if self.result is not None and self.result.status == "aborted":
                    return 1
                return 4 if self.request.strict and self.refusals.calls else 0
            case BudgetExceededError():
                return 3
            case ConfigurationError() | AuthError():
                return 2
            case _:
                return 1

    def _write(self, turns: Any) -> Path | None:
        """Write the notebook if there is anything to tell: a failed start must not replace an older one."""
        output = self.request.output
        if output is None or not (turns or self.recorder.pieces):
            return None
        provenance = {
            "version": __version__,
            "model": self.result.model if self.result is not None else "",
            "session": self.chat.session.id,
            "status": self._status(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        facts = self.executor.facts if self.executor is not None else None
        screen = self.chat.screen
        prompt = self.request.prompt if screen is None else screen.text(self.request.prompt)
        notebook = compose(prompt, turns, self.recorder.pieces, facts, provenance, keep_failed=self.keep_failed)
        write_notebook(notebook, output)
        return output

    def _status(self) -> str:
        if self.signal is not None:
            return "aborted"
        return "error" if self.failure is not None or self.result is None else self.result.status

    def _report(self, code: int, session: Path | None, written: Path | None) -> None:
        result, failure, status = self.result, self.failure, self._status()
        stopped = self.signal is not None
        if failure is not None and not stopped:
            if isinstance(failure, ZidaneError):
                self.err.text(f"{failure.message} {failure.hint}".strip())
            else:
                self.err.text("".join(traceback.format_exception(failure)))
        if result is not None and result.stopped_because and not stopped:
            self.err.text(f"stopped: {result.stopped_because}")
        for call in self.refusals.calls:
            self.err.text(f"refused: {call['tool']}: {call['reason']}")
        if self.request.as_json:
            final: dict[str, Any] = {
                "event": "result",
                "status": status,
                "exit_code": code,
                "text": result.text if result is not None else "",
                "finish": result.finish if result is not None else None,
                "model": result.model if result is not None else None,
                "usage": {k: v for k, v in asdict(result.usage).items() if v is not None}
                if result is not None
                else None,
                "seconds": result.seconds if result is not None else None,
                "refused": self.refusals.calls,
                "session": str(session) if session is not None else None,
                "output": str(written) if written is not None else None,
                "error": None if stopped else self._why(),
                "error_code": getattr(failure, "code", None) if not stopped else None,
            }
            self.out.json(final)
        elif status == "completed" and result is not None:
            self.out.text(result.text)
        if written is not None:
            self._say(f"notebook: {written}")
        if session is not None:
            self._say(f"session: {session}")

    def _why(self) -> str | None:
        """Return why it did not end well: the failure, or what a guard or a tool said that stopped it."""
        if self.failure is not None:
            return str(self.failure)
        return self.result.stopped_because or None if self.result is not None else None

    def _say(self, text: str) -> None:
        if not self.request.quiet:
            self.err.text(text)
