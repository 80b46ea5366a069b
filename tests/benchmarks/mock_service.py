"""A model service nobody here wrote (``llmock``), in a process of its own, told beforehand what to answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass
class MockService:
    """The service's address, and a client for telling it what to say."""

    url: str
    control: httpx.Client

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def will_answer(self, answers: Sequence[dict[str, Any]]) -> None:
        """Forget everything, then answer the next requests like this, one answer each."""
        self.control.post("/_llmock/reset").raise_for_status()
        self.control.post("/_llmock/scenario", json={"behaviors": list(answers)}).raise_for_status()

    def unsaid(self) -> int:
        """How many answers nobody has asked for."""
        return len(self.control.get("/_llmock/scenario").raise_for_status().json()["pending"])


@contextmanager
def mock_service() -> Iterator[MockService]:
    """Start the service on a free port and end it afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LLMOCK_")}
    command = [sys.executable, "-m", "llmock.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--log-level", "error"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, timeout=30) as control:
            _wait_until_up(control, process)
            yield MockService(url, control)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_until_up(control: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while True:
        assert process.poll() is None, "llmock ended while starting"
        try:
            control.get("/health").raise_for_status()
            return
        except httpx.TransportError:
            assert time.monotonic() < until, "llmock did not come up in 30 s"
            time.sleep(0.05)
