"""Where a tool's files and commands are."""

from __future__ import annotations

from typing import Any

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.session.read_state import PLACE
from zidane_lab.tools.base import ToolContext

__all__ = ["marked", "place_of", "where_of"]


def place_of(context: ToolContext) -> ExecutionContext:
    """Return the place the host has set, or this machine from the working folder."""
    if context.place is not None:
        return context.place
    from zidane_lab.contexts.process import LocalProcess

    return LocalProcess(context.cwd)


def where_of(context: ToolContext) -> str:
    """Return what tells the place of a call's files from others; empty for this machine."""
    return context.place.info.where if context.place is not None else ""


def marked(context: ToolContext) -> dict[str, Any]:
    """Return the metadata that say where the files of a result are; nothing for this machine."""
    return {PLACE: where} if (where := where_of(context)) else {}
