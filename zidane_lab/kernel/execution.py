"""The value types of running code: what was run, what came of it, and who can run it.

An :class:`Execution` is complete evidence of one piece of code: its outputs in order, its last value, its
error, the names it made, changed and deleted, its time and memory. :class:`Executor` is the one interface
to a kernel, whether we live in it or talk to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["ErrorInfo", "Execution", "ExecutionStatus", "Executor", "Output", "OutputKind"]

OutputKind: TypeAlias = Literal["stdout", "stderr", "display", "value"]
ExecutionStatus: TypeAlias = Literal["ok", "error", "interrupted", "timeout"]


@dataclass(frozen=True, slots=True)
class Output:
    """One output, in the order it appeared.

    ``text`` holds a stream's text; ``data`` a mime bundle (``display`` and ``value``), its binary types as
    base64 text, as in a notebook file.
    """

    kind: OutputKind
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    display_id: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception: class name, message, and the traceback trimmed to what a reader can act on (no ANSI codes)."""

    name: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Execution:
    """What one piece of code did.

    Times are seconds, ``peak_memory`` the growth of the process's peak resident memory in bytes (``None``
    where it cannot be measured). ``created``, ``changed`` and ``deleted`` are top-level names of the user's
    namespace, sorted; ``changed`` holds names bound to another object or seen to differ afterwards.
    """

    code: str
    status: ExecutionStatus
    outputs: tuple[Output, ...] = ()
    error: ErrorInfo | None = None
    warnings: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    wall_seconds: float = 0.0
    cpu_seconds: float | None = None
    peak_memory: int | None = None


class Executor(Protocol):
    """Runs code in a kernel, one piece at a time, and looks at its variables."""

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run ``code`` as a notebook cell would and return the evidence.

        The person sees its outputs live, as ordinary outputs. Cancelling the awaiting task interrupts the
        code (``KeyboardInterrupt`` in synchronous code) and returns only when it has ended. After
        ``timeout`` seconds the code is interrupted in the same way and the status is ``"timeout"``.

        Raises
        ------
        KernelLostError
            The kernel died.
        """
        ...

    async def list_variables(self, *, pattern: str | None = None, limit: int = 200) -> Mapping[str, Any]:
        """Summaries of the user's variables: ``{"variables": [{"name", "type", "summary"}…], "total": int}``."""
        ...

    async def inspect_variable(self, name: str, *, budget: int = 4000) -> str:
        """Describe one variable in at most about ``budget`` characters.

        Raises
        ------
        ToolInputError
            There is no variable of that name; the message names near ones.
        """
        ...
