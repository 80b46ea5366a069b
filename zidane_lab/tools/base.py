"""What a tool is: a name, a schema, a tier, and an async function from arguments to output.

A tool never draws, never asks for permission and never touches the conversation: the loop validates its
arguments, gates it, runs it and turns what it returns, or raises, into a tool result.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolInputError
from zidane_lab.events import Ids
from zidane_lab.kernel.execution import Executor
from zidane_lab.providers.base import ToolSpec
from zidane_lab.session.interactions import Interact
from zidane_lab.turns import ResultPart, TextBlock

__all__ = ["Concurrency", "OutputStore", "Tier", "Tool", "ToolContext", "ToolHandler", "ToolOutput", "ToolStateView"]

Concurrency: TypeAlias = Literal["shared", "exclusive"]
"""``shared`` calls of one batch may run at the same time; an ``exclusive`` one runs alone."""

Tier: TypeAlias = Literal["read", "write", "execute", "network"]
"""What a tool can do at most; approvals start from it."""


class OutputStore(Protocol):
    """Keeps full outputs that are too long for the model (the session does)."""

    def save_output(self, name: str, text: str) -> Path | None:
        """Store ``text`` in a file named after ``name``; ``None`` where nothing is kept on disk."""
        ...


class ToolStateView(Protocol):
    """What a tool remembers from call to call: small JSON values of its own; changes of a failed call are forgotten."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value kept under ``key``."""
        ...

    def keys(self) -> tuple[str, ...]:
        """Return the keys in use."""
        ...

    def set(self, key: str, value: Any) -> None:
        """Keep a value under ``key``; :class:`~zidane_lab.errors.ToolError` when it cannot be kept."""
        ...

    def delete(self, key: str) -> None:
        """Forget the value kept under ``key``; there need be none."""
        ...


def _silent(stream: str, text: str) -> None:
    """Drop progress nobody listens to."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may use.

    ``progress(stream, text)`` shows something to the person at once; it never reaches the model. ``state`` is what the
    tool remembers between calls, where the host keeps such a thing. ``place`` is where files and commands live;
    without one they are on this machine, from ``cwd``. ``interact`` puts an interaction to a person; without one there
    is nobody to ask.
    """

    ids: Ids = field(default_factory=Ids)
    cwd: Path = field(default_factory=Path.cwd)
    executor: Executor | None = None
    outputs: OutputStore | None = None
    progress: Callable[[str, str], None] = _silent
    state: ToolStateView | None = None
    place: ExecutionContext | None = None
    interact: Interact | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns: parts for the model, and metadata for us (it is stored, never sent)."""

    parts: tuple[ResultPart, ...] = ()
    is_error: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object) -> ToolOutput:
        """Wrap whatever a function returned: an output as it is, text as text, the rest as JSON or ``repr``."""
        if isinstance(value, ToolOutput):
            return value
        if isinstance(value, str):
            return cls((TextBlock(value),))
        if value is None:
            return cls((TextBlock("Done."),))
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            text = repr(value)
        return cls((TextBlock(text),))


ToolHandler: TypeAlias = Callable[[ToolContext, Mapping[str, Any]], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the agent can use.

    Parameters
    ----------
    name
        Letters, digits, ``_`` and ``-``; at most 64 characters (every provider's rule).
    description
        What it does and when to use it, for the model.
    parameters
        JSON Schema of its arguments, of type object.
    handler
        Runs the call; gets validated arguments.
    validate
        Turns raw arguments into validated ones or raises :class:`~zidane_lab.errors.ToolInputError`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: ToolHandler
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    tier: Tier = "execute"
    concurrency: Concurrency | Callable[[Mapping[str, Any]], Concurrency] = "exclusive"

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.parameters)

    def concurrency_of(self, arguments: Mapping[str, Any]) -> Concurrency:
        """Whether this call may overlap others of its batch."""
        return self.concurrency(arguments) if callable(self.concurrency) else self.concurrency

    async def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
        """Validate and run one call.

        Raises
        ------
        ToolInputError
            The arguments do not fit; the handler has not run.
        """
        return await self.handler(context, self.validate(arguments))


def reject(tool: str, problems: list[str]) -> ToolInputError:
    """Return the error for arguments that do not fit, one readable line per problem."""
    lines = "\n".join(f"- {problem}" for problem in problems)
    return ToolInputError(f"Invalid arguments for {tool}:\n{lines}\n")
