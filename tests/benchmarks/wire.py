"""What drawing sends: a publisher that serialises as Jupyter does, a meter on a kernel's IOPub, and time that flies."""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import zmq
from jupyter_client.session import Session

from tests.kernels import Kernel, running_kernel


class WirePublisher:
    """Turns every display into the frames ipykernel would send, counts them, and notes when they went."""

    def __init__(self, clock: Any = time.monotonic) -> None:
        self._session = Session(key=b"signed as in a real kernel")
        self._parent = self._session.msg_header("execute_request")
        self._clock = clock
        self._shown = 0
        self.bytes = 0
        self.final: dict[str, dict[str, Any]] = {}
        self.sent: list[Sent] = []
        self._visible = 0

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
        before = self.final.get(display_id, {}).get("text/plain", "")
        self._visible += visible(bundle["text/plain"]) - visible(before)
        self.final[display_id] = dict(bundle)
        self.sent.append(Sent(self._clock(), "text/markdown" in bundle, self._visible))

    @property
    def provisional(self) -> list[float]:
        """When something went out that was replaced later."""
        return [each.moment for each in self.sent if not each.final]


@dataclass(frozen=True)
class Sent:
    """One message: when, whether it was a display's last, and how many visible characters the page then shows."""

    moment: float
    final: bool
    visible: int


def visible(text: str) -> int:
    """Characters that are not white space."""
    return len("".join(text.split()))


def busiest_second(moments: Sequence[float]) -> int:
    """The most moments that lie within any second."""
    return max((bisect_left(moments, start + 0.999) - at for at, start in enumerate(moments)), default=0)


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
        self._kernel = kernel
        self._address = f"tcp://127.0.0.1:{kernel.client.iopub_port}"
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self.bytes = 0
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
                    self.moments.append(time.monotonic())

    def __enter__(self) -> Self:
        """Start, and wait until anything has come: subscribing takes a moment."""
        self.start()
        until = time.monotonic() + 10
        while not self._listening.is_set():
            assert time.monotonic() < until, "IOPub stays silent"
            self._kernel.ok("pass")
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.3)  # what is on its way still counts
        self._stopping.set()
        self.join(timeout=10)


@contextmanager
def quiet_kernel(folder: Path, **options: Any) -> Iterator[Kernel]:
    """A kernel whose log goes to a file instead of between the figures."""
    stderr = os.dup(2)
    try:
        with (folder / "kernel.log").open("ab") as log:
            os.dup2(log.fileno(), 2)
        context = running_kernel(folder, **options)
        kernel = context.__enter__()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
    try:
        yield kernel
    finally:
        context.__exit__(None, None, None)
