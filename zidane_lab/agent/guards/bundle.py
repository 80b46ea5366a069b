"""What the guards have in common: several handlers installed as one, and answers that say who gave them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from zidane_lab.agent.hooks import Handler, HookBus, Uninstall
from zidane_lab.events import GuardHit, Ids
from zidane_lab.turns import ToolResultBlock

__all__ = ["ANSWERED_BY", "announcer", "answered_by", "is_guard_answer", "subscribe"]

ANSWERED_BY: Final = "guard"
"""Key of a result's metadata: the guard that gave the result without running the call."""


def subscribe(hooks: HookBus, handlers: Mapping[type[Any], Handler]) -> Uninstall:
    """Add a handler for each of some events; the returned function removes them all."""
    removals = [hooks.on(event, handler) for event, handler in handlers.items()]

    def uninstall() -> None:
        for remove in removals:
            remove()

    return uninstall


def announcer(hooks: HookBus, guard: str) -> Callable[[Ids, str, str], Awaitable[None]]:
    """Return the function that tells everybody that ``guard`` stepped in: ``await announce(ids, tool, text)``."""

    async def announce(ids: Ids, tool: str, text: str) -> None:
        await hooks.emit(GuardHit(ids, guard, tool, text))

    return announce


def answered_by(guard: str, **more: Any) -> dict[str, Any]:
    """Return the metadata of a result that ``guard`` gives."""
    return {ANSWERED_BY: guard, **more}


def is_guard_answer(result: ToolResultBlock) -> bool:
    """Whether a guard gave this result, so that it tells nothing new."""
    return ANSWERED_BY in result.metadata
