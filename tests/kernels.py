"""A real kernel to talk to, message by message, as a front end does."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec

MIME = "application/vnd.zidane.v1+json"


@dataclass
class Cell:
    """What one executed cell sent: the messages, the reply, and the outputs as a page would end up with them."""

    status: str = ""
    reply: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def displays(self) -> list[dict[str, Any]]:
        """Final mime bundles in order of first appearance, updates applied."""
        shown: list[tuple[str | None, dict[str, Any]]] = []
        for message in self.messages:
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "execute_result"):
                shown.append((content.get("transient", {}).get("display_id"), content["data"]))
            elif kind == "update_display_data":
                wanted = content["transient"]["display_id"]
                shown = [(key, content["data"] if key == wanted else data) for key, data in shown]
        return [data for _, data in shown]

    def own(self, kind: str) -> list[dict[str, Any]]:
        """Payloads of our own mime type, of one kind."""
        payloads = [data[MIME] for data in self.displays if MIME in data]
        return [payload for payload in payloads if payload["kind"] == kind]

    @property
    def text(self) -> str:
        """Everything the cell shows, as plain text."""
        parts = [data.get("text/plain", "") for data in self.displays]
        return "\n".join([*parts, self.stream("stdout"), self.stream("stderr")])

    def stream(self, name: str) -> str:
        return "".join(
            m["content"]["text"] for m in self.messages if m["msg_type"] == "stream" and m["content"]["name"] == name
        )

    @property
    def error(self) -> dict[str, Any]:
        return next((m["content"] for m in self.messages if m["msg_type"] == "error"), {})


class Kernel:
    """A started kernel with a blocking client."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.stray: list[dict[str, Any]] = []

    @property
    def pid(self) -> int:
        return self.manager.provisioner.pid

    def start(self, code: str, *, allow_stdin: bool = True) -> str:
        return self.client.execute(code, allow_stdin=allow_stdin)

    def finish(
        self,
        msg_id: str,
        *,
        timeout: float = 60,
        on_message: Callable[[dict[str, Any]], None] | None = None,
        answer: Callable[[str], str | None] | None = None,
    ) -> Cell:
        """Collect a cell's messages until it is idle and replied to.

        ``answer`` gets the prompts of input requests and returns what is typed; ``None`` leaves one unanswered.
        """
        cell, idle, until = Cell(), False, time.monotonic() + timeout
        while not (idle and cell.reply):
            assert time.monotonic() < until, f"the cell did not end in {timeout} s; it sent: {cell.text[-2000:]}"
            if answer is not None:
                with contextlib.suppress(queue.Empty):
                    question = self.client.get_stdin_msg(timeout=0.02)
                    typed = answer(question["content"]["prompt"])
                    if typed is not None:
                        self.client.input(typed)
            try:
                message = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                message = None
            if message is not None:
                if message["parent_header"].get("msg_id") != msg_id:
                    self.stray.append(message)
                    if hasattr(on_message, "on_stray"):  # what a click brings about is no message of the cell
                        on_message.on_stray()
                elif message["msg_type"] == "status":
                    idle = idle or message["content"]["execution_state"] == "idle"
                else:
                    cell.messages.append(message)
                    if on_message is not None:
                        on_message(message)
            if not cell.reply:
                try:
                    reply = self.client.get_shell_msg(timeout=0.01)
                except queue.Empty:
                    continue
                if reply["parent_header"].get("msg_id") == msg_id:
                    cell.reply, cell.status = reply["content"], reply["content"]["status"]
        return cell

    def run(self, code: str, **options: Any) -> Cell:
        """Execute a cell, as a front end with a person does unless told otherwise, and collect what it sent."""
        allow_stdin = options.pop("allow_stdin", True)
        return self.finish(self.start(code, allow_stdin=allow_stdin), **options)

    def ok(self, code: str, **options: Any) -> Cell:
        cell = self.run(code, **options)
        assert cell.status == "ok", f"{cell.error.get('ename')}: {cell.error.get('evalue')}\n{cell.text[-3000:]}"
        return cell

    def value(self, expression: str) -> Any:
        """Evaluate an expression of plain Python values in the kernel."""
        cell = self.ok(f"print(repr({expression}))")
        return eval(cell.stream("stdout"))

    def interrupt_when(self, ready: Callable[[], bool], *, timeout: float = 30) -> list[float]:
        """Interrupt (as a front end does) as soon as ``ready`` says so; returns a list that gets the moment."""
        moments: list[float] = []

        def wait() -> None:
            until = time.monotonic() + timeout
            while time.monotonic() < until:
                if ready():
                    moments.append(time.monotonic())
                    # As jupyter_client does, without the event loop it would leave in this thread.
                    os.killpg(os.getpgid(self.pid), signal.SIGINT)
                    return
                time.sleep(0.01)

        threading.Thread(target=wait, daemon=True).start()
        return moments

    def late(self, msg_id: str, *, seconds: float, until: Callable[[list[dict[str, Any]]], bool]) -> Cell:
        """Collect messages for an earlier cell that come after it ended."""
        cell = Cell("ok", {"status": "ok"}, [m for m in self.stray if m["parent_header"].get("msg_id") == msg_id])
        self.stray = [m for m in self.stray if m["parent_header"].get("msg_id") != msg_id]
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until(cell.messages):
            try:
                message = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == msg_id and message["msg_type"] != "status":
                cell.messages.append(message)
        return cell

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


@contextmanager
def running_kernel(cwd: Path, *, python: str | None = None, env: dict[str, str] | None = None) -> Iterator[Kernel]:
    """Start a kernel of this interpreter (or of ``python``) in ``cwd`` and end it afterwards.

    ``KERNEL_TEST_PYTHON`` names another default interpreter: the matrix of ipykernel versions sets it.
    """
    python = python or os.environ.get("KERNEL_TEST_PYTHON")
    manager = KernelManager()
    if python is not None:
        manager._kernel_spec = KernelSpec(  # no registered kernel needed
            argv=[python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], display_name="test", language="python"
        )
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "OPENAI_", "ZIDANE_", "JPY_", "PYTEST_"))
    }
    clean |= {
        "ZIDANE_HOME": str(cwd / "home"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONWARNINGS": "ignore",
        **(env or {}),
    }
    manager.start_kernel(cwd=str(cwd), env=clean)
    kernel = Kernel(manager)
    try:
        yield kernel
    finally:
        kernel.client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
