"""What drawing sends: a publisher that serialises as Jupyter does, a meter on a kernel's IOPub, and time that flies."""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.session import Session

from tests.kernels import Kernel, running_kernel


class WirePublisher:
    """Turns every display into the frames ipykernel would send, and counts them.

    ``moments`` are those of updates and first displays alike, by the clock given.
    """

    def __init__(self, clock: Any = time.monotonic) -> None:
        self._session = Session(key=b"signed as in a real kernel")
        self._parent = self._session.msg_header("execute_request")
        self._clock = clock
        self._shown = 0
        self.bytes = 0
        self.moments: dict[str, list[float]] = {}
        self.final: dict[str, dict[str, Any]] = {}

    def show(self, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str:
        self._shown += 1
        display_id = f"{self._shown:016x}"
        self._send("display_data", display_id, bundle)
        return display_id

    def update(self, display_id: str, bundle: Mapping[str, Any]) -> None:
        self._send("update_display_data", display_id, bundle)

    def _send(self, kind: str, display_id: str, bundle: Mapping[str, Any]) -> None:
        content = {"data": dict(bundle), "metadata": {}, "transient": {"display_id": display_id}}
        message = self._session.msg(kind, content, parent=self._parent)
        self.bytes += sum(map(len, self._session.serialize(message, ident=b"kernel.topic.display_data")))
        self.moments.setdefault(display_id, []).append(self._clock())
        self.final[display_id] = dict(bundle)

    @property
    def messages(self) -> int:
        return sum(map(len, self.moments.values()))


class FlyingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it. Only for loops without files."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_FlyingSelector(self))

    def time(self) -> float:
        return self._now


class _FlyingSelector(selectors.DefaultSelector):
    def __init__(self, loop: FlyingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing left to wait for"
        self._loop._now += max(0.0, timeout)
        return super().select(0)


class IOPubMeter(threading.Thread):
    """A second listener on a kernel's IOPub that counts raw bytes and messages of displays."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(daemon=True)
        self._address = f"tcp://127.0.0.1:{kernel.client.iopub_port}"
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self.bytes = self.messages = 0
        self.moments: list[float] = []

    def run(self) -> None:
        with zmq.Context() as context, context.socket(zmq.SUB) as socket:
            socket.linger = 0
            socket.subscribe(b"")
            socket.connect(self._address)
            while not self._stopping.is_set():
                if not socket.poll(50):
                    continue
                frames = socket.recv_multipart()
                self._listening.set()
                if frames[0].endswith(b"display_data"):
                    self.bytes += sum(map(len, frames))
                    self.messages += 1
                    self.moments.append(time.monotonic())

    def hears(self) -> bool:
        """Whether anything has come: subscribing takes a moment."""
        return self._listening.is_set()

    def stop(self) -> None:
        self._stopping.set()
        self.join(timeout=10)


@contextmanager
def quiet_kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel whose log goes to a file instead of between the figures."""
    stderr = os.dup(2)
    try:
        with (folder / "kernel.log").open("ab") as log:
            os.dup2(log.fileno(), 2)
        context = running_kernel(folder)
        kernel = context.__enter__()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
    try:
        yield kernel
    finally:
        context.__exit__(None, None, None)
