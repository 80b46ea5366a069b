"""Where a tool's files and commands are."""

from __future__ import annotations

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.tools.base import ToolContext

__all__ = ["place_of"]


def place_of(context: ToolContext) -> ExecutionContext:
    """Return the place the host has set, or this machine from the working folder."""
    if context.place is not None:
        return context.place
    from zidane_lab.contexts.process import LocalProcess

    return LocalProcess(context.cwd)
