"""The host: what ``%%zidane`` and ``%zidane`` do, from the text of a cell to the drawn answer.

The cell is asynchronous and only waits: the agent, its streams and its drawing live in the agent's thread,
and code comes back through a portal to run on the main thread. One host serves one shell.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from zidane_lab.agent.hooks import HookBundle
from zidane_lab.agent.result import RunResult
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.place import find_place
from zidane_lab.chat.settings import load_settings
from zidane_lab.errors import AbortedError, ConfigurationError, ZidaneError
from zidane_lab.kernel.interrupts import on_interrupt
from zidane_lab.kernel.live import LiveExecutor, traffic_of
from zidane_lab.kernel.portal import Portal
from zidane_lab.notebook import bundles
from zidane_lab.notebook.interactions import CellFront
from zidane_lab.notebook.options import MagicOptions, parse
from zidane_lab.notebook.publish import Publisher, cell_header, publisher_for
from zidane_lab.notebook.render import CellRenderer
from zidane_lab.notebook.repaint import repaint
from zidane_lab.notebook.static import StaticRenderer
from zidane_lab.notebook.terminal import TerminalPublisher, TerminalRenderer
from zidane_lab.notebook.thread import AgentThread
from zidane_lab.session.interactions import InteractionAnswer, interactions_in

__all__ = ["Host", "RunStopped"]

_COMMAND: Final = re.compile(r"^/[a-z][a-z0-9_-]*(?=\s|$)")


class RunStopped(AbortedError):  # noqa: N818 - it is not an error, and people read the name
    """Ends a cell whose run was stopped, so that cells queued behind it do not run. It shows no traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["Stopped."]


class Host:
    """The agent of one shell.

    Parameters
    ----------
    shell
        The kernel's IPython shell, or a terminal's.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.thread = AgentThread()
        self.chat = Chat(find_place(namespace=shell.user_ns))
        self._current: Future[RunResult] | None = None
        self._told_place = False
        traffic_of(shell).cell_is_running()
        atexit.register(self.close)
        if self.in_kernel:
            shell.observe(self._leaving, "exit_now")

    @property
    def in_kernel(self) -> bool:
        """Whether a Jupyter kernel runs this shell; a terminal's or an embedded one draws plain text."""
        return hasattr(self.shell, "kernel")

    async def run(self, line: str, cell: str | None = None) -> RunResult | None:
        """Do what a magic asks: a slash command, or a prompt for the agent.

        Parameters
        ----------
        line
            The rest of the magic's line, raw.
        cell
            The lines below it, raw.

        Raises
        ------
        RunStopped
            The person stopped the run.
        ZidaneError
            The run failed, or the request cannot be used.
        """
        try:
            options, rest = parse(line)
            prompt = f"{rest}\n{cell or ''}".strip()
            if options.notebook:
                place = find_place(options.notebook)
                if place.notebook != self.chat.place.notebook:
                    self.chat.move(place)
            if not prompt:
                prompt = "/help"
            if _COMMAND.match(prompt):
                await self._command(prompt)
                return None
            if options.background:
                self._background(prompt, options)
                return None
            return await self._foreground(prompt, options)
        except ZidaneError as error:
            _short(error)
            raise

    def stop(self) -> None:
        """Stop the run, if one is on; may be called from a signal handler and from any thread."""
        agent, current = self.chat.agent, self._current
        if agent is not None and agent.running:
            agent.abort()
        elif current is not None:
            current.cancel()

    def _leaving(self, change: Any) -> None:
        """Take note that the kernel is asked to end: a question that waits then waits for the next one."""
        if change["new"]:
            self.chat.suspend()

    def close(self) -> None:
        """End everything: the run, the session's lock, connections, the thread."""
        atexit.unregister(self.close)
        if self.in_kernel:
            self.shell.unobserve(self._leaving, "exit_now")

        async def settle() -> None:
            await self.chat.settle(1.0)
            await self.chat.close()

        with contextlib.suppress(TimeoutError, ZidaneError):  # what was appended is on disk already
            self.thread.call(settle(), 2.0)
        self.thread.stop()

    # --- asking -------------------------------------------------------------------------------------

    async def _foreground(self, prompt: str, options: MagicOptions) -> RunResult:
        portal, publisher = Portal.here(), self._publisher()
        executor = LiveExecutor(self.shell, portal=portal, parent=cell_header(self.shell), on_interrupt=self.stop)
        front = self._front(portal, publisher)
        future = self._start(prompt, options.ask, executor, front, publisher)
        result: RunResult | None = None
        try:
            with on_interrupt(self.stop):
                result = await self._wait(future)
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                result = future.result()
            raise RunStopped("The run was stopped.") from None
        except ZidaneError as error:
            result = getattr(error, "result", None)
            raise
        finally:
            self._current = None
            if options.to and result is not None:
                self.shell.user_ns[options.to] = result
        if result.status == "aborted":
            raise RunStopped("The run was stopped.")
        return result

    async def _wait(self, future: Future[RunResult]) -> RunResult:
        """Wait for the run; when this cell is cancelled, stop the run and wait for its end all the same."""
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not future.done():
                self.stop()
                await asyncio.wait({waiting}, timeout=10.0)
            raise

    def _background(self, prompt: str, options: MagicOptions) -> None:
        if not self.in_kernel:
            raise ConfigurationError(
                "--bg needs a Jupyter kernel: in a terminal nothing runs between inputs.", hint="Leave --bg out."
            )
        portal, publisher = Portal.here(), self._publisher()
        executor = LiveExecutor(
            self.shell, portal=portal, parent=cell_header(self.shell), background=True, on_interrupt=self.stop
        )
        front = self._front(portal, publisher, background=True)
        future = self._start(prompt, options.ask, executor, front, publisher)

        def settled(done: Future[RunResult]) -> None:
            self._current = None
            error = None if done.cancelled() else done.exception()
            result = done.result() if not done.cancelled() and error is None else getattr(error, "result", None)
            if error is not None and result is None:  # it failed before there was a run to draw, or by a fault of ours
                publisher.show(bundles.banner("error", "The run failed.", str(error) or type(error).__name__))
            if options.to and result is not None:
                portal.soon(lambda: self.shell.user_ns.__setitem__(options.to, result))

        future.add_done_callback(settled)

    def _front(self, portal: Portal, publisher: Publisher, *, background: bool = False) -> CellFront:
        """Return where the cell's questions are put."""
        setting = load_settings(self.chat.env).interaction
        parent = cell_header(self.shell)

        def taken(name: str) -> InteractionAnswer | None:
            return interactions_in(self.chat.session).answers.get(name)

        def masked(value: Mapping[str, Any]) -> Mapping[str, Any]:
            screen = self.chat.session.screen
            return value if screen is None else screen.json(value)

        return CellFront(
            portal,
            self.shell,
            setting,
            self.stop,
            publisher,
            parent,
            background=background,
            taken=taken,
            masked=masked,
        )

    def _start(
        self, prompt: str, options: AskOptions, executor: LiveExecutor, front: CellFront, publisher: Publisher
    ) -> Future[RunResult]:
        if self._current is not None:
            raise ConfigurationError("A run is under way already.", hint="%zidane /stop it, or /steer it, or wait.")
        self._current = self.thread.submit(self._ask(prompt, options, executor, front, publisher))
        return self._current

    async def _ask(
        self, prompt: str, options: AskOptions, executor: LiveExecutor, front: CellFront, publisher: Publisher
    ) -> RunResult:
        renderer = self._renderer(publisher)
        for problem in load_settings(self.chat.env).problems:
            publisher.show(bundles.banner("warning", "A setting cannot be read.", problem))
        if self.chat.place.notebook is None and not self._told_place and not isinstance(renderer, StaticRenderer):
            self._told_place = True
            publisher.show(
                bundles.banner(
                    "info",
                    f"The conversation is kept in {self.chat.folder}.",
                    "Which notebook this is could not be found out; tell with %zidane /session NAME.ipynb.",
                )
            )
        return await self.chat.ask(prompt, options, executor=executor, front=front, bundles=[renderer])

    def _renderer(self, publisher: Publisher) -> HookBundle:
        """Choose how to draw: a terminal gets plain text, an unattended notebook each display once."""
        if isinstance(publisher, TerminalPublisher):
            return TerminalRenderer(publisher, window=_window)
        drawing = load_settings(self.chat.env).drawing
        # Who executes notebooks unattended says so: nobody can be asked for input.
        unattended = not getattr(self.shell.kernel, "_allow_stdin", True)
        static = drawing == "static" or (drawing == "auto" and unattended)
        return (StaticRenderer if static else CellRenderer)(publisher, window=_window)

    def _publisher(self) -> Any:
        return publisher_for(self.shell) if self.in_kernel else TerminalPublisher()

    # --- commands -----------------------------------------------------------------------------------

    async def _command(self, text: str) -> None:
        publisher = self._publisher()
        executor = LiveExecutor(
            self.shell, portal=Portal.here(), parent=cell_header(self.shell), on_interrupt=self.stop
        )
        context = CommandContext(
            self.chat, self._facts, self.shell.user_ns, lambda: (self._renderer(publisher),), executor
        )
        future = self.thread.submit(run_command(text, context))
        try:
            with on_interrupt(lambda: self._drop(future)):
                reply = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            await asyncio.wait({asyncio.wrap_future(future)}, timeout=2.0)  # what it still draws belongs to this cell
            raise RunStopped("The command was stopped.") from None
        if reply.text:
            publisher.show(bundles.command_reply(reply.text, reply.html))
        if reply.repaint:
            repaint(self.chat.session.turns, publisher, self.chat.session.wire_state)

    def _drop(self, future: Future[Any]) -> None:
        self.thread.loop.call_soon_threadsafe(future.cancel)

    def _facts(self) -> Mapping[str, str]:
        """What only the host knows, for ``/doctor`` and ``/status``."""
        if not self.in_kernel:
            return {"host": type(self.shell).__name__, "top-level await": "on" if self.shell.autoawait else "**off**"}
        features = self.shell.kernel.kernel_info.get("supported_features", [])
        subshells = "kernel subshells" in features
        midway = "a front end can stop and steer it" if subshells else "it can only be interrupted (no subshells)"
        return {"host": "Jupyter kernel", "while a cell runs": midway}


def _window(model: str) -> int | None:
    from zidane_lab.providers.catalog import model_info
    from zidane_lab.providers.registry import split_model

    provider, name = split_model(model)
    return model_info(provider, name or "").effective_window


def _short(error: ZidaneError) -> None:
    """Let the cell show one line instead of our stack: the message says what happened and what to do."""
    if not hasattr(error, "_render_traceback_"):
        lines: Callable[[], list[str]] = lambda: [f"{type(error).__name__}: {error}"]  # noqa: E731
        error._render_traceback_ = lines  # type: ignore[attr-defined]  # IPython's own protocol
