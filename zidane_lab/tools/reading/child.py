"""Run a reading library in a Python of its own: it finds what the kernel finds, and loads nothing into the kernel.

A broken or hostile file can then hold up, fill or crash that process only, and that no further than its limits of time
and, on Linux, of memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from typing import Any, Final

__all__ = ["ChildError", "answers_of"]

_SECONDS: Final = 30.0
_LONGEST: Final = 8 * 1_048_576
"""Bytes of one answer."""
MEMORY: Final = 2 * 1_073_741_824
"""Bytes of data the process may hold."""
_START: Final = """
import contextlib, json, sys
sys.path[:], limits = json.loads(sys.argv.pop(1)), json.loads(sys.argv.pop(1))
with contextlib.suppress(ImportError):
    import resource
    for name, most in limits.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
exec(sys.argv.pop(1))
"""
_PROCESSORS: Final = 4
"""As many seconds of processor time may pass in one second: the limit that still holds when nobody waits any more."""
_NO_MEMORY: Final = re.compile(r"MemoryError|out of memory|malloc|allocat", re.IGNORECASE)


class ChildError(Exception):
    """The process failed; the text says why."""


def answers_of(
    code: str, arguments: Sequence[str], *, seconds: float = _SECONDS, memory: int = MEMORY
) -> Generator[Any, None, None]:
    """Yield what the code prints, a JSON value a line; closing the generator ends the process.

    Raises
    ------
    ChildError
        It failed, took too long, or needed too much; the message is the last line it wrote to standard error.
    """
    limits = {"RLIMIT_DATA": memory, "RLIMIT_CPU": int(seconds * _PROCESSORS) + 1, "RLIMIT_CORE": 0}
    argv = [sys.executable, "-I", "-c", _START, json.dumps(sys.path), json.dumps(limits), code, *arguments]
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
                if len(line) >= _LONGEST:
                    raise ChildError(f"one piece of it is longer than {_LONGEST:,} bytes")
                break
            yield json.loads(line)
        process.wait()
        listener.join()
        if process.returncode:
            said = b"".join(complaints).decode("utf-8", "replace").strip().rpartition("\n")[2]
            if late.is_set():
                said = f"it took longer than {seconds:g} seconds"
            elif _NO_MEMORY.search(said):
                said = f"it takes more than {memory // 1_048_576:,} MB of memory"
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
