"""Running one command for the model: live for the person, evidence in the end, whichever way it ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zidane_lab.contexts.base import Command, Completed, ExecutionContext, OnOutput, OutputStream, Running
from zidane_lab.contexts.launching import LONGEST_ARGUMENT
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import SessionError, ToolError
from zidane_lab.tools.base import OutputStore, ToolContext, ToolOutput
from zidane_lab.tools.live_output import LiveOutput
from zidane_lab.tools.minimise import minimise
from zidane_lab.tools.shell_output import ShellOutput
from zidane_lab.tools.truncate import fit
from zidane_lab.turns import TextBlock

__all__ = ["SHELL", "Foreground", "start_error", "task_output"]

SHELL: Final = "shell"
"""Key of the metadata of a command's result: how it was run and how it ended."""

_CODES: Final = {
    126: "it cannot be executed",
    127: "there is no such command",
    137: "128 + SIGKILL, perhaps for want of memory",
}


@dataclass(slots=True)
class Foreground:
    """One command in the foreground.

    Parameters
    ----------
    place
        Where it runs.
    command
        What runs.
    label
        What it is for, for a task it may become.
    tasks
        Where it goes when it is moved to the background.
    background_after
        Seconds after which it is, but a second before its time limit; ``None`` for never.
    nudge_after
        Seconds after which the person is told that it still runs, and again each time that has doubled.
    shorten
        Whether noise of well-known programs is left out of what the model gets.
    """

    place: ExecutionContext
    command: Command
    label: str = ""
    tasks: TaskRegistry | None = None
    background_after: float | None = None
    nudge_after: float = 60.0
    shorten: bool = True
    notes: list[str] = field(default_factory=list)
    _sink: OnOutput | None = None
    _task: str = ""

    async def run(self, context: ToolContext) -> ToolOutput:
        """Run it to its end, or until it is moved to the background.

        A cancellation ends it with everything it started; what it had printed is returned all the same.

        Raises
        ------
        ToolError
            It could not be started, or the place was lost before there was any output.
        """
        live, output = LiveOutput(context.progress), ShellOutput()

        async def take(stream: OutputStream, data: bytes) -> None:
            if self._sink is not None:
                await self._sink(stream, data)
                return
            live.take(stream, data)
            output.take(stream, data)

        try:
            running = await self.place.start(self.command, take)
        except OSError as error:
            raise start_error(self.command, error) from error
        try:
            completed, ending = await self._watch(context, running, output)
            live.close()
            if completed is None and not ending:
                return self._moved(output)
            text = await asyncio.to_thread(output.finish)
        finally:
            live.close()
            output.discard()
        return await asyncio.to_thread(self._describe, context, text, completed, ending, output.raw_bytes)

    async def _watch(self, context: ToolContext, running: Running, output: ShellOutput) -> tuple[Completed | None, str]:
        """Return how the command ended, or else what happened to it; neither when it goes on in the background."""
        try:
            async with _nudging(context, self.nudge_after):
                return await self._end_of(running, output), ""
        except asyncio.CancelledError:
            stopped = await running.stop()
            return None, f"stopped after {stopped.seconds:.2f} s; it and everything it started were ended"
        except ToolError as error:  # the place is gone
            return None, f"lost: {error}"

    async def _end_of(self, running: Running, output: ShellOutput) -> Completed | None:
        """Wait for the end; ``None`` when it has taken so long that it has gone to the background."""
        patience = self._patience
        if self.tasks is None or patience is None:
            return await running.wait()
        waiting = asyncio.ensure_future(running.wait())
        try:
            done, _ = await asyncio.wait({waiting}, timeout=patience)
            if not done:
                try:
                    self._task, self._sink = self.tasks.adopt(
                        running, self.command, label=self.label, earlier=output.so_far()
                    )
                except ToolError:  # there are as many as there may be: it stays here, then
                    return await waiting
            return waiting.result() if done else None
        finally:
            waiting.cancel()  # the waiting, not the command

    @property
    def _patience(self) -> float | None:
        """Seconds in the foreground. With a limit of a second or less there is nothing to gain in the background."""
        if self.background_after is None or self.command.timeout is None:
            return self.background_after
        spare = self.command.timeout - 1.0
        return min(self.background_after, spare) if spare > 0 else None

    def _moved(self, output: ShellOutput) -> ToolOutput:
        assert self.tasks is not None
        assert self._patience is not None
        shown = ShellOutput()
        shown.take("stdout", output.so_far()[-2_000:])
        begun = shown.finish()
        text = f"[still running after {self._patience:.0f} s, so it goes on in the background as {self._task}]"
        return task_output(self._task, self.tasks, "\n".join(part for part in (begun, text, *self._brackets()) if part))

    def _brackets(self) -> list[str]:
        return [f"[{note}]" for note in self.notes]

    def _describe(
        self, context: ToolContext, text: str, completed: Completed | None, ending: str, raw_bytes: int
    ) -> ToolOutput:
        went_well = completed is not None and completed.exit_code == 0
        if completed is not None:
            ending = describe_end(completed)
            if completed.left_running:
                self.notes.append(
                    f"{completed.left_running} processes it started still run; they end with the kernel at the latest"
                )
        name = f"{context.ids.call_id or 'call'}.shell"
        text, store = self._shortened(text, name, context.outputs)
        lines = [text or "(no output)", *self._brackets(), f"[{ending}]"]
        shown, path = fit("\n".join(lines), name, store)
        path = path or (store.path if isinstance(store, _Kept) else None)
        evidence: dict[str, Any] = {
            "command": self.command.text,
            "cwd": self.command.cwd or self.place.cwd,
            "place": self.place.info.kind,
            "bytes": raw_bytes,
        }
        if completed is None:
            evidence["interrupted"] = True
        else:
            evidence["seconds"] = round(completed.seconds, 3)
            evidence |= {"timed_out": True} if completed.timed_out else {"exit_code": completed.exit_code}
            evidence |= {"signal": completed.signal} if completed.signal is not None else {}
        metadata: dict[str, Any] = {SHELL: evidence}
        if path is not None:
            metadata["output_path"] = str(path)
        return ToolOutput((TextBlock(shown),), is_error=not went_well, metadata=metadata)

    def _shortened(self, text: str, name: str, store: OutputStore | None) -> tuple[str, OutputStore | None]:
        """Leave noise out, if the whole can be kept; the store that comes with it knows where it is."""
        if not self.shorten or store is None:
            return text, store
        shorter = minimise(self.command.text, text)
        if not shorter.left_out:
            return text, store
        try:
            path = store.save_output(name, text)
        except (OSError, SessionError):
            path = None
        if path is None:
            return text, store
        self.notes.append(
            f"{shorter.left_out:,} lines of progress or repetition are left out; read_output shows all: {path}"
        )
        return shorter.text, _Kept(path)


@dataclass(frozen=True, slots=True)
class _Kept:
    """An output store for a text that is kept already."""

    path: Path

    def save_output(self, name: str, text: str) -> Path:  # noqa: ARG002 - the protocol's
        """Return where the whole text is."""
        return self.path


def describe_end(completed: Completed) -> str:
    """Say in a few words how a command ended."""
    after = f"after {completed.seconds:.2f} s"
    if completed.timed_out:
        return f"timed out {after}; it and everything it started were ended"
    if completed.exit_code == 0:
        return f"done in {completed.seconds:.2f} s"
    if completed.exit_code is not None:
        code = completed.exit_code
        meaning = _CODES.get(code) or (f"128 + {_signal_name(code - 128)}" if 128 < code < 193 else "")
        return f"exit code {code} {after}{f': {meaning}' if meaning else ''}"
    return f"ended by {_signal_name(completed.signal) if completed.signal is not None else 'a signal'} {after}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def start_error(command: Command, error: OSError) -> ToolError:
    """Return what to tell the model when a command could not be started."""
    if error.errno == errno.E2BIG and len(command.text.encode("utf-8", "surrogatepass")) > LONGEST_ARGUMENT:
        return ToolError(
            "The command line is too long for the system.", hint="Write a script with write_file and run that."
        )
    if error.errno == errno.E2BIG:
        return ToolError(
            "The variables of the command are more than the system takes.",
            hint="Write long values to a file and read them from there.",
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and command.cwd is not None:
        what = "does not exist" if error.errno == errno.ENOENT else "is not a folder"
        return ToolError(f"The working folder {command.cwd} {what}.", hint="Look with list_files.")
    where = f" ({error.filename})" if error.filename else ""
    return ToolError(f"The command could not be started: {error.strerror or error}{where}.", hint="Change the command.")


def task_output(task_id: str, tasks: TaskRegistry, text: str) -> ToolOutput:
    """Return the result of a call that has left a task behind it."""
    info = tasks.get(task_id)
    more = (
        f"[You will be told when {task_id} ends. read_task_output shows what it prints, wait_task waits for it, "
        f"cancel_task ends it; do not poll it with sleep]"
    )
    evidence = {"task": task_id, "command": info.command, "cwd": info.cwd, "background": True}
    return ToolOutput((TextBlock(f"{text}\n{more}"),), metadata={SHELL: evidence})


@contextlib.asynccontextmanager
async def _nudging(context: ToolContext, seconds: float) -> AsyncIterator[None]:
    """Tell the person that something still runs: there is no time limit, but a stop is a click away."""

    async def nudge() -> None:
        waited, wait = 0.0, seconds
        while True:
            await asyncio.sleep(wait)
            waited += wait
            context.progress("wait", f"still running after {waited:.0f} s; it goes on until it ends or is stopped")
            wait = waited

    nudging = asyncio.ensure_future(nudge())
    try:
        yield
    finally:
        nudging.cancel()
