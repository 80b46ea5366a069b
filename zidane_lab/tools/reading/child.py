"""Run a reading library in a Python of its own: it finds what the kernel finds, and loads nothing into the kernel.

A broken or hostile file can then hold up, fill or crash that process only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from typing import Any, Final

__all__ = ["ChildError", "answers_of"]

_SECONDS: Final = 30.0
_LONGEST: Final = 8 * 1_048_576
"""Bytes of one answer."""
_START: Final = "import json,sys;sys.path[:]=json.loads(sys.argv.pop(1));exec(sys.argv.pop(1))"


class ChildError(Exception):
    """The process failed; the text says why."""


def answers_of(code: str, arguments: Sequence[str], *, seconds: float = _SECONDS) -> Generator[Any, None, None]:
    """Yield what the code prints, a JSON value a line; closing the generator ends the process.

    Raises
    ------
    ChildError
        It failed, or took too long; the message is the last line it wrote to standard error.
    """
    argv = [sys.executable, "-I", "-c", _START, json.dumps(sys.path), code, *arguments]
    process = subprocess.Popen(  # noqa: S603 - our own code; the file's name is an argument
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    complaints: list[bytes] = []
    assert process.stderr is not None
    assert process.stdout is not None
    listener = threading.Thread(target=_listen, args=(process.stderr, complaints), daemon=True)
    listener.start()
    try:
        while line := process.stdout.readline(_LONGEST):
            if not line.endswith(b"\n"):
                break
            yield json.loads(line)
        process.wait()
        listener.join()
        if process.returncode:
            said = b"".join(complaints).decode("utf-8", "replace").strip().rpartition("\n")[2]
            if late.is_set():
                said = f"it took longer than {seconds:g} seconds"
            raise ChildError(said or f"the reading process ended with {process.returncode}")
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        listener.join()
        process.stdout.close()
        process.stderr.close()


def _listen(stream: Any, complaints: list[bytes]) -> None:
    while data := stream.read(65_536):
        complaints[:] = [*complaints[-1:], data]
