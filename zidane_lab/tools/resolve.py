"""The ``resolve`` tool: apply or discard a change that was only shown so far."""

from __future__ import annotations

import functools
from typing import Annotated

from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.edits.pending import Action, resolve_staged

__all__ = ["resolve", "resolve_tool"]


@functools.cache
def resolve_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="write")(resolve)


async def resolve(
    context: ToolContext,
    action: Annotated[Action, "Write the change, or drop it."],
    reason: Annotated[str, "Why, in a few words."],
) -> ToolOutput:
    """Apply or discard the preview that waits longest.

    It is worked out again first: if a file has changed since the preview, nothing is written.

    Raises
    ------
    ToolError
        No preview waits, or it no longer fits.
    """
    return await resolve_staged(context, action, reason)
